// Emojis that titles begin with (gitmoji.dev), by code point, so that this file has none: those few whose meaning
// is plain, as the type that they stand for.
const meanings: [codePoint: number, shortcode: string, type: string][] = [
  [0x2728, 'sparkles', 'feat'],
  [0x1f41b, 'bug', 'fix'],
  [0x1f512, 'lock', 'security'],
  [0x1f525, 'fire', 'remove'],
  [0x1f4a5, 'boom', 'breaking'],
  [0x26a1, 'zap', 'perf'],
];

const typeByMark = new Map(
  meanings.flatMap(([codePoint, shortcode, type]): [string, string][] => [
    [String.fromCodePoint(codePoint), type],
    [shortcode, type],
  ]),
);

/** An emoji with what may join it to others, or a shortcode such as `:bug:`. */
const MARK =
  /^(?:(\p{Extended_Pictographic})(?:\ufe0f|\p{Emoji_Modifier}|\u200d\p{Extended_Pictographic}){0,10}|:([a-z][a-z0-9_+-]{1,40}):)\s*/u;

/** At most so many emojis are taken from the beginning of a title. */
const MAX_MARKS = 8;

/** `text` without the emojis that it begins with, and the type that the first known one stands for. */
export function takeEmojis(text: string): { rest: string; type: string | null } {
  let rest = text;
  let type: string | null = null;
  for (let count = 0; count < MAX_MARKS; count++) {
    const match = MARK.exec(rest);
    // A title of nothing but emojis stays what it is.
    if (match === null || match[0].length === rest.length) break;
    type ??= typeByMark.get(match[1] ?? match[2] ?? '') ?? null;
    rest = rest.slice(match[0].length);
  }
  return { rest, type };
}
