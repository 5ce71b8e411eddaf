import type { Database } from '../../../db/engine.ts';
import type { Inspection } from '../../../db/postgres/inspect.ts';
import type { SqliteDatabase } from '../../../db/sqlite/client.ts';
import type { SecretBox } from '../../lib/secret-box.ts';
import type { Deps } from '../../people/deps.ts';
import { type ExaminedConfig, PROVIDER_URLS } from '../config.ts';

/** The input of all checks. Checks change nothing. */
export interface Patient extends Pick<Deps, 'clock' | 'fetch'> {
  /** Null where a setting is wrong: a check that needs it is `unchecked`. */
  readonly config: ExaminedConfig;
  /** A line for each setting that is wrong. */
  readonly wrongSettings: readonly string[];
  /** The data folder, as an absolute path. Null: DATA_DIR is wrong. */
  readonly folder: string | null;
  /** Null when there is none, or it cannot be opened; the check "database" says which. */
  readonly db: SqliteDatabase | Inspection['db'] | null;
  /** The server of DATABASE_URL, or why it cannot be used. Null without that setting. */
  readonly postgres: Inspection | Error | null;
  readonly secrets: SecretBox | null;
  /** Ask no server but our own and Unkey. */
  readonly isOffline: boolean;
  /** Compare each index of the database with its table too. */
  readonly isFull?: boolean;
  /** An API key to try at Unkey. */
  readonly key?: string | undefined;
}

export interface Finding {
  /** `failed`: something does not work, or will not. `warning`: worth a look. */
  status: 'ok' | 'warning' | 'failed';
  message: string;
  advice?: string;
}

export interface Result extends Finding {
  name: string;
}

type Look<Subject> = (patient: Subject) => Finding | null | Promise<Finding | null>;

/** Looks at one thing. Null when there is nothing to look at. */
export type Check = Look<Patient>;

/** A check of the data folder. Left out with PostgreSQL, which needs none. */
export function inFolder(look: Look<Patient & { folder: string }>): Check {
  return ({ folder, ...patient }) => {
    if (patient.config.database !== undefined) return null;
    return folder === null ? unchecked('DATA_DIR') : look({ ...patient, folder });
  };
}

/** A check of the contents of the database. Left out when it cannot be opened. */
export function inDatabase(look: Look<Patient & { db: Database }>): Check {
  return ({ db, ...patient }) => (db === null ? null : look({ ...patient, db }));
}

/** A check of the database file. Left out when it cannot be opened. */
export function inDatabaseFile(look: Look<Patient & { folder: string; db: SqliteDatabase }>): Check {
  return ({ folder, db, ...patient }) =>
    folder === null || db?.engine !== 'sqlite' ? null : look({ ...patient, folder, db });
}

/** A check of a PostgreSQL that answers. */
export function onPostgres(look: Look<Patient & { postgres: Inspection }>): Check {
  return ({ postgres, ...patient }) =>
    postgres === null || postgres instanceof Error ? null : look({ ...patient, postgres });
}

const finding =
  (status: Finding['status']) =>
  (message: string, advice?: string): Finding => ({ status, message, ...(advice && { advice }) });

export const ok = finding('ok');
export const warning = finding('warning');
export const failed = finding('failed');

export const UNKEY_SETTINGS = 'an UNKEY_* setting';
export const PROVIDER_SETTINGS = PROVIDER_URLS.join(' or ');

/** The check needs a setting that is wrong. Judging by a default would ask or examine something else. */
export function unchecked(settings: string): Finding {
  return warning(`Not checked: ${settings} is wrong`, 'Correct the setting, and run this command again');
}
