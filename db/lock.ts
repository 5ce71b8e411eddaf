import { Database as Sqlite } from 'bun:sqlite';

// SQLite's own locks on an empty file that is never written: the kernel lets go of them when the process ends,
// however it ends, so there is no stale lock. Bun has no flock.

/** Who holds the folder. Any number of commands stand beside one server; a restore stands alone. */
export type Holder = 'command' | 'server' | 'restore';

const statements = {
  // Reading takes the SHARED lock, which lasts as long as the transaction.
  command: ['BEGIN', 'SELECT count(*) FROM sqlite_schema'],
  // RESERVED: one at a time, beside those that share.
  server: ['BEGIN IMMEDIATE'],
  restore: ['BEGIN EXCLUSIVE'],
} as const;

/** A command waits for a restore to end, in milliseconds; a server and a restore say at once that they cannot. */
const waitMs = { command: 5_000, server: 0, restore: 0 } as const;

/**
 * Takes the lock `file`, made if it is absent. Returns what lets go of it, or null when another holder is in the way.
 * Throws when the file cannot be opened.
 */
export function takeLock(file: string, holder: Holder): (() => void) | null {
  const sqlite = new Sqlite(file, { create: true, strict: true });
  try {
    sqlite.run(`PRAGMA busy_timeout = ${waitMs[holder]}`);
    for (const statement of statements[holder]) sqlite.query(statement).all();
  } catch (error) {
    sqlite.close();
    if (error instanceof Error && 'code' in error && error.code === 'SQLITE_BUSY') return null;
    throw error;
  }
  return () => sqlite.close();
}

/** Whether a server holds the lock now. */
export function isServerRunning(file: string): boolean {
  const release = takeLock(file, 'server');
  release?.();
  return release === null;
}
