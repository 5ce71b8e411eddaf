import { join } from 'node:path';
import { SQL } from 'bun';
import { Command } from 'commander';
import { openPostgres } from '../db/postgres/client.ts';
import { runTriggers } from '../src/drafting/triggers/run.ts';
import { createTrigger } from '../src/drafting/triggers/service.ts';
import { createLog } from '../src/lib/log.ts';
import { randomIds } from '../src/lib/text.ts';
import { samplePayload } from '../src/providers/index.ts';
import { openSharedDatabase } from '../src/server/move.ts';
import { sweep } from '../src/server/sweep.ts';
import { connectGithub, githubRequest } from '../test/support/deliveries.ts';
import { compose } from '../test/support/drafts.ts';
import { changed } from '../test/support/payloads.ts';
import { startPostgres } from '../test/support/postgres-server.ts';
import { startTcpProxy, type TcpProxy, through } from '../test/support/tcp-proxy.ts';
import { createTestApp } from '../test/support/test-app.ts';
import { BenchError } from './support/bench-error.ts';
import { describeMachine, machineLine } from './support/machine.ts';
import { seedWriters, startTyping, type Writer } from './support/people.ts';
import { cpuSeconds, cpuSecondsOfTree } from './support/process-figures.ts';
import { type Defer, runBenchmark, terminal, wholeNumber } from './support/run.ts';
import { makeTempFolder } from './support/seed.ts';
import { type Server, startServer, tidingsOnPostgres } from './support/server.ts';
import { median } from './support/statistics.ts';
import { seedRepository } from './support/webhook-folder.ts';
import { type Load, requireWrk, runLoad } from './support/wrk.ts';

// What must hold on PostgreSQL behind a network: saves of the editor by 50 people, each in an organization of their own,
// deliveries beside them, the sweeper, the draft of a release, and the doctor of many integrations.

interface Options {
  roundTrip: number;
  processes: number;
  rounds: number;
  seconds: number;
  rows: number;
  integrations: number;
  json?: true;
}

interface World {
  url: string;
  postgresPid: number;
  network: TcpProxy;
  servers: Server[];
  writers: Writer[];
  newPushes(count: number): Load;
  folder: string;
  defer: Defer;
}

const SECRET_KEY = Buffer.alloc(32, 7).toString('base64');
const PEOPLE = 50;
const DELIVERIES_AT_ONCE = 48;
/** The editor saves once somebody pauses for a second. */
const PAUSE_MS = 1_000;
const CLI = Bun.fileURLToPath(import.meta.resolve('../src/cli.ts'));

await runBenchmark((defer) =>
  new Command('engines')
    .description('measure the goals of PostgreSQL behind a network')
    .option('--round-trip <ms>', 'delay of the network, both directions together', wholeNumber, 10)
    .option('--processes <number>', 'of Tidings', wholeNumber, 3)
    .option('--rounds <number>', 'how often saves and deliveries are measured', wholeNumber, 5)
    .option('--seconds <number>', 'how long each time', wholeNumber, 3)
    .option('--rows <number>', 'that the sweeper removes', wholeNumber, 40_000)
    .option('--integrations <number>', 'that the doctor examines', wholeNumber, 30_000)
    .option('--json', 'print exactly one JSON value')
    .action(async (options: Options) => {
      requireWrk();
      const world = await start(options, defer);
      const people = await measurePeople(world, options);
      const figures = { ...people, ...(await measureWork(world, options)) };
      const machine = describeMachine(false);
      terminal.write(
        options.json
          ? `${JSON.stringify({ machine, ...options, ...figures })}\n`
          : `${machineLine(machine)}\n\n${JSON.stringify(figures, null, 2)}\n`,
      );
    }),
);

async function start({ roundTrip, processes }: Options, defer: Defer): Promise<World> {
  const folder = await makeTempFolder(defer);
  const postgres = await startPostgres({ fsync: 'on' });
  defer(() => postgres.stop());
  const url = await postgres.createDatabase();
  const log = createLog('silent', { write: () => undefined });
  const place = { url, readUrl: undefined, pool: 10 };
  const shared = await openSharedDatabase(place, SECRET_KEY, 'command', { log, process: 'bench' });
  const writers = await seedWriters(shared.db, PEOPLE);
  const { newPushes } = await seedRepository(shared, 'org_pushes');
  await shared.db.close();
  const network = await startTcpProxy({ port: postgres.port });
  defer(async () => network[Symbol.asyncDispose]());
  network.delayMs = roundTrip / 2;
  const servers: Server[] = [];
  for (let count = 1; count <= processes; count++) {
    const program = tidingsOnPostgres(through(network, url), SECRET_KEY, folder);
    servers.push(await startServer(program, { core: [], logFile: join(folder, `${count}.log`), defer }));
  }
  return { url, postgresPid: postgres.pid, network, servers, writers, newPushes, folder, defer };
}

/** Saves a second when all save at once, and deliveries beside people of whom each saves once a second. */
async function measurePeople({ servers, writers, ...world }: World, { rounds, seconds }: Options) {
  const saves: number[] = [];
  const saveCpuMs: number[] = [];
  const kept: number[] = [];
  const readCpu = () =>
    servers.reduce(
      (sum, { pid }) => sum + (cpuSeconds(pid) ?? Number.NaN),
      cpuSecondsOfTree(world.postgresPid) ?? Number.NaN,
    );
  const deliver = async () => {
    const { folder, defer } = world;
    const connections = Math.ceil(DELIVERIES_AT_ONCE / servers.length);
    const options = { core: [], folder, defer, seconds, connections };
    const each = await Promise.all(servers.map(({ url }) => runLoad(url, world.newPushes(1_000), options)));
    return each.reduce((rate, result) => rate + result.requests / result.seconds, 0);
  };
  const deliverBeside = async () => {
    const stop = startTyping(servers, writers, PAUSE_MS);
    const rate = await deliver();
    await stop();
    return rate;
  };
  // The first round is not counted: code is compiled, and the integration is read.
  for (let round = 0; round <= rounds; round++) {
    const cpu = readCpu();
    const stop = startTyping(servers, writers, 0);
    await Bun.sleep(seconds * 1_000);
    const saved = await stop();
    if (round > 0) saveCpuMs.push((1_000 * (readCpu() - cpu)) / (saved * seconds));
    const isReversed = round % 2 === 1;
    const first = await (isReversed ? deliverBeside() : deliver());
    const second = await (isReversed ? deliver() : deliverBeside());
    if (round === 0) continue;
    saves.push(saved);
    kept.push(isReversed ? first / second : second / first);
  }
  return {
    savesPerSecond: spread(saves),
    /** Of Tidings and PostgreSQL. */
    saveCpuMs: median(saveCpuMs),
    /** Deliveries beside people who type, divided by those without. */
    deliveriesKept: spread(kept),
  };
}

function spread(values: readonly number[]) {
  return { median: median(values), lowest: Math.min(...values), highest: Math.max(...values) };
}

/** The sweeper with deliveries beside it, the draft of a release, and the doctor. */
async function measureWork({ url, network, servers, defer }: World, options: Options) {
  const { roundTrip, rows, integrations } = options;
  const delayMs = roundTrip / 2;
  // They would do the work.
  await Promise.all(servers.map((server) => server.stop()));
  network.delayMs = 0;
  const db = await openPostgres(through(network, url), 'server', { poolSize: 4 });
  defer(() => db.close());
  await using admin = new SQL(url, { max: 1 });
  const app = createTestApp({ db, ids: randomIds });
  await app.addOrganization('org_work');
  const connected = await connectGithub(app, 'org_work');
  const { integrationId } = connected;
  await createTrigger(app.deps, { integrationId, event: 'release', contentType: 'changelog' });
  let releases = 0;
  const deliver = async () => {
    const sample = samplePayload('github', 'release', { repository: 'acme/rocket', now: new Date(0) }) ?? {};
    const payload = changed(sample, { 'release.tag_name': `v${++releases}` });
    const startedAt = performance.now();
    const { status } = await app.request(...githubRequest(connected, payload, { event: 'release' }));
    if (status !== 200) throw new BenchError(`A delivery was answered with ${status}`);
    return performance.now() - startedAt;
  };

  const trips: number[] = [];
  for (let round = 0; round < 8; round++) {
    await deliver();
    while (!network.isQuiet) await Bun.sleep(1);
    network.delayMs = delayMs;
    const before = { trips: network.roundTrips, preparations: network.preparations };
    await runTriggers(app.deps, compose);
    if (network.preparations === before.preparations) trips.push(network.roundTrips - before.trips);
    network.delayMs = 0;
  }

  await admin`INSERT INTO delivery_claims SELECT 'int_past', number::text, 1 FROM generate_series(1, ${rows}) AS number`;
  await admin`VACUUM ANALYZE`.simple();
  network.delayMs = delayMs;
  // All connections are open, and have prepared their statements.
  for (let round = 0; round < 3; round++) await Promise.all(Array.from({ length: 8 }, deliver));
  const alone: number[] = [];
  for (let count = 0; count < 50; count++) alone.push(await deliver());
  const beside: number[] = [];
  let isSwept = false;
  const startedAt = performance.now();
  const sweeping = sweep(app.deps).then(({ deliveryIds }) => {
    isSwept = true;
    return deliveryIds / ((performance.now() - startedAt) / 1_000);
  });
  while (!isSwept) beside.push(await deliver());
  const sweptPerSecond = await sweeping;

  await admin`CREATE TEMP TABLE more AS SELECT integrations.*, number FROM integrations, generate_series(1, ${integrations}) AS number WHERE id = ${integrationId}`;
  await admin`UPDATE more SET id = 'int_' || number`;
  await admin`ALTER TABLE more DROP number`;
  await admin`INSERT INTO integrations SELECT * FROM more`;
  network.delayMs = 0;
  const examinedAt = performance.now();
  const doctor = Bun.spawn([process.execPath, CLI, 'doctor', '--offline', '--json'], {
    env: { ...Bun.env, DATABASE_URL: url, SECRET_KEY },
    stdout: 'pipe',
  });
  if (!(await Bun.readableStreamToText(doctor.stdout)).includes('"checks"'))
    throw new BenchError('doctor printed no report');
  const doctorMs = performance.now() - examinedAt;
  await doctor.exited;
  return {
    /** Of a release that becomes a draft. */
    draftTrips: median(trips),
    sweptPerSecond,
    /** How much longer than usual a delivery took beside the sweeper. */
    waitMs: Math.max(...beside) - median(alone),
    doctorMs,
    doctorCpuMs: Number(doctor.resourceUsage()?.cpuTime.total ?? Number.NaN) / 1_000,
  };
}
