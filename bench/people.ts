import { join } from 'node:path';
import { Command } from 'commander';
import { createLog } from '../src/lib/log.ts';
import { openSharedDatabase } from '../src/operate/shared-database.ts';
import { startPostgres } from '../test/support/postgres-server.ts';
import { startTcpProxy } from '../test/support/tcp-proxy.ts';
import { describeMachine, machineLine } from './support/machine.ts';
import { seedWriters, startTyping, type Writer } from './support/people.ts';
import { type Defer, runBenchmark, terminal, wholeNumber } from './support/run.ts';
import { makeTempFolder } from './support/seed.ts';
import { type Server, startServer, tidingsOnPostgres } from './support/server.ts';
import { median } from './support/statistics.ts';
import { seedRepository } from './support/webhook-folder.ts';
import { type Load, requireWrk, runLoad } from './support/wrk.ts';

// People who type in the editor, each in an organization of their own, on PostgreSQL behind a slow network: how many saves
// a second it takes when they all save at once, and what they cost the deliveries when each saves once a second.

interface Options {
  people: number;
  roundTrip: number;
  processes: number;
  rounds: number;
  seconds: number;
  json?: true;
}

interface World {
  servers: Server[];
  writers: Writer[];
  newPushes(count: number): Load;
  folder: string;
}

const SECRET_KEY = Buffer.alloc(32, 7).toString('base64');
const DELIVERIES_AT_ONCE = 48;
/** The editor saves once somebody pauses for a second. */
const PAUSE_MS = 1_000;

await runBenchmark((defer) =>
  new Command('people')
    .description('measure people who type, and deliveries beside them, on PostgreSQL')
    .option('--people <number>', 'each in an organization of their own', wholeNumber, 50)
    .option('--round-trip <ms>', 'delay of the network, both directions together', wholeNumber, 10)
    .option('--processes <number>', 'of Tidings', wholeNumber, 3)
    .option('--rounds <number>', 'how often each is measured', wholeNumber, 5)
    .option('--seconds <number>', 'how long each time', wholeNumber, 3)
    .option('--json', 'print exactly one JSON value')
    .action(async (options: Options) => {
      requireWrk();
      const world = await start(options, defer);
      const figures = await measure(world, options, defer);
      const machine = describeMachine(false);
      const { saves, alone, beside } = figures;
      const percent = ((100 * (alone - beside)) / alone).toFixed(0);
      terminal.write(
        options.json
          ? `${JSON.stringify({ machine, ...options, ...figures })}\n`
          : `${machineLine(machine)}\n\n${saves.toFixed(0)} saves a second\n${alone.toFixed(0)} deliveries a second alone, ${beside.toFixed(0)} beside ${options.people} people who type (${percent} % fewer)\n`,
      );
    }),
);

async function start({ people, roundTrip, processes }: Options, defer: Defer): Promise<World> {
  const folder = await makeTempFolder(defer);
  const postgres = await startPostgres({ fsync: 'on' });
  defer(() => postgres.stop());
  const url = new URL(await postgres.createDatabase());
  const log = createLog('silent', { write: () => undefined });
  const shared = await openSharedDatabase(
    { url: url.href, readUrl: undefined, pool: 10 },
    SECRET_KEY,
    'command',
    {
      log,
      process: 'bench',
    },
  );
  const writers = await seedWriters(shared.db, people);
  const { newPushes } = await seedRepository(shared, 'org_pushes');
  await shared.db.close();
  const network = await startTcpProxy({ port: Number(url.port) });
  defer(async () => network[Symbol.asyncDispose]());
  network.delayMs = roundTrip / 2;
  url.host = `127.0.0.1:${network.port}`;
  const servers: Server[] = [];
  for (let count = 1; count <= processes; count++) {
    const program = tidingsOnPostgres(url.href, SECRET_KEY, folder);
    servers.push(await startServer(program, { core: [], logFile: join(folder, `${count}.log`), defer }));
  }
  return { servers, writers, newPushes, folder };
}

async function measure(world: World, { rounds, seconds }: Options, defer: Defer) {
  const { servers, writers } = world;
  const saves: number[] = [];
  const alone: number[] = [];
  const beside: number[] = [];
  // The first round is not counted: code is compiled, and the integration is read.
  for (let round = 0; round <= rounds; round++) {
    const stop = startTyping(servers, writers, 0);
    await Bun.sleep(seconds * 1_000);
    const saved = await stop();
    const deliver = async () => {
      const each = await Promise.all(
        servers.map(({ url }) =>
          runLoad(url, world.newPushes(1_000), {
            core: [],
            folder: world.folder,
            defer,
            seconds,
            connections: Math.ceil(DELIVERIES_AT_ONCE / servers.length),
          }),
        ),
      );
      return each.reduce((rate, result) => rate + result.requests / result.seconds, 0);
    };
    const deliverBeside = async () => {
      const stop = startTyping(servers, writers, PAUSE_MS);
      const rate = await deliver();
      await stop();
      return rate;
    };
    const isReversed = round % 2 === 1;
    const first = await (isReversed ? deliverBeside() : deliver());
    const second = await (isReversed ? deliver() : deliverBeside());
    if (round === 0) continue;
    saves.push(saved);
    alone.push(isReversed ? second : first);
    beside.push(isReversed ? first : second);
  }
  return { saves: median(saves), alone: median(alone), beside: median(beside) };
}
