import { Database as Sqlite } from 'bun:sqlite';
import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { codeOf } from '../../src/lib/app-error.ts';
import { logOf } from './connection.ts';
import { rewriteLog } from './wal.ts';

export type TableCounts = Record<string, number>;

const openExisting = (file: string) => new Sqlite(file, { readwrite: true, create: false, strict: true });

/** Brings the log of a database to the disk that has no server (see `rewriteLog`). */
export function bringLogToDisk(file: string): void {
  using sqlite = openExisting(file);
  sqlite.run('PRAGMA busy_timeout = 5000');
  rewriteLog(sqlite);
}

/**
 * Copies a snapshot of `source` to the new file `target`, readable by this user alone. Reads in one transaction, which
 * blocks no writer and needs little memory. Returns the row counts of the same transaction, to verify the copy with.
 * Holds the thread until it is done.
 */
export function snapshotInto(source: string, target: string): TableCounts {
  // SQLite accepts an empty target. One of its own could be read by others.
  closeSync(openSync(target, 'wx', 0o600));
  const sqlite = openExisting(source);
  try {
    sqlite.run('PRAGMA busy_timeout = 5000');
    let tables: TableCounts = {};
    sqlite.function('note_counts', (counts) => {
      tables = JSON.parse(String(counts)) as TableCounts;
      return target;
    });
    // VACUUM cannot run in a transaction, but its target may be an expression, so one statement counts and copies.
    const counts = countsOf(tableNames(sqlite));
    loadLog(source);
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
 * Reads the log into memory. While the copy is read, the server cannot begin it again, and writes on into parts that it has not
 * used since the last copy. It writes parts of pages: for each that is not in memory, it would wait for the disk. Call this
 * after a read, so that no other process deletes the log meanwhile.
 */
function loadLog(file: string): void {
  // Other kinds of journals have none.
  if (!existsSync(logOf(file))) return;
  const log = openSync(logOf(file), 'r');
  try {
    const buffer = Buffer.alloc(1024 * 1024);
    while (readSync(log, buffer) > 0);
  } finally {
    closeSync(log);
  }
}

/**
 * Reads a whole database file that nobody else has open. `schema`: the number of applied migrations. `keyFingerprint`:
 * 0 before the first start. `problem`: a sentence about its damage, or null. Throws when it is no database.
 */
export function inspectDatabase(file: string) {
  using sqlite = new Sqlite(file, { readonly: true, strict: true });
  const read = (query: string) => sqlite.query(query).values()[0]?.[0];
  const integrity = String(read('PRAGMA integrity_check(1)'));
  const orphans = sqlite.query('PRAGMA foreign_key_check').values().length;
  return {
    schema: Number(read('PRAGMA user_version')),
    keyFingerprint: Number(read('PRAGMA application_id')),
    tables: JSON.parse(String(read(`SELECT ${countsOf(tableNames(sqlite))}`))) as TableCounts,
    problem: integrity !== 'ok' ? integrity : orphans > 0 ? `${orphans} rows refer to missing rows` : null,
  };
}

/** The images that a database file names; none before there was a table of them. */
export function listStoredImages(file: string): { id: string; type: string; bytes: number }[] {
  using sqlite = new Sqlite(file, { readonly: true, strict: true });
  if (!tableNames(sqlite).includes('media')) return [];
  return sqlite
    .query<{ id: string; type: string; bytes: number }, []>('SELECT id, type, bytes FROM media ORDER BY id')
    .all();
}

/** Removes the key fingerprint from a database file that nobody else has open. */
export function forgetKey(file: string): void {
  using sqlite = openExisting(file);
  sqlite.run('PRAGMA application_id = 0');
}

/** Leaves out virtual tables: counting the search index runs statements of its own, during which SQLite cannot copy. */
function tableNames(sqlite: Sqlite): string[] {
  const query = `SELECT name FROM sqlite_schema
    WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name`;
  return sqlite.query(query).values().flat().map(String);
}

function countsOf(tables: readonly string[]): string {
  const quoted = (text: string, mark: string) => mark + text.replaceAll(mark, mark + mark) + mark;
  const pairs = tables.map((name) => `${quoted(name, "'")}, (SELECT count(*) FROM ${quoted(name, '"')})`);
  return `json_object(${pairs.join(', ')})`;
}

/** How long another program may take to close the file, in milliseconds, before it counts as open. */
const CLOSE_MS = 1_000;

/** True while another program, such as Litestream, has the database open. Takes the exclusive lock for a moment. */
export function isOpenElsewhere(file: string): boolean {
  using sqlite = openExisting(file);
  try {
    sqlite.run(`PRAGMA busy_timeout = ${CLOSE_MS}`);
    // Without this mode, SQLite gives the lock beside readers of a write-ahead log.
    sqlite.run('PRAGMA locking_mode = EXCLUSIVE');
    sqlite.run('BEGIN EXCLUSIVE');
    return false;
  } catch (error) {
    return codeOf(error).startsWith('SQLITE_BUSY');
  }
}

/** Merges the log into the file. Nobody else may have it open. False: the file cannot be opened. */
export function settle(file: string): boolean {
  using sqlite = openExisting(file);
  try {
    rewriteLog(sqlite);
    return sqlite.query('PRAGMA journal_mode = DELETE').values()[0]?.[0] === 'delete';
  } catch {
    return false;
  }
}
