import { constants, Database as Sqlite } from 'bun:sqlite';
import { accessSync, existsSync, constants as fileModes, type Stats, statSync } from 'node:fs';
import { type BunSQLiteDatabase, drizzle } from 'drizzle-orm/bun-sqlite';
import { AppError } from '../src/lib/app-error.ts';
import { createStorage, type Storage } from './storage.ts';
import { upgrade } from './upgrade.ts';

export type { Sqlite };

/** Drizzle over one SQLite connection. `$client` is the connection itself, for pragmas and checkpoints. */
export type Drizzle = BunSQLiteDatabase & { $client: Sqlite };

/** The open database: `read` and `write` for all work, and the connection that writes. */
export type Database = Drizzle & Storage & { closeReader(): void };

/**
 * How long a statement waits for another process's write before it fails with SQLITE_BUSY, holding the thread: right
 * for a command. A server must not stand still: it waits hardly, and retries through the write queue.
 */
const busyTimeoutMs = { command: 5_000, server: 2 } as const;

/** Who opens the file: see `busyTimeoutMs`. */
export type Role = keyof typeof busyTimeoutMs;

/**
 * Opens the database file, made if it is absent, and brings its schema up to date (see `upgrade`).
 * `:memory:` gives a private database that ends with the process. `beforeUpgrade` is told the schema that is there, and may throw, so that none is begun.
 * Throws when the file is no database of ours, cannot be written, or was written by a newer Tidings.
 */
export function openDatabase(
  file: string,
  role: Role = 'command',
  beforeUpgrade?: (schema: number) => void,
): Database {
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
    upgrade(sqlite, file, beforeUpgrade);
    sqlite.run(`PRAGMA busy_timeout = ${busyTimeoutMs[role]}`);
  } catch (error) {
    sqlite.close();
    throw error;
  }
  if (file === ':memory:') return withStorage(sqlite, null);
  openedFiles.set(sqlite, statSync(file));
  return withStorage(sqlite, () => openReader(sqlite, role));
}

/** `openOther` null: reads and writes share one connection. */
function withStorage(sqlite: Sqlite, openOther: (() => Sqlite) | null): Database {
  const writer = drizzle({ client: sqlite });
  let reader: Sqlite | null = null;
  const openDrizzle = (open: () => Sqlite) => () => {
    reader = open();
    return drizzle({ client: reader });
  };
  const storage = createStorage(writer, openOther === null ? null : openDrizzle(openOther));
  return Object.assign(writer, storage, { closeReader: () => reader?.close() });
}

/** A second connection to the same file, for reads. Throws `DatabaseMoved` when the path leads to another file. */
function openReader(writer: Sqlite, role: Role): Sqlite {
  const reader = new Sqlite(writer.filename, { readwrite: true, create: false, strict: true });
  const opened = openedFiles.get(writer);
  const present = statSync(writer.filename, { throwIfNoEntry: false });
  if (present?.ino !== opened?.ino || present?.dev !== opened?.dev) {
    reader.close();
    throw new DatabaseMoved();
  }
  reader.run(`PRAGMA busy_timeout = ${busyTimeoutMs[role]}`);
  reader.run('PRAGMA query_only = ON');
  reader.run('PRAGMA temp_store = MEMORY');
  return reader;
}

/** The file behind each connection, as it was when the connection was opened. */
const openedFiles = new WeakMap<Sqlite, Stats>();

/**
 * Whether the path still leads to the file that is open. After somebody deletes or replaces the file, SQLite goes on
 * writing to one that nobody will ever open again (sqlite.org/howtocorrupt.html, 2.4).
 */
export function isInPlace({ $client }: Pick<Drizzle, '$client'>): boolean {
  const opened = openedFiles.get($client);
  if (opened === undefined) return true;
  const present = statSync($client.filename, { throwIfNoEntry: false });
  return present?.ino === opened.ino && present.dev === opened.dev;
}

/** The database file was deleted or replaced while it was open: whatever is written now is lost. */
export class DatabaseMoved extends AppError {
  constructor() {
    super(503, 'The database file was deleted or replaced', { headers: { 'retry-after': '60' } });
  }
}

/** Whether another process held the database's lock for too long. */
export function isLocked(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY');
}

const SYSTEM_CODES =
  /^(SQLITE_(BUSY|CANTOPEN|CORRUPT|FULL|IOERR|LOCKED|NOMEM|NOTADB|PROTOCOL|READONLY)|EDQUOT$|EIO$|EMFILE$|ENFILE$|ENOMEM$|ENOSPC$|EROFS$)/;

/**
 * Whether the system failed and not the work: no room on the disk, a locked or damaged database, no memory, no file
 * descriptors. The same work succeeds once that ends.
 */
export function isSystemFailure(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof DatabaseMoved) return true;
  if ('code' in error && SYSTEM_CODES.test(String(error.code))) return true;
  return isSystemFailure(error.cause);
}

/**
 * Asks the system whether the file is there and may be written, takes the lock that every write needs, and gives it
 * back; nothing is written. Null when that went well, and otherwise a code, such as `EROFS` of a disk that has become
 * read-only; `SQLITE_BUSY` while another process writes; `REPLACED` when the path leads to another file.
 */
export function tryWriteLock(db: Database): string | null {
  const { filename } = db.$client;
  try {
    // SQLite gives the lock for a file that nobody can write, and notices when something is to be written.
    if (filename !== ':memory:') accessSync(filename, fileModes.W_OK);
    if (!isInPlace(db)) return 'REPLACED';
    db.$client.query('BEGIN IMMEDIATE').run();
    db.$client.query('ROLLBACK').run();
    return null;
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : 'SQLITE_ERROR';
  }
}

/** In bytes, the file and its write-ahead log; null for a database in memory, or one whose file is gone. */
export function fileSizes(db: Database): { database: number; wal: number } | null {
  const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size;
  const database = sizeOf(db.$client.filename);
  return database === undefined ? null : { database, wal: sizeOf(`${db.$client.filename}-wal`) ?? 0 };
}

/**
 * Opens a database file to look at it, as it is: nothing is made, migrated or written, not even SQLite's own files
 * beside it. Throws when the file is not there or is no database.
 */
export function openForInspection(file: string): Database {
  // Who opens a file in WAL mode makes its log, unless told that nobody writes; while somebody does, the log is there.
  const isOpenElsewhere = existsSync(`${file}-wal`);
  const flags = constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI;
  const url = `${Bun.pathToFileURL(file).href}${isOpenElsewhere ? '' : '?immutable=1'}`;
  const sqlite = new Sqlite(url, flags);
  sqlite.run(`PRAGMA busy_timeout = ${busyTimeoutMs.command}`);
  return withStorage(sqlite, null);
}

/**
 * What is wrong inside the file, in SQLite's words, `limit` of them at most. `isFull` also compares each index with its
 * table, as a backup does, which takes several times as long (sqlite.org/pragma.html#pragma_quick_check).
 */
export function findDamage(
  { $client }: Database,
  limit: number,
  isFull = false,
): { damage: string[]; orphans: number } {
  const rows = $client.query(`PRAGMA ${isFull ? 'integrity_check' : 'quick_check'}(${limit})`).values();
  const orphans = $client.query('PRAGMA foreign_key_check').all().length;
  return { damage: rows.map(([row]) => String(row)).filter((each) => each !== 'ok'), orphans };
}

/** Moves what the write-ahead log holds into the file and lets go of it. */
export function closeDatabase(db: Database): void {
  db.closeReader();
  // TRUNCATE holds the write lock, and waits for readers while it does. A server that runs must not stand still for
  // that: PASSIVE, which holds no lock of writers, does most of the work, and the rest waits for nobody.
  db.$client.run('PRAGMA wal_checkpoint(PASSIVE)');
  db.$client.run('PRAGMA busy_timeout = 0');
  db.$client.run('PRAGMA wal_checkpoint(TRUNCATE)');
  db.$client.close();
}

/**
 * Statements worth keeping: built at first use, once per connection, and kept as long as it.
 * Drizzle builds SQL and SQLite compiles it on every call otherwise, which costs more than the query.
 */
export function prepared<Statements>(build: (db: Drizzle) => Statements): (db: Drizzle) => Statements {
  const perConnection = new WeakMap<Drizzle, Statements>();
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
