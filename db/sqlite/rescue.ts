import type { Database as Sqlite } from 'bun:sqlite';
import { closeSync, existsSync, openSync, readSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { messageOf } from '../../src/lib/app-error.ts';
import { bringToDisk } from '../../src/lib/disk.ts';
import { systemClock } from '../../src/lib/time.ts';
import type { LostFile } from '../failures.ts';
import { logOf } from './connection.ts';
import { inspectDatabase } from './snapshot.ts';
import type { Wal } from './wal.ts';

/** How much of the log to copy at once, in bytes. */
const PIECE = 1024 * 1024;

/**
 * Saves what the open descriptors of a connection still lead to, after somebody deleted, replaced or truncated a file. Nothing
 * may be written through the connection any more, and it must not be closed: closing copies the log into the database.
 * Returns what a person should know, in sentences.
 */
export function rescue(sqlite: Sqlite, wal: Pick<Wal, 'descriptor'> | null, lost: LostFile): string {
  try {
    switch (lost) {
      case 'REPLACED':
        return rescueDatabase(sqlite);
      case 'TRUNCATED':
        return 'Restore a backup with --force, which keeps the damaged file';
      case 'LOG_REPLACED':
        return wal === null ? 'Start the server again' : putLogBack(sqlite, wal.descriptor);
      case 'LOG_TRUNCATED':
        return 'The newest changes, which were only in it, are lost. Start again to continue without them, or restore a backup';
      case 'INDEX_REPLACED':
      case 'LOCK_REPLACED':
        return 'Nothing that was acknowledged is lost. Start again';
    }
  } catch (error) {
    return `What it had could not be saved: ${messageOf(error)}. Restore a backup`;
  }
}

const stamp = () =>
  systemClock
    .now()
    .toISOString()
    .replaceAll(/[-:]|\.\d+/g, '');

/** The log would be applied to the file that is in the place of the database, so it is renamed. */
function rescueDatabase(sqlite: Sqlite): string {
  const { filename } = sqlite;
  const log = logOf(filename);
  const copy = `${filename}.rescued-${stamp()}`;
  // The next start removes what a kill leaves of it.
  const partial = `${filename}.rescuing`;
  rmSync(partial, { force: true });
  try {
    closeSync(openSync(partial, 'wx', 0o600));
    sqlite.query('VACUUM INTO ?').run(partial);
    const { problem } = inspectDatabase(partial);
    if (problem !== null) throw new Error(problem);
    bringToDisk(partial);
    renameSync(partial, copy);
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  } finally {
    if (existsSync(log)) renameSync(log, `${log}.rescued-${stamp()}`);
    bringToDisk(dirname(filename));
  }
  return `All that it had is in ${copy}. To continue with that, move it to ${filename}, and start again`;
}

function putLogBack(sqlite: Sqlite, descriptor: number): string {
  const log = logOf(sqlite.filename);
  const restoring = `${log}.restoring`;
  const target = openSync(restoring, 'w', 0o600);
  try {
    const piece = Buffer.alloc(PIECE);
    for (let at = 0; ; ) {
      const bytes = readSync(descriptor, piece, 0, PIECE, at);
      if (bytes === 0) break;
      for (let done = 0; done < bytes; ) done += writeSync(target, piece, done, bytes - done, at + done);
      at += bytes;
    }
  } finally {
    closeSync(target);
  }
  bringToDisk(restoring);
  if (existsSync(log)) renameSync(log, `${log}.replaced-${stamp()}`);
  renameSync(restoring, log);
  bringToDisk(dirname(log));
  return 'Tidings put it back. Nothing that was acknowledged is lost. Start again';
}
