import { MAX_BODY_LENGTH } from '../text.ts';
import { emojiTable } from './emoji-table.ts' with { type: 'macro' };
import { FOOTNOTE, parseBlocks, parseFootnotes, type SyntaxNode } from './parse.ts';

// Footnotes, which Bun does not know: `word[^1]`, and `[^1]: The note.`, whose words others take for the address of a link.

const ANY_FOOTNOTE = /\[\^[^\s[\]]{1,100}\]:/;
const MENTION = /(?<!(?<!\\)\\)\[\^([^\s[\]]{1,100})\]/g;
/** Mentions beyond these stay as they are written. */
const MAX_MENTIONS = 1_000;
/** Characters that a mark adds to the text. */
const ROOM = 24;

const CODE = new Set([
  'FencedCode',
  'CodeBlock',
  'InlineCode',
  'HTMLBlock',
  'CommentBlock',
  'URL',
  'LinkTitle',
]);

interface Note {
  name: string;
  from: number;
  to: number;
  /** The start of its text. */
  text: number;
  /** The end of the block of the document in which it stands. */
  blockEnd: number;
}

/** How footnotes are written. The numbers count from 1, in the order of the first mentions. */
export interface FootnoteMarks {
  mention(number: number): string;
  /** With the further lines of the text as far in as they stand in the note. */
  note(number: number, text: string): string;
  /** Paragraphs around all notes. */
  start: string;
  end: string;
}

/**
 * Writes the mentions in their places, and the notes together. A note that nothing mentions comes last, and so does a second
 * one of the same name: their words stay. Code stays as it is.
 */
export function markFootnotes(markdown: string, marks: FootnoteMarks): string {
  if (!ANY_FOOTNOTE.test(markdown)) return markdown;
  const { source, notes, mentions } = readFootnotes(markdown);
  const last = notes.at(-1);
  if (last === undefined) return markdown;
  const room = MAX_BODY_LENGTH - source.length - ROOM * notes.length;
  const numbers = new Map<Note, number>();
  const numberOf = (note: Note) => {
    const number = numbers.get(note) ?? numbers.size + 1;
    numbers.set(note, number);
    return number;
  };
  const edits = mentions
    .slice(0, Math.max(0, Math.min(MAX_MENTIONS, Math.floor(room / ROOM))))
    .map(({ note, from, to }) => ({ from, to, text: marks.mention(numberOf(note)) }));
  for (const note of notes) numberOf(note);

  let next = 0;
  /** A part of the source with its marks. Call it in the order of the source. */
  function marked(from: number, to: number): string {
    let text = '';
    let at = from;
    for (let edit = edits[next]; edit !== undefined && edit.from < to; edit = edits[++next]) {
      text += source.slice(at, edit.from) + edit.text;
      at = edit.to;
    }
    return text + source.slice(at, to);
  }

  let body = '';
  let at = 0;
  const texts: string[] = [];
  for (const note of notes) {
    body += marked(at, note.from);
    texts[(numbers.get(note) ?? 1) - 1] = withoutIndent(source, note, marked(note.text, note.to));
    at = note.to;
  }
  body += marked(at, last.blockEnd);
  const section = texts.map((text, index) => marks.note(index + 1, text)).join('\n\n');
  const rest = marked(last.blockEnd, source.length);
  return `${body}\n\n${marks.start}\n\n${section}\n\n${marks.end}\n\n${rest}`;
}

/** The notes, and what mentions the first of each name. */
function readFootnotes(markdown: string) {
  const { source, tree } = parseFootnotes(markdown);
  const notes: Note[] = [];
  const taken: { from: number; to: number }[] = [];
  let blockEnd = 0;
  tree.iterate({
    enter({ name, from, to, node }) {
      if (node.parent?.parent === null) blockEnd = to;
      if (name === 'Footnote') {
        FOOTNOTE.lastIndex = from;
        const [head = '', label = ''] = FOOTNOTE.exec(source) ?? [];
        notes.push({ name: label.toLowerCase(), from, to, text: from + head.length, blockEnd });
        taken.push({ from, to: from + head.length });
      }
      // `[^1](https://…)` is a link.
      const isLink = name === 'Link' && node.getChild('URL') !== null;
      if (isLink) taken.push({ from, to: from + 1 });
      if (!CODE.has(name)) return true;
      taken.push({ from, to });
      return false;
    },
  });
  const byName = new Map(notes.toReversed().map((note) => [note.name, note]));
  let at = 0;
  const isTaken = (position: number) => {
    while ((taken[at]?.to ?? Number.POSITIVE_INFINITY) <= position) at++;
    return (taken[at]?.from ?? Number.POSITIVE_INFINITY) <= position;
  };
  const mentions = Array.from(source.matchAll(MENTION)).flatMap(({ 0: written, 1: name = '', index }) => {
    const note = byName.get(name.toLowerCase());
    return note === undefined || isTaken(index) ? [] : [{ note, from: index, to: index + written.length }];
  });
  return { source, notes, mentions };
}

/** Removes what the further lines of a note stand in: quotes, list items, and its own four columns. */
function withoutIndent(source: string, { from }: Note, text: string): string {
  const before = source.slice(source.lastIndexOf('\n', from - 1) + 1, from);
  const quotes = before.split('>').length - 1;
  const columns = before.slice(before.lastIndexOf('>') + 1).length - (quotes > 0 ? 1 : 0);
  const indent = new RegExp(
    `^(?:[ \\t]*>){0,${quotes}}${quotes > 0 ? ' ?' : ''} {0,${Math.max(0, columns)}}(?: {1,4}|\\t)?`,
  );
  return text
    .split('\n')
    .map((line, index) => (index === 0 ? line : line.replace(indent, '')))
    .join('\n')
    .trim();
}

/** An item of a list: nothing that a note leaves open reaches beyond it. */
export function noteAsItem(number: number, text: string): string {
  const marker = `${number}. `;
  return marker + text.replaceAll(/\n(?!\n|$)/g, `\n${' '.repeat(marker.length)}`);
}

/** A tag, in which a mark is a word: the description of an image. */
const TAG = /<(\/?)([a-z][a-z\d]*)[^>]*>/gi;

/** Footnotes in HTML: each mention leads to its note, which stands at the end and leads back. */
export class HtmlFootnotes implements FootnoteMarks {
  /** Begins each mark. A text holds it only if it was made to, and then has one more mention of its own note. */
  private readonly id: string;
  private readonly words: RegExp;
  readonly start: string;
  readonly end: string;

  constructor(markdown: string) {
    this.id = `fn${Bun.hash(markdown).toString(36).slice(0, 5)}`;
    this.words = new RegExp(`${this.id}n(\\d+)`, 'g');
    this.start = `${this.id}start`;
    this.end = `${this.id}end`;
  }

  mention(number: number): string {
    return `<sup>${this.id}n${number}</sup>`;
  }

  readonly note = noteAsItem;

  /** Finishes what was rendered of the marked text. */
  finish(html: string): string {
    if (!html.includes(this.id)) return html;
    const [body, notes] = takeBetween(html, `<p>${this.start}</p>`, `<p>${this.end}</p>`);
    const counts: number[] = [];
    const linked = this.linkMentions(body, counts, notes !== '');
    if (notes === '') return linked;
    const linkedNotes = this.linkMentions(notes, counts, true);
    return `${linked.trimEnd()}\n<section class="footnotes">\n${this.linkNotes(linkedNotes.trim(), counts)}\n</section>\n`;
  }

  private linkMentions(html: string, counts: number[], hasNotes: boolean): string {
    const mark = new RegExp(`(?:<sup>)?${this.words.source}(?:</sup>)?|${TAG.source}`, 'gi');
    let links = 0;
    return html.replaceAll(mark, (written, number?: string, slash?: string, name?: string) => {
      if (number === undefined) {
        if (name === 'a') links += slash === '/' ? -1 : 1;
        return written.replaceAll(this.words, '[$1]');
      }
      if (links > 0 || !hasNotes) return `<sup>${number}</sup>`;
      const count = (counts[Number(number)] ?? 0) + 1;
      counts[Number(number)] = count;
      const id = `${this.id}-ref-${number}${count > 1 ? `-${count}` : ''}`;
      return `<sup><a href="#${this.id}-${number}" id="${id}" role="doc-noteref" aria-label="Footnote ${number}">${number}</a></sup>`;
    });
  }

  private linkNotes(html: string, counts: readonly number[]): string {
    let depth = 0;
    let number = 0;
    return html.replaceAll(
      /(<\/p>\s*)?<(\/?)(li|ol|ul)\b[^>]*>/g,
      (written, end: string | undefined, slash, name) => {
        if (name !== 'li') {
          depth += slash === '/' ? -1 : 1;
          return written;
        }
        if (depth !== 1) return written;
        if (slash === '') return `${end ?? ''}<li id="${this.id}-${++number}">`;
        const backs = Array.from({ length: counts[number] ?? 0 }, (_, index) => {
          const nth = index === 0 ? '' : `-${index + 1}`;
          const mark = index === 0 ? '↩' : `↩<sup>${index + 1}</sup>`;
          return ` <a href="#${this.id}-ref-${number}${nth}" role="doc-backlink" aria-label="Back to reference ${number}${nth}">${mark}</a>`;
        }).join('');
        return `${backs}${written}`;
      },
    );
  }
}

/** Cuts out the text between two marks. Empty when they are not there. */
export function takeBetween(text: string, start: string, end: string): [rest: string, between: string] {
  const from = text.indexOf(start);
  const to = text.indexOf(end, from);
  if (from === -1 || to === -1) return [text, ''];
  return [text.slice(0, from) + text.slice(to + end.length).trimStart(), text.slice(from + start.length, to)];
}

// GitHub's alerts: quotes that begin with `[!NOTE]`. docs.github.com, "Basic writing and formatting syntax".

const KINDS = 'note|tip|important|warning|caution';

const nameOf = (kind: string) => kind.charAt(0).toUpperCase() + kind.slice(1).toLowerCase();

/** Stands for the brackets of an alert until it is rendered. No text has it: Unicode calls it a noncharacter. */
const MARK = '\ufdd0';
const MARKED = new RegExp(`${MARK}(${KINDS})?`, 'gi');
const WRITTEN = new RegExp(`>[ \\t]*\\[!(?:${KINDS})\\]`, 'i');
const FIRST_LINE = new RegExp(`\\[!(${KINDS})\\](?=(?:[ \\t\\r]*|\\\\)(?:\\n|$))`, 'iy');

/**
 * Marks alerts: quotes at the top level, as on GitHub, with a body. Rendered, `\[!NOTE]` would look the same. The marks make no
 * text longer.
 */
export function markAlerts(markdown: string): string {
  const text = withoutAlertMarks(markdown);
  if (!WRITTEN.test(text)) return text;
  const { source, tree } = parseBlocks(text);
  let marked = '';
  let at = 0;
  for (const quote of tree.topNode.getChildren('Blockquote')) {
    const { from = 0, to = 0, nextSibling } = quote.getChild('Paragraph') ?? {};
    FIRST_LINE.lastIndex = from;
    const [written, kind] = FIRST_LINE.exec(source) ?? [];
    const isFirst = /^>[ \t]*$/.test(source.slice(quote.from, from));
    if (written === undefined || !isFirst || !hasBody(source.slice(from + written.length, to), nextSibling))
      continue;
    marked += `${source.slice(at, from)}${MARK}${kind}`;
    at = from + written.length;
  }
  return marked + source.slice(at);
}

function hasBody(rest: string, next: SyntaxNode | null | undefined): boolean {
  let node = next;
  while (node != null && /^(?:QuoteMark|CommentBlock)$/.test(node.name)) node = node.nextSibling;
  return node != null || rest.trim() !== '';
}

/** Writes the brackets again. */
export function withoutAlertMarks(text: string): string {
  return text.includes(MARK)
    ? text.replaceAll(MARKED, (_, kind = '') => (kind === '' ? '' : `[!${kind}]`))
    : text;
}

const IN_HTML = new RegExp(`<blockquote>\\n<p>${MARK}(${KINDS})(?:[ \\t]*(?:<br />)?\\n|(</p>\\n))`, 'gi');

/** Gives marked alerts their title and a class. */
export function withAlerts(html: string): string {
  const titled = html.replaceAll(IN_HTML, (_, kind: string, end?: string) => {
    const title = `<blockquote class="alert alert-${kind.toLowerCase()}">\n<p class="alert-title">${nameOf(kind)}</p>\n`;
    return end === undefined ? `${title}<p>` : title;
  });
  return withoutAlertMarks(titled);
}

const IN_PLAIN_TEXT = new RegExp(`^\\s*${MARK}(${KINDS})[ \\t\\r]*\\n(?=(\\n?))`, 'i');

/** `Note: …` for the plain text of a marked quote. */
export function plainAlert(text: string): string {
  return text.replace(IN_PLAIN_TEXT, (_, kind: string, blank: string) =>
    blank === '' ? `${nameOf(kind)}: ` : `${nameOf(kind)}:\n`,
  );
}

// Shortcodes of emoji, as GitHub has them.

let emojis: ReadonlyMap<string, string> | undefined;

function emojiOf(name: string): string | undefined {
  emojis ??= new Map(
    emojiTable()
      .split('\n')
      .map((line) => line.split(' ', 2) as [string, string]),
  );
  return emojis.get(name);
}

/** Not in an address or a time: `10:100:30`. */
const SHORTCODE = /(?<![\w/.]):([\w+-]{1,50}):(?!\w)/g;

/** Replaces the shortcodes of a text, such as `:tada:`. Others stay. */
export function withEmoji(text: string): string {
  return text.replaceAll(SHORTCODE, (written, name: string) => emojiOf(name) ?? written);
}

const TAG_OR_WORDS = /<(\/?)([a-z][a-z\d]*)[^>]*>|[^<]+/gi;

export function withEmojiInHtml(html: string): string {
  if (!html.includes(':')) return html;
  let depth = 0;
  return html.replaceAll(TAG_OR_WORDS, (part, slash?: string, name?: string) => {
    if (name === undefined) return depth > 0 ? part : withEmoji(part);
    if (/^(?:code|pre|kbd|samp)$/.test(name)) depth += slash === '/' ? -1 : 1;
    return part;
  });
}
