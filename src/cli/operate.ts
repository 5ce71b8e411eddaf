import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { isIPv6 } from 'node:net';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import type { Progress } from '../../db/move.ts';
import { AppError } from '../lib/app-error.ts';
import { openFileStore } from '../lib/file-store.ts';
import { fetchWithoutRedirects } from '../lib/public-fetch.ts';
import { count } from '../lib/text.ts';
import { systemClock } from '../lib/time.ts';
import { createSetupLink } from '../people/links.ts';
import { readConfig } from '../server/config.ts';
import { warnOfModes } from '../server/data-folder.ts';
import type { Result } from '../server/doctor/check.ts';
import { admit, examine } from '../server/doctor/examine.ts';
import type { Moved } from '../server/move.ts';
import { actorOf, openServices } from '../server/services.ts';
import { optionOf } from '../server/settings.ts';
import { startServer } from '../server/start.ts';
import { planSweep, sweep } from '../server/sweep.ts';
import { answering } from './command.ts';
import { addSettings, type CliContext, flagsOf, isoTime, WorkFailed } from './context.ts';
import { examples, note } from './help.ts';
import { check, lines, oneLine, print, progressBar, type Terminal, type Text } from './output.ts';

export function addSweepCommand(program: Command, context: CliContext): void {
  const answer = answering(context);
  const command = program
    .command('sweep')
    .description('Remove expired log entries. The server does this every five minutes.')
    .option(
      '--as-of <time>',
      'Remove rows that expire by this time, in ISO 8601. Confirms a clock that jumped (default: now)',
      isoTime,
    )
    .option('--dry-run', 'Count, but remove nothing')
    .action(
      answer(
        (services, { asOf, dryRun }: { asOf?: string; dryRun?: true }) => {
          const confirmed = asOf === undefined ? undefined : new Date(asOf);
          return dryRun ? planSweep(services, { confirmed }) : sweep(services, { confirmed });
        },
        ({ deliveryIds, logs }, { dryRun }) =>
          `${dryRun ? 'Would remove' : 'Removed'} ${deliveryIds} delivery ids and ${logs} log entries.`,
      ),
    );
  examples(command, 'sweep --dry-run', 'sweep --as-of 2027-01-31');
}

/** Cuts messages of other programs, such as SQLite. Ours are shorter. */
const MAX_WIDTH = 400;

export function addDoctorCommand(program: Command, { terminal, environment }: CliContext): void {
  const command = program
    .command('doctor')
    .description('Check the settings, the database and the running server')
    .option('--offline', 'Send no requests to providers')
    .option('--full', 'Also check every index of the database, which takes longer')
    .option('--key <key>', 'An API key that should work, to check that Unkey verifies it');
  addSettings(command).action(
    async ({ offline = false, full = false, key }: { offline?: boolean; full?: boolean; key?: string }) => {
      const tools = { clock: systemClock, fetch: fetchWithoutRedirects };
      const asked = { flags: flagsOf(command), environment, isOffline: offline, isFull: full, key };
      const { patient, close } = await admit({ ...tools, ...asked });
      const report = await examine(patient).finally(close);
      print(terminal, command, report, ({ checks }) => lines(checks.map(describe)));
      if (!report.ok) throw new WorkFailed();
    },
  );
  note(command, 'Changes nothing. Exits with 1 if a check fails, and with 0 on warnings.');
  examples(command, 'doctor', 'doctor --full', 'doctor --offline --json');
}

function describe({ name, status, message, advice }: Result) {
  return check(status, `${name}: ${oneLine(message, MAX_WIDTH)}`, advice && oneLine(advice, MAX_WIDTH));
}

/** How long the server may take to answer, in milliseconds. */
const TIMEOUT_MS = 1_000;

/** The addresses that mean "every address of this machine", and the one to ask instead. */
const loopback: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1', '[::]': '::1' };

/** Throws `AppError` 503 unless the server answers with 200 within a second, and 400 for the port 0. */
async function checkHealth({ host, port }: { host: string; port: number }) {
  if (port === 0) throw new AppError(400, 'PORT is 0, so the port is unknown. Set it with --port.');
  const address = loopback[host] ?? host;
  const url = `http://${isIPv6(address) ? `[${address}]` : address}:${port}/ping`;
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  // By `node:http`, as `fetch` would ask the proxy that a container is often given in `HTTP_PROXY`.
  const request = get(url, { agent: false, signal: AbortSignal.timeout(TIMEOUT_MS) }, resolve);
  request.on('error', reject);
  const { statusCode } = await promise
    .catch((cause: NodeJS.ErrnoException) => {
      const isLate = cause.name === 'AbortError' || cause.name === 'TimeoutError';
      const reason = isLate ? `no response within ${TIMEOUT_MS / 1000} s` : cause.message;
      const isRefused = cause.code === 'ECONNREFUSED';
      throw new AppError(503, `${url}: ${isRefused ? 'the connection was refused' : reason}`, { cause });
    })
    .finally(() => request.destroy());
  if (statusCode !== 200) throw new AppError(503, `${url} answered ${statusCode}, not 200`);
  return { url, status: statusCode };
}

export function addHealthcheckCommand(program: Command, context: CliContext): void {
  const command = program
    .command('healthcheck')
    .description('Check that the server responds within a second. Exits with 1 if it does not.')
    .option(...optionOf('HOST', 'Address of the server'))
    .option(...optionOf('PORT', 'Port of the server'))
    .action(async (_options: object, command: Command) => {
      const health = await checkHealth(readConfig(flagsOf(command), context.environment));
      print(context.terminal, command, health, ({ url }) => `${url} responds.`);
    });
  examples(command, 'healthcheck', 'healthcheck --port 8080');
}

export function addMoveCommand(program: Command, context: CliContext): void {
  const command = program
    .command('move')
    .description('Copy the database to PostgreSQL, or back to a data folder. Stop the server first.')
    .requiredOption(
      '--to <target>',
      'postgres:// URL of an empty database; with DATABASE_URL set, an empty folder',
    )
    .action(async ({ to }: { to: string }, command: Command) => {
      const { dataDir, secretKey, database, media } = readConfig(
        { DATA_DIR: flagsOf(command).DATA_DIR },
        context.environment,
      );
      const isQuiet = command.optsWithGlobals().json === true;
      const progress = isQuiet ? null : showProgress(context.terminal);
      // Loaded only where it is used: other commands start faster without.
      const { moveDatabase } = await import('../server/move.ts');
      const moved = await moveDatabase({
        dataDir,
        databaseUrl: database?.url,
        secretKey,
        to,
        media: media.dir === undefined ? undefined : openFileStore(media.dir, media.s3),
        report: (step) => progress?.show(step),
      }).finally(() => progress?.done());
      print(context.terminal, command, moved, (done) => describeMove(done, secretKey));
    });
  note(
    command,
    'Compares all rows of both sides at the end and never changes the source. To continue an interrupted move, run the same command again.',
  );
  examples(command, 'move --to postgres://tidings:PASSWORD@db.example.com/tidings?sslmode=verify-full');
}

const LABELS: Record<Progress['step'], string> = { copy: 'Copying', compare: 'Comparing' };

/** A bar for each step on a terminal, and otherwise a line for each tenth. */
function showProgress(terminal: Terminal) {
  let step: Progress['step'] | null = null;
  let bar: ReturnType<typeof progressBar> | null = null;
  let tenths = 0;
  return {
    show({ step: present, done, total }: Progress): void {
      if (present !== step) {
        bar?.done();
        step = present;
        bar = progressBar(terminal, LABELS[step]);
        tenths = 0;
      }
      bar?.show(done, total);
      const reached = Math.floor((done / total) * 10);
      if (terminal.isInteractive || reached === tenths) return;
      tenths = reached;
      terminal.writeError(`${LABELS[present]}: ${reached * 10} %, ${done} of ${total} rows\n`);
    },
    done: () => bar?.done(),
  };
}

function describeMove({ from, to, rows, seconds, images }: Moved, secretKey: string | undefined): Text {
  const key =
    secretKey === undefined
      ? `the content of ${join(dirname(from), 'secret.key')}`
      : 'the key that you used here';
  const next = to.startsWith('postgres:')
    ? `Next: start every process with DATABASE_URL set to the new database, and SECRET_KEY set to ${key}.`
    : `Next: unset DATABASE_URL, and set DATA_DIR to ${dirname(to)}. Its secret.key holds the key.`;
  return [
    `Moved ${rows} rows from ${from} to ${to} in ${seconds} s. Both sides match.`,
    describeImages(images, to),
    next,
    'The source was not changed. Keep it until you trust the target.',
  ];
}

function describeImages({ copied, left, place }: Moved['images'], to: string): string {
  if (copied > 0) return `Copied ${count(copied, 'image')} to ${place}.`;
  if (left === 0 || !to.startsWith('postgres:')) return '';
  return `${count(left, 'image')} in ${place} ${left === 1 ? 'was' : 'were'} not moved. Copy the files to a bucket, and set MEDIA_DIR to s3://bucket/prefix.`;
}

/** How long after a signal the process ends at the latest, in milliseconds. Stopping takes 8.5 seconds without trouble. */
const EXIT_MS = 9_500;

export function addServeCommand(program: Command, context: CliContext): void {
  const command = program.command('serve').description('Run the server');
  addSettings(command)
    .option('--demo', 'Fill an empty database with a demo organization, and print commands to try')
    .option(
      '--new-database',
      'Start with an empty database, even if a key or backups of an earlier one exist',
    )
    .action(async ({ demo, newDatabase }: { demo?: true; newDatabase?: true }) => {
      const config = readConfig(flagsOf(command), context.environment);
      const services = await openServices(config, 'server', { newDatabase });
      let exit: Timer | undefined;
      try {
        if (services.db.engine === 'sqlite') warnOfModes(config.dataDir, services.log);
        // The demo is made as a command: a first start should not open with the log of its parts.
        const actor = actorOf('command');
        const person = { ...services, actor, keys: services.keys.as({ actor }) };
        const demonstration = demo ? await import('../server/demo/service.ts') : null;
        const shown =
          demonstration && (await demonstration.openDemo(person, join(config.dataDir, 'demo.key')));
        const setup = await createSetupLink(services, { keepsEarlier: services.db.engine === 'postgres' });
        const stopped = Promise.race([
          once(process, 'SIGTERM'),
          once(process, 'SIGINT'),
          ...(services.failed === undefined ? [] : [services.failed]),
        ]);
        const server = await startServer(services, config);
        context.terminal.write(`Listening on ${server.url}\n`);
        if (demonstration !== null && shown !== null) {
          const { describeDemo, describeDemoDelivery, sendDemoDelivery } = demonstration;
          context.terminal.write(describeDemo(shown, server.publicUrl));
          const delivery = await sendDemoDelivery(services, shown, server.url);
          context.terminal.write(describeDemoDelivery(delivery, server.publicUrl));
        }
        // Last, so that nothing scrolls it away.
        if (setup !== null) context.terminal.write(`\nSet up the dashboard: ${server.publicUrl}${setup}\n`);
        const reason = await stopped;
        if (Array.isArray(reason)) services.log.info({ signal: reason[0] }, 'stopping');
        // A database that does not answer can hold up each step. All that was acknowledged is on the disk.
        exit = setTimeout(() => {
          services.log.warn('stopped without waiting for the database');
          process.exit(Array.isArray(reason) ? 0 : 1);
        }, EXIT_MS);
        await server.stop();
      } finally {
        await services.close().finally(() => clearTimeout(exit));
      }
    });
  examples(command, 'serve', 'serve --demo', 'serve --port 8080 --public-url https://tidings.example.com');
}
