import { accessSync, constants, existsSync, readdirSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from '../../../db/engine.ts';
import { findDamage, openForInspection } from '../../../db/sqlite/client.ts';
import { migrations, readVersion } from '../../../db/sqlite/migrate.ts';
import { findNewestDeliveryTime } from '../../integrations/deliveries/count-store.ts';
import { hasIntegrations, listSealedSecrets, secretsOpen } from '../../integrations/store.ts';
import { findPublicUrl } from '../../integrations/uptime.ts';
import { AppError, messageOf } from '../../lib/app-error.ts';
import { tidings } from '../../lib/build.ts';
import { freeBytes, megabytes } from '../../lib/disk.ts';
import { isLocal } from '../../lib/public-fetch.ts';
import { count } from '../../lib/text.ts';
import { describeCause, identityProvider } from '../../people/oidc/provider.ts';
import { CALLBACK } from '../../people/oidc/sign-in.ts';
import { findOrganization } from '../../people/organization-store.ts';
import { DISK_ADVICE, describeFullDisk, describeLeftovers } from '../attention-machine.ts';
import { databaseFile, listLeftovers, litestreamFolder, modeForOthers } from '../data-folder.ts';
import {
  type Check,
  type Finding,
  failed,
  inDatabase,
  inDatabaseFile,
  inFolder,
  ok,
  type Patient,
  PROVIDER_SETTINGS,
  UNKEY_SETTINGS,
  unchecked,
  warning,
} from './check.ts';

/** How many lines about damage to show. */
const MAX_DAMAGE = 3;

const RESTORE = 'Stop the server, keep a copy of the folder as it is, and restore the last backup';

/** Some providers sign a time; their deliveries may come from at most this far in the future. */
const MAX_OFF_MS = 60_000;
/** The `Date` header counts seconds, and the answer takes its time. */
const HARDLY_OFF_MS = 10_000;
const TIMEOUT_MS = 3_000;

const CLOCK_ADVICE = 'Run an NTP client: signatures and expiry depend on the clock';

/** Checks of the settings, the data folder, the database file, the key and the clock. */
export const machineChecks = {
  settings: ({ wrongSettings }) =>
    wrongSettings.length === 0
      ? ok('All settings are valid')
      : failed(
          wrongSettings.join('; '),
          "Correct or unset each of them. The server doesn't start until you do",
        ),

  'public url': inDatabase(async ({ config, db }) => {
    const { publicUrl, port } = config;
    if (publicUrl === null) return unchecked('PUBLIC_URL');
    const set = await findPublicUrl({ db }, { publicUrl });
    const shown = set ?? `http://localhost:${port ?? 'PORT'}, as PUBLIC_URL is not set`;
    if (!(await db.read(hasIntegrations))) return ok(`Links begin with ${shown}`);
    if (set === null || isLocal(set)) {
      return warning(
        `Webhook URLs begin with ${shown}: providers on the internet can't reach it`,
        'Set PUBLIC_URL to the public https address of this server',
      );
    }
    return set.startsWith('https:')
      ? ok(`Links and webhook URLs begin with ${shown}`)
      : warning(
          `Webhook URLs begin with ${shown}: without https, anyone on the network can read deliveries`,
          'Put a proxy with a certificate in front of the server, and set PUBLIC_URL to its https address',
        );
  }),

  'data folder': inFolder(({ folder }) => {
    const stats = statSync(folder, { throwIfNoEntry: false });
    if (stats === undefined) {
      return failed(
        `The folder ${folder} does not exist`,
        `Set DATA_DIR or --data-dir, or create the folder with "${tidings} serve"`,
      );
    }
    if (!stats.isDirectory()) return failed(`${folder} is not a folder`, 'Set DATA_DIR to a folder');
    return inOrder(folder, stats, `chmod 700 ${folder}`, `Only this user can access ${folder}`);
  }),

  'database file': inFolder(({ folder }) => {
    const path = join(folder, 'tidings.db');
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats === undefined) {
      if (!existsSync(folder)) return null;
      return failed(`${path} does not exist`, `Create it with "${tidings} serve", or restore a backup`);
    }
    const well = `${path} has ${megabytes(stats.size)}, and only this user can read it`;
    return inOrder(path, stats, `chmod 600 ${path}*`, well);
  }),

  'unfinished files': inFolder(({ folder }) => {
    if (!existsSync(folder)) return null;
    const unfinished = describeLeftovers(listLeftovers(folder));
    return unfinished && warning(unfinished.problem, unfinished.advice);
  }),

  'secret.key': inFolder(({ folder, config }) => {
    const path = join(folder, 'secret.key');
    const stats = statSync(path, { throwIfNoEntry: false });
    // "stored secrets" checks if the file is needed.
    if (stats === undefined) return null;
    if (modeForOthers(stats) !== null) return failed(openToOthers(path, stats), `chmod 600 ${path}`);
    if (config.secretKey === null) return unchecked('SECRET_KEY');
    const isUsed = config.secretKey === undefined;
    const well = isUsed ? 'can be read by this user only' : 'is present, but SECRET_KEY is used instead';
    return trouble(path, stats) ?? ok(`secret.key ${well}`);
  }),

  disk: inFolder(({ folder }) => {
    const free = freeBytes(folder);
    if (free === null) return null;
    const database = statSync(join(folder, 'tidings.db'), { throwIfNoEntry: false })?.size ?? 0;
    const summary = `${megabytes(free)} free; the database uses ${megabytes(database)}`;
    const full = describeFullDisk(folder, free);
    if (full !== null) return failed(full.problem, full.advice);
    return free < database * 2
      ? warning(`${summary}. That is too little for a copy`, DISK_ADVICE)
      : ok(summary);
  }),

  // Only where it could not be opened: why that is.
  database: inFolder(({ folder, db }) => {
    const path = join(folder, 'tidings.db');
    if (db !== null || !existsSync(path)) return null;
    try {
      readVersion(openForInspection(path).$client);
    } catch (error) {
      return failed(`${path} cannot be opened: ${messageOf(error)}`, RESTORE);
    }
    return null;
  }),

  integrity: inDatabaseFile(({ db, isFull }) => {
    const { damage, orphans } = findDamage(db, MAX_DAMAGE, isFull);
    if (damage.length > 0) return failed(`The database is damaged: ${damage.join('; ')}`, RESTORE);
    if (orphans > 0) return failed(`${orphans} rows in the database refer to missing rows`, RESTORE);
    const extent = isFull
      ? ', including every index'
      : ' (quick check; --full also compares each index with its table)';
    return ok(`The database is intact${extent}`);
  }),

  schema: inDatabaseFile(({ db }) => {
    const version = readVersion(db.$client);
    const known = migrations.length;
    if (version === known) return ok(`The database has the schema of this version (${version})`);
    return version > known
      ? failed(
          `The database was written by a newer Tidings (schema ${version}; this version supports ${known})`,
          'Start that version or a newer one',
        )
      : warning(
          `The database has schema ${version}; this version uses ${known}`,
          'Make a backup. The next start of the server upgrades it',
        );
  }),

  'stored secrets': inDatabase(async ({ db, secrets, clock, config }) => {
    if (config.secretKey === null) return unchecked('SECRET_KEY');
    const stored = await db.read(listSealedSecrets, { single: true });
    const integrations = count(stored.length, 'integration');
    if (secrets === null) {
      return stored.length === 0
        ? ok('No secret is stored. The next start creates the key')
        : failed(
            `The secrets of ${integrations} cannot be read: there is no usable secret.key, and no SECRET_KEY`,
            'Restore secret.key, or set SECRET_KEY, before you start the server',
          );
    }
    const closed = stored.filter((sealed) => !secretsOpen({ secrets, clock }, sealed)).map(({ id }) => id);
    return closed.length === 0
      ? ok(`This key decrypts the secrets of ${integrations}`)
      : failed(
          `The secrets of ${closed.slice(0, 5).join(', ')} were encrypted with another key`,
          `Restore the former secret.key or SECRET_KEY, or run "${tidings} integration rotate-secret" and set the new secret at the provider`,
        );
  }),

  'clock and log': inDatabase(async ({ db, clock }) => {
    const at = await db.read((tx) => findNewestDeliveryTime(tx));
    if (at === null) return ok('The log is empty, so the clock was not compared');
    const newest = at.toISOString();
    const ahead = at.getTime() - clock.now().getTime();
    return ahead > MAX_OFF_MS
      ? failed(`The newest delivery is from ${newest}, in the future: the clock was set back`, CLOCK_ADVICE)
      : ok(`The clock is later than the newest delivery (${newest})`);
  }),

  'clock and others': async (patient) => {
    const url = otherServer(patient);
    if (typeof url !== 'string') return url;
    const { date = Number.NaN } = (await ask(patient, url, 'HEAD')) ?? {};
    if (Number.isNaN(date)) return ok(`${url} sent no time, so the clock was not compared`);
    const off = Math.abs(patient.clock.now().getTime() - date);
    const summary = `The clock differs from that of ${url} by ${Math.round(off / 1000)} s`;
    if (off > MAX_OFF_MS) return failed(summary, CLOCK_ADVICE);
    return off > HARDLY_OFF_MS ? warning(summary, CLOCK_ADVICE) : ok(`The clock agrees with that of ${url}`);
  },
} satisfies Record<string, Check>;

/** `well`, unless the server may not use its own file, or others may. */
function inOrder(path: string, stats: Stats, advice: string, well: string): Finding {
  const isOpen = modeForOthers(stats) !== null;
  return trouble(path, stats) ?? (isOpen ? warning(openToOthers(path, stats), advice) : ok(well));
}

/** Checks that the server can use its own file; null when it can. */
function trouble(path: string, { uid }: Stats): Finding | null {
  const user = process.getuid?.() ?? uid;
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
  } catch {
    return failed(
      `User ${user} can't read and write ${path}, which belongs to user ${uid}`,
      `Run as the server's user, or: chown -R ${user} ${path}`,
    );
  }
  if (uid === user) return null;
  return warning(
    `${path} belongs to user ${uid}, not to user ${user}`,
    "Run commands as the server's user. Otherwise the server may be unable to write the files",
  );
}

function openToOthers(path: string, stats: Stats): string {
  return `${path} can be read or written by other users (mode ${modeForOthers(stats)})`;
}

/** The server to ask for the time: Unkey if it keeps the keys, or else a provider. Null: none. */
function otherServer({ config: { unkey, providerApis }, isOffline }: Patient): string | Finding | null {
  if (unkey === null) return unchecked(UNKEY_SETTINGS);
  if (unkey !== undefined) return unkey.baseUrl ?? 'https://api.unkey.com';
  if (isOffline) return null;
  return providerApis === null ? unchecked(PROVIDER_SETTINGS) : (Object.values(providerApis)[0] ?? null);
}

/** Checks that the identity provider knows this client and can lead back, and that the rules name organizations. */
export const examineProvider: Check = async ({ config, db, clock, isOffline }) => {
  const { oidc, plainHosts, publicUrl, port } = config;
  if (oidc === undefined) return null;
  if (oidc === null || plainHosts === null || publicUrl === null)
    return unchecked('an OIDC_* setting, ALLOW_HTTP or PUBLIC_URL');
  const unknown = db === null ? [] : await unknownOrganizations(db, oidc.rules);
  if (unknown.length > 0) {
    return warning(
      `OIDC_RULES names organizations that do not exist: ${unknown.slice(0, 5).join(', ')}`,
      'Correct the rules, create the organizations with these IDs, or restore them from the trash',
    );
  }
  const set = db === null ? publicUrl : await findPublicUrl({ db }, { publicUrl });
  const callback = (set ?? `http://localhost:${port}`) + CALLBACK;
  if (!isOffline) {
    const finding = await askProvider();
    if (finding !== null) return finding;
  }
  const asked = isOffline ? '' : `${oidc.name} knows the client, and `;
  return callback.startsWith('https:')
    ? ok(`${asked}people come back to ${callback}`)
    : warning(
        `People come back from ${oidc.name} to ${callback}: without https, anyone on the network can read the code of a sign-in`,
        'Put a proxy with a certificate in front of the server, and set PUBLIC_URL to its https address',
      );

  async function askProvider(): Promise<Finding | null> {
    if (oidc == null || plainHosts === null) return null;
    try {
      const client = await identityProvider(oidc, { clock, plainHosts }).client();
      const refusal = await client.examine(callback);
      if (refusal === null) return null;
      return failed(
        `${oidc.name} refuses this client: ${refusal.slice(0, 100)}`,
        `Compare OIDC_CLIENT_ID and OIDC_CLIENT_SECRET with the client at the provider, and ${callback} with its redirect URIs`,
      );
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return failed(
        `${oidc.issuer} cannot be used: ${describeCause(error.cause).slice(0, 300)}`,
        `Open ${oidc.issuer.replace(/\/$/, '')}/.well-known/openid-configuration from this machine, and set OIDC_ISSUER to the issuer there (docs/sign-in.md)`,
      );
    }
  }
};

async function unknownOrganizations(db: Database, rules: readonly { organization: string }[]) {
  const named = [...new Set(rules.map(({ organization }) => organization))];
  const found = await db.read((tx) => Promise.all(named.map((id) => findOrganization(tx, id))));
  return named.filter((_, index) => found[index] === null);
}

export const serverChecks = {
  server: async (patient) => {
    const { host, port } = patient.config;
    if (host === null || port === null) return unchecked('HOST or PORT');
    const own = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
    const url = `http://${own.includes(':') ? `[${own}]` : own}:${port}`;
    if (port === 0) return ok('PORT is 0, so the server was not checked');
    const pong = await ask(patient, `${url}/ping`);
    if (pong === null) {
      return warning(
        `No server responds at ${url}`,
        `Start it with "${tidings} serve". If it runs, use the same HOST and PORT for this command`,
      );
    }
    if (pong.status !== 200 || pong.text !== 'pong') {
      return failed(`The server at ${url} is not Tidings`, 'Choose another PORT, or stop the other program');
    }
    const ready = await ask(patient, `${url}/ready`);
    if (ready?.status === 200) return ok(`The server at ${url} is ready`);
    const reason = /"error":"([^"]*)"/.exec(ready?.text ?? '')?.[1] ?? 'it gave no reason';
    return failed(
      `The server at ${url} is not ready: ${ready === null ? 'no response' : reason}`,
      'Check its log',
    );
  },
} satisfies Record<string, Check>;

/** A response; null without one. `date`: the server's time in milliseconds since 1970, or NaN. */
async function ask({ fetch }: Patient, url: string, method = 'GET') {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(new Request(url, { method, signal, redirect: 'manual' }));
    const date = Date.parse(response.headers.get('date') ?? '');
    // Another program may send anything, at any length.
    return { status: response.status, date, text: (await response.text()).slice(0, 500) };
  } catch {
    return null;
  }
}

/** Litestream copies each second, and a running server writes each minute. */
const STILL_MS = 5 * 60_000;

/** Litestream deletes a local file five minutes after its upload, unless `l0-retention` is set. */
const KEPT_MS = 15 * 60_000;

/**
 * Compares the times of Litestream's local files with that of the database. Null without Litestream. Litestream writes
 * each transaction to a file of its own before it uploads it.
 */
export const examineLitestream = inFolder(({ folder }): Finding | null => {
  if (!existsSync(litestreamFolder(folder))) return null;
  const times = transactionTimes(join(litestreamFolder(folder), 'ltx', '0'));
  const newest = times.at(-1);
  if (newest === undefined) {
    return warning(
      "Litestream's folder beside the database has no transactions",
      'Start Litestream and check its log. If you no longer use it, remove the folder',
    );
  }
  const stillMs = changedAt(databaseFile(folder)) - newest;
  if (stillMs > STILL_MS) {
    return warning(
      `Litestream is ${count(Math.floor(stillMs / 60_000), 'minute')} behind the database. Its newest transaction is from ${iso(newest)}`,
      `Start Litestream and check its log. If you no longer use it, remove ${litestreamFolder(folder)}`,
    );
  }
  const oldest = times[0] ?? newest;
  if (times.length > 1 && newest - oldest > KEPT_MS) {
    return warning(
      `Litestream has not uploaded its transactions since ${iso(oldest)}, or l0-retention is longer than 15 minutes`,
      'Check its log: it may be unable to reach the replica or to write to it',
    );
  }
  return ok(`Litestream is up to date with the database. Its newest transaction is from ${iso(newest)}`);
});

/** When each transaction that is still here was copied, in milliseconds since 1970, the oldest first. */
function transactionTimes(folder: string): number[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith('.ltx'))
    .flatMap((name) => statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? [])
    .sort((a, b) => a - b);
}

/** When the last transaction was written, in milliseconds since 1970; 0 without a database. */
function changedAt(file: string): number {
  const log = statSync(`${file}-wal`, { throwIfNoEntry: false });
  // Moving the log into the file is no change.
  if (log !== undefined && log.size > 0) return log.mtimeMs;
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

const iso = (ms: number) => new Date(ms).toISOString();
