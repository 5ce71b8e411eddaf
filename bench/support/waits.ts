import { type Bench, BenchError } from './run.ts';
import type { Load } from './wrk.ts';

// How long requests take, asked one after the other by a process of its own.

const ASKER = Bun.fileURLToPath(import.meta.resolve('../peers/asker.ts'));

/** The requests to send. */
export interface Asked {
  url: string;
  headers: Record<string, string>;
  /** Absent: `GET`. The header gets another value in each request. */
  post?: { text: string; countingHeader: string };
}

/** The first delivery of a load, again and again. */
export function deliveryOf(origin: string, { paths, headers, post }: Load): Asked {
  const [body] = post?.bodies ?? [];
  if (post === undefined || body === undefined) throw new BenchError('there is no delivery to send');
  return {
    url: `${origin}${paths[0]}`,
    headers: { ...headers, ...body.headers },
    post: { text: body.text, countingHeader: post.countingHeader },
  };
}

/** How long each of so many requests took, in milliseconds, in the order in which they were made. */
export async function timeRequests(bench: Bench, asked: Asked, times: number): Promise<number[]> {
  return startAsker(bench, asked, times).finish();
}

/** How long requests took while the work was done, in milliseconds. */
export async function timeWhile(bench: Bench, asked: Asked, work: () => Promise<unknown>): Promise<number[]> {
  const asker = startAsker(bench, asked);
  await asker.begun;
  await work();
  asker.stop();
  return asker.finish();
}

function startAsker({ cores, defer }: Bench, asked: Asked, times?: number) {
  const words = [JSON.stringify(asked), ...(times === undefined ? [] : [String(times)])];
  const child = Bun.spawn([...cores.load, process.execPath, ASKER, ...words], { stdout: 'pipe' });
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
