import { BenchError } from './bench-error.ts';
import { chooseCores } from './cores.ts';
import type { Defer } from './run.ts';

// How long requests take, asked one after the other by a process of its own.

const ASKER = Bun.fileURLToPath(import.meta.resolve('../peers/asker.ts'));

/** The requests to send. */
export interface Asked {
  url: string;
  headers: Record<string, string>;
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

function startAsker({ url, headers }: Asked, defer: Defer, times?: number) {
  const { load } = chooseCores();
  const words = [url, JSON.stringify(headers), ...(times === undefined ? [] : [String(times)])];
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
      if (took.length === 0) throw new BenchError(`no request for ${url} was answered`);
      return took;
    },
  };
}
