import { join } from 'node:path';
import { SQL } from 'bun';
import { Command } from 'commander';
import { progressBar } from '../src/cli/output.ts';
import type { Deps } from '../src/deps.ts';
import { createLog } from '../src/lib/log.ts';
import { openDataFolder } from '../src/operate/data-folder.ts';
import { openSharedDatabase } from '../src/operate/shared-database.ts';
import { startPostgres } from '../test/support/postgres-server.ts';
import { contentApiCases } from './support/cases.ts';
import { chooseCores, pinThisProcess } from './support/cores.ts';
import { describeMachine, machineLine } from './support/machine.ts';
import { cpuSeconds, cpuSecondsOfTree } from './support/process-figures.ts';
import { type CaseSamples, describeSummaries, type Sample, summarize } from './support/report.ts';
import { type Defer, runBenchmark, terminal, wholeNumber } from './support/run.ts';
import { requireRevalidation, requireSameAnswers } from './support/same-answers.ts';
import { makeTempFolder, type SeededPosts, seedPosts } from './support/seed.ts';
import { type Program, type Server, startServer, tidings, tidingsOnPostgres } from './support/server.ts';
import { seedRepository } from './support/webhook-folder.ts';
import { type Load, type LoadOptions, requireWrk, runLoad } from './support/wrk.ts';

// The same requests on SQLite and on PostgreSQL with one to three processes. All of them and PostgreSQL share one core,
// so more processes do not answer more requests. The processor time of both sides for a request says how many a machine
// of its own could answer.

interface Options {
  rounds: number;
  seconds: number;
  only: string;
  json?: true;
}

/** A filled database. */
interface Target {
  posts: SeededPosts;
  newPushes(count: number): Load;
  /** PostgreSQL; null on SQLite. */
  database: { pid: number; url: string } | null;
}

/** A target with the processes that share the load. */
interface Contender {
  name: string;
  target: Target;
  servers: Server[];
}

/** One kind of request. */
interface Measured {
  name: string;
  connections: number;
  loadFor(target: Target): Load;
}

const PROCESSES = 3;
const CONNECTIONS = 16;
const DELIVERIES_AT_ONCE = [1, 16, 64];
/** Writes of one event wait for each other, so each sender has events of its own. */
const DIFFERENT_PUSHES = 1_000;
const SECRET_KEY = Buffer.alloc(32, 7).toString('base64');

await runBenchmark((defer) =>
  new Command('engines')
    .description('measure reads and deliveries on SQLite and on PostgreSQL with one to three processes')
    .option('--rounds <number>', 'how often each is measured in each case', wholeNumber, 5)
    .option('--seconds <number>', 'how long each time', wholeNumber, 2)
    .option('--only <text>', 'cases whose name contains this', '')
    .option('--json', 'print exactly one JSON value')
    .action(async ({ rounds, seconds, only, json }: Options) => {
      requireWrk();
      const cores = chooseCores();
      pinThisProcess(cores.server);
      const folder = await makeTempFolder(defer);
      const contenders = await startContenders(folder, defer);
      const cases = (await listCases(contenders)).filter(({ name }) => name.includes(only));
      const load = { core: cores.load, folder, defer, seconds };
      const summaries = (await measure(contenders, cases, rounds, load)).map(summarize);
      const machine = describeMachine(cores.server.length > 0);
      terminal.write(
        json
          ? `${JSON.stringify({ machine, rounds, seconds, cases: summaries })}\n`
          : `${machineLine(machine)}\nMedians of ${rounds} rounds of ${seconds} s\n\n${describeSummaries(summaries)}\n`,
      );
    }),
);

async function startContenders(folder: string, defer: Defer): Promise<Contender[]> {
  const start = (program: Program, name = program.name) =>
    startServer(program, { core: [], logFile: join(folder, `${name}.log`), defer });

  const dataDir = join(folder, 'data');
  const data = openDataFolder(dataDir);
  const sqlite = { ...(await fill(data)), database: null };
  data.close();

  // As it comes, with synchronous commits to the disk.
  const server = await startPostgres({ fsync: 'on' });
  defer(() => server.stop());
  const url = await server.createDatabase();
  const log = createLog('silent', { write: () => undefined });
  const shared = await openSharedDatabase({ url, readUrl: undefined, pool: 10 }, SECRET_KEY, 'command', {
    log,
    process: 'bench',
  });
  const postgres = { ...(await fill(shared)), database: { pid: server.pid, url } };
  await shared.db.close();

  const servers: Server[] = [];
  for (let count = 1; count <= PROCESSES; count++) {
    servers.push(await start(tidingsOnPostgres(url, SECRET_KEY, folder), `postgres-${count}`));
  }
  return [
    { name: 'sqlite', target: sqlite, servers: [await start(tidings(dataDir))] },
    ...servers.map((_, index) => ({
      name: `postgres, ${index + 1}`,
      target: postgres,
      servers: servers.slice(0, index + 1),
    })),
  ];
}

async function fill(storage: Pick<Deps, 'db' | 'secrets'>): Promise<Pick<Target, 'posts' | 'newPushes'>> {
  const posts = await seedPosts(storage.db, { ascii: false });
  const { newPushes } = await seedRepository(storage, 'org_pushes');
  return { posts, newPushes };
}

async function listCases(contenders: readonly Contender[]): Promise<Measured[]> {
  const targets = new Map(contenders.map(({ target, servers }) => [target, servers]));
  const cases: Measured[] = [];
  const [first] = contenders;
  if (first === undefined) return cases;
  for (const each of contentApiCases(first.target.posts)) {
    const loads = new Map<Target, Load>();
    for (const [target, servers] of targets) {
      const { key } = target.posts;
      await requireSameAnswers(servers, each, key);
      const headers: Record<string, string> = { authorization: `Bearer ${key}` };
      for (const server of each.revalidates ? servers : [])
        headers['if-none-match'] = await requireRevalidation(server, each.paths[0] ?? '/', key);
      loads.set(target, { paths: each.paths, headers });
    }
    cases.push({
      name: each.name,
      connections: CONNECTIONS,
      loadFor: (target) => loads.get(target) ?? { paths: each.paths, headers: {} },
    });
  }
  for (const connections of DELIVERIES_AT_ONCE) {
    const loadFor = (target: Target) => target.newPushes(DIFFERENT_PUSHES);
    cases.push({ name: `deliveries, ${connections} at once`, connections, loadFor });
  }
  return cases;
}

async function measure(
  contenders: readonly Contender[],
  cases: readonly Measured[],
  rounds: number,
  load: LoadOptions,
): Promise<CaseSamples[]> {
  const samples = cases.map(({ name }) => ({
    name,
    servers: new Map(contenders.map((contender) => [contender.name, [] as Sample[]])),
  }));
  const bar = progressBar(terminal, 'measuring');
  try {
    // The first round is not counted: code is compiled and files are read into memory.
    for (let round = 0; round <= rounds; round++) {
      if (round === 1) await collectStatistics(contenders);
      for (const [index, each] of cases.entries()) {
        for (const contender of round % 2 === 0 ? contenders : contenders.toReversed()) {
          const sample = await takeSample(contender, each, load);
          if (round > 0) samples[index]?.servers.get(contender.name)?.push(sample);
        }
        bar.show(round * cases.length + index + 1, (rounds + 1) * cases.length);
      }
    }
  } finally {
    bar.done();
  }
  return samples;
}

/** As PostgreSQL does by itself in the first minutes. Until then it may choose plans for empty tables. */
async function collectStatistics(contenders: readonly Contender[]): Promise<void> {
  const urls = contenders.flatMap(({ target }) => target.database?.url ?? []);
  for (const url of new Set(urls)) {
    await using connection = new SQL(url, { max: 1 });
    await connection`VACUUM ANALYZE`;
  }
}

/** The processes share the connections, as behind a load balancer. */
async function takeSample(
  { target, servers }: Contender,
  { connections, loadFor }: Measured,
  options: LoadOptions,
): Promise<Sample> {
  const loads = servers.map(() => loadFor(target));
  const { database } = target;
  const readCpu = () => [
    sum(servers.map(({ pid }) => cpuSeconds(pid))),
    database === null ? null : cpuSecondsOfTree(database.pid),
  ];
  const before = readCpu();
  const results = await Promise.all(
    servers.map(({ url }, index) =>
      runLoad(url, loads[index] ?? loadFor(target), {
        ...options,
        connections: shareOf(connections, servers.length, index),
      }),
    ),
  );
  const after = readCpu();
  const requests = sum(results.map((result) => result.requests)) ?? 0;
  const [own, ofDatabase] = after.map((seconds, side) => {
    const earlier = before[side];
    return seconds === null || earlier == null ? null : ((seconds - earlier) / requests) * 1e6;
  });
  return {
    requestsPerSecond: results.reduce((rate, result) => rate + result.requests / result.seconds, 0),
    cpuMicrosecondsPerRequest: own ?? null,
    databaseMicrosecondsPerRequest: ofDatabase ?? null,
  };
}

/** At least one for each process. */
function shareOf(connections: number, processes: number, index: number): number {
  return Math.max(1, Math.floor(connections / processes) + (index < connections % processes ? 1 : 0));
}

function sum(values: readonly (number | null)[]): number | null {
  return values.reduce<number | null>(
    (total, value) => (total === null || value === null ? null : total + value),
    0,
  );
}
