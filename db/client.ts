import { Database as Sqlite } from 'bun:sqlite';
import { type BunSQLiteDatabase, drizzle } from 'drizzle-orm/bun-sqlite';
import { upgrade } from './upgrade.ts';

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
 * Opens the database file, made if it is absent, and brings its schema up to date (see `upgrade`).
 * `:memory:` gives a private database that ends with the process. `beforeUpgrade` may throw, so that none is begun.
 * Throws when the file is no database of ours, cannot be written, or was written by a newer Tidings.
 */
export function openDatabase(file: string, role: Role = 'command', beforeUpgrade?: () => void): Database {
  const sqlite = new Sqlite(file, { create: true, strict: true });
  try {
    // Whoever opens the file may find another process at the same migration: that is waited for.
    sqlite.run(`PRAGMA busy_timeout = ${busyTimeoutMs.command}`);
    sqlite.run('PRAGMA journal_mode = WAL');
    sqlite.run('PRAGMA synchronous = FULL');
    sqlite.run('PRAGMA foreign_keys = ON');
    upgrade(sqlite, file, beforeUpgrade);
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

/** The key that the file's secrets are encrypted under (see `keyFingerprint`), or null when there is none yet. */
export function readKeyFingerprint(db: Database): number | null {
  return Number(db.$client.query('PRAGMA application_id').values()[0]?.[0]) || null;
}

/** Remembers that key, in the file itself, so that the two can never come apart. */
export function writeKeyFingerprint(db: Database, fingerprint: number): void {
  const [[timeoutMs] = []] = db.$client.query('PRAGMA busy_timeout').values();
  // At the first start only, when there is nobody to keep waiting.
  db.$client.run(`PRAGMA busy_timeout = ${busyTimeoutMs.command}`);
  db.$client.run(`PRAGMA application_id = ${fingerprint}`);
  db.$client.run(`PRAGMA busy_timeout = ${timeoutMs}`);
}
