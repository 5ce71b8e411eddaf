import { backupChecks } from './backups.ts';
import type { Check, Patient, Result } from './check.ts';
import { clockChecks } from './clock.ts';
import { configurationChecks } from './configuration.ts';
import { databaseChecks } from './database.ts';
import { fileChecks } from './files.ts';
import { integrationChecks } from './integrations.ts';
import { keyChecks } from './keys.ts';
import { providerChecks } from './providers.ts';
import { secretChecks } from './secrets.ts';
import { serverChecks } from './server.ts';
import { workChecks } from './work.ts';

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

export interface Report {
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
