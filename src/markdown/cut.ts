/** How far before the end of the room a word may begin that is left out. */
const WORD = 40;

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });

/**
 * The first `maxLength` UTF-16 units at most, ending in `…` when something was left out: never within what a reader
 * sees as one character, and between words when a space is near. Looks at no more than `maxLength` units.
 */
export function cutGraphemes(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  if (maxLength < 1) return '';
  const room = maxLength - 1;
  const from = safeStart(text, room - WORD);
  // Whether there is a boundary depends on what is before it, and on one character after it.
  const places = Array.from(segmenter.segment(text.slice(from, room + 2)), ({ index }) => from + index);
  const ends = places.filter((at) => at <= room);
  const isSpace = (at: number | undefined) => /\s/.test(text.charAt(at ?? 0));
  const word = ends.findLastIndex((at) => at >= room - WORD && isSpace(at));
  let last = word === -1 ? ends.length - 1 : word;
  while (last > 0 && isSpace(ends[last - 1])) last--;
  return `${text.slice(0, ends[last])}…`;
}

/** The last place up to `at` that is certainly a boundary: between two ASCII characters, or the beginning. */
function safeStart(text: string, at: number): number {
  for (let start = at; start > 0; start--) {
    if (isPlain(text, start - 1) && isPlain(text, start)) return start;
  }
  return 0;
}

function isPlain(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0x20 && code < 0x7f;
}
