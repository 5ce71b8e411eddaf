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
  unit: 'ratio' | 'ms' | 'MB';
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
  ratioGoal('list of 10 of 10,000 posts, repeated / constant body', LIST, 'constant', 0.85),
  ratioGoal('the same, compressed / constant compressed body', 'list of 10, compressed', 'constant', 0.85),
  ratioGoal('one post / by hand', 'one post', 'raw', 1.5),
  ratioGoal('list of 10, known (304) / hello', 'list of 10, known (304)', 'hello', 0.6),
  ratioGoal('lists of any page, first time each / by hand', 'list of about 10, any page', 'raw', 2),
  ratioGoal('list of 10 / Hono on Bun, `COUNT(*)`', LIST, 'hono', 5),
  ratioGoal('list of 10 / Fastify on Node, better-sqlite3, `COUNT(*)`', LIST, 'fastify', 9),
  ratioGoal('list of 10 / PocketBase', LIST, 'pocketbase', 5),
  ratioGoal('list of 10 / Directus', LIST, 'directus', 75),
  deepPagesGoal('any page of 1,000,000 posts / page 1, over HTTP', (output) => [pick(output, 'http')]),
  deepPagesGoal('the same in process, worst filter, also after a write', (output) =>
    [pick(output, 'inProcess')].flat().flatMap((each) => [pick(each, 'quiet'), pick(each, 'written')]),
  ),
  {
    ...ratioGoal('deliveries one at a time / by hand', '1 at once', 'one commit each', 0.9),
    bench: 'webhooks',
  },
  {
    ...ratioGoal('deliveries on 64 connections / one commit each', '64 at once', 'one commit each', 4),
    bench: 'webhooks',
  },
  {
    bench: 'flood',
    name: 'deliveries on 64 connections / the same without syncs',
    unit: 'ratio',
    bound: 'min',
    limit: 0.95,
    read: (output) => ratio(output, 'cases', '64 deliveries at once', 'ratios', 'no syncs'),
  },
  {
    bench: 'flood',
    name: 'lists during a flood on 16 connections / without',
    unit: 'ratio',
    bound: 'min',
    limit: 0.65,
    read: (output) => ratio(output, 'cases', LIST, 'ratios', 'alone'),
  },
  {
    bench: 'slow-disk',
    name: '`/ping` p50, slow disk / fast disk',
    unit: 'ratio',
    bound: 'max',
    limit: 2,
    read: (output) => plain(output, 1, 'figures', 'ping', 'ratio'),
  },
  {
    bench: 'slow-disk',
    name: 'list p50, slow disk / fast disk',
    unit: 'ratio',
    bound: 'max',
    limit: 2,
    read: (output) => plain(output, 1, 'figures', 'list', 'ratio'),
  },
  {
    bench: 'sweep',
    name: 'longest wait while 1,000,000 rows are swept, beyond the longest without',
    unit: 'ms',
    bound: 'max',
    limit: 5,
    read: (output) => ofLongest(output, ['sweeping', 'quiet'], (sweeping, quiet) => sweeping - quiet),
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
  startGoal('start to first `/ping`, binary', 'ms', 50, 'tidings-binary', 'firstPingMs'),
  startGoal('start to first `/ping`, source', 'ms', 120, 'tidings', 'firstPingMs'),
  startGoal('memory of the binary at rest, as in the container', 'MB', 55, 'tidings-binary', 'idleBytes'),
  startGoal('memory after 20,000 different lists', 'MB', 90, 'tidings-binary', 'loadedBytes'),
  startGoal('memory under a flood of deliveries', 'MB', 110, 'tidings-binary', 'floodBytes'),
  startGoal('size of the binary', 'MB', 115, 'tidings-binary', 'executableBytes'),
  startGoal('size of the image, uncompressed', 'MB', 118, 'tidings-binary', 'imageBytes'),
  {
    bench: 'dashboard',
    name: 'p95 of the slowest page, 1,000,000 log entries and 100,000 posts',
    unit: 'ms',
    bound: 'max',
    limit: 30,
    read: (output) => slowest(output, 'figures', 'p95Ms'),
  },
  {
    bench: 'dashboard',
    name: 'first result of a rehearsal',
    unit: 'ms',
    bound: 'max',
    limit: 300,
    read: (output) => slowest(output, 'rehearsed', 'firstResultMs'),
  },
];

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

/** The slowest place in a list for one of its first page, of all of these lists. */
function deepPagesGoal(name: string, listsOf: (output: unknown) => unknown[]): Goal {
  return {
    bench: 'deep-pages',
    name,
    unit: 'ratio',
    bound: 'max',
    limit: 1.25,
    read(output) {
      const ratios = listsOf(output).map((list) => {
        const times = ['middle', 'last', 'random'].map((place) => number(list, place) ?? Number.NaN);
        return Math.max(...times) / (number(list, 'first') ?? Number.NaN);
      });
      const value = Math.max(...ratios);
      return Number.isFinite(value) ? { value } : null;
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
