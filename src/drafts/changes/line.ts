import { cutLine } from '../../lib/text.ts';

/** Longest text of a change, in characters. */
const MAX_TEXT_LENGTH = 300;
const MAX_SCOPE_LENGTH = 50;
const MAX_AUTHOR_LENGTH = 100;

// They turn round the direction of all that follows, on a page that has other texts beside this one.
const BIDI_CONTROLS = /[\u202a-\u202e\u2066-\u2069]/g;

/** A dot, a slash, an underscore, a bracket, or a capital within a word: a name of code rather than a word. */
const CODE_WORD = /[._/\\()=<>$@]|\p{Ll}\p{Lu}/u;

/** One line of well-formed text without controls of direction, at most `maxLength` characters. */
export function lineOf(text: string, maxLength = MAX_TEXT_LENGTH): string {
  return cutLine(text.replaceAll(BIDI_CONTROLS, '').trim().toWellFormed(), maxLength);
}

/** A change's text: capitalised unless it begins with code, without its final full stop. */
export function textOf(words: string, { isCode = false } = {}): string {
  const line = lineOf(words);
  const text = /[^.。][.。]$/u.test(line.slice(-2)) ? line.slice(0, -1).trimEnd() : line;
  return isCode ? text : capitalise(text);
}

/** A scope as one short line, or null when nothing is left of it. */
export function scopeOf(scope: string | null): string | null {
  return lineOf(scope ?? '', MAX_SCOPE_LENGTH) || null;
}

/** Names as short lines, each once. */
export function authorsOf(...names: (string | null)[]): string[] {
  return [...new Set(names.map((name) => lineOf(name ?? '', MAX_AUTHOR_LENGTH)).filter(Boolean))];
}

function capitalise(text: string): string {
  const [word = ''] = text.split(' ', 1);
  if (word.startsWith('`') || CODE_WORD.test(word.replace(/[.,:;!?…]+$/, ''))) return text;
  const [first = ''] = text;
  const upper = first.toUpperCase();
  // Some letters have no capital of their own and become two.
  return upper.length === first.length ? upper + text.slice(first.length) : text;
}
