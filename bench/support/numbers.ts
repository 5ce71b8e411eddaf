import type { Figure } from './run.ts';

/** The middle one, or the mean of the middle two. NaN of nothing. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  const lower = sorted[Math.ceil(sorted.length / 2) - 1] ?? Number.NaN;
  return (lower + upper) / 2;
}

/** The value that such a share of all does not exceed: of 0.95, 95 in 100. NaN of nothing. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

export function ofRounds(values: readonly number[]): Figure {
  return { value: median(values), lowest: Math.min(...values), highest: Math.max(...values) };
}
