import { Database as Sqlite } from 'bun:sqlite';
import { closeSync, openSync } from 'node:fs';

/** How many rows each table holds. */
export type TableCounts = Record<string, number>;

/** What a database file is, as far as it can be told from outside. */
export interface DatabaseFacts {
  /** How many migrations it has had. */
  schema: number;
  /** The key that its secrets were encrypted under: see `keyFingerprint`. 0: none yet. */
  keyFingerprint: number;
  tables: TableCounts;
}

/**
 * Writes a copy of `source`, as it is at one moment, to the new file `target`, for this user alone. It reads in one
 * transaction, which holds up no writer, and takes no memory to speak of. Returns the rows that were counted in that
 * very transaction, so that a copy that lost some can be told. Holds the thread until it is done.
 */
export function snapshotInto(source: string, target: string): TableCounts {
  // SQLite takes an empty file for its target, and would make one that others may read.
  closeSync(openSync(target, 'wx', 0o600));
  const sqlite = new Sqlite(source, { readwrite: true, create: false, strict: true });
  try {
    sqlite.run('PRAGMA busy_timeout = 5000');
    let tables: TableCounts = {};
    sqlite.function('note_counts', (counts) => {
      tables = JSON.parse(String(counts)) as TableCounts;
      return target;
    });
    // VACUUM may not run within a transaction, but the name of its target may be a query: one statement, and
    // therefore one transaction, counts and copies.
    const counts = countsOf(tableNames(sqlite));
    // Of the copy alone: to have it written through would keep the disk from those who wait for their commits.
    sqlite.run('PRAGMA synchronous = OFF');
    sqlite.run(`VACUUM INTO (SELECT note_counts(${counts}))`);
    return tables;
  } finally {
    // The last to close moves the log into the database.
    sqlite.run('PRAGMA synchronous = FULL');
    sqlite.close();
  }
}

/**
 * Reads a whole database file that nobody else has open: its facts, and what is wrong with it, in words, or null.
 * Throws when it is no database.
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

/** Marks a database file that nobody else has open as one whose secrets are under no known key. */
export function forgetKey(file: string): void {
  const sqlite = new Sqlite(file, { readwrite: true, create: false, strict: true });
  sqlite.run('PRAGMA application_id = 0');
  sqlite.close();
}

/**
 * The search index is counted by the tables that it keeps itself in: to count it as what it seems to be runs statements
 * of its own, beside which SQLite refuses to copy.
 */
function tableNames(sqlite: Sqlite): string[] {
  const names = sqlite
    .query<{ name: string }, []>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name",
    )
    .all();
  return names.map(({ name }) => name);
}

/** SQL for a JSON object of the number of rows of each table. */
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
 * Moves what the write-ahead log of a file holds into it, and removes the log: the file alone is then the database.
 * Nobody else may have it open. False: it cannot be opened, and is as it was.
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
