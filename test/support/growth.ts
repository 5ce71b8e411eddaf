import { rounds } from './rounds.ts';

/** Twice the input may cost this many times as much. Linear work costs twice as much, quadratic work four times. */
const MAX_GROWTH = 2.6;

/** Inputs grow until they cost so much, in milliseconds of processor time. */
const ENOUGH_MS = rounds(5, 30);

/** Work that costs less at the largest size that is accepted is no danger, however it grows. */
const HARMLESS_MS = 15;

const START = 500;
const MAX_TRIES = 30;

/**
 * Expects work whose cost grows no faster than its input: doubles the size until the work costs some milliseconds, and
 * compares that with the cost of twice the size. `most` is the largest size that is accepted, in whatever unit `make`
 * counts. Measures the processor time of this thread, the least of several runs, so that other processes don't disturb.
 */
export async function expectLinear<T>(
  name: string,
  make: (size: number) => T,
  work: (input: T) => unknown,
  { most = 200_000 }: { most?: number } = {},
): Promise<void> {
  let size = START;
  while (size * 4 <= most && (await costOf(work, make(size))) < ENOUGH_MS) size *= 2;
  const [small, large] = [make(size), make(size * 2)];
  let [once, twice] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  const growths: number[] = [];
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const [one, two] = [await costOf(work, small), await costOf(work, large)];
    growths.push(two / one);
    // A disturbed run costs more than it should, never less.
    [once, twice] = [Math.min(once, one), Math.min(twice, two)];
    if (twice <= Math.max(once * MAX_GROWTH, HARMLESS_MS)) return;
  }
  // Others may have disturbed all of the longer runs, and then most of the shorter ones beside them.
  if ((growths.sort((one, other) => one - other).at(MAX_TRIES / 2) ?? 0) <= MAX_GROWTH) return;
  const [first, second] = [once, twice].map((cost) => `${cost.toFixed(1)} ms`);
  throw new Error(`${name}: size ${size} costs ${first}, and size ${size * 2} costs ${second}`);
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
