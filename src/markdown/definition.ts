import type { BlockContext, Element, LeafBlock, LeafBlockParser, Line } from '@lezer/markdown';

// Definitions of links: `[label]: destination "title"`. The library's own parser reads all their lines again at each line.

/** The limit of CommonMark, in characters. */
const MAX_LABEL = 999;

/** Ends of titles by their beginnings. */
const CLOSERS: Record<string, string> = { '"': '"', "'": "'", '(': ')' };

/** A line from its first character on, and where it begins in the document. */
type Place = Pick<Line, 'text' | 'pos'> & { lineStart: number };

/** Where the definition ends if no more lines belong to it, in the document. Null when it is none. */
type End = number | null;

/** Reads a paragraph as a definition. */
export class DefinitionParser implements LeafBlockParser {
  private readonly elements: Element[] = [];
  private readonly reading: Generator<End, End, Place>;
  private end: End = null;

  constructor(
    cx: BlockContext,
    private readonly start: number,
    text: string,
  ) {
    this.reading = readDefinition(cx, this.elements, { text, pos: 0, lineStart: start });
    this.end = this.reading.next().value;
  }

  nextLine(cx: BlockContext, { text, pos }: Line, leaf: LeafBlock): boolean {
    const { value, done = false } = this.reading.next({ text, pos, lineStart: cx.lineStart });
    // Once it has returned, a generator has no value.
    this.end = value ?? null;
    return done && this.finish(cx, leaf);
  }

  finish(cx: BlockContext, leaf: LeafBlock): boolean {
    if (this.end === null) return false;
    cx.addLeafElement(leaf, cx.elt('LinkReference', this.start, this.end, this.elements));
    return true;
  }
}

/** Yields for each further line, and returns when the line is not part of the definition. Reads each line once. */
function* readDefinition(cx: BlockContext, elements: Element[], first: Place): Generator<End, End, Place> {
  let { text, pos, lineStart } = first;
  const read = (next: Place) => {
    ({ text, pos, lineStart } = next);
  };
  const add = (name: string, from: number, to: number) => {
    elements.push(cx.elt(name, from, to));
    pos = to - lineStart;
  };
  const skipSpace = () => {
    while (/\s/.test(text.charAt(pos))) pos++;
    return pos === text.length;
  };

  const start = lineStart + pos;
  let words = '';
  for (pos++; ; read(yield null)) {
    const end = findPlain(text, pos, '[]');
    words += ` ${text.slice(pos, end)}`;
    if (words.length > MAX_LABEL) return null;
    pos = end;
    if (end < text.length) break;
  }
  if (words.trim() === '' || !text.startsWith(']:', pos)) return null;
  add('LinkLabel', start, lineStart + pos + 1);
  add('LinkMark', lineStart + pos, lineStart + pos + 1);

  while (skipSpace()) read(yield null);
  const destination = endOfDestination(text, pos);
  if (destination === pos) return null;
  add('URL', lineStart + pos, lineStart + destination);
  if (!/^\s?$/.test(text.charAt(pos))) return null;

  let end: End = null;
  if (skipSpace()) {
    end = lineStart + pos;
    read(yield end);
  }
  const closer = CLOSERS[text.charAt(pos)];
  if (closer === undefined) return end;
  const titleStart = lineStart + pos;
  for (pos++; ; read(yield null)) {
    const close = findPlain(text, pos, closer);
    pos = close + 1;
    if (close < text.length) break;
    // A title below its destination fits in one line, or the destination stands alone.
    if (end !== null) return end;
  }
  const titleEnd = lineStart + pos;
  if (!skipSpace()) return end;
  elements.push(cx.elt('LinkTitle', titleStart, titleEnd));
  end = lineStart + pos;
  yield end;
  return end;
}

/** `from` itself when there is none. */
function endOfDestination(text: string, from: number): number {
  if (text[from] === '<') {
    const end = findPlain(text, from + 1, '<>');
    return text[end] === '>' ? end + 1 : from;
  }
  let open = 0;
  for (let at = from; at < text.length; at++) {
    const character = text.charAt(at);
    if (/\s/.test(character)) return at;
    if (character === '\\' && /\S/.test(text.charAt(at + 1))) at++;
    else if (character === '(') open++;
    else if (character === ')' && --open < 0) return at;
  }
  return text.length;
}

/** The first of these characters without a backslash before it, or the end. */
function findPlain(text: string, from: number, characters: string): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (characters.includes(text.charAt(at))) return at;
  }
  return text.length;
}
