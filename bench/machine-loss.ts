import { Database as Sqlite } from 'bun:sqlite';
import { existsSync, readdirSync } from 'node:fs';
import { copyFile, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Command, Option } from 'commander';
import { BenchError } from './support/bench-error.ts';
import { type Defer, runBenchmark, terminal, wholeNumber } from './support/run.ts';
import { makeTempFolder } from './support/seed.ts';
import { startServer, tidings } from './support/server.ts';
import { table } from './support/table.ts';
import { makeWebhookFolder, type WebhookFolder } from './support/webhook-folder.ts';

// Counts the acknowledged deliveries that are lost with the machine: Tidings and the program that copies its database
// get SIGKILL at the same time, the data folder is deleted, and the copy is restored into a new folder.

interface Options {
  copy: 'litestream' | 'backups';
  litestream: string;
  replica?: string;
  rounds: number;
  rate: number;
  seconds: number;
  json?: true;
}

interface Round {
  acknowledged: number;
  lost: number;
  /** From the first lost acknowledgment to the kill, in seconds. 0: nothing was lost. */
  lostSeconds: number;
  restoreSeconds: number;
}

const CLI = [process.execPath, Bun.fileURLToPath(import.meta.resolve('../src/cli.ts'))];
const SENDERS = 8;
const FIRST_COPY_MS = 120_000;

await runBenchmark((defer) =>
  new Command('machine-loss')
    .description('count the acknowledged deliveries that are lost with the machine')
    .addOption(
      new Option('--copy <how>', 'Litestream, or backups scheduled each minute')
        .choices(['litestream', 'backups'])
        .default('litestream'),
    )
    .option('--litestream <path>', 'the Litestream binary', 'litestream')
    .option('--replica <url>', 'where Litestream copies to, such as s3://bucket/prefix (default: a folder)')
    .option('--rounds <number>', 'how often the machine dies', wholeNumber, 5)
    .option('--rate <number>', 'deliveries per second', wholeNumber, 100)
    .option(
      '--seconds <number>',
      'load before the kill; a random time up to as long follows',
      wholeNumber,
      20,
    )
    .option('--json', 'print exactly one JSON value')
    .action(async (options: Options) => {
      const parent = await makeTempFolder(defer);
      const rounds: Round[] = [];
      for (let n = 0; n < options.rounds; n++) {
        rounds.push(await runRound(join(parent, String(n)), n, options, defer));
      }
      terminal.write(options.json ? `${JSON.stringify(rounds)}\n` : `${describe(rounds)}\n`);
    }),
);

async function runRound(folder: string, n: number, options: Options, defer: Defer): Promise<Round> {
  await mkdir(folder);
  const machine = await makeWebhookFolder(folder, 'machine');
  const copies = join(folder, 'copies');
  const key = join(folder, 'secret.key');
  await copyFile(join(machine.path, 'secret.key'), key);

  const isLitestream = options.copy === 'litestream';
  const replica = replicaUrl(options.replica ?? `file://${copies}`, n);
  const program = tidings(machine.path);
  const scheduled = ['--backup-dir', copies, '--backup-schedule', '* * * * *'];
  const server = await startServer(
    { ...program, words: [...program.words, ...(isLitestream ? [] : scheduled)] },
    { core: [], logFile: join(folder, 'tidings.log'), defer },
  );
  const killLitestream = isLitestream
    ? startLitestream([options.litestream, 'replicate', machine.databaseFile, replica], folder, defer)
    : () => undefined;

  const load = startLoad(server.url, machine, options.rate);
  if (!isLitestream) await firstBackup(copies);
  await Bun.sleep(options.seconds * 1000 * (1 + Math.random()));
  process.kill(server.pid, 'SIGKILL');
  killLitestream();
  const killedAt = performance.now();
  const acknowledged = await load.end();
  await rm(machine.path, { recursive: true });

  const restored = join(folder, 'restored');
  await mkdir(restored, { mode: 0o700 });
  await copyFile(key, join(restored, 'secret.key'));
  const database = join(restored, 'tidings.db');
  await run(
    isLitestream
      ? [options.litestream, 'restore', '-integrity-check', 'full', '-o', database, replica]
      : [...CLI, 'restore', join(copies, backupsIn(copies).at(-1) ?? ''), '--data-dir', restored],
  );
  const restoreSeconds = (performance.now() - killedAt) / 1000;
  const found = deliveryIds(database);
  const lost = [...acknowledged].filter(([id]) => !found.has(id)).map(([, at]) => at);
  const lostSeconds = (killedAt - Math.min(killedAt, ...lost)) / 1000;
  await rm(folder, { recursive: true });
  return { acknowledged: acknowledged.size, lost: lost.length, lostSeconds, restoreSeconds };
}

/** A place of its own for each round. The query may name the endpoint of the store. */
function replicaUrl(base: string, n: number): string {
  const [path, query] = base.split('?');
  return `${path}/${n}${query === undefined ? '' : `?${query}`}`;
}

/** Returns how to kill it. */
function startLitestream(command: string[], folder: string, defer: Defer): () => void {
  const child = Bun.spawn(command, {
    stdout: Bun.file(join(folder, 'litestream.log')),
    stderr: 'inherit',
  });
  const kill = () => child.kill('SIGKILL');
  defer(async () => kill());
  return kill;
}

/** Sends signed pushes until the server is gone. `end` waits for that, and returns the time of each acknowledgment. */
function startLoad(
  url: string,
  { pushes }: WebhookFolder,
  rate: number,
): { end(): Promise<Map<string, number>> } {
  const acknowledged = new Map<string, number>();
  const { bodies: [push] = [], countingHeader = '' } = pushes.post ?? {};
  const body = push?.text ?? '';
  async function send(sender: number): Promise<void> {
    for (let n = 0; ; n++) {
      const id = `${sender}-${n}`;
      const headers = { ...pushes.headers, ...push?.headers, [countingHeader]: id };
      const response = await fetch(url + pushes.paths[0], {
        method: 'POST',
        headers,
        body,
      }).catch(() => null);
      if (response === null) return;
      if (response.status !== 200) throw new BenchError(`A delivery was answered ${response.status}`);
      acknowledged.set(id, performance.now());
      await Bun.sleep((SENDERS * 1000) / rate);
    }
  }
  const senders = Promise.all(Array.from({ length: SENDERS }, (_, sender) => send(sender)));
  return { end: async () => senders.then(() => acknowledged) };
}

/** The newest last. */
function backupsIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith('.backup'))
    .sort();
}

async function firstBackup(folder: string): Promise<void> {
  const deadline = performance.now() + FIRST_COPY_MS;
  while (backupsIn(folder).length === 0) {
    if (performance.now() > deadline) throw new BenchError('Tidings made no backup');
    await Bun.sleep(100);
  }
}

async function run(command: string[]): Promise<void> {
  const child = Bun.spawn(command, { stdout: 'pipe', stderr: 'pipe' });
  const [code, stdout, stderr] = await Promise.all([
    child.exited,
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if (code !== 0) throw new BenchError(`${command.join(' ')} ended with ${code}: ${stdout}${stderr}`);
}

function deliveryIds(file: string): Set<string> {
  using sqlite = new Sqlite(file, { readwrite: true, create: false });
  return new Set(sqlite.query('SELECT reference_id FROM deliveries').values().flat().map(String));
}

function describe(rounds: readonly Round[]): string {
  const rows = rounds.map(({ acknowledged, lost, lostSeconds, restoreSeconds }) => [
    String(acknowledged),
    String(lost),
    `${lostSeconds.toFixed(1)} s`,
    `${restoreSeconds.toFixed(1)} s`,
  ]);
  return table(['Acknowledged', 'Lost', 'Time lost', 'Restore'], rows);
}
