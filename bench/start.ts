import { join } from 'node:path';
import { Command } from 'commander';
import { table } from '../src/cli/output.ts';
import { progressBar } from '../src/cli/progress.ts';
import { everyPage } from './support/cases.ts';
import { type Cores, chooseCores } from './support/cores.ts';
import { describeMachine, machineLine } from './support/machine.ts';
import { residentBytes } from './support/process-figures.ts';
import { type Defer, runBenchmark, terminal, wholeNumber } from './support/run.ts';
import { makeTempFolder, seedDataFolder } from './support/seed.ts';
import { hello, type Program, type Server, startServer, tidings } from './support/server.ts';
import { median } from './support/statistics.ts';
import { type Load, requireWrk, runLoad } from './support/wrk.ts';

// How soon the service answers after it is started on a data folder that holds posts, and how much memory it has
// then, at rest, and after work. Beside it a server that does nothing, which is what Bun itself takes.

interface Options {
  starts: number;
  json?: true;
}

/** Figures of one server, one for each start. Memory is missing where the system does not say. */
interface Figures {
  firstPingMs: number[];
  startedBytes: number[];
  idleBytes: number[];
  loadedBytes: number[];
}

type Medians = Record<keyof Figures, number | null>;

interface Place {
  cores: Cores;
  folder: string;
  defer: Defer;
}

const IDLE_MS = 2_000;
const LOAD_REQUESTS = 20_000;
/** wrk runs for a time, not for a number of requests: it is run again until there were enough. */
const LOAD_SECONDS = 2;
/** How many of the starts are followed through idling and load. */
const LONG_LIVES = 3;

const labels: Record<keyof Figures, string> = {
  firstPingMs: 'start to first /ping answered, ms',
  startedBytes: 'resident then, MB',
  idleBytes: `resident after ${IDLE_MS / 1000} s of rest, MB`,
  loadedBytes: `resident after ${LOAD_REQUESTS} lists and more, any page, MB`,
};

await runBenchmark((defer) =>
  new Command('start')
    .description('measure the time to the first answer, and memory')
    .option('--starts <number>', 'how often each server is started', wholeNumber, 15)
    .option('--json', 'print exactly one JSON value')
    .action(async ({ starts, json }: Options) => {
      const cores = chooseCores();
      const figures = await measure(starts, cores, defer);
      const [subject, bare] = [mediansOf(figures.tidings), mediansOf(figures.hello)];
      const machine = describeMachine(cores.server.length > 0);
      terminal.write(
        json
          ? `${JSON.stringify({ machine, starts, tidings: subject, hello: bare })}\n`
          : `${machineLine(machine)}\nMedians of ${starts} starts\n\n${describe(subject, bare)}\n`,
      );
    }),
);

async function measure(starts: number, cores: Cores, defer: Defer) {
  requireWrk();
  const folder = await makeTempFolder(defer);
  const data = await seedDataFolder(folder, { ascii: false });
  const place = { cores, folder, defer };
  const load = { paths: everyPage(data.organizationId), headers: { authorization: `Bearer ${data.key}` } };
  const figures = { tidings: noFigures(), hello: noFigures() };
  const programs = { tidings: tidings(data.path), hello };

  const bar = progressBar(terminal, 'measuring');
  try {
    // The first start finds the files on disk, all others in memory: it does not count.
    for (let start = 0; start <= starts; start++) {
      for (const name of ['tidings', 'hello'] as const) {
        const into = start === 0 ? noFigures() : figures[name];
        await followLife(programs[name], into, place, start > 0 && start <= LONG_LIVES ? load : null);
      }
      bar.show(start, starts);
    }
  } finally {
    bar.done();
  }
  return figures;
}

/** Starts the program, notes what is to be noted, and stops it. With a load, its life is a long one. */
async function followLife(
  program: Program,
  figures: Figures,
  { cores, folder, defer }: Place,
  load: Load | null,
): Promise<void> {
  const startedAt = performance.now();
  const logFile = join(folder, `${program.name}.log`);
  const server = await startServer(program, { core: cores.server, logFile, defer });
  await fetch(`${server.url}/ping`).then((response) => response.text());
  figures.firstPingMs.push(performance.now() - startedAt);
  noteMemory(server, figures.startedBytes);
  if (load !== null) {
    await Bun.sleep(IDLE_MS);
    noteMemory(server, figures.idleBytes);
    const options = { core: cores.load, folder, defer, seconds: LOAD_SECONDS };
    for (let answered = 0; answered < LOAD_REQUESTS; ) {
      answered += (await runLoad(server.url, load, options)).requests;
    }
    noteMemory(server, figures.loadedBytes);
  }
  await server.stop();
}

function noteMemory(server: Server, into: number[]): void {
  const bytes = residentBytes(server.pid);
  if (bytes !== null) into.push(bytes);
}

function noFigures(): Figures {
  return { firstPingMs: [], startedBytes: [], idleBytes: [], loadedBytes: [] };
}

function mediansOf(figures: Figures): Medians {
  const middle = (values: number[]) => (values.length === 0 ? null : median(values));
  return {
    firstPingMs: middle(figures.firstPingMs),
    startedBytes: middle(figures.startedBytes),
    idleBytes: middle(figures.idleBytes),
    loadedBytes: middle(figures.loadedBytes),
  };
}

function describe(subject: Medians, bare: Medians): string {
  const rows = (Object.keys(labels) as (keyof Figures)[]).map((figure) => {
    const shown = (value: number | null) =>
      value === null ? '–' : (figure === 'firstPingMs' ? value : value / 1e6).toFixed(1);
    const [ours, theirs] = [subject[figure], bare[figure]];
    const ratio = ours === null || theirs === null ? '–' : (ours / theirs).toFixed(2);
    return [labels[figure], ...[shown(ours), shown(theirs), ratio].map((cell) => cell.padStart(7))];
  });
  return table(['', 'TIDINGS', '  HELLO', '  RATIO'], rows);
}
