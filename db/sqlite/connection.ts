import type { Database as Sqlite } from 'bun:sqlite';
import { statSync } from 'node:fs';
import type { BunSQLiteDatabase } from 'drizzle-orm/bun-sqlite';

/** Drizzle over one SQLite connection. `$client` is the connection itself. */
export type Drizzle = BunSQLiteDatabase & { $client: Sqlite };

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
