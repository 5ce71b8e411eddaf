import { join } from 'node:path';
import { Command } from 'commander';
import { progressBar } from '../src/cli/output.ts';
import { type Case, contentApiCases } from './support/cases.ts';
import { type Cores, chooseCores } from './support/cores.ts';
import { describeMachine, machineLine } from './support/machine.ts';
import { cpuSeconds } from './support/process-figures.ts';
import { type CaseSamples, describeSummaries, isUnsteady, type Sample, summarize } from './support/report.ts';
import { type Defer, runBenchmark, terminal, wholeNumber } from './support/run.ts';
import { requireRevalidation, requireSameAnswers } from './support/same-answers.ts';
import { type DataFolder, makeTempFolder, seedDataFolder } from './support/seed.ts';
import { hello, raw, rawCount, type Server, startServer, tidings } from './support/server.ts';
import { type Load, type LoadOptions, requireWrk, runLoad } from './support/wrk.ts';

// The content API beside its peers: each server in its own process, all of them measured in turn, over and over.

interface Options {
  rounds: number;
  seconds: number;
  ascii: boolean;
  json?: true;
}

/** One server in one case. */
interface Run {
  server: Server;
  load: Load;
  samples: Sample[];
}

/** Before anything counts, so that code is compiled and the file is in memory. */
const WARM_UP_SECONDS = 1;

const UNSTEADY = `
Some rounds differ widely: the machine had other work. Trust the processor time, or run again.
`;

const NOTE = `The pages of "any page" weigh over 100 MB together, more than tidings keeps, and it was asked for them in an order
in which each comes again last. The share that it had kept all the same cannot be seen from outside.`;

await runBenchmark((defer) =>
  new Command('content-api')
    .description('measure the requests a second of the content API beside those of its peers')
    .option('--rounds <number>', 'how often each server is measured in each case', wholeNumber, 5)
    .option('--seconds <number>', 'how long each time', wholeNumber, 2)
    .option('--ascii', 'posts in ASCII only, which suits the peers', false)
    .option('--json', 'print exactly one JSON value')
    .action(async (options: Options) => {
      const cores = chooseCores();
      const summaries = (await measure(options, cores, defer)).map(summarize);
      const { rounds, seconds, ascii } = options;
      const machine = describeMachine(cores.server.length > 0);
      if (options.json) {
        terminal.write(`${JSON.stringify({ machine, rounds, seconds, ascii, cases: summaries })}\n`);
      } else {
        terminal.write(`${machineLine(machine)}\nMedians of ${rounds} rounds of ${seconds} s\n\n`);
        terminal.write(`${describeSummaries(summaries)}\n\n${NOTE}\n`);
        if (isUnsteady(summaries)) terminal.write(UNSTEADY);
      }
    }),
);

async function measure(
  { rounds, seconds, ascii }: Options,
  cores: Cores,
  defer: Defer,
): Promise<CaseSamples[]> {
  requireWrk();
  const folder = await makeTempFolder(defer);
  const data = await seedDataFolder(folder, { ascii });
  const servers: Server[] = [];
  for (const program of [tidings(data.path), raw(data.databaseFile), rawCount(data.databaseFile), hello]) {
    const logFile = join(folder, `${program.name}.log`);
    servers.push(await startServer(program, { core: cores.server, logFile, defer }));
  }

  const place = { core: cores.load, folder, defer };
  const prepared = new Map<string, Run[]>();
  for (const each of contentApiCases(data)) prepared.set(each.name, await prepareRuns(servers, each, data));
  const runs = [...prepared.values()].flat();
  for (const { server, load } of runs)
    await runLoad(server.url, load, { ...place, seconds: WARM_UP_SECONDS });
  await measureRounds(runs, { rounds, seconds, ...place });

  return [...prepared].map(([name, each]) => ({
    name,
    servers: new Map(each.map(({ server, samples }) => [server.name, samples])),
  }));
}

/** Holds the answers of all servers against each other first; hello is only a ceiling. */
async function prepareRuns(servers: readonly Server[], given: Case, { key }: DataFolder): Promise<Run[]> {
  const real = servers.filter(({ name }) => name !== hello.name);
  await requireSameAnswers(real, given, key);
  const runs: Run[] = [];
  for (const server of servers) {
    const headers: Record<string, string> = { authorization: `Bearer ${key}` };
    const [path = '/'] = given.paths;
    if (given.revalidates && real.includes(server)) {
      headers['if-none-match'] = await requireRevalidation(server, path, key);
    }
    runs.push({ server, load: { paths: given.paths, headers }, samples: [] });
  }
  return runs;
}

/** Servers of one case follow each other closely, so that a slow minute of the machine is everybody's. */
async function measureRounds(
  runs: readonly Run[],
  { rounds, ...options }: LoadOptions & { rounds: number },
): Promise<void> {
  const bar = progressBar(terminal, 'measuring');
  try {
    for (let round = 0; round < rounds; round++) {
      for (const [index, run] of runs.entries()) {
        run.samples.push(await takeSample(run, options));
        bar.show(round * runs.length + index + 1, rounds * runs.length);
      }
    }
  } finally {
    bar.done();
  }
}

async function takeSample({ server, load }: Run, options: LoadOptions): Promise<Sample> {
  const before = cpuSeconds(server.pid);
  const { requests, seconds } = await runLoad(server.url, load, options);
  const after = cpuSeconds(server.pid);
  return {
    requestsPerSecond: requests / seconds,
    cpuMicrosecondsPerRequest: before === null || after === null ? null : ((after - before) / requests) * 1e6,
  };
}
