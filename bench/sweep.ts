import { Command } from 'commander';
import { readConfig } from '../src/config.ts';
import { openServices, startServer } from '../src/main.ts';
import { openDataFolder } from '../src/operate/data-folder.ts';
import { sweep } from '../src/operate/sweep.ts';
import { describeMachine, machineLine } from './support/machine.ts';
import { type Defer, runBenchmark, terminal, wholeNumber } from './support/run.ts';
import { type DataFolder, makeTempFolder, seedDataFolder } from './support/seed.ts';
import { describeWaits, timePhases } from './support/waits.ts';

// How long a request waits at most while the sweeper removes a great many expired claims and log entries. The sweeper
// works for two seconds and stops for two, so that both get the same noise. The server and the sweeper are this process;
// the requests come from another. The rows expire in the far future, because the server's own job sweeps every five minutes
// and would remove the others meanwhile.

interface Options {
  expired: number;
  json?: true;
}

const PHASE_MS = 2_000;

const EXPIRE_AT = Date.UTC(2100, 0, 1);
const SWEEP_AS_OF = new Date(Date.UTC(2200, 0, 1));

await runBenchmark((defer) =>
  new Command('sweep')
    .description('measure how long requests wait while expired entries are removed')
    .option('--expired <number>', 'how many claims, and as many log entries', wholeNumber, 100_000)
    .option('--json', 'print exactly one JSON value')
    .action(async ({ expired, json }: Options) => {
      const folder = await makeTempFolder(defer);
      const data = await seedDataFolder(folder, { ascii: true });
      addExpired(data.path, expired);
      const result = await measure(data, defer);
      const machine = describeMachine(false);
      terminal.write(
        json
          ? `${JSON.stringify({ machine, expired, ...result })}\n`
          : `${machineLine(machine)}\n\n${describe(result, expired)}\n`,
      );
    }),
);

function addExpired(dataDir: string, count: number): void {
  const { db, close } = openDataFolder(dataDir);
  // Nothing is lost that could not be made again: filling need not be safe.
  db.$client.run('PRAGMA synchronous = OFF');
  db.$client.run('PRAGMA cache_size = -500000');
  const numbers = `WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})`;
  db.$client.run(`${numbers}
    INSERT INTO delivery_claims SELECT 'int_' || (n % 20), hex(randomblob(16)), ${EXPIRE_AT} + n FROM numbers`);
  db.$client.run(`${numbers}
    INSERT INTO deliveries (id, organization_id, integration_id, integration_type, title, status, status_code,
      reference_id, event, action, data, count, body_hash, duration_ms, retention_days, created_at, expires_at)
    SELECT 'dlv_' || hex(randomblob(16)), 'org_bench', 'int_' || (n % 20), 'github', '3 commits pushed to main',
      'processed', 200, hex(randomblob(16)), 'push', 'pushed', json_object('text', hex(randomblob(500))), 1,
      randomblob(32), 3, 7, strftime('%Y-%m-%dT%H:%M:%fZ', n, 'unixepoch'), ${EXPIRE_AT} + n FROM numbers`);
  close();
}

async function measure(data: DataFolder, defer: Defer) {
  const config = readConfig({ PORT: '0', DATA_DIR: data.path, LOG_LEVEL: 'warn' }, {});
  const services = await openServices(config, 'server');
  const server = await startServer(services, config);
  defer(async () => {
    await server.stop();
    await services.close();
  });
  const url = `${server.url}/v1/${data.organizationId}/posts`;

  const headers = { authorization: `Bearer ${data.key}` };
  const swept = { deliveryIds: 0, logs: 0 };
  let sweepMs = 0;
  const waits = await timePhases<'quiet' | 'sweeping'>({ url, headers }, defer, async (enter) => {
    for (let isDone = false; !isDone; ) {
      enter('quiet');
      await Bun.sleep(PHASE_MS);
      enter('sweeping');
      const startedAt = performance.now();
      const signal = AbortSignal.timeout(PHASE_MS);
      const { deliveryIds, logs } = await sweep(services, { confirmed: SWEEP_AS_OF, signal });
      sweepMs += performance.now() - startedAt;
      isDone = !signal.aborted;
      swept.deliveryIds += deliveryIds;
      swept.logs += logs;
    }
  });
  return { swept, sweepSeconds: sweepMs / 1000, quiet: waits('quiet'), sweeping: waits('sweeping') };
}

function describe(
  { swept, sweepSeconds, quiet, sweeping }: Awaited<ReturnType<typeof measure>>,
  expired: number,
): string {
  return [
    `Removed ${swept.deliveryIds} claims and ${swept.logs} entries of ${expired} each in ${sweepSeconds.toFixed(1)} s`,
    '',
    describeWaits('', { 'nothing swept': quiet, 'while sweeping': sweeping }),
    '',
    `The longest wait is ${(sweeping.longestMs - quiet.longestMs).toFixed(1)} ms longer than that of a quiet server.`,
  ].join('\n');
}
