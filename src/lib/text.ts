// Cuts texts from outside to a length that a log, a page or a post can hold. A payload may hold anything.

/** For notes, descriptions and bodies, in characters. */
export const MAX_BODY_LENGTH = 200_000;

/** Joins lines: runs of white space and control characters become a space. A longer text ends in `…`. */
export function cutLine(text: string, maxLength: number): string {
  // Read only the part that can matter of a huge text.
  const start = text.slice(0, maxLength * 2);
  const line = start.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim();
  return line.length <= maxLength && start === text ? line : `${cut(line, maxLength - 1).trimEnd()}…`;
}

/** Keeps lines, with `\n` line ends. A longer text ends in a note about the cut. */
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
