import { Database as Sqlite } from 'bun:sqlite';
import { type BunSQLiteDatabase, drizzle } from 'drizzle-orm/bun-sqlite';
import { migrate } from './migrate.ts';

/** Drizzle over one SQLite connection. `$client` is the connection itself, for pragmas and checkpoints. */
export type Database = BunSQLiteDatabase & { $client: Sqlite };

/**
 * How long a statement waits for another process's write before it fails with SQLITE_BUSY, holding the thread: right
 * for a command. A server must not stand still: it waits hardly, and writes through `commitTogether`, which tries again.
 */
const busyTimeoutMs = { command: 5_000, server: 2 } as const;

/** Who opens the file: see `busyTimeoutMs`. */
export type Role = keyof typeof busyTimeoutMs;

/**
 * Opens the database file, made if it is absent, and brings its schema up to date.
 * `:memory:` gives a private database that ends with the process.
 * Throws when the file is no database, cannot be written, or was written by a newer Tidings.
 */
export function openDatabase(file: string, role: Role = 'command'): Database {
  const sqlite = new Sqlite(file, { create: true, strict: true });
  try {
    // Whoever opens the file may find another process at the same migration: that is waited for.
    sqlite.run(`PRAGMA busy_timeout = ${busyTimeoutMs.command}`);
    sqlite.run('PRAGMA journal_mode = WAL');
    sqlite.run('PRAGMA synchronous = FULL');
    sqlite.run('PRAGMA foreign_keys = ON');
    // What undoes a savepoint would otherwise go to a file in /tmp, and where a container has none that can be written
    // to, the whole transaction fails.
    sqlite.run('PRAGMA temp_store = MEMORY');
    migrate(sqlite);
    sqlite.run(`PRAGMA busy_timeout = ${busyTimeoutMs[role]}`);
  } catch (error) {
    sqlite.close();
    throw error;
  }
  return drizzle({ client: sqlite });
}

/** Moves what the write-ahead log holds into the file and lets go of it. */
export function closeDatabase(db: Database): void {
  db.$client.run('PRAGMA wal_checkpoint(TRUNCATE)');
  db.$client.close();
}

/**
 * Statements worth keeping: built at first use, once per connection, and kept as long as it.
 * Drizzle builds SQL and SQLite compiles it on every call otherwise, which costs more than the query.
 */
export function prepared<Statements>(build: (db: Database) => Statements): (db: Database) => Statements {
  const perConnection = new WeakMap<Database, Statements>();
  return (db) => {
    let statements = perConnection.get(db);
    if (statements === undefined) {
      statements = build(db);
      perConnection.set(db, statements);
    }
    return statements;
  };
}
