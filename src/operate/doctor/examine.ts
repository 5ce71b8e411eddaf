import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { openForInspection } from '../../../db/sqlite/client.ts';
import { readVersion } from '../../../db/sqlite/migrate.ts';
import { type Environment, examineConfig } from '../../config.ts';
import { messageOf } from '../../lib/app-error.ts';
import { secretBox } from '../../lib/secret-box.ts';
import { readSecretKey } from '../secret-key.ts';
import type { Check, Patient, Result } from './check.ts';
import { contentChecks } from './contents.ts';
import { machineChecks, serverChecks } from './machine.ts';

type Asked = Pick<Patient, 'clock' | 'fetch' | 'isOffline' | 'isFull' | 'key'> & {
  flags: Environment;
  environment?: Environment | undefined;
};

/** Opens everything that is to be examined, and creates nothing. `close` closes it. */
export function admit({ flags, environment, ...asked }: Asked): { patient: Patient; close(): void } {
  const { config, problems } = examineConfig(flags, environment);
  const { dataDir, secretKey } = config;
  const folder = dataDir === null ? null : resolve(dataDir);
  const db = folder === null ? null : orNull(() => openExisting(join(folder, 'tidings.db')));
  const isKnown = folder !== null && secretKey !== null;
  const key = isKnown ? orNull(() => readSecretKey(folder, secretKey)) : null;
  const secrets = key && secretBox(key);
  const patient = { ...asked, config, wrongSettings: problems, folder, db, secrets };
  return { patient, close: () => db?.$client.close() };
}

function openExisting(path: string) {
  if (!existsSync(path)) return null;
  const db = openForInspection(path);
  // SQLite reads the file only now.
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
  const all: Record<string, Check> = { ...machineChecks, ...contentChecks, ...serverChecks };
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
