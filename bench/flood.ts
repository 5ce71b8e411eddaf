import { join } from 'node:path';
import { Command } from 'commander';
import { progressBar } from '../src/cli/output.ts';
import { openDataFolder } from '../src/server/data-folder.ts';
import { chooseCores } from './support/cores.ts';
import { makeDisks } from './support/disk.ts';
import { describeMachine, machineLine } from './support/machine.ts';
import { cpuSeconds } from './support/process-figures.ts';
import { describeSummaries, type Sample, summarize } from './support/report.ts';
import { type Defer, runBenchmark, terminal, wholeNumber } from './support/run.ts';
import { makeTempFolder, type SeededPosts, seedPosts } from './support/seed.ts';
import { type Program, rawWebhooks, type Server, startServer, tidings } from './support/server.ts';
import { seedRepository } from './support/webhook-folder.ts';
import { type Load, type LoadOptions, requireWrk, runLoad } from './support/wrk.ts';

// What durability costs a flood of deliveries, and what the flood costs readers. Deliveries on 64 connections: with syncs,
// with none, and with one synced commit for each. A list on 16 connections: alone, and beside deliveries on 16.

interface Options {
  rounds: number;
  seconds: number;
  json?: true;
}

interface Subject {
  server: Server;
  posts: SeededPosts;
  pushes: Load;
}

const FLOOD = 64;
const BESIDE = 16;

await runBenchmark((defer) =>
  new Command('flood')
    .description('measure deliveries with and without syncs, and a list beside deliveries')
    .option('--rounds <number>', 'how often each is measured', wholeNumber, 5)
    .option('--seconds <number>', 'how long each time', wholeNumber, 2)
    .option('--json', 'print exactly one JSON value')
    .action(async ({ rounds, seconds, json }: Options) => {
      requireWrk();
      const cores = chooseCores();
      const folder = await makeTempFolder(defer);
      const disks = await makeDisks(folder);
      const begin = (name: string, program: (path: string, secret: string) => Program) =>
        start(folder, name, program, cores.server, defer);
      const subjects = [
        await begin('tidings', (path) => tidings(path)),
        await begin('unsynced', (path) => disks.unsynced(tidings(path), 'no syncs')),
        await begin('each', (path, secret) => rawWebhooks(join(path, 'tidings.db'), secret)),
      ] as const;
      const load = { core: cores.load, folder, defer, seconds };
      const summaries = (await measure(subjects, rounds, load)).map(summarize);
      const machine = describeMachine(cores.server.length > 0);
      terminal.write(
        json
          ? `${JSON.stringify({ machine, rounds, seconds, cases: summaries })}\n`
          : `${machineLine(machine)}\nMedians of ${rounds} rounds of ${seconds} s\n\n${summaries.map((each) => describeSummaries([each])).join('\n\n')}\n`,
      );
    }),
);

async function start(
  folder: string,
  name: string,
  program: (path: string, secret: string) => Program,
  core: string[],
  defer: Defer,
): Promise<Subject> {
  const path = join(folder, name);
  const { db, secrets, close } = openDataFolder(path);
  const posts = await seedPosts(db, { ascii: true });
  const { pushes, secret } = await seedRepository({ db, secrets }, 'org_hooks');
  close();
  const logFile = join(folder, `${name}.log`);
  return { server: await startServer(program(path, secret), { core, logFile, defer }), posts, pushes };
}

async function measure(subjects: readonly [Subject, ...Subject[]], rounds: number, load: LoadOptions) {
  const [own] = subjects;
  const deliveries = new Map(subjects.map(({ server }) => [server.name, [] as Sample[]]));
  const beside = `beside ${BESIDE} deliveries`;
  const lists = new Map([beside, 'alone'].map((name) => [name, [] as Sample[]]));
  for (const { server, pushes } of subjects) await runLoad(server.url, pushes, { ...load, seconds: 1 });
  const bar = progressBar(terminal, 'measuring');
  for (let round = 0; round < rounds; round++) {
    for (const { server, pushes } of subjects)
      deliveries.get(server.name)?.push(await sample(server, pushes, { ...load, connections: FLOOD }));
    lists.get('alone')?.push(await sample(own.server, listOf(own), load));
    const flood = runLoad(own.server.url, own.pushes, { ...load, connections: BESIDE });
    const [list] = await Promise.all([sample(own.server, listOf(own), load), flood]);
    lists.get(beside)?.push({ ...list, cpuMicrosecondsPerRequest: null });
    bar.show(round + 1, rounds);
  }
  bar.done();
  return [
    { name: `${FLOOD} deliveries at once`, servers: deliveries },
    { name: 'list of 10 posts', servers: lists },
  ];
}

function listOf({ posts }: Subject): Load {
  return {
    paths: [`/v1/${posts.organizationId}/posts`],
    headers: { authorization: `Bearer ${posts.key}` },
  };
}

async function sample(server: Server, load: Load, options: LoadOptions): Promise<Sample> {
  const before = cpuSeconds(server.pid);
  const { requests, seconds } = await runLoad(server.url, load, options);
  const after = cpuSeconds(server.pid);
  return {
    requestsPerSecond: requests / seconds,
    cpuMicrosecondsPerRequest: before === null || after === null ? null : ((after - before) / requests) * 1e6,
  };
}
