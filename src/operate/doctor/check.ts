import type { Database } from '../../../db/client.ts';
import { type Environment, type ExaminedConfig, PROVIDER_URLS } from '../../config.ts';
import type { Deps } from '../../deps.ts';
import { messageOf } from '../../lib/app-error.ts';
import type { SecretBox } from '../../lib/secret-box.ts';

/** The input of all checks. Checks change nothing. */
export interface Patient extends Pick<Deps, 'clock' | 'fetch'> {
  /** Null where a setting is wrong: a check that needs it is `unchecked`. */
  readonly config: ExaminedConfig;
  /** A line for each setting that is wrong. */
  readonly wrongSettings: readonly string[];
  /** Absent: that of the process. */
  readonly environment?: Environment | undefined;
  /** The data folder, as an absolute path. Null: DATA_DIR is wrong. */
  readonly folder: string | null;
  /** Null when there is none, or it cannot be opened; a check says which. */
  readonly db: Database | null;
  readonly secrets: SecretBox | null;
  /** No server but our own and Unkey is asked. */
  readonly isOffline: boolean;
  /** Compare each index of the database with its table too. */
  readonly isFull?: boolean;
  /** The value of an API key, to try how Unkey answers for one that is good. */
  readonly key?: string | undefined;
}

/** `failed`: something does not work, or will not. `warning`: worth a look. */
type Status = 'ok' | 'warning' | 'failed';

export interface Finding {
  status: Status;
  /** The result in one line. */
  message: string;
  /** How to mend it. */
  advice?: string;
}

export interface Result extends Finding {
  name: string;
}

/** One look at something. Null when there is nothing to look at. Never throws. */
export type Check = (patient: Patient) => Promise<Result | null>;

/** A check that fails by itself counts as failed, and holds up no other. */
export function check(
  name: string,
  look: (patient: Patient) => Finding | null | Promise<Finding | null>,
): Check {
  return async (patient) => {
    try {
      const finding = await look(patient);
      return finding === null ? null : { name, ...finding };
    } catch (error) {
      const reason = messageOf(error).slice(0, 300);
      return { name, status: 'failed', message: `This could not be checked: ${reason}` };
    }
  };
}

/** A check of the data folder. */
export function folderCheck(
  name: string,
  look: (patient: Patient & { folder: string }) => Finding | null | Promise<Finding | null>,
): Check {
  return check(name, (patient) =>
    patient.folder === null ? unchecked('DATA_DIR') : look({ ...patient, folder: patient.folder }),
  );
}

/** A check of what the database holds: left out where it cannot be opened, which another check tells. */
export function databaseCheck(
  name: string,
  look: (patient: Patient & { folder: string; db: Database }) => Finding | null | Promise<Finding | null>,
): Check {
  return check(name, ({ folder, db, ...patient }) =>
    folder === null || db === null ? null : look({ ...patient, folder, db }),
  );
}

export const ok = (message: string, advice?: string): Finding => found('ok', message, advice);
export const warning = (message: string, advice: string): Finding => found('warning', message, advice);
export const failed = (message: string, advice: string): Finding => found('failed', message, advice);

export const UNKEY_SETTINGS = 'an UNKEY_* setting';
export const PROVIDER_SETTINGS = PROVIDER_URLS.join(' or ');

/** The check needs a setting that is wrong. Judging by a default would ask or examine something else. */
export function unchecked(settings: string): Finding {
  return warning(`Not checked: ${settings} is wrong`, 'Correct the setting, and run this command again');
}

function found(status: Status, message: string, advice: string | undefined): Finding {
  return { status, message, ...(advice === undefined ? {} : { advice }) };
}

/** `1 key`, `2 keys`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
