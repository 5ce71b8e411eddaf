import { LIST } from './cases.ts';

// The goals, and where the JSON of each benchmark holds the figure.

/** A figure, in the unit of its goal. */
export interface Figure {
  value: number;
  lowest?: number;
  highest?: number;
  cpu?: Cpu;
}

/** Processor time for a request in microseconds, and the other's divided by ours. */
interface Cpu {
  ours: number;
  other: number;
  ratio: number;
}

export interface Goal {
  /** The benchmark that measures it. */
  bench: string;
  name: string;
  unit: 'ratio' | 'ms' | 'MB' | 'a second' | 'round trips';
  /** `min`: the figure must be at least the limit. */
  bound: 'min' | 'max';
  limit: number;
  /** The server that Tidings is compared with. */
  peer?: string;
  /** Null if the JSON lacks the figure. */
  read(output: unknown): Figure | null;
}

/** Why the JSON of a benchmark lacks the figure of a goal. */
export function reasonFor({ bench, peer = '' }: Goal, output: unknown): string {
  const skipped = pick(output, 'skipped', peer);
  return typeof skipped === 'string' ? skipped : `${bench} does not report it`;
}

export const goals: readonly Goal[] = [
  ratioGoal('list of 10 of 10,000 posts, repeated / constant body', LIST, 'constant', 0.8),
  ratioGoal('one post / by hand', 'one post', 'raw', 1.5),
  ratioGoal('lists of any page, first time each / by hand', 'list of about 10, any page', 'raw', 1),
  ratioGoal('list of 10 / Hono on Bun, `COUNT(*)`', LIST, 'hono', 20),
  ratioGoal('list of 10 / PocketBase', LIST, 'pocketbase', 60),
  {
    ...ratioGoal('deliveries on 64 connections / one commit each', '64 at once', 'one commit each', 2),
    bench: 'webhooks',
  },
  {
    bench: 'flood',
    name: 'lists during a flood on 16 connections / without',
    unit: 'ratio',
    bound: 'min',
    limit: 0.6,
    read: (output) => ratio(output, 'cases', LIST, 'ratios', 'alone'),
  },
  {
    bench: 'slow-disk',
    name: 'list p99 while each sync takes 250 ms',
    unit: 'ms',
    bound: 'max',
    limit: 20,
    read: (output) => plain(output, 1, 'figures', 'list', 'slow', 'p99Ms'),
  },
  {
    bench: 'import-waits',
    name: 'longest delivery while the server imports 25,000 posts',
    unit: 'ms',
    bound: 'max',
    limit: 100,
    // The form is opened first, which loads the dashboard.
    read: (output) => ofLongest(output, ['opening', 'dashboard'], Math.max),
  },
  {
    bench: 'import-waits',
    name: 'longest delivery while a command imports 25,000 posts',
    unit: 'ms',
    bound: 'max',
    limit: 100,
    read: (output) => plain(output, 1, 'command', 'longestMs'),
  },
  startGoal('start to first `/ping`, binary', 'ms', 150, 'tidings-binary', 'firstPingMs'),
  startGoal('memory of the binary at rest, as in the container', 'MB', 75, 'tidings-binary', 'idleBytes'),
  {
    bench: 'dashboard',
    name: 'p95 of the slowest page, 1,000,000 log entries and 100,000 posts',
    unit: 'ms',
    bound: 'max',
    limit: 50,
    read: (output) => slowest(output, 'figures', 'p95Ms'),
  },
  {
    ...engineGoal('saves of 50 organizations', 'a second', 'min', 300),
    read: (output) => ratio(output, 'savesPerSecond'),
  },
  {
    ...engineGoal('deliveries beside 50 people who type / without', 'ratio', 'min', 0.9),
    read: (output) => ratio(output, 'deliveriesKept'),
  },
  engineGoal('rows that the sweeper removes', 'a second', 'min', 4_000, 'sweptPerSecond'),
  engineGoal('longest wait of a delivery beside the sweeper', 'ms', 'max', 50, 'waitMs'),
  engineGoal('a release becomes a draft', 'round trips', 'max', 12, 'draftTrips'),
  engineGoal('`doctor` with 30,000 integrations', 'ms', 'max', 2_000, 'doctorMs'),
];

/** On PostgreSQL, with 10 ms a round trip. */
function engineGoal(name: string, unit: Goal['unit'], bound: Goal['bound'], limit: number, key = ''): Goal {
  const read = (output: unknown) => plain(output, 1, key);
  return { bench: 'engines', name: `PostgreSQL: ${name}`, unit, bound, limit, read };
}

/** A ratio of requests a second in a case of `content-api` or `webhooks`. */
function ratioGoal(name: string, inCase: string, peer: string, limit: number): Goal {
  return {
    bench: 'content-api',
    peer,
    name,
    unit: 'ratio',
    bound: 'min',
    limit,
    read(output) {
      const one = pick(output, 'cases', inCase);
      const figure = ratio(one, 'ratios', peer);
      const ours = number(one, 'cpuMicrosecondsPerRequest', subjectOf(one));
      const other = number(one, 'cpuMicrosecondsPerRequest', peer);
      const cpu = number(one, 'cpuRatios', peer, 'median');
      if (figure === null || ours === null || other === null || cpu === null) return figure;
      return { ...figure, cpu: { ours, other, ratio: cpu } };
    },
  };
}

function startGoal(name: string, unit: 'ms' | 'MB', limit: number, server: string, key: string): Goal {
  const divisor = unit === 'MB' ? 1e6 : 1;
  return {
    bench: 'start',
    name,
    unit,
    bound: 'max',
    limit,
    read: (output) => plain(output, divisor, server, key),
  };
}

function slowest(output: unknown, list: string, key: string): Figure | null {
  const pages = pick(output, list);
  if (!Array.isArray(pages)) return null;
  const value = Math.max(...pages.map((page) => number(page, key) ?? Number.NaN));
  return Number.isFinite(value) ? { value } : null;
}

/** The first server of a case. */
const subjectOf = (one: unknown) => Object.keys(Object(pick(one, 'requestsPerSecond')))[0] ?? '';

/** A `{ median, lowest, highest }`. */
function ratio(output: unknown, ...path: string[]): Figure | null {
  const [value, lowest, highest] = ['median', 'lowest', 'highest'].map((key) => number(output, ...path, key));
  if (value == null) return null;
  return { value, ...(lowest != null && highest != null && { lowest, highest }) };
}

function plain(output: unknown, divisor: number, ...path: string[]): Figure | null {
  const value = number(output, ...path);
  return value === null ? null : { value: value / divisor };
}

/** A figure made from the longest waits of two phases. */
function ofLongest(
  output: unknown,
  [first, second]: [first: string, second: string],
  combine: (first: number, second: number) => number,
): Figure | null {
  const [one, other] = [number(output, first, 'longestMs'), number(output, second, 'longestMs')];
  return one === null || other === null ? null : { value: combine(one, other) };
}

function number(output: unknown, ...path: string[]): number | null {
  const found = pick(output, ...path);
  return typeof found === 'number' && Number.isFinite(found) ? found : null;
}

/** Follows keys. In an array, a key is the `name` or the `kind` of an item. */
function pick(value: unknown, ...path: string[]): unknown {
  return path.reduce<unknown>((at, key) => {
    if (Array.isArray(at)) return at.find((item) => [Object(item).name, Object(item).kind].includes(key));
    return (Object(at) as Record<string, unknown>)[key];
  }, value);
}
