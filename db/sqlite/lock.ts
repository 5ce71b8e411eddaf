import { dlopen } from 'bun:ffi';
import { Database as Sqlite } from 'bun:sqlite';
import { closeSync, existsSync, openSync } from 'node:fs';
import { codeOf } from '../../src/lib/app-error.ts';
import { logIndexOf, logOf } from './connection.ts';

// SQLite's own locks on an empty file that is never written. The kernel releases them when the process ends, so no lock
// goes stale. Bun has no flock.

/** Any number of commands may run beside one server; a restore runs alone. */
export type Holder = 'command' | 'server' | 'restore';

const statements = {
  // Reading takes the SHARED lock, which lasts as long as the transaction.
  command: ['BEGIN', 'SELECT count(*) FROM sqlite_schema'],
  // RESERVED: one at a time, beside those that share.
  server: ['BEGIN IMMEDIATE'],
  restore: ['BEGIN EXCLUSIVE'],
} as const;

/** A command waits for a restore to end, in milliseconds; a server and a restore only for a command that looks for a server. */
const waitMs = { command: 5_000, server: 200, restore: 200 } as const;

/** Takes the lock. Returns its release function, or null when another holder has it. Throws for an unusable file. */
export function takeLock(
  file: string,
  holder: Holder,
  giveUpMs: number = waitMs[holder],
): (() => void) | null {
  const sqlite = new Sqlite(file, { create: true, strict: true });
  try {
    sqlite.run(`PRAGMA busy_timeout = ${giveUpMs}`);
    for (const statement of statements[holder]) sqlite.query(statement).all();
  } catch (error) {
    sqlite.close();
    if (codeOf(error) === 'SQLITE_BUSY') return null;
    throw error;
  }
  return () => sqlite.close();
}

export function isServerRunning(file: string): boolean {
  const release = takeLock(file, 'server', 0);
  release?.();
  return release === null;
}

/** SQLite's locks on a database file are on these bytes (`PENDING_BYTE` and what follows it). */
const LOCKS = { start: 0x40000000n, length: 512n };

// Linux, 64 bits.
const F_GETLK = 5;
const F_WRLCK = 1;
const F_UNLCK = 2;

/**
 * The process that has the database open with an index of its log that was deleted; null without one, or where the system
 * does not tell. Whoever opens the database would begin a new index, and the two would write over each other in the log. No
 * connection of this process may have the database open: closing a descriptor drops the locks of all of them.
 */
export function findOrphanedUser(file: string): number | null {
  if (!existsSync(file) || existsSync(logIndexOf(logOf(file)))) return null;
  const descriptor = openSync(file, 'r');
  try {
    return lockHolder(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function lockHolder(descriptor: number): number | null {
  if (process.platform !== 'linux') return null;
  // struct flock: the kind, padding, the start, the length, the process.
  const lock = new DataView(new ArrayBuffer(32));
  lock.setInt16(0, F_WRLCK, true);
  lock.setBigInt64(8, LOCKS.start, true);
  lock.setBigInt64(16, LOCKS.length, true);
  try {
    // musl takes the name for its own.
    const { symbols } = dlopen('libc.so.6', { fcntl: { args: ['i32', 'i32', 'ptr'], returns: 'i32' } });
    const failed = symbols.fcntl(descriptor, F_GETLK, new Uint8Array(lock.buffer)) !== 0;
    return failed || lock.getInt16(0, true) === F_UNLCK ? null : lock.getInt32(24, true);
  } catch {
    return null;
  }
}
