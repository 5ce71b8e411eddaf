import { join } from 'node:path';
import { Command } from 'commander';
import { readConfig } from '../src/config.ts';
import { openServices } from '../src/main.ts';
import { createOrganization } from '../src/organizations/service.ts';
import { savePosts } from '../src/posts/service.ts';
import { createHook } from '../src/rebuild/service.ts';
import { describeMachine, machineLine } from './support/machine.ts';
import { cpuSeconds, residentBytes } from './support/process-figures.ts';
import { type Defer, runBenchmark, terminal, wholeNumber } from './support/run.ts';
import { makeTempFolder } from './support/seed.ts';
import { startServer, tidings } from './support/server.ts';
import { quantile } from './support/statistics.ts';

// How long after a commit that publishes a post the server's request to a signed hook arrives, and how long the messages
// of a large import take. This process publishes, as a command would, and receives.

interface Options {
  posts: number;
  import: number;
  json?: true;
}

const LOCAL = '127.0.0.1';
const IMPORT_BATCH = 100;

await runBenchmark((defer) =>
  new Command('hooks')
    .description('measure how soon a signed hook is called')
    .option('--posts <number>', 'posts to publish, one after the other', wholeNumber, 500)
    .option('--import <number>', 'published posts to import at once', wholeNumber, 25_000)
    .option('--json', 'print exactly one JSON value')
    .action(async ({ posts, import: imported, json }: Options) => {
      const figures = await measure(defer, posts, imported);
      const machine = describeMachine(false);
      const { p50Ms, p99Ms, maxMs, importSeconds, idleCpuShare, peakBytes } = figures;
      const ms = (value: number) => `${value.toFixed(0)} ms`;
      const peak = peakBytes === null ? '' : `, at most ${(peakBytes / 2 ** 20).toFixed(0)} MiB resident`;
      terminal.write(
        json
          ? `${JSON.stringify({ machine, posts, imported, ...figures })}\n`
          : `${machineLine(machine)}\n\nFrom the commit to the request, ${posts} posts: median ${ms(p50Ms)}, p99 ${ms(p99Ms)}, at most ${ms(maxMs)}\n${imported} imported posts: all requests after ${importSeconds.toFixed(1)} s${peak}\nIdle: ${(idleCpuShare * 100).toFixed(1)} % of a core\n`,
      );
    }),
);

async function measure(defer: Defer, posts: number, imported: number) {
  const folder = await makeTempFolder(defer);
  const dataDir = join(folder, 'data');
  const arrivals = new Map<string, number>();
  let onArrival = (): void => undefined;
  const receiver = Bun.serve({
    hostname: LOCAL,
    port: 0,
    async fetch(request) {
      const at = performance.now();
      const { data } = (await request.json()) as { data: { postId: string } };
      arrivals.set(data.postId, at);
      onArrival();
      return new Response(null, { status: 204 });
    },
  });
  defer(() => receiver.stop(true));
  const config = readConfig({ DATA_DIR: dataDir }, { LOG_LEVEL: 'warn', HOOK_PRIVATE_HOSTS: LOCAL });
  const services = await openServices(config);
  defer(() => services.close());
  await createOrganization(services, { id: 'acme', name: 'Acme', plan: 'free' });
  const url = `http://${LOCAL}:${receiver.port}/`;
  await createHook(services, { organizationId: 'acme', name: 'Bench', kind: 'signed', url });
  const program = tidings(dataDir);
  const server = await startServer(
    { ...program, words: [...program.words, '--hook-private-hosts', LOCAL] },
    { core: [], logFile: join(folder, 'server.log'), defer },
  );
  const arrived = (count: number) =>
    new Promise<void>((resolve) => {
      onArrival = () => {
        if (arrivals.size >= count) resolve();
      };
      onArrival();
    });

  const waits: number[] = [];
  for (let at = 0; at < posts; at++) {
    const post = postOf(`post_${at}`);
    await savePosts(services.db, [post]);
    const committedAt = performance.now();
    await arrived(at + 1);
    waits.push((arrivals.get(post.id) ?? Number.NaN) - committedAt);
    // At another moment of the job's beat each time.
    await Bun.sleep(Math.random() * 100);
  }
  const before = cpuSeconds(server.pid) ?? Number.NaN;
  await Bun.sleep(3_000);
  const idleCpuShare = ((cpuSeconds(server.pid) ?? Number.NaN) - before) / 3;

  let peakBytes = residentBytes(server.pid);
  const watch = setInterval(() => {
    peakBytes = Math.max(peakBytes ?? 0, residentBytes(server.pid) ?? 0) || null;
  }, 50);
  const startedAt = performance.now();
  for (let at = 0; at < imported; at += IMPORT_BATCH) {
    const length = Math.min(IMPORT_BATCH, imported - at);
    await savePosts(
      services.db,
      Array.from({ length }, (_, index) => postOf(`imported_${at + index}`)),
    );
  }
  await arrived(posts + imported);
  const importSeconds = (performance.now() - startedAt) / 1_000;
  clearInterval(watch);
  return {
    p50Ms: quantile(waits, 0.5),
    p99Ms: quantile(waits, 0.99),
    maxMs: Math.max(...waits),
    importSeconds,
    peakBytes,
    idleCpuShare,
  };
}

function postOf(id: string) {
  const at = new Date().toISOString();
  return {
    id,
    organizationId: 'acme',
    title: `Title of ${id}`,
    content: 'Text',
    markdown: 'Text',
    contentType: 'changelog' as const,
    sourceMetadata: null,
    status: 'published' as const,
    createdAt: at,
    updatedAt: at,
  };
}
