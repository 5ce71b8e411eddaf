import { join } from 'node:path';
import { Command } from 'commander';
import { chooseCores } from './support/cores.ts';
import { describeMachine, machineLine } from './support/machine.ts';
import { describeSummaries, summarize } from './support/report.ts';
import { measureRounds, type Run } from './support/rounds.ts';
import { type Defer, runBenchmark, terminal, wholeNumber } from './support/run.ts';
import { makeTempFolder } from './support/seed.ts';
import { rawWebhooks, type Server, startServer, tidings } from './support/server.ts';
import { makeWebhookFolder, type WebhookFolder } from './support/webhook-folder.ts';
import { requireWrk } from './support/wrk.ts';

// Acknowledged deliveries a second, at several numbers of connections, beside a receiver written by hand that makes
// one commit for each. Every delivery is a signed push with an id of its own; both sync the disk before they answer.

interface Options {
  rounds: number;
  seconds: number;
  json?: true;
}

interface Receiver {
  server: Server;
  folder: WebhookFolder;
}

const CONNECTIONS = [1, 16, 64];

await runBenchmark((defer) =>
  new Command('webhooks')
    .description('measure acknowledged deliveries a second beside one commit for each')
    .option('--rounds <number>', 'how often each receiver is measured in each case', wholeNumber, 5)
    .option('--seconds <number>', 'how long each time', wholeNumber, 2)
    .option('--json', 'print exactly one JSON value')
    .action(async ({ rounds, seconds, json }: Options) => {
      const cores = chooseCores();
      const folder = await makeTempFolder(defer);
      const receivers = await startReceivers(folder, cores.server, defer);
      const load = { core: cores.load, folder, defer, seconds };
      const runs = CONNECTIONS.flatMap((connections) =>
        receivers.map(
          ({ server, folder: { pushes } }): Run => ({
            name: `${connections} at once`,
            server,
            load: pushes,
            connections,
          }),
        ),
      );
      const summaries = (await measureRounds(runs, { ...load, rounds })).map(summarize);
      const machine = describeMachine(cores.server.length > 0);
      const bodyBytes = receivers[0]?.folder.bodyBytes;
      terminal.write(
        json
          ? `${JSON.stringify({ machine, rounds, seconds, bodyBytes, cases: summaries })}\n`
          : `${machineLine(machine)}\nMedians of ${rounds} rounds of ${seconds} s; a body has ${bodyBytes} bytes\n\n${describeSummaries(summaries)}\n`,
      );
    }),
);

async function startReceivers(folder: string, core: string[], defer: Defer): Promise<Receiver[]> {
  requireWrk();
  const own = await makeWebhookFolder(folder, 'tidings');
  const peer = await makeWebhookFolder(folder, 'peer');
  const start = (program: Parameters<typeof startServer>[0]) =>
    startServer(program, { core, logFile: join(folder, `${program.name}.log`), defer });
  return [
    { server: await start(tidings(own.path)), folder: own },
    { server: await start(rawWebhooks(peer.databaseFile, peer.secret)), folder: peer },
  ];
}
