import { BenchError } from './bench-error.ts';
import { chooseCores } from './cores.ts';
import type { Defer } from './run.ts';
import { median, quantile } from './statistics.ts';
import { table } from './table.ts';

// How long requests take, asked one after the other by a process of its own.

const ASKER = Bun.fileURLToPath(import.meta.resolve('../peers/asker.ts'));

/** The requests to send. */
export interface Asked {
  url: string;
  headers: Record<string, string>;
  /** Absent: `GET`. The header gets another value in each request. */
  post?: { text: string; countingHeader: string };
}

/** In milliseconds. */
export interface Waits {
  requests: number;
  medianMs: number;
  p99Ms: number;
  longestMs: number;
}

export function waitsOf(took: readonly number[]): Waits {
  return {
    requests: took.length,
    medianMs: median(took),
    p99Ms: quantile(took, 0.99),
    longestMs: quantile(took, 1),
  };
}

/** A table with a row for each of these. */
export function describeWaits(heading: string, rows: Readonly<Record<string, Waits>>): string {
  const cells = ({ requests, medianMs, p99Ms, longestMs }: Waits) =>
    [String(requests), ...[medianMs, p99Ms, longestMs].map((ms) => ms.toFixed(2))].map((cell) =>
      cell.padStart(10),
    );
  const head = ['REQUESTS', 'MEDIAN MS', '99 % MS', 'LONGEST MS'].map((cell) => cell.padStart(10));
  return table(
    [heading, ...head],
    Object.entries(rows).map(([name, waits]) => [name, ...cells(waits)]),
  );
}

/** How long each of so many requests took, in milliseconds, in the order in which they were made. */
export async function timeRequests(asked: Asked, times: number, defer: Defer): Promise<number[]> {
  const asker = startAsker(asked, defer, times);
  return asker.finish();
}

/** How long requests took while the work was done, in milliseconds. */
export async function timeWhile(asked: Asked, defer: Defer, work: () => Promise<unknown>): Promise<number[]> {
  const asker = startAsker(asked, defer);
  await asker.begun;
  await work();
  asker.stop();
  return asker.finish();
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
    async finish(): Promise<number[]> {
      await begun;
      for (let part = await output.read(); !part.done; part = await output.read())
        said += decoder.decode(part.value, { stream: true });
      forget();
      const [, figures] = said.split('\n');
      const took = JSON.parse(figures || '[]') as number[];
      if (took.length === 0) throw new BenchError(`no request for ${asked.url} was answered`);
      return took;
    },
  };
}
