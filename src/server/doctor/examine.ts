import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Inspection } from '../../../db/postgres/inspect.ts';
import { migrations as postgresMigrations } from '../../../db/postgres/migrate.ts';
import { openForInspection } from '../../../db/sqlite/client.ts';
import { readVersion } from '../../../db/sqlite/migrate.ts';
import { messageOf } from '../../lib/app-error.ts';
import { secretBox } from '../../lib/secret-box.ts';
import type { Clock } from '../../lib/time.ts';
import { type Environment, examineConfig } from '../config.ts';
import { readSecretKey } from '../data-folder.ts';
import type { Check, Patient, Result } from './check.ts';
import { contentChecks } from './contents.ts';
import { examineProvider, machineChecks, serverChecks } from './machine.ts';
import { postgresChecks } from './postgres.ts';

type Asked = Pick<Patient, 'clock' | 'fetch' | 'isOffline' | 'isFull' | 'key'> & {
  flags: Environment;
  environment?: Environment | undefined;
};

/** Opens everything that is to be examined, and creates nothing. `close` closes it. */
export async function admit({ flags, environment, ...asked }: Asked) {
  const { config, problems } = examineConfig(flags, environment);
  const { dataDir, secretKey, database } = config;
  const folder = dataDir === null ? null : resolve(dataDir);
  const known = { ...asked, config, wrongSettings: problems, folder };
  if (database !== undefined) {
    const postgres = database === null ? null : await inspect(database.url, asked.clock);
    const secrets = secretKey ? secretBox(Buffer.from(secretKey, 'base64')) : null;
    const server = postgres instanceof Error ? null : postgres;
    const patient = { ...known, db: server && usableDatabase(server), postgres, secrets };
    return { patient, close: async () => server?.db.close() };
  }
  const db = folder === null ? null : orNull(() => openExisting(join(folder, 'tidings.db')));
  const isKnown = folder !== null && secretKey !== null;
  const key = isKnown ? orNull(() => readSecretKey(folder, secretKey)) : null;
  const patient = { ...known, db, postgres: null, secrets: key && secretBox(key) };
  return { patient, close: async () => db?.$client.close() };
}

async function inspect(url: string, clock: Clock): Promise<Inspection | Error> {
  try {
    const { inspectPostgres } = await import('../../../db/postgres/inspect.ts');
    return await inspectPostgres(url, () => clock.now().getTime());
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** Null unless it is whole and its tables are those of this version, or of a newer one that this version works with. */
function usableDatabase({ db, facts }: Inspection): Inspection['db'] | null {
  const { schema = 0, oldestCompatible = 0 } = facts.holdsUnfinishedMove ? {} : (facts.tidings ?? {});
  return schema >= postgresMigrations.length && oldestCompatible <= postgresMigrations.length ? db : null;
}

function openExisting(path: string) {
  if (!existsSync(path)) return null;
  const db = openForInspection(path);
  // Throws for a file that is no database.
  readVersion(db.$client);
  return db;
}

/** Null where something cannot be opened or read: checks find out why. */
function orNull<Result>(open: () => Result): Result | null {
  try {
    return open();
  } catch {
    return null;
  }
}

/** Runs every check in turn. Changes nothing and never throws. `ok`: nothing failed; there may be warnings. */
export async function examine(patient: Patient): Promise<{ ok: boolean; checks: Result[] }> {
  const checks: Result[] = [];
  const all: Record<string, Check> = {
    ...machineChecks,
    ...postgresChecks,
    ...contentChecks,
    'identity provider': examineProvider,
    ...serverChecks,
  };
  for (const [name, check] of Object.entries(all)) {
    try {
      const finding = await check(patient);
      if (finding !== null) checks.push({ name, ...finding });
    } catch (error) {
      const message = `This could not be checked: ${messageOf(error).slice(0, 300)}`;
      checks.push({ name, status: 'failed', message });
    }
  }
  return { ok: checks.every(({ status }) => status !== 'failed'), checks };
}
