import { get, type IncomingMessage } from 'node:http';
import { isIPv6 } from 'node:net';
import { AppError, messageOf } from '../lib/app-error.ts';
import { version } from '../lib/build.ts';
import { fetchWithoutRedirects } from '../lib/public-fetch.ts';
import { systemClock } from '../lib/time.ts';
import { listNow } from '../server/attention.ts';
import type { Result } from '../server/doctor/check.ts';
import { admit, examine } from '../server/doctor/examine.ts';
import { optionOf } from '../server/settings.ts';
import { planSweep, sweep } from '../server/sweep.ts';
import {
  isoTime,
  type OfOrganization,
  ofOrganization,
  readOf,
  type TidingsCommand,
  WorkFailed,
} from './command.ts';
import { check, lines, oneLine } from './output.ts';

export function add(program: TidingsCommand): void {
  addDoctorCommand(program);
  addHealthcheckCommand(program);
  addSweepCommand(program);
  addUpgradeCommand(program);
  addAttentionCommand(program);
}

function addSweepCommand(program: TidingsCommand): void {
  program
    .sub('sweep', 'Remove expired log entries. The server does this every five minutes.')
    .option(
      '--as-of <time>',
      'Remove rows that expire by this time, in ISO 8601. Confirms a clock that jumped (default: now)',
      isoTime,
    )
    .option('--dry-run', 'Count, but remove nothing')
    .answers(
      (services, { asOf, dryRun }: { asOf?: string; dryRun?: true }) => {
        const confirmed = asOf === undefined ? undefined : new Date(asOf);
        return dryRun ? planSweep(services, { confirmed }) : sweep(services, { confirmed });
      },
      ({ deliveryIds, logs }, { dryRun }) =>
        `${dryRun ? 'Would remove' : 'Removed'} ${deliveryIds} delivery IDs and ${logs} log entries.`,
    )
    .examples('sweep --dry-run', 'sweep --as-of 2027-01-31');
}

/** Cuts messages of other programs, such as SQLite. Ours are shorter. */
const MAX_WIDTH = 400;

function addDoctorCommand(program: TidingsCommand): void {
  const { environment } = program.context;
  program
    .sub('doctor', 'Check the settings, the database and the running server')
    .option('--offline', 'Send no requests to providers')
    .option('--full', 'Also check every index of the database, which takes longer')
    .option('--key <key>', 'An API key that should work, to check that Unkey verifies it')
    .settings()
    .action(async ({ offline = false, full = false, key }, command: TidingsCommand) => {
      const tools = { clock: systemClock, fetch: fetchWithoutRedirects };
      const asked = { flags: command.flags(), environment, isOffline: offline, isFull: full, key };
      const { patient, close } = await admit({ ...tools, ...asked });
      const report = await examine(patient).finally(close);
      command.print(report, ({ checks }) => lines(checks.map(describe)));
      if (!report.ok) throw new WorkFailed();
    })
    .note('Changes nothing. Exits with 1 if a check fails, and with 0 on warnings.')
    .examples('doctor', 'doctor --full', 'doctor --offline --json');
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

function addHealthcheckCommand(program: TidingsCommand): void {
  program
    .sub('healthcheck', 'Check that the server responds within a second. Exits with 1 if it does not.')
    .option(...optionOf('HOST', 'Address of the server'))
    .option(...optionOf('PORT', 'Port of the server'))
    .action(async (_options: object, command: TidingsCommand) => {
      const health = await checkHealth(command.config());
      command.print(health, ({ url }) => `${url} responds.`);
    })
    .examples('healthcheck', 'healthcheck --port 8080');
}

/** A version file has a few hundred bytes. */
const MAX_VERSION_BYTES = 64 * 1024;
const VERSION_TIMEOUT_MS = 10_000;

/** The `version.json` of a release. Throws `AppError` 400 when it cannot be read or is none. */
async function readRelease(source: string): Promise<{ version: string; url: string | null }> {
  const refuse = (reason: string) => new AppError(400, `${source}: ${reason}`);
  let text: string;
  try {
    text = await (/^https?:/i.test(source)
      ? download(source)
      : Bun.file(source).slice(0, MAX_VERSION_BYTES).text());
  } catch (error) {
    throw refuse(messageOf(error));
  }
  const { version: newest, url } = parseRelease(text) ?? {};
  if (typeof newest !== 'string' || !/^\d+\.\d+\.\d+(?:-[\w.-]{1,64})?$/.test(newest)) {
    throw refuse('it is not the version.json of a release');
  }
  return { version: newest, url: typeof url === 'string' ? url : null };
}

function parseRelease(text: string): { version?: unknown; url?: unknown } | null {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

async function download(url: string): Promise<string> {
  const response = await fetch(url, { signal: AbortSignal.timeout(VERSION_TIMEOUT_MS) });
  if (!response.ok) throw new Error(`the response was ${response.status}`);
  const chunks: Uint8Array[] = [];
  let left = MAX_VERSION_BYTES;
  for await (const chunk of response.body ?? []) {
    left -= chunk.length;
    if (left < 0) throw new Error('it is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function addUpgradeCommand(program: TidingsCommand): void {
  program
    .sub('upgrade', 'Compare this version with the newest release')
    .requiredOption('--check <file>', 'The version.json of the newest release: a path or a URL')
    .action(async ({ check: source }: { check: string }, command: TidingsCommand) => {
      const newest = await readRelease(source);
      const isNewer = Bun.semver.order(newest.version, version) > 0;
      command.print({ version, newest: newest.version, isNewer, url: newest.url }, () =>
        isNewer
          ? `Tidings ${newest.version} is newer than this version, ${version}.${newest.url === null ? '' : ` Its files: ${newest.url}`}`
          : `This version, ${version}, is the newest.`,
      );
      if (isNewer) throw new WorkFailed();
    })
    .note(
      'Exits with 1 if the release is newer. Changes nothing: install the new version and restart the server. No other command, and no server, looks for releases.',
    )
    .examples(
      'upgrade --check https://example.com/tidings/version.json',
      'upgrade --check ./version.json --json',
    );
}

function addAttentionCommand(program: TidingsCommand): void {
  const command = program.sub('attention', 'List what needs a person. Exits with 1 if anything does.');
  command
    .addOption(ofOrganization)
    .action(async ({ organization }: OfOrganization) => {
      const config = command.folderConfig();
      const items = await command.withServices(async (services) => {
        const { db, clock, elapsed } = services;
        await readOf(services, organization, elapsed.load);
        const all = await listNow({ db, clock, elapsed }, config);
        return organization === undefined ? all : all.filter((item) => item.organizationId === organization);
      });
      command.print(
        items.map(({ path: _, ...item }) => item),
        () =>
          items.length === 0
            ? 'Nothing needs you.'
            : lines(
                items.map(({ message, since, effect, action, mutedUntil }) => {
                  const muted = mutedUntil === null ? '' : ` Muted until ${mutedUntil}.`;
                  return check('failed', `${message}, since ${since}. ${effect}${muted}`, action);
                }),
              ),
      );
      if (items.length > 0) throw new WorkFailed();
    })
    .note('Looks at the database and this machine, whether the server runs or not, and asks no provider.')
    .examples('attention', 'attention --organization acme --json');
}
