import { isSafeAddress, toDestination } from './address.ts';

// U+0001 to U+0003 stand for what begins a line in a quote or a list item, and count as white space.
// biome-ignore-start lint/suspicious/noControlCharactersInRegex: they are the marks
const SPACE = /[ \t\u0001-\u0003]*(?:\n[ \t\u0001-\u0003]*)?/y;
const POINTED = /<((?:[^<>\n\\]|\\.)*)>/y;
const TITLE = /"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*'|\((?:[^()\\]|\\[\s\S])*\)/y;
const BARE_END = /[\s()\\\u0001-\u0003]/g;
const DEFINITION = /[ \t\u0001-\u0003]{0,3}\[(?:[^[\]\\]|\\[\s\S]){1,999}\]:/y;
const LINE_END = /[ \t]*(?=\n|$)/y;
// biome-ignore-end lint/suspicious/noControlCharactersInRegex: they are the marks

/** Longer labels, titles and addresses in brackets than these are text. */
const MAX_LENGTH = 4000;
/** CommonMark's own bound on parentheses in an address. */
const MAX_DEPTH = 32;

interface Target {
  /** Where the address begins and ends, with the brackets around it. */
  start: number;
  end: number;
  /** The address, as it is written. */
  address: string;
  isPointed: boolean;
}

/** What follows `](` in a link, or a definition's colon. Whether it may stay is another question. */
export interface Link extends Target {
  title: string;
  /** Where the text goes on, behind the closing bracket; null when it is no link after all. */
  after: number | null;
}

/** Reads a link's `(address "title")` whose opening bracket stands at `at`. */
export function readLink(text: string, at: number): Link {
  const target = readTarget(text, skip(SPACE, text, at + 1));
  const space = skip(SPACE, text, target.end);
  const title = space > target.end ? match(TITLE, text, space) : '';
  const close = skip(SPACE, text, space + title.length);
  return { ...target, title, after: text[close] === ')' ? close + 1 : null };
}

/** Reads a definition (`[name]: address "title"`) that begins at `at`, or returns null. */
export function readDefinition(text: string, at: number): Target | null {
  const label = match(DEFINITION, text, at);
  if (label === '') return null;
  const target = readTarget(text, skip(SPACE, text, at + label.length));
  if (target.start === target.end) return null;
  const space = skip(SPACE, text, target.end);
  const title = space > target.end ? match(TITLE, text, space) : '';
  const end = isLineEnd(text, space + title.length) || isLineEnd(text, target.end);
  return end ? target : null;
}

/** What stands for an address in the result: itself where it does no harm, or null when it must go. */
export function cleanAddress({ address, isPointed, start, end }: Target, text: string): string | null {
  if (!isSafeAddress(address.replaceAll(/\\(?=[!-/:-@[-`{-~])/g, ''))) return null;
  const written = text.slice(start, end);
  if (isPointed ? /^(?:https?:[^\s\\`]*|[^a-z/!?\\`][^\\`]*)$/i.test(address) : !/[<>`]/.test(address))
    return written;
  return toDestination(address);
}

function readTarget(text: string, start: number): Target {
  const pointed = match(POINTED, text, start);
  if (pointed !== '') {
    return { start, end: start + pointed.length, address: pointed.slice(1, -1), isPointed: true };
  }
  // One that begins with `<` must be in brackets.
  const end = text[start] === '<' ? start : bareEnd(text, start);
  return { start, end, address: text.slice(start, end), isPointed: false };
}

/** An address without brackets around it ends at white space, or at a parenthesis that nothing opened. */
function bareEnd(text: string, start: number): number {
  BARE_END.lastIndex = start;
  for (let depth = 0; ; ) {
    const at = BARE_END.exec(text)?.index ?? text.length;
    const character = text[at];
    if (character === '\\') BARE_END.lastIndex = at + (/[!-/:-@[-`{-~]/.test(text[at + 1] ?? '') ? 2 : 1);
    else if (character === '(' && depth < MAX_DEPTH) depth++;
    else if (character === ')' && depth > 0) depth--;
    else return at;
  }
}

/** What a pattern finds at a place, looking only so far that many of them in a text cost little. */
function match(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = 0;
  return pattern.exec(text.slice(at, at + MAX_LENGTH))?.[0] ?? '';
}

function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return at + (pattern.exec(text)?.[0].length ?? 0);
}

function isLineEnd(text: string, at: number): boolean {
  LINE_END.lastIndex = at;
  return LINE_END.test(text);
}
