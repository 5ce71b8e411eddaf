import { join } from 'node:path';
import { type Peer, readList, startHono, startPocketbase } from './support/peers.ts';
import { atLeast, type Bench, BenchError, benchmark } from './support/run.ts';
import { type DataFolder, PUBLISHED, type SeededPosts, seedFolder } from './support/seed.ts';
import { peer, type Server, startServer, tidings } from './support/server.ts';
import { compare, type Load, measureRounds, type Run } from './support/wrk.ts';

// The content API beside its peers: each server in its own process, measured in turn, round by round.

const peers = { hono: startHono, pocketbase: startPocketbase };

export const contentApi = benchmark({
  goals: {
    constant: atLeast(0.8, 'ratio', 'list of 10 of 10,000 posts, repeated / constant body'),
    post: atLeast(1.5, 'ratio', 'one post / by hand'),
    anyPage: atLeast(1, 'ratio', 'lists of any page, first time each / by hand'),
    hono: atLeast(20, 'ratio', 'list of 10 / Hono on Bun, `COUNT(*)`'),
    pocketbase: atLeast(60, 'ratio', 'list of 10 / PocketBase'),
  },
  async measure(bench) {
    const data = await seedFolder(bench.folder, 'data', { ascii: false });
    const ours = await startServer(bench, tidings(data.path));
    const raw = await startServer(bench, peer('raw.ts', data.databaseFile));
    const on = (server: Server, ...paths: string[]): Run => ({
      server,
      load: { paths, headers: data.headers },
    });
    const pages = everyPage(data.list);
    const runs: Record<string, Run> = {
      list: on(ours, data.list),
      constant: on(await startConstant(bench, ours, data), data.list),
      post: on(ours, data.post),
      rawPost: on(raw, data.post),
      anyPage: on(ours, ...pages),
      rawPage: on(raw, ...pages),
    };
    for (const path of [data.list, data.post, ...pages.slice(0, 25)]) {
      const [expected, actual] = await Promise.all([ours, raw].map((server) => getJson(on(server, path))));
      requireSame(`by hand, ${path}`, expected, actual);
    }
    const expected = readList(await getJson(on(ours, data.list)));
    const skipped: Partial<Record<keyof typeof peers, string>> = {};
    for (const name of ['hono', 'pocketbase'] as const) {
      try {
        const { read, ...run }: Peer = await peers[name](bench, data);
        requireSame(name, expected, read(await getJson(run)));
        runs[name] = run;
      } catch (error) {
        if (!(error instanceof BenchError)) throw error;
        skipped[name] = error.message;
      }
    }
    const samples = await measureRounds(bench, runs, { rounds: bench.isQuick ? 3 : 9 });
    const beside = (one: string, other: string) => compare(samples[one] ?? [], samples[other] ?? []);
    return {
      constant: beside('list', 'constant'),
      post: beside('post', 'rawPost'),
      anyPage: beside('anyPage', 'rawPage'),
      hono: skipped.hono ?? beside('list', 'hono'),
      pocketbase: skipped.pocketbase ?? beside('list', 'pocketbase'),
    };
  },
});

/** Page sizes around 10. Small pages are more numerous, so the mean list has 9 posts. */
const LIMITS = Array.from({ length: 11 }, (_, index) => 5 + index);

/** Every page of these sizes in both directions: over 24,000 lists, near and far pages in turn. */
function everyPage(list: string): string[] {
  const paths = LIMITS.flatMap((limit) =>
    Array.from({ length: Math.floor(PUBLISHED / limit) }, (_, index) => {
      const path = `${list}?limit=${limit}&page=${index + 1}`;
      return [path, `${path}&sort=asc`];
    }).flat(),
  );
  // Neighbors end up far apart: steps of a prime that does not divide the length.
  return paths.map((_, index) => paths[(index * 7919) % paths.length] as string);
}

/** A server that sends the very bytes that Tidings sends. */
async function startConstant(
  bench: Bench,
  ours: Server,
  { list, headers }: DataFolder & SeededPosts,
): Promise<Server> {
  const file = join(bench.folder, 'constant.json');
  await Bun.write(
    file,
    await fetch(ours.url + list, { headers: { ...headers, 'accept-encoding': 'identity' } }),
  );
  return startServer(bench, peer('constant.ts', file));
}

async function getJson({ server, load }: { server: Server; load: Load }): Promise<unknown> {
  const url = server.url + load.paths[0];
  const response = await fetch(url, { headers: load.headers });
  if (!response.ok) throw new BenchError(`${url} responds with ${response.status}: ${await response.text()}`);
  return response.json();
}

/** Servers are worth comparing only while they give the same answers, which hold something. */
function requireSame(name: string, expected: unknown, actual: unknown): void {
  const { posts = [], post = posts.length > 0 ? posts : null } = expected as {
    posts?: unknown[];
    post?: unknown;
  };
  if (post === null) throw new BenchError(`${name}: there is no post`);
  if (!Bun.deepEquals(expected, actual, true))
    throw new BenchError(`${name}: another answer than that of Tidings`);
}
