import { turns } from './time.ts';

// JSON that others wrote, in pieces: a large text holds the thread for seconds when it has a million names or strings.

const [TAB, LINE_FEED, RETURN, SPACE, QUOTE, COMMA, BACKSLASH] = [9, 10, 13, 32, 34, 44, 92];
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [91, 93, 123, 125];

/** The change of depth at a character: 1, 0 or -1. */
export function depthOf(character: number): number {
  if (character === OPEN_BRACKET || character === OPEN_BRACE) return 1;
  return character === CLOSE_BRACKET || character === CLOSE_BRACE ? -1 : 0;
}

export function skipSpace(text: string, begin: number): number {
  for (let at = begin; at < text.length; at++) {
    const each = text.charCodeAt(at);
    if (each !== SPACE && each !== LINE_FEED && each !== TAB && each !== RETURN) return at;
  }
  return text.length;
}

/** The place of the quote that ends a string, or the end of the text. */
export function endOfString(text: string, begin: number): number {
  let at = begin + 1;
  for (; at < text.length; at++) {
    const each = text.charCodeAt(at);
    if (each === QUOTE) return at;
    if (each === BACKSLASH) at++;
  }
  return at;
}

/** Characters that are parsed at once: at worst strings of three letters, each of which takes a microsecond. */
const PIECE = 32 * 1024;

/** Larger values may nest so deep. */
const MAX_DEPTH = 100;

/** Names of a large object. The thread is held while its table grows. */
const MAX_NAMES = 20_000;

/** Strings of a text, names included. The engine's table of them holds the thread when it grows: 0.2 s at a million. */
const MAX_STRINGS = 2_000_000;

/** The message completes a sentence about the text. */
export class JsonTooLarge extends Error {}

/** As of `JSON.parse`, for values that are neither objects nor arrays. */
type Reviver = (name: string, value: unknown, context?: { source?: string }) => unknown;

type Whole = unknown[] | Record<string, unknown>;

/** `JSON.parse` of an object or array, which lets others in meanwhile. Throws `SyntaxError` and `JsonTooLarge`. */
export async function parseJsonInTurns(text: string, reviver?: Reviver): Promise<unknown> {
  if (text.length <= PIECE) return JSON.parse(text, reviver);
  const turn = turns();
  let strings = 0;

  async function readWhole(begin: number, depth: number): Promise<{ whole: Whole; end: number }> {
    if (depth > MAX_DEPTH) throw new JsonTooLarge('nests too deeply');
    const isArray = text[begin] === '[';
    if (!isArray && text[begin] !== '{') throw new SyntaxError('Neither an object nor an array');
    const whole: Whole = isArray ? [] : {};
    let at = begin + 1;
    let names = 0;
    for (let isFirst = true; ; isFirst = false) {
      await turn();
      const piece = endOfPiece(text, at);
      if (piece === null) {
        const { name, value } = isArray ? { name: '', value: skipSpace(text, at) } : readName(text, at);
        const inner = await readWhole(value, depth + 1);
        add(whole, name, inner.whole);
        at = skipSpace(text, inner.end);
      } else {
        const { end } = piece;
        strings += piece.strings;
        if (strings > MAX_STRINGS) throw new JsonTooLarge('has too many strings');
        const part = end - at > PIECE ? await readLong(isArray, at, end) : readPart(isArray, at, end);
        const count = addAll(whole, part);
        const mayBeEmpty = isFirst && text[end] !== ',';
        if (count === 0 && !mayBeEmpty) throw new SyntaxError('Nothing beside a comma');
        names += isArray ? 0 : count;
        if (names > MAX_NAMES) throw new JsonTooLarge('has an object with too many names');
        at = end;
      }
      if (text[at] === (isArray ? ']' : '}')) return { whole, end: at + 1 };
      if (text[at] !== ',') throw new SyntaxError('Neither a comma nor an end');
      at++;
    }
  }

  function readPart(isArray: boolean, begin: number, end: number): Whole {
    const inside = text.slice(begin, end);
    return JSON.parse(isArray ? `[${inside}]` : `{${inside}}`, reviver);
  }

  /** One member without anything in it, such as a string of many megabytes. */
  async function readLong(isArray: boolean, begin: number, end: number): Promise<Whole> {
    const first = skipSpace(text, begin);
    if (text[first] !== '"') return readPart(isArray, begin, end);
    const { name, value: from } = isArray ? { name: '', value: first } : readName(text, begin);
    if (text[from] !== '"') return readPart(isArray, begin, end);
    const parts: string[] = [];
    let at = from + 1;
    while (text[at] !== '"') {
      await turn();
      const to = endOfCharacters(text, at);
      parts.push(JSON.parse(`"${text.slice(at, to)}"`));
      at = to;
    }
    if (skipSpace(text, at + 1) !== end) throw new SyntaxError('Text after a string');
    const whole: Whole = isArray ? [] : {};
    add(whole, name, parts.join(''));
    return whole;
  }

  const { whole, end } = await readWhole(skipSpace(text, 0), 1);
  if (skipSpace(text, end) < text.length) throw new SyntaxError('Text after the end');
  return whole;
}

/**
 * The last comma between members within the size of a piece, or the end, and how many strings are before it. Null: the first
 * member is larger.
 */
function endOfPiece(text: string, begin: number): { end: number; strings: number } | null {
  let depth = 0;
  let strings = 0;
  let comma = -1;
  let before = 0;
  for (let at = begin; at < text.length; at++) {
    if (at - begin > PIECE && comma !== -1) return { end: comma, strings: before };
    if (at - begin > PIECE && depth > 0) return null;
    const each = text.charCodeAt(at);
    if (depth === 0 && each === COMMA) [comma, before] = [at, strings];
    if (each === QUOTE) {
      strings++;
      at = endOfString(text, at);
    }
    depth += depthOf(each);
    if (depth < 0) return { end: at, strings };
  }
  return { end: text.length, strings };
}

/** An end of characters of a string, within the size of a piece and not within an escape. Throws `SyntaxError`. */
function endOfCharacters(text: string, begin: number): number {
  let at = begin;
  while (at - begin < PIECE && text.charCodeAt(at) !== QUOTE) {
    if (at >= text.length) throw new SyntaxError('No end of a string');
    at += text.charCodeAt(at) !== BACKSLASH ? 1 : text[at + 1] === 'u' ? 6 : 2;
  }
  return at;
}

function readName(text: string, begin: number): { name: string; value: number } {
  const from = skipSpace(text, begin);
  const end = endOfString(text, from) + 1;
  const name: unknown = JSON.parse(text.slice(from, end));
  const colon = skipSpace(text, end);
  if (typeof name !== 'string' || text[colon] !== ':') throw new SyntaxError('A name is missing');
  return { name, value: skipSpace(text, colon + 1) };
}

function addAll(whole: Whole, part: Whole): number {
  if (Array.isArray(whole) && Array.isArray(part)) {
    for (const value of part) whole.push(value);
    return part.length;
  }
  const entries = Object.entries(part);
  for (const [name, value] of entries) add(whole, name, value);
  return entries.length;
}

function add(whole: Whole, name: string, value: unknown): void {
  if (Array.isArray(whole)) whole.push(value);
  else if (name !== '__proto__') whole[name] = value;
  else Object.defineProperty(whole, name, { value, writable: true, enumerable: true, configurable: true });
}
