import { Database as Sqlite } from 'bun:sqlite';
import { codeOf } from '../../src/lib/app-error.ts';

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
