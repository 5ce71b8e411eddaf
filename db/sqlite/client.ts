import { constants, Database as Sqlite } from 'bun:sqlite';
import { accessSync, existsSync, constants as fileModes, statSync } from 'node:fs';
import { codeOf } from '../../src/lib/app-error.ts';
import type { Database, Pace, Role } from '../engine.ts';
import { DatabaseMoved, isSystemFailure, type LostFile, type StorageLost } from '../failures.ts';
import { type Drizzle, drizzleOver, logOf } from './connection.ts';
import { type Files, rescue, watchFiles } from './files.ts';
import { upgrade } from './migrate.ts';
import { createLeases, createStorage } from './storage.ts';
import { openWal, rewriteLog, type SyncFile, type Wal } from './wal.ts';
import { createFailureLatch, type FailureLatch } from './write-queue.ts';

/** The open database file. `$client` is the connection, for this folder and the tests alone. */
export type SqliteDatabase = Drizzle &
  Database & {
    readonly engine: 'sqlite';
    /** Resolves with the failure after which nothing can be written until the next start. */
    readonly failed: Promise<StorageLost>;
    failure(): StorageLost | null;
    watchLock(path: string): void;
    /** Saves what can be saved after a file was lost. Returns sentences for a person. No work may be under way. */
    rescue(lost: LostFile): string;
    /** Waits for the syncs and checkpoints of a server. No write may follow. */
    settle(): Promise<void>;
  };

export interface OpenOptions {
  /** Gets the present schema, and may throw to prevent the upgrade. */
  beforeUpgrade?: ((schema: number) => void) | undefined;
  /** No server that knows its log has it open. Default: true for a server. */
  isAlone?: boolean;
  syncFile?: SyncFile | undefined;
}

/** A command waits for another process's write, holding the thread. A server retries through the write queue. */
const busyTimeoutMs: Record<Role, number> = { command: 5_000, server: 0 };

const STALLED_MS = 10_000;

/** How many checkpoints must fail in a row before that is trouble. Each leaves the log 16 MB longer, or 10 seconds older. */
const MAX_FAILED_CHECKPOINTS = 3;

const paces: Record<Role, Pace> = {
  // Its statements and its commits hold the thread that serves requests.
  server: { holdMs: 1, restMs: 3, stepRows: 10 },
  // The server asks for the write lock every 2 ms, so a shorter rest may fall between two attempts.
  command: { holdMs: 8, restMs: 8, stepRows: 10 },
};

/** Opens or creates the file, and upgrades its schema. Throws for another program's file, and for a newer Tidings'. */
export function openDatabase(file: string, role: Role = 'command', options?: OpenOptions): SqliteDatabase {
  return openConnection(new Sqlite(file, { create: true, strict: true }), role, options);
}

export function openConnection(
  sqlite: Sqlite,
  role: Role = 'command',
  { beforeUpgrade, isAlone = role === 'server', syncFile }: OpenOptions = {},
): SqliteDatabase {
  const latch = createFailureLatch();
  let wal: Wal | null = null;
  let files: Files;
  try {
    // Wait for another process that runs the same migration.
    sqlite.run(`PRAGMA busy_timeout = ${busyTimeoutMs.command}`);
    sqlite.run('PRAGMA journal_mode = WAL');
    if (isAlone) rewriteLog(sqlite);
    sqlite.run('PRAGMA synchronous = FULL');
    sqlite.run('PRAGMA foreign_keys = ON');
    // A savepoint's journal would go to /tmp, and without a writable /tmp the whole transaction fails.
    sqlite.run('PRAGMA temp_store = MEMORY');
    upgrade(sqlite, sqlite.filename, beforeUpgrade);
    // It has read the schema, so SQLite has opened all of them.
    files = watchFiles(sqlite);
    if (role === 'server' && sqlite.filename !== ':memory:')
      wal = openWal(sqlite, { latch, files, syncFile });
    sqlite.run(`PRAGMA busy_timeout = ${busyTimeoutMs[role]}`);
  } catch (error) {
    sqlite.close();
    throw error;
  }
  return withStorage(sqlite, paces[role], { wal, files, latch });
}

function withStorage(
  sqlite: Sqlite,
  pace: Pace,
  parts: { wal: Wal | null; files: Files; latch: FailureLatch },
): SqliteDatabase {
  const { wal, files, latch } = parts;
  const connection = drizzleOver(sqlite);
  const storage = createStorage(connection, parts);
  const settle = async () => wal?.close();
  return Object.assign(connection, storage, {
    pace,
    engine: 'sqlite' as const,
    lease: createLeases(),
    // In a turn of its own: a feature that has just loaded runs between the statements of other work.
    async health() {
      const problem =
        problemOf(latch, wal) ??
        (await storage.read(() => tryWriteLock(sqlite, files, latch), { single: true }));
      // A checkpoint that failed is tried again without a commit, too.
      wal?.afterCommit();
      const areFailing = (wal?.checkpointFailures.inARow ?? 0) >= MAX_FAILED_CHECKPOINTS;
      return problem ?? (areFailing ? 'CHECKPOINT' : null);
    },
    ...(wal !== null && { checkpointFailures: () => wal.checkpointFailures }),
    sizes: async () => fileSizes(sqlite),
    failed: latch.failed,
    failure: latch.failure,
    watchLock: files.watchLock,
    rescue: (lost: LostFile) => rescue(sqlite, wal, lost),
    settle,
    async close() {
      await settle();
      if (latch.failure() === null) closeDatabase(connection);
    },
  });
}

/** A code for a disk that fails or does not finish a sync; null without a problem. */
function problemOf({ failure }: FailureLatch, wal: Wal | null): string | null {
  const lost = failure();
  if (lost instanceof DatabaseMoved) return lost.lost;
  if (lost !== null) return codeOf(lost.cause) || 'EIO';
  return wal !== null && wal.syncingMs() > STALLED_MS ? 'STALLED' : null;
}

/** Creates, migrates and writes nothing, not even SQLite's own files. Throws when the file is missing or is no database. */
export function openForInspection(file: string): SqliteDatabase {
  // Opening a file in WAL mode creates its log unless `immutable` rules out writers. A log means that somebody writes.
  const isOpenElsewhere = existsSync(logOf(file));
  const flags = constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI;
  const url = `${Bun.pathToFileURL(file).href}${isOpenElsewhere ? '' : '?immutable=1'}`;
  const sqlite = new Sqlite(url, flags);
  try {
    sqlite.run(`PRAGMA busy_timeout = ${busyTimeoutMs.command}`);
    const files = { watchLock: () => undefined, lookWhole: () => true, findLost: () => null };
    return withStorage(sqlite, paces.command, { wal: null, files, latch: createFailureLatch() });
  } catch (error) {
    sqlite.close();
    throw error;
  }
}

/** Moves the write-ahead log into the file and closes the database. A log that can't be moved is left to the next start. */
export function closeDatabase({ $client: sqlite }: Pick<SqliteDatabase, '$client'>): void {
  // TRUNCATE holds the write lock and waits for readers. A running server must not stand still for that, so PASSIVE,
  // which blocks no writer, does most of the work, and TRUNCATE waits for nobody.
  try {
    sqlite.run('PRAGMA wal_checkpoint(PASSIVE)');
    sqlite.run('PRAGMA busy_timeout = 0');
    sqlite.run('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch (error) {
    if (!isSystemFailure(error)) throw error;
  } finally {
    sqlite.close();
  }
}

/** Takes and releases the write lock. Returns null, or a code: `EROFS`, `BUSY`, that of a file that is lost. */
function tryWriteLock(sqlite: Sqlite, files: Files, latch: FailureLatch): string | null {
  const { filename } = sqlite;
  try {
    const lost = files.lookWhole() ? null : files.findLost();
    if (lost !== null) {
      latch.fail(new DatabaseMoved(lost));
      return lost;
    }
    // SQLite gives the lock even for a read-only file, and fails at the first write.
    if (filename !== ':memory:') accessSync(filename, fileModes.W_OK);
    sqlite.query('BEGIN IMMEDIATE').run();
    sqlite.query('ROLLBACK').run();
    return null;
  } catch (error) {
    const code = codeOf(error) || 'SQLITE_ERROR';
    return code === 'SQLITE_BUSY' ? 'BUSY' : code;
  }
}

function fileSizes({ filename }: Sqlite): { database: number; wal: number } | null {
  const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size;
  const database = sizeOf(filename);
  return database === undefined ? null : { database, wal: sizeOf(logOf(filename)) ?? 0 };
}

/** At most `limit` lines. `isFull` also compares each index with its table, which takes several times as long. */
export function findDamage(
  { $client }: SqliteDatabase,
  limit: number,
  isFull = false,
): { damage: string[]; orphans: number } {
  const rows = $client.query(`PRAGMA ${isFull ? 'integrity_check' : 'quick_check'}(${limit})`).values();
  const orphans = $client.query('PRAGMA foreign_key_check').all().length;
  return { damage: rows.map(([row]) => String(row)).filter((each) => each !== 'ok'), orphans };
}

/** The fingerprint of the key that encrypts the file's secrets (see `keyFingerprint`); null before the first start. */
export function readKeyFingerprint({ $client }: SqliteDatabase): number | null {
  return Number($client.query('PRAGMA application_id').values()[0]?.[0]) || null;
}

/** Stores the fingerprint in the file itself, so that the two cannot be separated. */
export function writeKeyFingerprint({ $client }: SqliteDatabase, fingerprint: number): void {
  const [[timeoutMs] = []] = $client.query('PRAGMA busy_timeout').values();
  // Holding the thread is fine: this happens once, before a server listens.
  $client.run(`PRAGMA busy_timeout = ${busyTimeoutMs.command}`);
  $client.run(`PRAGMA application_id = ${fingerprint}`);
  $client.run(`PRAGMA busy_timeout = ${timeoutMs}`);
}
