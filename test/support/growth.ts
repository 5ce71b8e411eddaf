import { rounds } from './rounds.ts';

/** Twice the input may cost this many times as much. Linear work costs twice as much, quadratic work four times. */
const MAX_GROWTH = 2.6;

/** Inputs grow until they cost so much, in milliseconds of processor time. */
const ENOUGH_MS = rounds(5, 30);

/** Work that costs less at the largest size that is accepted is no danger, however it grows. */
const HARMLESS_MS = 15;

const START = 500;
/** Runs of a size that is quick. */
const RUNS = 4;

/**
 * Expects work whose cost grows no faster than its input: doubles the size until the work costs some milliseconds, and
 * compares that over two doublings, and again from twice the size if it grew too much in all `tries`. `most` is the largest
 * size that is accepted, in whatever unit `make` counts. Measures the processor time of this thread, the least of several
 * runs, so that other processes don't disturb.
 */
export async function expectLinear<T>(
  name: string,
  make: (size: number) => T,
  work: (input: T) => unknown,
  { most = 200_000, tries = 20 }: { most?: number; tries?: number } = {},
): Promise<void> {
  let size = START;
  while (size * 4 <= most && (await leastCost(work, make(size), ENOUGH_MS)) < ENOUGH_MS) size *= 2;
  // A step, as of a bound that is reached, stands within one of the two windows alone.
  const windows = [size / 2, size].filter((first) => first * 4 <= most);
  const problems: string[] = [];
  for (const first of windows) {
    const problem = await growthOf(make, work, first, tries);
    if (problem === null) return;
    problems.push(problem);
  }
  throw new Error(`${name}: ${problems.join('; ')}`);
}

/** Describes growth that is too fast from a size to four times as much; null for linear work. */
async function growthOf<T>(
  make: (size: number) => T,
  work: (input: T) => unknown,
  first: number,
  tries: number,
): Promise<string | null> {
  const [small, large] = [make(first), make(first * 4)];
  let [least, largest] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  const growths: number[] = [];
  for (let count = 0; count < tries; count++) {
    // The larger one comes first, so that code is compiled for both. A disturbed run costs more than it should, never less.
    const other = await costOf(work, large);
    const one = await leastCost(work, small);
    growths.push(other / one);
    [least, largest] = [Math.min(least, one), Math.min(largest, other)];
    if (largest <= Math.max(least * MAX_GROWTH ** 2, HARMLESS_MS)) return null;
  }
  // Others may have disturbed all of the longer runs, and then most of the shorter ones beside them.
  if ((growths.sort((one, other) => one - other).at(tries / 2) ?? 0) <= MAX_GROWTH ** 2) return null;
  return `size ${first} costs ${least.toFixed(2)} ms, and size ${first * 4} costs ${largest.toFixed(1)} ms`;
}

/** The least of several runs. The first one below `enough` ends them. */
async function leastCost<T>(work: (input: T) => unknown, input: T, enough = 0): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < RUNS && least >= enough; run++) least = Math.min(least, await costOf(work, input));
  return least;
}

async function costOf<T>(work: (input: T) => unknown, input: T): Promise<number> {
  const before = threadTime();
  await work(input);
  return threadTime() - before;
}

/** In milliseconds. */
function threadTime(): number {
  // Linux brings the time of a running thread up to date when it is asked for the time of the process.
  process.cpuUsage();
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
