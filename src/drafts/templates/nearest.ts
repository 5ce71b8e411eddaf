/** The candidate that a misspelt word most likely stands for, or null when none is close. Exact matches are no misspelling. */
export function nearest(word: string, candidates: Iterable<string>): string | null {
  if (word.length > 40) return null;
  let found: string | null = null;
  // One mistake in a short word, more in a long one.
  let best = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) >= best) continue;
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance < best) [found, best] = [candidate, distance];
  }
  return found;
}

/** How many letters are added, left out, changed, or swapped with the next. Words here are short. */
function editDistance(from: string, to: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const current = [i];
    for (let j = 1; j <= to.length; j++) {
      const isSame = from[i - 1] === to[j - 1];
      const isSwapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      current[j] = Math.min(
        (previous[j] ?? 0) + 1,
        (current[j - 1] ?? 0) + 1,
        (previous[j - 1] ?? 0) + (isSame ? 0 : 1),
        isSwapped ? (before[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    [before, previous] = [previous, current];
  }
  return previous[to.length] ?? 0;
}

/** ` Did you mean release.name?`, or nothing. */
export function didYouMean(word: string | null): string {
  return word === null ? '' : ` Did you mean ${word}?`;
}
