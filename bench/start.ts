import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { progressBar } from '../src/cli/output.ts';
import { openDataFolder } from '../src/server/data-folder.ts';
import { everyPage } from './support/cases.ts';
import { type Cores, chooseCores } from './support/cores.ts';
import { imageBytes } from './support/image-size.ts';
import { describeMachine, machineLine } from './support/machine.ts';
import { cpuSeconds, residentBytes } from './support/process-figures.ts';
import { type Defer, runBenchmark, terminal, wholeNumber } from './support/run.ts';
import { makeTempFolder, seedDataFolder } from './support/seed.ts';
import { type Program, type Server, startServer } from './support/server.ts';
import { type Contender, contenders } from './support/start-contenders.ts';
import { median } from './support/statistics.ts';
import { table } from './support/table.ts';
import { seedRepository } from './support/webhook-folder.ts';
import { type Load, requireWrk, runLoad } from './support/wrk.ts';

// How soon the service answers after it is started on a data folder that holds posts, how much memory it has then, at
// rest, after work and under a flood of deliveries, and the processor time of rest: from source, and as one binary. Beside
// it the same by hand, a server that does nothing, which is what Bun itself takes, and PocketBase, where there is one.

interface Options {
  starts: number;
  pocketbase?: string;
  json?: true;
}

/** Figures of one server, one for each start. Memory is missing where the system does not say. */
interface Figures {
  firstPingMs: number[];
  startedBytes: number[];
  idleBytes: number[];
  /** Milliseconds of processor time in a minute at rest. */
  idleCpuMs: number[];
  loadedBytes: number[];
  /** The most between two parts of the flood. */
  floodBytes: number[];
}

type Medians = Record<keyof Figures, number | null> & {
  executableBytes: number;
  /** Null for what the Dockerfile makes no image of. */
  imageBytes: number | null;
};

interface Place {
  cores: Cores;
  folder: string;
  defer: Defer;
}

const IDLE_MS = 2_000;
/** After that, the processor time of rest. */
const IDLE_CPU_MS = 10_000;
const LOAD_REQUESTS = 20_000;
/** wrk runs for a time, not for a number of requests: it is run again until there were enough. */
const LOAD_SECONDS = 2;
/** How many of the starts are followed through idling and load, and as many more through a flood of deliveries. */
const LONG_LIVES = 3;

const labels: Record<keyof Medians, string> = {
  firstPingMs: 'start to first /ping answered, ms',
  startedBytes: 'resident then, MB',
  idleBytes: `resident after ${IDLE_MS / 1000} s of rest, MB`,
  idleCpuMs: 'processor time at rest, ms a minute',
  loadedBytes: `resident after ${LOAD_REQUESTS} lists and more, any page, MB`,
  floodBytes: `resident under a flood of ${LOAD_REQUESTS} deliveries and more, MB`,
  executableBytes: 'what is executed, on disk, MB',
  imageBytes: 'files of its image, MB',
};

await runBenchmark((defer) =>
  new Command('start')
    .description('measure the time to the first answer, and memory')
    .option('--starts <number>', 'how often each server is started', wholeNumber, 15)
    .option('--pocketbase <path>', 'a PocketBase to measure beside it')
    .option('--json', 'print exactly one JSON value')
    .action(async ({ starts, pocketbase, json }: Options) => {
      const cores = chooseCores();
      const medians = await measure(starts, pocketbase, { cores, defer });
      const machine = describeMachine(cores.server.length > 0);
      const missing =
        pocketbase === undefined ? '\nPocketBase was not measured: --pocketbase PATH names one.\n' : '';
      terminal.write(
        json
          ? `${JSON.stringify({ machine, starts, ...medians })}\n`
          : `${machineLine(machine)}\nMedians of ${starts} starts\n\n${describe(medians)}\n${missing}`,
      );
    }),
);

async function measure(
  starts: number,
  pocketbase: string | undefined,
  { cores, defer }: Pick<Place, 'cores' | 'defer'>,
): Promise<Record<string, Medians>> {
  requireWrk();
  const folder = await makeTempFolder(defer);
  const data = await seedDataFolder(folder, { ascii: false });
  const place = { cores, folder, defer };
  const lists = { paths: everyPage(data.organizationId), headers: { authorization: `Bearer ${data.key}` } };
  // What a flood leaves to do must not weigh on the starts that follow.
  const flooded = join(folder, 'flooded');
  cpSync(data.path, flooded, { recursive: true });
  const deliveries = await seedDeliveries(flooded);
  const folders = { posts: data.path, flooded };
  const all = contenders(folder, folders, pocketbase).map((one) => ({ ...one, figures: noFigures() }));

  const bar = progressBar(terminal, 'measuring');
  try {
    // The first start finds the files on disk, all others in memory: it does not count.
    for (let start = 0; start <= starts; start++) {
      for (const one of all) {
        const into = start === 0 ? noFigures() : one.figures;
        const isLong = start > 0 && start <= LONG_LIVES;
        await followLife(one, into, place, isLong ? lists : null);
        if (isLong && one.flooded) await flood(one.flooded, into, place, deliveries);
      }
      bar.show(start, starts);
    }
  } finally {
    bar.done();
  }
  return Object.fromEntries(all.map((one) => [one.program.name, mediansOf(one)]));
}

async function seedDeliveries(dataDir: string): Promise<Load> {
  const { db, secrets, close } = openDataFolder(dataDir);
  try {
    return (await seedRepository({ db, secrets }, 'org_flood')).pushes;
  } finally {
    close();
  }
}

/** Starts the program, notes what is to be noted, and stops it. With lists, its life is a long one. */
async function followLife(
  { program, ping, hasPosts }: Contender,
  figures: Figures,
  { cores, folder, defer }: Place,
  lists: Load | null,
): Promise<void> {
  const startedAt = performance.now();
  const logFile = join(folder, `${program.name}.log`);
  const server = await startServer(program, { core: cores.server, logFile, defer });
  await fetch(`${server.url}${ping}`).then((response) => response.text());
  figures.firstPingMs.push(performance.now() - startedAt);
  noteMemory(server, figures.startedBytes);
  if (lists !== null) {
    await Bun.sleep(IDLE_MS);
    noteMemory(server, figures.idleBytes);
    await noteIdleTime(server, figures.idleCpuMs);
    if (hasPosts) {
      await load(server, lists, { cores, folder, defer });
      noteMemory(server, figures.loadedBytes);
    }
  }
  await server.stop();
}

/** A life of its own, so that the lists have left nothing in memory. */
async function flood(program: Program, figures: Figures, place: Place, deliveries: Load): Promise<void> {
  const { cores, folder, defer } = place;
  const logFile = join(folder, `${program.name}.log`);
  const server = await startServer(program, { core: cores.server, logFile, defer });
  const seen: number[] = [];
  await load(server, deliveries, place, () => noteMemory(server, seen));
  if (seen.length > 0) figures.floodBytes.push(Math.max(...seen));
  await server.stop();
}

async function load(
  server: Server,
  requests: Load,
  { cores, folder, defer }: Place,
  onPart: () => void = () => undefined,
): Promise<void> {
  const options = { core: cores.load, folder, defer, seconds: LOAD_SECONDS };
  for (let answered = 0; answered < LOAD_REQUESTS; onPart()) {
    const first = answered % requests.paths.length;
    answered += (await runLoad(server.url, { ...requests, first }, options)).requests;
  }
}

async function noteIdleTime({ pid }: Server, into: number[]): Promise<void> {
  const before = cpuSeconds(pid);
  await Bun.sleep(IDLE_CPU_MS);
  const after = cpuSeconds(pid);
  if (before !== null && after !== null) into.push(((after - before) * 1000 * 60_000) / IDLE_CPU_MS);
}

function noteMemory(server: Server, into: number[]): void {
  const bytes = residentBytes(server.pid);
  if (bytes !== null) into.push(bytes);
}

function noFigures(): Figures {
  return {
    firstPingMs: [],
    startedBytes: [],
    idleBytes: [],
    idleCpuMs: [],
    loadedBytes: [],
    floodBytes: [],
  };
}

function mediansOf({ figures, program, flooded }: Contender & { figures: Figures }): Medians {
  const { executable = process.execPath } = program;
  const middle = (values: number[]) => (values.length === 0 ? null : median(values));
  return {
    firstPingMs: middle(figures.firstPingMs),
    startedBytes: middle(figures.startedBytes),
    idleBytes: middle(figures.idleBytes),
    idleCpuMs: middle(figures.idleCpuMs),
    loadedBytes: middle(figures.loadedBytes),
    floodBytes: middle(figures.floodBytes),
    executableBytes: Bun.file(executable).size,
    imageBytes:
      flooded !== undefined && program.executable !== undefined ? imageBytes(program.executable) : null,
  };
}

function describe(medians: Record<string, Medians>): string {
  const rows = (Object.keys(labels) as (keyof Medians)[]).map((figure) => {
    const shown = (value: number | null) =>
      value === null ? '–' : (figure.endsWith('Ms') ? value : value / 1e6).toFixed(1);
    const cells = Object.entries(medians).map(([name, of]) => shown(of[figure]).padStart(name.length));
    return [labels[figure], ...cells];
  });
  return table(['', ...Object.keys(medians).map((name) => name.toUpperCase())], rows);
}
