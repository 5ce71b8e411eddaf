import { join } from 'node:path';
import { Command } from 'commander';
import type { Database } from '../db/engine.ts';
import { openDatabase } from '../db/sqlite/client.ts';
import { withComposer } from '../src/cli/trigger-runs.ts';
import { runTriggers } from '../src/drafting/triggers/run.ts';
import { createTrigger } from '../src/drafting/triggers/service.ts';
import type { Connected } from '../src/integrations/words.ts';
import { createLog } from '../src/lib/log.ts';
import { randomIds } from '../src/lib/text.ts';
import { samplePayload } from '../src/providers/index.ts';
import { openSharedDatabase } from '../src/server/move.ts';
import { connectGithub, githubRequest } from '../test/support/deliveries.ts';
import { changed } from '../test/support/payloads.ts';
import { startPostgres } from '../test/support/postgres-server.ts';
import { startTcpProxy } from '../test/support/tcp-proxy.ts';
import { createTestApp } from '../test/support/test-app.ts';
import { BenchError } from './support/bench-error.ts';
import { describeMachine, machineLine } from './support/machine.ts';
import { type Defer, runBenchmark, terminal, wholeNumber } from './support/run.ts';
import { makeTempFolder } from './support/seed.ts';

// How fast releases that were delivered become drafts, each on a branch of its own or all on one, and how long a new
// release waits when the oldest one is edited right before it.

interface Options {
  releases: number;
  branches: number;
  repositories: number;
  roundTrip?: number;
  json?: true;
}

await runBenchmark((defer) =>
  new Command('drafts')
    .description('measure how fast releases become drafts')
    .option('--releases <number>', 'how many', wholeNumber, 1_200)
    .option('--branches <number>', 'how many branches they are on', wholeNumber, 1)
    .option('--repositories <number>', 'how many repositories they are of', wholeNumber, 1)
    .option('--round-trip <ms>', 'on PostgreSQL behind a network with this delay', wholeNumber)
    .option('--json', 'print exactly one JSON value')
    .action(async (options: Options) => {
      const figures = await measure(options, defer);
      const machine = describeMachine(false);
      const { draftsMs, freshMs, restMs, cpuMs } = figures;
      terminal.write(
        options.json
          ? `${JSON.stringify({ machine, ...options, ...figures })}\n`
          : `${machineLine(machine)}\n\n${options.releases} drafts in ${draftsMs.toFixed(0)} ms (${((1_000 * options.releases) / draftsMs).toFixed(0)} a second, ${cpuMs.toFixed(0)} ms of CPU)\nafter an edit of the oldest release, a new one is a draft in ${freshMs.toFixed(0)} ms, and all is done in ${restMs.toFixed(0)} ms\n`,
      );
    }),
);

async function measure({ releases, branches, repositories, roundTrip }: Options, defer: Defer) {
  const setNetwork = { delay: (_ms: number): void => undefined };
  const db = await open(roundTrip, setNetwork, defer);
  const app = createTestApp({ db, ids: randomIds });
  await app.addOrganization('org_a');
  const names = Array.from({ length: repositories }, (_, index) => `acme/rocket-${index}`);
  const connections: Connected[] = [];
  for (const name of names) {
    const connected = await connectGithub(app, 'org_a', name);
    const { integrationId } = connected;
    await createTrigger(app.deps, { integrationId, event: 'release', contentType: 'changelog' });
    connections.push(connected);
  }
  const deliver = async (index: number, changes: Record<string, unknown> = {}, day = index) => {
    const now = new Date(Date.UTC(2020, 0, 1, day));
    const place = index % repositories;
    const [repository = '', connected = missing()] = [names[place], connections[place]];
    const payload = changed(samplePayload('github', 'release', { repository, now }) ?? {}, {
      'release.tag_name': `v1.${index}.0`,
      'release.name': `Release ${index}`,
      'release.target_commitish': `branch-${index % branches}`,
      ...changes,
    });
    const { status } = await app.request(...githubRequest(connected, payload, { event: 'release' }));
    if (status !== 200) throw new BenchError(`A delivery was answered with ${status}`);
  };
  for (let index = 0; index < releases; index++) await deliver(index);
  setNetwork.delay((roundTrip ?? 0) / 2);
  return withComposer(async (compose) => {
    const cpu = process.cpuUsage();
    const startedAt = performance.now();
    await runTriggers(app.deps, compose);
    const draftsMs = performance.now() - startedAt;
    const { user, system } = process.cpuUsage(cpu);
    const cpuMs = (user + system) / 1_000;
    setNetwork.delay(0);
    await deliver(0, { action: 'edited', 'release.name': 'Edited' });
    await deliver(releases);
    setNetwork.delay((roundTrip ?? 0) / 2);
    const editedAt = performance.now();
    let freshMs = Number.NaN;
    await runTriggers(app.deps, async (recipe, material) => {
      const text = await compose(recipe, material);
      if (text.title === `Release ${releases}`) freshMs = performance.now() - editedAt;
      return text;
    });
    return { draftsMs, cpuMs, freshMs, restMs: performance.now() - editedAt };
  });
}

function missing(): never {
  throw new BenchError('No such repository');
}

async function open(
  roundTrip: number | undefined,
  network: { delay(ms: number): void },
  defer: Defer,
): Promise<Database> {
  const folder = await makeTempFolder(defer);
  if (roundTrip === undefined) {
    const db = openDatabase(join(folder, 'tidings.db'), 'server');
    defer(() => db.close());
    return db;
  }
  const postgres = await startPostgres({ fsync: 'on' });
  defer(() => postgres.stop());
  const url = new URL(await postgres.createDatabase());
  const proxy = await startTcpProxy({ port: Number(url.port) });
  defer(async () => proxy[Symbol.asyncDispose]());
  network.delay = (ms) => {
    proxy.delayMs = ms;
  };
  url.host = `127.0.0.1:${proxy.port}`;
  const log = createLog('silent', { write: () => undefined });
  const secretKey = Buffer.alloc(32, 7).toString('base64');
  const place = { url: url.href, readUrl: undefined, pool: 10 };
  const { db } = await openSharedDatabase(place, secretKey, 'command', { log, process: 'bench' });
  defer(() => db.close());
  return db;
}
