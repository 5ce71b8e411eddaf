import { join } from 'node:path';
import { Command } from 'commander';
import { BenchError } from './support/bench-error.ts';
import { type Case, contentApiCases, LIST } from './support/cases.ts';
import { type Cores, chooseCores } from './support/cores.ts';
import { describeMachine, machineLine } from './support/machine.ts';
import { honoProgram } from './support/peers.ts';
import { type Place, startPocketbase } from './support/products.ts';
import { describeSummaries, isUnsteady, summarize } from './support/report.ts';
import { measureRounds, type Run } from './support/rounds.ts';
import { type Defer, runBenchmark, terminal, wholeNumber } from './support/run.ts';
import { requireRevalidation, requireSameAnswers, requireSameList } from './support/same-answers.ts';
import { type DataFolder, makeTempFolder, seedDataFolder } from './support/seed.ts';
import { constant, hello, raw, type Server, startServer, tidings } from './support/server.ts';
import { requireWrk } from './support/wrk.ts';

// The content API beside its peers: each server in its own process, measured in turn, round by round.

interface Options {
  rounds: number;
  seconds: number;
  ascii: boolean;
  peers: boolean;
  pocketbase?: string;
  json?: true;
}

const COMPRESSED = 'list of 10, compressed';

/** The servers that stand beside Tidings in each case. The peers join the list of 10. */
const BESIDE: Record<string, string[]> = {
  [LIST]: ['constant', 'raw', 'hello'],
  [COMPRESSED]: ['constant'],
  'list of 100 posts': ['raw'],
  'one post': ['raw', 'hello'],
  'list of 10, known (304)': ['raw', 'hello'],
  'list of about 10, any page': ['raw'],
};

const UNSTEADY = `
Some rounds differ widely: the machine had other work. Trust the processor time, or run again.
`;

await runBenchmark((defer) =>
  new Command('content-api')
    .description('measure the requests a second of the content API beside those of its peers')
    .option('--rounds <number>', 'how often each server is measured in each case', wholeNumber, 9)
    .option('--seconds <number>', 'how long each time', wholeNumber, 1)
    .option('--ascii', 'posts in ASCII only, which suits the peers', false)
    .option('--no-peers', 'leave out Hono, Fastify, PocketBase and Directus')
    .option('--pocketbase <path>', 'a PocketBase, instead of building one with Go')
    .option('--json', 'print exactly one JSON value')
    .action(async (options: Options) => {
      requireWrk();
      const cores = chooseCores();
      const { runs, skipped, folder } = await prepare(options, cores, defer);
      const { rounds, seconds, ascii } = options;
      const load = { core: cores.load, folder, defer, seconds, rounds };
      const summaries = (await measureRounds(runs, load)).map(summarize);
      const machine = describeMachine(cores.server.length > 0);
      if (options.json) {
        terminal.write(`${JSON.stringify({ machine, rounds, seconds, ascii, cases: summaries, skipped })}\n`);
      } else {
        terminal.write(`${machineLine(machine)}\nMedians of ${rounds} rounds of ${seconds} s\n\n`);
        terminal.write(`${describeSummaries(summaries)}\n`);
        for (const [name, reason] of Object.entries(skipped)) {
          terminal.write(`\n${name} was not measured: ${reason}\n`);
        }
        if (isUnsteady(summaries)) terminal.write(UNSTEADY);
      }
    }),
);

/** Starts all servers and compares their responses. `skipped`: why a peer could not be started. */
async function prepare(options: Options, cores: Cores, defer: Defer) {
  const folder = await makeTempFolder(defer);
  const data = await seedDataFolder(folder, { ascii: options.ascii });
  const place: Place = {
    folder,
    start: (program) =>
      startServer(program, { core: cores.server, logFile: join(folder, `${program.name}.log`), defer }),
  };
  const ours = await place.start(tidings(data.path));
  const servers = [ours, await place.start(raw(data.databaseFile))];
  const helloServer = await place.start(hello);

  const { peers, skipped } = options.peers
    ? await startPeers(ours, data, options.pocketbase, place)
    : { peers: [], skipped: {} };

  const runs: Run[] = [];
  for (const each of [...contentApiCases(data), compressedList(data)]) {
    const beside = BESIDE[each.name] ?? [];
    const compared = servers.filter(({ name }) => name === ours.name || beside.includes(name));
    await requireSameAnswers(compared, each, data.key);
    for (const server of compared) runs.push(await runOf(server, each, data));
    if (beside.includes('constant')) {
      const server = await startConstant(ours, each, data, place);
      runs.push({ name: each.name, server: { ...server, name: 'constant' }, load: loadOf(each, data) });
    }
    if (beside.includes('hello')) {
      runs.push({ name: each.name, server: helloServer, load: loadOf(each, data) });
    }
    if (each.name === LIST) runs.push(...peers);
  }
  return { runs, skipped, folder };
}

function compressedList(data: DataFolder): Case {
  const [list] = contentApiCases(data);
  return { name: COMPRESSED, paths: list?.paths ?? [], headers: { 'accept-encoding': 'gzip' } };
}

function loadOf({ paths, headers }: Case, { key }: DataFolder): Run['load'] {
  return { paths, headers: { authorization: `Bearer ${key}`, ...headers } };
}

async function runOf(server: Server, given: Case, data: DataFolder): Promise<Run> {
  const load = loadOf(given, data);
  if (given.revalidates) {
    const etag = await requireRevalidation(server, given.paths[0] ?? '/', data.key);
    load.headers['if-none-match'] = etag;
  }
  return { name: given.name, server, load };
}

/** Sends the very bytes that Tidings sends. */
async function startConstant(ours: Server, given: Case, data: DataFolder, place: Place): Promise<Server> {
  const { headers } = loadOf(given, data);
  const response = await fetch(`${ours.url}${given.paths[0]}`, { headers, decompress: false });
  const encoding = response.headers.get('content-encoding') ?? undefined;
  if ((encoding === undefined) !== (headers['accept-encoding'] === undefined)) {
    throw new BenchError(`${given.name}: the response has the encoding ${encoding ?? 'identity'}`);
  }
  const name = `constant-${encoding ?? 'plain'}`;
  const file = join(place.folder, name);
  await Bun.write(file, await response.bytes());
  return place.start(constant(name, file, encoding));
}

/** Peers answer the list of 10, each with its own API. A peer that cannot be started is skipped. */
async function startPeers(ours: Server, data: DataFolder, pocketbase: string | undefined, place: Place) {
  const [list] = contentApiCases(data);
  const load = loadOf(list as Case, data);
  const same = (server: Server) => ({ server, load, read: null });
  const starts = {
    hono: async () => same(await place.start(await honoProgram(data.databaseFile))),
    pocketbase: () => startPocketbase(data, pocketbase, place),
  };
  const peers: Run[] = [];
  const skipped: Record<string, string> = {};
  for (const [name, start] of Object.entries(starts)) {
    try {
      const peer = await start();
      await requireSameList({ server: ours, load, read: null }, peer);
      peers.push({ name: LIST, server: peer.server, load: peer.load });
    } catch (error) {
      if (!(error instanceof BenchError)) throw error;
      skipped[name] = error.message;
    }
  }
  return { peers, skipped };
}
