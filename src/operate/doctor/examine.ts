import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Database, openForInspection } from '../../../db/client.ts';
import { readVersion } from '../../../db/migrate.ts';
import { type Environment, examineConfig } from '../../config.ts';
import type { Deps } from '../../deps.ts';
import { type SecretBox, secretBox } from '../../lib/secret-box.ts';
import { readSecretKey } from '../secret-key.ts';
import type { Check, Patient, Result } from './check.ts';
import {
  backupChecks,
  integrationChecks,
  keyChecks,
  providerChecks,
  secretChecks,
  workChecks,
} from './contents.ts';
import { clockChecks, configurationChecks, databaseChecks, fileChecks, serverChecks } from './machine.ts';

interface Asked extends Pick<Deps, 'clock' | 'fetch'> {
  flags: Environment;
  environment?: Environment | undefined;
  isOffline: boolean;
  isFull?: boolean;
  key?: string | undefined;
}

/** Takes up what is to be examined, as it is: what is not there stays so. `close` lets go of it. */
export function admit({ flags, environment, ...asked }: Asked): { patient: Patient; close(): void } {
  const { config, problems } = examineConfig(flags, environment);
  const folder = config.dataDir === null ? null : resolve(config.dataDir);
  const db = folder === null ? null : openDatabase(join(folder, 'tidings.db'));
  const secrets = folder === null || config.secretKey === null ? null : findSecrets(folder, config.secretKey);
  const patient = { ...asked, config, wrongSettings: problems, environment, folder, db, secrets };
  return { patient, close: () => db?.$client.close() };
}

function openDatabase(path: string): Database | null {
  if (!existsSync(path)) return null;
  try {
    const db = openForInspection(path);
    // SQLite looks at the file only now.
    readVersion(db.$client);
    return db;
  } catch {
    return null;
  }
}

/** Null where there is no key, or what is there cannot be one. */
function findSecrets(folder: string, secretKey: string | undefined): SecretBox | null {
  try {
    const key = readSecretKey(folder, secretKey);
    return key === null ? null : secretBox(key);
  } catch {
    return null;
  }
}

/** Everything that `doctor` looks at, in the order in which it is told. */
const checks: readonly Check[] = [
  ...configurationChecks,
  ...fileChecks,
  ...databaseChecks,
  ...secretChecks,
  ...clockChecks,
  ...keyChecks,
  ...workChecks,
  ...integrationChecks,
  ...providerChecks,
  ...backupChecks,
  ...serverChecks,
];

interface Report {
  /** Nothing failed. There may be warnings. */
  ok: boolean;
  checks: Result[];
}

/** Runs every check, one after the other. Changes nothing, and never throws. */
export async function examine(patient: Patient): Promise<Report> {
  const results: Result[] = [];
  for (const each of checks) {
    const result = await each(patient);
    if (result !== null) results.push(result);
  }
  return { ok: results.every(({ status }) => status !== 'failed'), checks: results };
}
