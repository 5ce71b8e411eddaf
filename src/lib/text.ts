// Texts from outside, cut to what a log, a page or a post can take. Providers set bounds of their own; a payload
// may still hold anything.

/** Longest notes, descriptions and bodies that are kept, in characters. */
export const MAX_BODY_LENGTH = 200_000;

/** One line: runs of white space and control characters become a space, and what is too long ends in `…`. */
export function cutLine(text: string, maxLength: number): string {
  // As much as can matter, so that a huge text costs little.
  const start = text.slice(0, maxLength * 2);
  const line = start.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim();
  return line.length <= maxLength && start === text ? line : `${cut(line, maxLength - 1).trimEnd()}…`;
}

/** Text of many lines, with `\n` line ends. One that is too long ends in a note that says so. */
export function cutText(text: string, maxLength: number): string {
  const clean = text.replaceAll('\r\n', '\n');
  if (clean.length <= maxLength) return clean;
  const note = `\n\n(Cut here: the whole text has ${clean.length.toLocaleString('en')} characters.)`;
  return `${cut(clean, maxLength - note.length)}${note}`;
}

/** The first characters, never half of a surrogate pair. */
function cut(text: string, length: number): string {
  return text.slice(0, length).replace(/[\uD800-\uDBFF]$/, '');
}

/** `1 commit`, `3 commits`. */
export function count(number: number, noun: string): string {
  return `${number.toLocaleString('en')} ${noun}${number === 1 ? '' : 's'}`;
}
