import type { Database as Sqlite } from 'bun:sqlite';
import { existsSync, realpathSync, statSync } from 'node:fs';
import { BunSQLiteDatabase } from 'drizzle-orm/bun-sqlite';
import { SQLiteBunSession } from 'drizzle-orm/bun-sqlite/session';
import { SQLiteSyncDialect } from 'drizzle-orm/sqlite-core';

/** Drizzle over one SQLite connection. `$client` is the connection itself. */
export type Drizzle = BunSQLiteDatabase & { $client: Sqlite };

/**
 * SQLite plans a query for the values of its bare variables: it compiles a prepared statement that joins, sorts or limits
 * again at each run, which takes ten times as long as finding a row. It does not look into `+?`, which has the same value.
 * A query uses a partial index only if its text has the condition of the index, as on PostgreSQL.
 */
class OnePlanDialect extends SQLiteSyncDialect {
  override escapeParam(): string {
    return '+?';
  }
}

type None = Record<string, never>;

export function drizzleOver(sqlite: Sqlite): Drizzle {
  const dialect = new OnePlanDialect();
  const session = new SQLiteBunSession<None, None>(sqlite, dialect, undefined);
  return Object.assign(new BunSQLiteDatabase<None>('sync', dialect, session, undefined), { $client: sqlite });
}

/** The file behind each connection, as it was when the connection was opened. */
const openedFiles = new WeakMap<Sqlite, { ino: number; dev: number }>();

/**
 * False after somebody deleted or replaced the file: SQLite keeps writing to one that nobody will ever open again
 * (sqlite.org/howtocorrupt.html, 2.4).
 */
export function isInPlace(sqlite: Sqlite): boolean {
  const opened = openedFiles.get(sqlite);
  if (opened === undefined) return true;
  const present = statSync(sqlite.filename, { throwIfNoEntry: false });
  return present?.ino === opened.ino && present.dev === opened.dev;
}

/** Remembers the file of a connection that was just opened; none for a database in memory. */
export function rememberFile(sqlite: Sqlite): void {
  if (sqlite.filename !== ':memory:') openedFiles.set(sqlite, statSync(sqlite.filename));
}

/** The path of a database's log. SQLite keeps it beside the file that symbolic links lead to. */
export function logOf(file: string): string {
  return `${existsSync(file) ? realpathSync(file) : file}-wal`;
}
