import { base58 } from '@scure/base';

/** The form of every id in a path or a record. */
export const ID_PATTERN = '^[A-Za-z0-9_-]{1,64}$';

/** The rest of a sentence about an id. */
export const ID_RULE = 'must be 1 to 64 letters, digits, "_" and "-"';

const idPattern = new RegExp(ID_PATTERN);

export function isId(value: unknown): value is string {
  return typeof value === 'string' && idPattern.test(value);
}

/** Makes new ids, such as `org_…`, `post_…`, `key_…`. */
export interface Ids {
  newId(prefix: string): string;
  /** The form of providers' delivery ids. */
  newUuid(): string;
}

/** Ids from UUIDv7, in base58: unique without a coordinator, and new ones sort near each other. */
export const randomIds: Ids = {
  newId: (prefix) => `${prefix}_${base58.encode(Bun.randomUUIDv7('buffer'))}`,
  newUuid: () => crypto.randomUUID(),
};

/** The same id for the same words, so that imports are repeatable. */
export function derivedId(prefix: string, ...words: string[]): string {
  const digest = Bun.SHA256.hash(words.join('\0')) as Uint8Array;
  return `${prefix}_${base58.encode(digest.subarray(0, 16))}`;
}

/** Random once. With another one, readers would show every post of a feed as new. */
const URN_NAMESPACE = '0a7c1b0e-6d0f-4f0c-9a5e-3b1c2d8e7f46';

/** The same URI for the same ids, on every server. */
export function derivedUrn(...ids: string[]): string {
  return `urn:uuid:${Bun.randomUUIDv5(ids.join('/'), URN_NAMESPACE)}`;
}

export const capitalized = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

export function randomToken(bytes: number): string {
  return base58.encode(crypto.getRandomValues(new Uint8Array(bytes)));
}

// Cuts texts from outside to a length that a log, a page or a post can hold. A payload may hold anything.

/** For notes, descriptions and bodies, in characters. */
export const MAX_BODY_LENGTH = 200_000;

/** Text that `cutLine` changes, whatever its length. */
const NO_LINE = /^ | $| {2}|[^\S ]|\p{Cc}/u;

/** Joins lines: runs of white space and control characters become a space. A longer text ends in `…`. */
export function cutLine(text: string, maxLength: number): string {
  if (text.length <= maxLength && !NO_LINE.test(text)) return text;
  // Read only the part that can matter of a huge text.
  const start = text.slice(0, maxLength * 2);
  const line = start.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim();
  return line.length <= maxLength && start === text ? line : `${cut(line, maxLength - 1).trimEnd()}…`;
}

/** The start of a text that fits in so many bytes of UTF-8. */
export function cutBytes(text: string, maxBytes: number): string {
  // No character has more bytes per unit.
  if (text.length * 3 <= maxBytes) return text;
  return text.slice(0, new TextEncoder().encodeInto(text, new Uint8Array(maxBytes)).read);
}

/** Keeps lines, with `\n` line ends. A longer text ends in a note about the cut. */
export function cutText(text: string, maxLength: number): string {
  const clean = text.replaceAll('\r\n', '\n');
  if (clean.length <= maxLength) return clean;
  const note = `\n\n(Cut here: the whole text has ${clean.length.toLocaleString('en')} characters.)`;
  return `${cut(clean, maxLength - note.length)}${note}`;
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** How far a character that people see as one may reach, in UTF-16 units. Longer ones are piles of accents. */
const MAX_GRAPHEME = 64;

/** The first characters, never half of one: an emoji or a letter with accents can have many code points. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  const start = startOfFlags(text, Math.max(0, length - MAX_GRAPHEME));
  const border = graphemes.segment(text.slice(start, length + MAX_GRAPHEME)).containing(length - start);
  const whole = border !== undefined && border.index > 0 ? start + border.index : length;
  return text.slice(0, whole).replace(/[\uD800-\uDBFF]$/, '');
}

/** Flags are pairs of letters, and only the start of a row of them tells which letters belong together. */
function startOfFlags(text: string, from: number): number {
  let start = from;
  const isLetter = (at: number) => /^\p{Regional_Indicator}$/u.test(text.slice(at, at + 2));
  if (/^[\uDC00-\uDFFF]/.test(text.slice(start))) start--;
  while (start >= 2 && isLetter(start) && isLetter(start - 2)) start -= 2;
  return Math.max(0, start);
}

/** `1 commit`, `3 commits`. */
export function count(number: number, noun: string, nouns = `${noun}s`): string {
  // The common case: formatting by locale takes many times as long.
  const digits = number < 1_000 ? String(number) : number.toLocaleString('en');
  return `${digits} ${number === 1 ? noun : nouns}`;
}

// Characters with which a stranger can control a terminal or reorder the text around their own: control characters and
// Unicode's bidirectional formatting characters.

/** All but tab and line feed. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the point of the pattern
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Everything that starts a new line or moves the cursor, as one run. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the point of the pattern
const CONTROLS_AND_BREAKS = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+/g;

/** Characters that `JSON.stringify` does not escape. */
const UNESCAPED = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

export function withoutControls(text: string): string {
  return text.replaceAll(CONTROLS, '');
}

export function onOneLine(text: string): string {
  return text.replaceAll(CONTROLS_AND_BREAKS, ' ');
}

/** Right-to-left letters and digits. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/**
 * Surrounds a line that has right-to-left text, and each such quoted part, with Unicode's isolates, so that it reorders
 * nothing beside it. Returns other lines unchanged.
 */
export function isolated(line: string): string {
  if (!RIGHT_TO_LEFT.test(line)) return line;
  const quotes = line.replaceAll(/“([^”]*)”/g, (all, quoted: string) =>
    RIGHT_TO_LEFT.test(quoted) ? `“\u2068${quoted}\u2069”` : all,
  );
  return `\u2068${quotes}\u2069`;
}

const ISOLATE_OR_EMBEDDING = /[\u202a-\u202e\u2066-\u2069]/;
const ISOLATES = /[\u2066-\u2069]/g;

/**
 * Surrounds a text that has bidirectional controls with Unicode's isolates, and ends those that it leaves open, so that it
 * reorders nothing beside it. Returns other texts unchanged.
 */
export function isolatedControls(text: string): string {
  if (!ISOLATE_OR_EMBEDDING.test(text)) return text;
  let open = 0;
  const inner = text.replaceAll(ISOLATES, (each) => {
    if (each !== '\u2069') open++;
    else if (open === 0) return '';
    else open--;
    return each;
  });
  return `\u2068${inner}${'\u2069'.repeat(open + 1)}`;
}

/** The same JSON value without characters that a terminal interprets. */
export function escapeControls(json: string): string {
  return json.replaceAll(UNESCAPED, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The fence of code that is open after a line of Markdown: its characters, such as three backticks, or nothing. */
export function fenceAfter(line: string, open: string): string {
  // In lists and quotes too, and in indented code, which is no fence.
  const text = line.replace(/^[\s>*+-]*(?:\d{1,9}[.)])?\s*/, '');
  const [fence = ''] = /^(?:`{3,}|~{3,})/.exec(text) ?? [];
  const rest = text.slice(fence.length);
  if (open !== '') return fence.startsWith(open) && rest.trim() === '' ? '' : open;
  return fence.startsWith('`') && rest.includes('`') ? '' : fence;
}

/** In a pattern `*` matches anything. Without patterns, true. */
export function fitsOne(patterns: readonly string[] | undefined, text: string): boolean {
  return patterns === undefined || patterns.some((pattern) => fits(pattern, text));
}

/** Takes time in proportion to the text: looks for each part once, from the end of the one before. */
function fits(pattern: string, text: string): boolean {
  const [first = '', ...parts] = pattern.split('*');
  const last = parts.pop();
  if (last === undefined) return text === first;
  const end = text.length - last.length;
  if (end < first.length || !text.startsWith(first) || !text.endsWith(last)) return false;
  const middle = text.slice(0, end);
  let from = first.length;
  for (const part of parts) {
    const at = middle.indexOf(part, from);
    if (at === -1) return false;
    from = at + part.length;
  }
  return true;
}
