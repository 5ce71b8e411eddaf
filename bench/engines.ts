import { SQL } from 'bun';
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
import { median, ofRounds } from './support/numbers.ts';
import { seedWriters, startTyping, type Writer } from './support/people.ts';
import { atLeast, atMost, type Bench, BenchError, benchmark } from './support/run.ts';
import { seedRepository } from './support/seed.ts';
import { cli, type Server, startServer, tidings } from './support/server.ts';
import { type Load, takeSample } from './support/wrk.ts';

// PostgreSQL behind a network of 10 ms: saves of the editor by 50 people, each in an organization of their own,
// deliveries beside them, the sweeper, the draft of a release, and the doctor of many integrations.

interface World {
  url: string;
  network: TcpProxy;
  servers: Server[];
  writers: Writer[];
  newPushes(count: number): Load;
}

const SECRET_KEY = Buffer.alloc(32, 7).toString('base64');
/** In each direction. */
const DELAY_MS = 5;
const PROCESSES = 3;
const PEOPLE = 50;
const DELIVERIES_AT_ONCE = 48;
/** The editor saves once somebody pauses for a second. */
const PAUSE_MS = 1_000;
const SECONDS = 3;
/** For the sweeper to remove. */
const ROWS = 40_000;
/** For the doctor to examine. */
const INTEGRATIONS = 30_000;

export const engines = benchmark({
  goals: {
    saves: atLeast(300, 'a second', 'PostgreSQL: saves of 50 organizations'),
    deliveriesKept: atLeast(0.9, 'ratio', 'PostgreSQL: deliveries beside 50 people who type / without'),
    swept: atLeast(4_000, 'a second', 'PostgreSQL: rows that the sweeper removes'),
    wait: atMost(50, 'ms', 'PostgreSQL: longest wait of a delivery beside the sweeper'),
    draftTrips: atMost(12, 'round trips', 'PostgreSQL: a release becomes a draft'),
    doctor: atMost(2_000, 'ms', 'PostgreSQL: `doctor` with 30,000 integrations'),
  },
  async measure(given) {
    // The processes share all cores.
    const bench = { ...given, cores: { server: [], load: [] } };
    const world = await start(bench);
    return { ...(await measurePeople(world, bench)), ...(await measureWork(world, bench)) };
  },
});

async function start(bench: Bench): Promise<World> {
  const { folder, defer } = bench;
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
  network.delayMs = DELAY_MS;
  const program = tidings(folder, '--database-url', through(network, url), '--secret-key', SECRET_KEY);
  const servers: Server[] = [];
  for (let count = 0; count < PROCESSES; count++) servers.push(await startServer(bench, program));
  return { url, network, servers, writers, newPushes };
}

/** Saves a second when all save at once, and deliveries beside people of whom each saves once a second. */
async function measurePeople({ servers, writers, newPushes }: World, bench: Bench) {
  const saves: number[] = [];
  const kept: number[] = [];
  const deliver = async () => {
    const connections = DELIVERIES_AT_ONCE / PROCESSES;
    const each = servers.map((server) =>
      takeSample(bench, { server, load: newPushes(1_000), connections }, SECONDS),
    );
    return (await Promise.all(each)).reduce((rate, { requestsPerSecond }) => rate + requestsPerSecond, 0);
  };
  const deliverBeside = async () => {
    const stop = startTyping(servers, writers, PAUSE_MS);
    const rate = await deliver();
    await stop();
    return rate;
  };
  // The first round is not counted: code is compiled, and the integration is read.
  for (let round = 0; round <= (bench.isQuick ? 2 : 5); round++) {
    const stop = startTyping(servers, writers, 0);
    await Bun.sleep(SECONDS * 1_000);
    const saved = await stop();
    const isReversed = round % 2 === 1;
    const first = await (isReversed ? deliverBeside() : deliver());
    const second = await (isReversed ? deliver() : deliverBeside());
    if (round === 0) continue;
    saves.push(saved);
    kept.push(isReversed ? first / second : second / first);
  }
  return { saves: ofRounds(saves), deliveriesKept: ofRounds(kept) };
}

/** The sweeper with deliveries beside it, the draft of a release, and the doctor. */
async function measureWork({ url, network, servers }: World, { folder, defer }: Bench) {
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
    network.delayMs = DELAY_MS;
    const before = { trips: network.roundTrips, preparations: network.preparations };
    await runTriggers(app.deps, compose);
    if (network.preparations === before.preparations) trips.push(network.roundTrips - before.trips);
    network.delayMs = 0;
  }

  await admin`INSERT INTO delivery_claims SELECT 'int_past', number::text, 1 FROM generate_series(1, ${ROWS}) AS number`;
  await admin`VACUUM ANALYZE`.simple();
  network.delayMs = DELAY_MS;
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

  await admin`CREATE TEMP TABLE more AS SELECT integrations.*, number FROM integrations, generate_series(1, ${INTEGRATIONS}) AS number WHERE id = ${integrationId}`;
  await admin`UPDATE more SET id = 'int_' || number`;
  await admin`ALTER TABLE more DROP number`;
  await admin`INSERT INTO integrations SELECT * FROM more`;
  network.delayMs = 0;
  const examinedAt = performance.now();
  // It fails: the secrets of the copies are those of another integration.
  const env = { ...Bun.env, DATABASE_URL: url, SECRET_KEY, DATA_DIR: folder };
  const doctor = Bun.spawn(cli('doctor', '--offline', '--json'), { env, stdout: 'pipe' });
  if (!(await Bun.readableStreamToText(doctor.stdout)).includes('"checks"'))
    throw new BenchError('doctor printed no report');
  return {
    swept: { value: sweptPerSecond },
    /** How much longer than usual a delivery took. */
    wait: { value: Math.max(...beside) - median(alone) },
    draftTrips: { value: median(trips) },
    doctor: { value: performance.now() - examinedAt },
  };
}
