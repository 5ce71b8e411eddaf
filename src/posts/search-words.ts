// Search finds words as an index splits a text: at what is no letter and no digit. Two kinds of words need more than that.

/** Chinese, Japanese and Korean have no spaces between words, or endings after them: each character is a word. */
const CHARACTER = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}]/gu;

/** `v1.2.3` is the version `1.2.3`. */
const VERSION_LETTER = /(?<![\p{L}\p{N}])v(?=\d+\.\d)/giu;

const MAY_CHANGE = /[^\0-\x7f]|v\d/i;

/** The index has no more of a text. */
const MAX_LENGTH = 250_000;

/** Splits a text or a query into parts that the index may split further. */
export const partsOf = (text: string): string[] => text.split(/[\s\p{Cc}]+/u);

/** A part as search compares it: every character that is a word stands alone, and a version has no letter before it. */
export function asSearched(part: string): string {
  if (!MAY_CHANGE.test(part)) return part;
  return part
    .normalize('NFKC')
    .replace(VERSION_LETTER, '')
    .replace(CHARACTER, ' $& ')
    .replace(/ {2,}/g, ' ')
    .trim();
}

/** The parts of a post that search compares in another form than the post has them, in that form. Null for none. */
export function searchWordsOf({ title, content }: { title: string; content: string }): string | null {
  const text = `${title}\n${content.slice(0, MAX_LENGTH)}`;
  if (!MAY_CHANGE.test(text)) return null;
  const changed = partsOf(text.toWellFormed()).flatMap((part) => {
    const searched = asSearched(part);
    return searched === part ? [] : [searched];
  });
  return changed.length === 0 ? null : changed.join('\n').slice(0, MAX_LENGTH).toWellFormed();
}
