import { BenchError } from './bench-error.ts';
import { chooseCores } from './cores.ts';
import type { Defer } from './run.ts';
import { median, quantile } from './statistics.ts';
import { table } from './table.ts';

// How long requests take, asked one after the other by a process of its own.

/** In milliseconds. */
const WARM_MS = 1_000;

const ASKER = Bun.fileURLToPath(import.meta.resolve('../peers/asker.ts'));

/** The requests to send. */
export interface Asked {
  url: string;
  headers: Record<string, string>;
  /** Absent: `GET`. The header gets another value in each request. */
  post?: { text: string; countingHeader: string };
}

/** When a request began, in milliseconds since 1970, and how long it took. */
export type Timing = [at: number, tookMs: number];

/** In milliseconds. */
export interface Waits {
  requests: number;
  medianMs: number;
  p99Ms: number;
  /** The longest of a second, of which this is the median. Other work of the machine changes it less than `longestMs`. */
  longestOfSecondMs: number;
  longestMs: number;
}

function waitsOf(timings: readonly Timing[]): Waits {
  const took = timings.map(([, tookMs]) => tookMs);
  const seconds = Map.groupBy(timings, ([at]) => Math.floor(at / 1_000)).values();
  const longest = Array.from(seconds, (each) => Math.max(...each.map(([, tookMs]) => tookMs)));
  return {
    requests: took.length,
    medianMs: median(took),
    p99Ms: quantile(took, 0.99),
    longestOfSecondMs: median(longest),
    longestMs: quantile(took, 1),
  };
}

/** A table with a row for each of these. */
export function describeWaits(heading: string, rows: Readonly<Record<string, Waits>>): string {
  const cells = ({ requests, ...ms }: Waits) =>
    [
      String(requests),
      ...[ms.medianMs, ms.p99Ms, ms.longestOfSecondMs, ms.longestMs].map((each) => each.toFixed(2)),
    ].map((cell) => cell.padStart(12));
  const head = ['REQUESTS', 'MEDIAN MS', '99 % MS', 'OF A SECOND', 'LONGEST MS'].map((cell) =>
    cell.padStart(12),
  );
  return table(
    [heading, ...head],
    Object.entries(rows).map(([name, waits]) => [name, ...cells(waits)]),
  );
}

/** How long each of so many requests took, in milliseconds, in the order in which they were made. */
export async function timeRequests(asked: Asked, times: number, defer: Defer): Promise<number[]> {
  const asker = startAsker(asked, defer, times);
  return (await asker.finish()).map(([, tookMs]) => tookMs);
}

/** How long requests took while the work was done, in milliseconds. */
export async function timeWhile(asked: Asked, defer: Defer, work: () => Promise<unknown>): Promise<number[]> {
  const asker = startAsker(asked, defer);
  await asker.begun;
  await work();
  asker.stop();
  return (await asker.finish()).map(([, tookMs]) => tookMs);
}

/** How long requests took in each phase of the work, which `enter` begins. Requests before the first are left out. */
export async function timePhases<Phase extends string>(
  asked: Asked,
  defer: Defer,
  work: (enter: (phase: Phase) => void) => Promise<unknown>,
): Promise<(phase: Phase) => Waits> {
  const asker = startAsker(asked, defer);
  await asker.begun;
  // The first requests are slow.
  await Bun.sleep(WARM_MS);
  const begun: { phase: Phase; at: number }[] = [];
  await work((phase) => void begun.push({ phase, at: performance.timeOrigin + performance.now() }));
  asker.stop();
  const timings = await asker.finish();
  return (phase) =>
    waitsOf(timings.filter(([at]) => begun.findLast((each) => each.at <= at)?.phase === phase));
}

function startAsker(asked: Asked, defer: Defer, times?: number) {
  const { load } = chooseCores();
  const words = [JSON.stringify(asked), ...(times === undefined ? [] : [String(times)])];
  const child = Bun.spawn([...load, process.execPath, ASKER, ...words], { stdout: 'pipe' });
  const forget = defer(async () => child.kill('SIGKILL'));
  const output = child.stdout.getReader();
  const decoder = new TextDecoder();
  // The first line says that it has begun.
  let said = '';
  const begun = output.read().then(({ value }) => {
    said = decoder.decode(value, { stream: true });
  });
  return {
    begun,
    stop: () => child.kill('SIGTERM'),
    async finish(): Promise<Timing[]> {
      await begun;
      for (let part = await output.read(); !part.done; part = await output.read())
        said += decoder.decode(part.value, { stream: true });
      forget();
      const [, figures] = said.split('\n');
      const timings = JSON.parse(figures || '[]') as Timing[];
      if (timings.length === 0) throw new BenchError(`no request for ${asked.url} was answered`);
      return timings;
    },
  };
}
