import { cutText, MAX_BODY_LENGTH } from '../text.ts';
import {
  type FootnoteMarks,
  markAlerts,
  markFootnotes,
  noteAsItem,
  plainAlert,
  takeBetween,
  withEmoji,
  withoutAlertMarks,
} from './extensions.ts';
import { decodeEntities, STRUCTURE } from './html.ts';
import { renderWith } from './parse.ts';
import { rewrite } from './rewrite.ts';

// Plain text of Markdown, and plain text on its way into Markdown: cleaned, cut, escaped so that it keeps its words.

// Marks in the text under construction: `\u0001<br>\u0002` is an inline tag, and `\u0003` and a number code that was put aside.
// Tags leave `\u0004` before a row, `\u0005` before a cell, and `\u0006` before an item. Footnotes stand between `\u0007` and
// `\u0008`.
// biome-ignore lint/suspicious/noControlCharactersInRegex: matches the marks
const MARKS = /[\u0001-\u0008]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: matches the marks
const MARKED_TAG = /\u0001([^\u0002]*)\u0002/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: matches the marks
const LINE_BREAK = /\u0001<\/?br\b[^\u0002]*\u0002[ \t]*\n?/gi;
// biome-ignore lint/suspicious/noControlCharactersInRegex: matches the marks
const ASIDE = /\u0003(\d{1,9});/g;
// Match only from the start of a run of spaces: a long one inside a line would take quadratic time.
// biome-ignore lint/suspicious/noControlCharactersInRegex: matches the marks
const BREAKS = /(?<!\s)\s*[\u0004-\u0006][\s\u0004-\u0006]*/g;

const BETWEEN_CELLS = ' | ';

/** A link with such a text needs no address: an issue, a person, a commit, a version. */
const REFERENCE = /^(#\d+|@[\w-]+|[0-9a-f]{7,40}|v?\d+\.\d+[\w.+-]*)$/i;

const TAG = /^<\/?[a-z][^>]*>$/i;

/**
 * Text that reads well by itself: list markers, line breaks, addresses and code stay. Tags that pair are markup, others are
 * words. LinkedIn has no lists, hence `•`.
 */
export function toPlainText(
  markdown: string,
  bullet: '-' | '•' = '-',
  { keepsShortcodes = false } = {},
): string {
  const unmarked = markFootnotes(markAlerts(markdown.replaceAll(MARKS, '')), FOOTNOTES);
  const codes: string[] = [];
  const putAside = (code: string) => `\u0003${codes.push(code.replaceAll(MARKS, '')) - 1};`;
  const restored = (text: string) => text.replaceAll(ASIDE, (_, index) => codes[Number(index)] ?? '');
  const marked = renderWith(
    /<[a-z/!?]|\]:/i.test(unmarked) ? rewrite(unmarked, true) : unmarked,
    {
      heading: block,
      paragraph: block,
      blockquote: (children) => ownLines(plainAlert(children)),
      code: (code) => ownLines(putAside(code.replace(/\n$/, ''))),
      hr: () => '\n\n',
      list: (items, { depth }) => (depth > 0 ? `\n${items}` : `${items}\n`),
      listItem: (children, { ordered, start, index, checked }) => {
        const marker = ordered ? `${(start ?? 1) + index}.` : '-';
        const box = checked === undefined ? '' : checked ? '[x] ' : '[ ] ';
        const item = withoutTags(children).trim();
        // Most items are one line, and a text may have a hundred thousand.
        const lines = item.includes('\n')
          ? item.replaceAll(/\n+/g, `\n${' '.repeat(marker.length + 1)}`)
          : item;
        return `${marker} ${box}${lines}\n`;
      },
      table: ownLines,
      tr: (cells) => `${cells.slice(0, -BETWEEN_CELLS.length)}\n`,
      th: cellOf,
      td: cellOf,
      link: (children, { href }) => {
        const isAddress = /^https?:/i.test(href);
        return !isAddress || children === href || REFERENCE.test(restored(children))
          ? children
          : `${children} (${href})`;
      },
      image: (alt) => alt,
      html: (html) =>
        ownLines(withoutTags(decodeEntities(html.replaceAll(MARKS, '').replaceAll(TAGS, '\u0001$&\u0002')))),
      // Bun gives an inline tag as a text of its own. One in code stays.
      text: (text) => (TAG.test(text) ? `\u0001${text}\u0002` : text),
      codespan: putAside,
    },
    { autolinks: true },
  );
  const [body, notes] = takeBetween(withoutTags(marked), FOOTNOTES.start, FOOTNOTES.end);
  const words = `${body}\n\n${notes.replaceAll(NOTE, (_, number) => (number ? `[${number}] ` : '    '))}`;
  const text = (keepsShortcodes ? words : withEmoji(words))
    .replaceAll(/(?<![ \t])[ \t]+$/gm, '')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
  const bulleted = bullet === '-' ? text : text.replaceAll(/^( *)- /gm, `$1${bullet} `);
  return withoutAlertMarks(withCode(bulleted, codes));
}

/** The marker of a note, or the indent of its further lines. */
const NOTE = /^(?:(\d+)\. ?| {3})/gm;

/** As in print, at the end. */
const FOOTNOTES: FootnoteMarks = {
  mention: (number) => `\\[${number}\\]`,
  note: noteAsItem,
  start: '\u0007',
  end: '\u0008',
};

/** Ends with one blank line, also in nested quotes. */
function block(children: string): string {
  return children.endsWith('\n\n') ? children : `${children}\n\n`;
}

/** A block that may follow words of a list item. */
function ownLines(children: string): string {
  return children.startsWith('\n') ? block(children) : `\n${block(children)}`;
}

function cellOf(children: string): string {
  return withoutTags(children).replaceAll(/\s*\n\s*/g, ' ') + BETWEEN_CELLS;
}

const TAGS = /<\/?[a-z][^<>]*>/gi;

/** White space in the place of a tag. */
function spaceOf(tag: string): string {
  const [, slash, name = ''] = /^<(\/?)([a-z]+\d?)/i.exec(tag) ?? [];
  const isEnd = slash === '/';
  if (/^(?:table|tr)$/.test(name)) return isEnd && name === 'table' ? '\n\n' : '\u0004';
  if (/^(?:td|th)$/.test(name)) return isEnd ? '' : '\u0005';
  if (/^(?:li|dt|dd)$/.test(name)) return isEnd ? '' : '\u0006';
  return STRUCTURE.has(name) || name === 'hr' ? '\n\n' : '';
}

/** Puts lines, rows, items and cells in the place of tags. */
function withoutTags(marked: string): string {
  if (!marked.includes('\u0001')) return marked;
  return marked
    .replaceAll(LINE_BREAK, '\n')
    .replaceAll(MARKED_TAG, (_, tag: string) => spaceOf(tag))
    .replaceAll(BREAKS, (run) => {
      if (run.includes('\u0006')) return '\n- ';
      return run.includes('\u0004') ? '\n' : BETWEEN_CELLS;
    });
}

/** Puts code back, each line of a block indented as its first one. */
function withCode(text: string, codes: readonly string[]): string {
  if (codes.length === 0) return text;
  let lineStart = 0;
  return text.replaceAll(ASIDE, (_, index, at: number) => {
    const code = codes[Number(index)] ?? '';
    if (!code.includes('\n')) return code;
    lineStart = Math.max(lineStart, text.lastIndexOf('\n', at) + 1);
    const indent = ' '.repeat(at - lineStart);
    return code.replaceAll(/\n(?!\n|$)/g, `\n${indent}`);
  });
}

/** Controls that turn the direction of the text after them, even outside of the post. Right-to-left text needs none. */
const BIDI_CONTROLS = /[\u202a-\u202e\u2066-\u2069]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are removed
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** Well-formed text with `\n` line ends, and without control characters but tabs. */
export function cleanText(text: string): string {
  return text.replaceAll('\r\n', '\n').replaceAll(CONTROLS, '').replaceAll(BIDI_CONTROLS, '').toWellFormed();
}

/** Cuts between words when a space is as near as this, in UTF-16 units. */
const WORD = 40;

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Cuts to `maxLength` UTF-16 units with `…`: never within a grapheme, and between words when a space is near. */
export function cutGraphemes(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  if (maxLength < 1) return '';
  const room = maxLength - 1;
  // A boundary depends on one character after it.
  const places = Array.from(segmenter.segment(text.slice(0, room + 2)), ({ index }) => index);
  const ends = places.filter((at) => at <= room);
  const isSpace = (at: number | undefined) => /\s/.test(text.charAt(at ?? 0));
  const word = ends.findLastIndex((at) => at >= room - WORD && isSpace(at));
  let last = word === -1 ? ends.length - 1 : word;
  while (last > 0 && isSpace(ends[last - 1])) last--;
  return `${text.slice(0, ends[last])}…`;
}

/** Characters that could be markup, and addresses, in which fewer of them are. */
const SPECIAL = /https?:\/\/[\w\-.:/?#@!$&'()+,;=%~]+|\\+|\*+|_+|~+|`+|[[\]|<&]/gi;
const ENTITY = /&(?:#\d{1,7}|#x[\da-f]{1,6}|[a-z][a-z\d]{1,31});/iy;
/** The beginning of a heading, a quote, a list, a rule, or an underline, up to the character to escape. */
const LINE_START = /^(?:#{1,6}(?=\s|$)|>|[-+](?=\s|$)|-(?=[\s-]*$)|=+$|\d{1,9}(?=[.)](?:\s|$)))/;
const LESS = /<(?![a-z/!?]|$)(?![^\s<>]*@)/iy;
/** Underscores outside of words, and tildes. */
const RISKY_IN_ADDRESS = /(?<![a-z\d])_|_(?![a-z\d])|~/i;

/** Writes one line as Markdown that renders to the same words, escaped as little as possible. Code spans stay. */
export function inlineMarkdown(text: string): string {
  const line = text
    .toWellFormed()
    .replaceAll(BIDI_CONTROLS, '')
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  return escapeLine(line, true);
}

function escapeLine(line: string, keepsCode: boolean): string {
  const codeEnds = keepsCode ? codeSpans(line) : null;
  const [start = ''] = LINE_START.exec(line) ?? [];
  const isNumber = /^\d/.test(start);
  const pieces = isNumber ? [start, `\\${line[start.length]}`] : start === '' ? [] : [`\\${start}`];
  let written = isNumber ? start.length + 1 : start.length;
  SPECIAL.lastIndex = written;
  for (let match = SPECIAL.exec(line); match !== null; match = SPECIAL.exec(line)) {
    const [found] = match;
    const end = codeEnds?.get(match.index);
    const piece = end === undefined ? escapePiece(found, line, match.index) : line.slice(match.index, end);
    pieces.push(line.slice(written, match.index), piece);
    written = end ?? match.index + found.length;
    SPECIAL.lastIndex = written;
  }
  return pieces.join('') + line.slice(written);
}

/** Ends of code spans by their beginnings: a span ends at the next run of as many backticks. */
function codeSpans(line: string): ReadonlyMap<number, number> {
  const ends = new Map<number, number>();
  const next = new Map<number, number>();
  for (const { index, 0: run } of Array.from(line.matchAll(/`+/g)).reverse()) {
    const close = next.get(run.length);
    if (close !== undefined) ends.set(index, close + run.length);
    next.set(run.length, index);
  }
  return ends;
}

function escapePiece(found: string, line: string, at: number): string {
  const first = found.charAt(0);
  const before = line.slice(Math.max(0, at - 2), at);
  const after = line.slice(at + found.length, at + found.length + 2);
  if (first === 'h' || first === 'H') return escapeAddress(found);
  if (first === '<') return matchesAt(LESS, line, at) ? found : '\\<';
  if (first === '&') return matchesAt(ENTITY, line, at) ? '\\&' : found;
  if (first === '\\' && found.length === 1 && /^[^!-/:-@[-`{-~h]/i.test(after)) return found;
  if (/[*_~]/.test(first) && /\s$/.test(before) && /^\s/.test(after)) return found;
  // An underscore within a word is no markup.
  if (first === '_' && /[\p{L}\p{N}]$/u.test(before) && /^[\p{L}\p{N}]/u.test(after)) return found;
  return found.replaceAll(/[\s\S]/g, '\\$&');
}

/** Puts an address in angle brackets when something in it could be markup. */
function escapeAddress(found: string): string {
  if (/&[#a-z\d]+;/i.test(found)) return found.replaceAll(/[_~&]/g, '\\$&');
  if (!RISKY_IN_ADDRESS.test(found)) return found;
  let end = found.length;
  while (/[?!.,:_~'")&;]/.test(found.charAt(end - 1))) end--;
  const address = found.slice(0, end);
  const rest = found.slice(end).replaceAll(/[_~&]/g, '\\$&');
  return RISKY_IN_ADDRESS.test(address) ? `<${address}>${rest}` : address + rest;
}

function matchesAt(pattern: RegExp, text: string, at: number): boolean {
  pattern.lastIndex = at;
  return pattern.test(text);
}

const LIST_ITEM = /^(?:- |\d{1,9}\. )/;

/** Writes plain text as Markdown that has lines and flat lists, and else only words. Cuts it when it gets too long. */
export function escapeLines(text: string): string {
  const lines = text.split('\n').map((line) => {
    const trimmed = line.trim();
    const [marker = ''] = LIST_ITEM.exec(trimmed) ?? [];
    return marker + escapeLine(trimmed.slice(marker.length).trim(), false);
  });
  const escaped = lines.map((line, index) => {
    const next = lines[index + 1] ?? '';
    // Lines of one paragraph stay lines.
    return line === '' || next === '' || LIST_ITEM.test(next) ? line : `${line}  `;
  });
  const whole = escaped.join('\n');
  // Escaped text is at most four times as long.
  return whole.length <= MAX_BODY_LENGTH ? whole : escapeLines(cutText(text, MAX_BODY_LENGTH / 4));
}
