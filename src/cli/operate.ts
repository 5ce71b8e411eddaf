import { get, type IncomingMessage } from 'node:http';
import { isIPv6 } from 'node:net';
import type { Command } from 'commander';
import { readConfig, settings } from '../config.ts';
import { AppError } from '../lib/app-error.ts';
import { fetchWithoutRedirects } from '../lib/network.ts';
import { systemClock } from '../lib/time.ts';
import type { Result } from '../operate/doctor/check.ts';
import { admit, examine } from '../operate/doctor/examine.ts';
import { planSweep, sweep } from '../operate/jobs.ts';
import { answering } from './command.ts';
import { addSettings, type CliContext, flagsOf, isoTime, WorkFailed } from './context.ts';
import { oneLine, print } from './output.ts';

export function addSweepCommand(program: Command, context: CliContext): void {
  const answer = answering(context);
  program
    .command('sweep')
    .description('remove expired entries of the logs; the service does it every five minutes')
    .option('--as-of <time>', 'what has expired by then, as ISO 8601 (default: now)', isoTime)
    .option('--dry-run', 'tell what would be removed, and remove nothing')
    .action(
      answer(
        (services, { asOf, dryRun }: { asOf?: string; dryRun?: true }) => {
          const at = asOf === undefined ? services.clock.now() : new Date(asOf);
          return dryRun ? planSweep(services, at) : sweep(services, at);
        },
        ({ deliveryIds, logs }, { dryRun }) =>
          `${dryRun ? 'Would remove' : 'Removed'} ${deliveryIds} delivery ids and ${logs} log entries.`,
      ),
    );
}

const MARKS = { ok: '✓', warning: '!', failed: '✗' } as const;

/** No line of ours is longer; what others say, such as SQLite, is cut to it. */
const MAX_WIDTH = 400;

export function addDoctorCommand(program: Command, { terminal, environment }: CliContext): void {
  const command = program
    .command('doctor')
    .description('look for what is wrong with the configuration, the database and the running server')
    .option('--offline', 'send requests only to the running server and Unkey, not to providers')
    .option('--full', 'check every index of the database too, as a backup does; takes longer')
    .option('--key <key>', 'an API key that should work: shows whether Unkey lets the root key verify');
  addSettings(command)
    .addHelpText('after', 'Changes nothing. Exits with 1 when a check failed, and with 0 on warnings.')
    .action(
      async ({ offline = false, full = false, key }: { offline?: boolean; full?: boolean; key?: string }) => {
        const tools = { clock: systemClock, fetch: fetchWithoutRedirects };
        const asked = { flags: flagsOf(command), environment, isOffline: offline, isFull: full, key };
        const { patient, close } = await admit({ ...tools, ...asked });
        const report = await examine(patient).finally(close);
        print(terminal, command, report, ({ checks }) => checks.map(describe).join('\n'));
        if (!report.ok) throw new WorkFailed();
      },
    );
}

function describe({ name, status, message, advice }: Result): string {
  const line = `${MARKS[status]} ${name}: ${oneLine(message, MAX_WIDTH)}`;
  return advice === undefined ? line : `${line}\n    ${oneLine(advice, MAX_WIDTH)}`;
}

/** How long the server may take to answer, in milliseconds. */
const TIMEOUT_MS = 1_000;

/** The addresses that mean "every address of this machine", and the one to ask instead. */
const loopback: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1', '[::]': '::1' };

/** Throws `AppError` 503 unless the server answers with 200 within a second, and 400 for the port 0. */
async function checkHealth({ host, port }: { host: string; port: number }) {
  if (port === 0) throw new AppError(400, 'PORT is 0, so the port is not known: name it with --port');
  const address = loopback[host] ?? host;
  const url = `http://${isIPv6(address) ? `[${address}]` : address}:${port}/ping`;
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  // By `node:http`, as `fetch` would ask the proxy that a container is often given in `HTTP_PROXY`.
  const request = get(url, { agent: false, signal: AbortSignal.timeout(TIMEOUT_MS) }, resolve);
  request.on('error', reject);
  const { statusCode } = await promise
    .catch((cause: NodeJS.ErrnoException) => {
      const isLate = cause.name === 'AbortError' || cause.name === 'TimeoutError';
      const reason = isLate ? `not answered within ${TIMEOUT_MS / 1000} s` : cause.message;
      const isRefused = cause.code === 'ECONNREFUSED';
      throw new AppError(503, `${url}: ${isRefused ? 'nothing listens there' : reason}`, { cause });
    })
    .finally(() => request.destroy());
  if (statusCode !== 200) throw new AppError(503, `${url} answered ${statusCode}, not 200`);
  return { url, status: statusCode };
}

export function addHealthcheckCommand(program: Command, context: CliContext): void {
  program
    .command('healthcheck')
    .description('ask whether the service answers: exit 0 when it does within a second, 1 when not')
    .option(settings.HOST.flag, `address that it listens on (default: ${settings.HOST.default}) [HOST]`)
    .option(settings.PORT.flag, `port that it listens on (default: ${settings.PORT.default}) [PORT]`)
    .action(async (_options: object, command: Command) => {
      const health = await checkHealth(readConfig(flagsOf(command), context.environment));
      print(context.terminal, command, health, ({ url }) => `${url} answers`);
    });
}
