import { emojiTable } from './emoji-table.ts' with { type: 'macro' };
import { parseActive } from './parse.ts';

// GitHub's alerts: quotes that begin with `[!NOTE]`. docs.github.com, "Basic writing and formatting syntax".

const KINDS = 'note|tip|important|warning|caution';

const nameOf = (kind: string) => kind.charAt(0).toUpperCase() + kind.slice(1).toLowerCase();

const BLOCK = new RegExp(
  `<(/?)(?:blockquote|li)>(?:\\n<p>\\[!(${KINDS})\\](?:\\n|</p>\\n(?!</blockquote>)))?`,
  'gi',
);

/** Gives alerts their title and a class, at the top level alone, as GitHub does. */
export function withAlerts(html: string): string {
  if (!html.includes('[!')) return html;
  let depth = 0;
  return html.replaceAll(BLOCK, (written, slash: string, kind?: string) => {
    const isOutside = depth === 0;
    depth += slash === '/' ? -1 : 1;
    if (kind === undefined || !isOutside || !written.startsWith('<blockquote')) return written;
    const title = `<blockquote class="alert alert-${kind.toLowerCase()}">\n<p class="alert-title">${nameOf(kind)}</p>\n`;
    return written.endsWith('</p>\n') ? title : `${title}<p>`;
  });
}

const IN_PLAIN_TEXT = new RegExp(`^\\s*\\[!(${KINDS})\\][ \\t]*\\n(?=(\\n?)[\\s\\S])`, 'i');

/** `Note: …` for the plain text of a quote. */
export function plainAlert(text: string): string {
  return text.replace(IN_PLAIN_TEXT, (_, kind: string, blank: string) =>
    blank === '' ? `${nameOf(kind)}: ` : `${nameOf(kind)}:\n`,
  );
}

const DEFINITION = /^ {0,3}\[\^([^\s[\]]{1,100})\]:[ \t]*/;
const ANY_DEFINITION = new RegExp(DEFINITION, 'm');
const MENTION = /(?<!\\)\[\^([^\s[\]]{1,100})\]/g;
/** More stay as they are written, since a mark is longer than a mention. */
const MAX_MENTIONS = 1_000;

const CODE = new Set(['FencedCode', 'CodeBlock', 'InlineCode', 'HTMLBlock', 'CommentBlock', 'URL']);

/**
 * Footnotes: `word[^1]`, and a line `[^1]: The note.`, whose words other renderers take for the address of a link.
 * Both get the number of the note, in the order of the mentions, as `mark` writes it. Code stays.
 */
export function withFootnotes(markdown: string, mark: (number: number) => string): string {
  if (!ANY_DEFINITION.test(markdown)) return markdown;
  const { source, tree } = parseActive(markdown);
  const code: { from: number; to: number }[] = [];
  tree.iterate({
    enter({ name, from, to }) {
      if (!CODE.has(name)) return true;
      code.push({ from, to });
      return false;
    },
  });
  let at = 0;
  /** Asked from the start of the source to its end. */
  function isCode(position: number): boolean {
    while ((code[at]?.to ?? Number.POSITIVE_INFINITY) <= position) at++;
    return (code[at]?.from ?? Number.POSITIVE_INFINITY) <= position;
  }

  const defined = new Set<string>();
  let from = 0;
  const lines = source.split('\n').map((line) => {
    const start = from;
    from += line.length + 1;
    const [head = '', name = ''] = DEFINITION.exec(line) ?? [];
    const isNote = head !== '' && !defined.has(name) && !isCode(start + head.indexOf('['));
    if (isNote) defined.add(name);
    return { line, start, head, note: isNote ? name : null };
  });
  if (defined.size === 0) return markdown;

  const numbers = new Map<string, number>();
  const numberOf = (name: string) => {
    const number = numbers.get(name) ?? numbers.size + 1;
    numbers.set(name, number);
    return number;
  };
  at = 0;
  let mentions = 0;
  const withMarks = (text: string, start: number) =>
    text.replaceAll(MENTION, (mention, name, index) => {
      if (!defined.has(name) || isCode(start + index) || mentions === MAX_MENTIONS) return mention;
      mentions++;
      return mark(numberOf(name));
    });
  const marked = lines.map(({ line, start, head, note }) => {
    const begin = note === null ? 0 : head.length;
    return { note, line, text: withMarks(line.slice(begin), start + begin) };
  });
  let isInNote = false;
  return marked
    .map(({ text, note, line }) => {
      if (note !== null) {
        isInNote = true;
        return `\n${mark(numberOf(note))} ${text}`;
      }
      // What belongs to a note stands below its words.
      if (isInNote && /^(?: {4}|\t)/.test(line)) return text.replace(/^(?: {4}|\t)/, '');
      isInNote &&= line.trim() === '';
      return text;
    })
    .join('\n');
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

/** The same in HTML, outside of code. */
export function withEmojiInHtml(html: string): string {
  if (!html.includes(':')) return html;
  let depth = 0;
  return html.replaceAll(TAG_OR_WORDS, (part, slash?: string, name?: string) => {
    if (name === undefined) return depth > 0 ? part : withEmoji(part);
    if (/^(?:code|pre|kbd|samp)$/.test(name)) depth += slash === '/' ? -1 : 1;
    return part;
  });
}
