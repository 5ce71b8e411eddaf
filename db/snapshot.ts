import { Database as Sqlite } from 'bun:sqlite';
import { closeSync, openSync } from 'node:fs';

/** Rows in each table. */
export type TableCounts = Record<string, number>;

export interface DatabaseFacts {
  /** The number of applied migrations. */
  schema: number;
  /** Of the key that encrypts its secrets (see `keyFingerprint`); 0 before the first start. */
  keyFingerprint: number;
  tables: TableCounts;
}

/**
 * Copies a snapshot of `source` to the new file `target`, readable by this user alone. Reads in one transaction, which
 * blocks no writer and needs little memory. Returns the row counts of the same transaction, to verify the copy with.
 * Holds the thread until it is done.
 */
export function snapshotInto(source: string, target: string): TableCounts {
  // SQLite accepts an empty target. One of its own could be read by others.
  closeSync(openSync(target, 'wx', 0o600));
  const sqlite = new Sqlite(source, { readwrite: true, create: false, strict: true });
  try {
    sqlite.run('PRAGMA busy_timeout = 5000');
    let tables: TableCounts = {};
    sqlite.function('note_counts', (counts) => {
      tables = JSON.parse(String(counts)) as TableCounts;
      return target;
    });
    // VACUUM cannot run in a transaction, but its target may be an expression, so one statement counts and copies.
    const counts = countsOf(tableNames(sqlite));
    // For the copy alone: syncing it would delay other commits.
    sqlite.run('PRAGMA synchronous = OFF');
    sqlite.run(`VACUUM INTO (SELECT note_counts(${counts}))`);
    return tables;
  } finally {
    // The last connection to close checkpoints the log.
    sqlite.run('PRAGMA synchronous = FULL');
    sqlite.close();
  }
}

/**
 * Reads a whole database file that nobody else has open. `problem` is a sentence about its damage, or null. Throws when
 * it is no database.
 */
export function inspectDatabase(file: string): DatabaseFacts & { problem: string | null } {
  const sqlite = new Sqlite(file, { readonly: true, strict: true });
  try {
    const [[integrity] = []] = sqlite.query('PRAGMA integrity_check(1)').values();
    const orphans = sqlite.query('PRAGMA foreign_key_check').values();
    const tables = sqlite.query(`SELECT ${countsOf(tableNames(sqlite))}`).values()[0]?.[0];
    const problem =
      integrity !== 'ok'
        ? String(integrity)
        : orphans.length > 0
          ? `${orphans.length} rows refer to others that are not there`
          : null;
    return { ...readPragmas(sqlite), tables: JSON.parse(String(tables)) as TableCounts, problem };
  } finally {
    sqlite.close();
  }
}

/** Removes the key fingerprint from a database file that nobody else has open. */
export function forgetKey(file: string): void {
  const sqlite = new Sqlite(file, { readwrite: true, create: false, strict: true });
  sqlite.run('PRAGMA application_id = 0');
  sqlite.close();
}

/** Leaves out virtual tables: counting the search index runs statements of its own, during which SQLite cannot copy. */
function tableNames(sqlite: Sqlite): string[] {
  const names = sqlite
    .query<{ name: string }, []>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name",
    )
    .all();
  return names.map(({ name }) => name);
}

/** SQL for a JSON object with the number of rows in each table. */
function countsOf(tables: readonly string[]): string {
  const quoted = (text: string, mark: string) => mark + text.replaceAll(mark, mark + mark) + mark;
  const pairs = tables.map((name) => `${quoted(name, "'")}, (SELECT count(*) FROM ${quoted(name, '"')})`);
  return `json_object(${pairs.join(', ')})`;
}

function readPragmas(sqlite: Sqlite): { schema: number; keyFingerprint: number } {
  const read = (name: string) => Number(sqlite.query(`PRAGMA ${name}`).values()[0]?.[0]);
  return { schema: read('user_version'), keyFingerprint: read('application_id') };
}

/**
 * Merges the write-ahead log into the file, so that the file alone is the database. Nobody else may have it open.
 * False: the file cannot be opened and is unchanged.
 */
export function settle(file: string): boolean {
  const sqlite = new Sqlite(file, { readwrite: true, create: false, strict: true });
  try {
    return sqlite.query('PRAGMA journal_mode = DELETE').values()[0]?.[0] === 'delete';
  } catch {
    return false;
  } finally {
    sqlite.close();
  }
}
