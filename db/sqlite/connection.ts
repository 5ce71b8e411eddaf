import { Database as Sqlite } from 'bun:sqlite';
import { existsSync, realpathSync } from 'node:fs';
import { BunSQLiteDatabase } from 'drizzle-orm/bun-sqlite';
import { SQLiteBunSession } from 'drizzle-orm/bun-sqlite/session';
import { SQLiteSyncDialect } from 'drizzle-orm/sqlite-core';

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

/** Compiled statements that a connection keeps, those that it used last. */
Sqlite.MAX_QUERY_CACHE_SIZE = 300;

export function drizzleOver(sqlite: Sqlite): Drizzle {
  const dialect = new OnePlanDialect();
  // Drizzle compiles a statement for each query, which takes longer than most queries. Bun keeps those of `query`.
  const client = { prepare: (text: string) => sqlite.query(text) } as Sqlite;
  const session = new SQLiteBunSession<None, None>(client, dialect, undefined);
  return Object.assign(new BunSQLiteDatabase<None>('sync', dialect, session, undefined), { $client: sqlite });
}

/** The path of a database's log. SQLite keeps it beside the file that symbolic links lead to. */
export function logOf(file: string): string {
  return `${existsSync(file) ? realpathSync(file) : file}-wal`;
}

/** The path of the log's index, by that of the log. */
export const logIndexOf = (log: string): string => log.replace(/-wal$/, '-shm');

/** Since SQLite 3.51.0 `wal_checkpoint(NOOP)` only tells; since 3.51.3, a log that starts again loses nothing. */
export function reportsPosition(sqlite: Pick<Sqlite, 'query'>): boolean {
  const [[version] = []] = sqlite.query('SELECT sqlite_version()').values();
  return Bun.semver.order(String(version), '3.51.3') >= 0;
}
