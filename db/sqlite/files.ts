import type { Database as Sqlite } from 'bun:sqlite';
import {
  closeSync,
  existsSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { messageOf } from '../../src/lib/app-error.ts';
import { bringToDisk } from '../../src/lib/disk.ts';
import { startThread } from '../../src/lib/thread.ts';
import { systemClock } from '../../src/lib/time.ts';
import type { LostFile } from '../failures.ts';
import type { CheckpointRequest } from './checkpoint-thread.ts';
import type { CheckpointOutcome } from './checkpoints.ts';
import { logIndexOf, logOf, reportsPosition } from './connection.ts';
import { inspectDatabase } from './snapshot.ts';
import type { Wal } from './wal.ts';

// The files of an open database. SQLite keeps using one that somebody deleted, replaced or cut, and what it writes there is
// lost with the process (sqlite.org/howtocorrupt.html, 2.4 and 4).

interface Watched {
  path: string;
  whenReplaced: LostFile;
  whenShorter: LostFile;
  ino: number;
  dev: number;
  size: number;
  /** True if a file that became shorter is too short. Null: SQLite does not tell now. */
  isTooShort(size: number): boolean | null;
}

export interface Files {
  watchLock(path: string): void;
  /** False when something may be lost; `findLost` tells. Takes 4 µs for each file. */
  lookWhole(): boolean;
  /** Asks SQLite whether a file became shorter by itself, so nobody else may be using the connection. */
  findLost(): LostFile | null;
}

const HEADER = 32;
const FRAME_HEADER = 24;

/** A checkpoint may cut the log between the two questions for its length. */
const TRIES = 3;

/** Remembers the files of a connection that was just opened and has read; none for a database in memory. */
export function watchFiles(sqlite: Sqlite): Files {
  const files: Watched[] = [];
  const watch = (path: string, rest: Omit<Watched, 'path' | 'ino' | 'dev' | 'size'>) => {
    const { ino, dev, size } = statSync(path);
    files.push({ path, ino, dev, size, ...rest });
  };
  const numberOf = (pragma: string, column = 0) => Number(sqlite.query(pragma).values()[0]?.[column]);

  if (sqlite.filename !== ':memory:') {
    const log = logOf(sqlite.filename);
    const index = logIndexOf(log);
    const page = numberOf('PRAGMA page_size');
    const tellsPosition = reportsPosition(sqlite);
    watch(sqlite.filename, {
      whenReplaced: 'REPLACED',
      whenShorter: 'TRUNCATED',
      // VACUUM makes it shorter.
      isTooShort: (size) => (sqlite.inTransaction ? null : size < numberOf('PRAGMA page_count') * page),
    });
    watch(log, {
      whenReplaced: 'LOG_REPLACED',
      whenShorter: 'LOG_TRUNCATED',
      isTooShort(size) {
        if (!tellsPosition) return false;
        if (sqlite.inTransaction) return null;
        let present = size;
        for (let tries = 0; tries < TRIES; tries++) {
          const pages = numberOf('PRAGMA wal_checkpoint(NOOP)', 1);
          present = statSync(log, { throwIfNoEntry: false })?.size ?? 0;
          if (pages <= 0 || present >= HEADER + pages * (FRAME_HEADER + page)) return false;
        }
        return true;
      },
    });
    // A system without shared memory has none.
    if (existsSync(index))
      watch(index, {
        whenReplaced: 'INDEX_REPLACED',
        whenShorter: 'INDEX_REPLACED',
        isTooShort: () => true,
      });
  }

  const isSame = ({ ino, dev }: Watched, present: Stats | undefined): present is Stats =>
    present?.ino === ino && present.dev === dev;

  return {
    watchLock: (path) =>
      watch(path, { whenReplaced: 'LOCK_REPLACED', whenShorter: 'LOCK_REPLACED', isTooShort: () => false }),
    lookWhole() {
      return files.every((file) => {
        const present = statSync(file.path, { throwIfNoEntry: false });
        if (!isSame(file, present) || present.size < file.size) return false;
        file.size = present.size;
        return true;
      });
    },
    findLost() {
      for (const file of files) {
        const present = statSync(file.path, { throwIfNoEntry: false });
        if (!isSame(file, present)) return file.whenReplaced;
        const isTooShort = present.size < file.size && file.isTooShort(present.size);
        if (isTooShort) return file.whenShorter;
        if (isTooShort === false) file.size = present.size;
      }
      return null;
    },
  };
}

/** `found`: the first damage in SQLite's words, or null. After `leave`, the thread no longer keeps the process. */
export function findDamageInThread(file: string): { found: Promise<string | null>; leave(): void } {
  const main = new URL('./checkpoint-thread.ts', import.meta.url);
  const { worker, load } = startThread(main, 'The database was not checked');
  const { promise, resolve, reject } = Promise.withResolvers<CheckpointOutcome>();
  worker.onerror = ({ message }) => reject(new Error(message));
  void load().then(() => {
    worker.onmessage = ({ data }: MessageEvent<CheckpointOutcome>) => resolve(data);
    worker.postMessage(JSON.stringify({ file, step: 'check' } satisfies CheckpointRequest));
  });
  const found = promise
    .finally(() => worker.terminate())
    .then((outcome) => (typeof outcome === 'object' ? outcome.failure : null));
  // The types are those of browsers.
  return { found, leave: () => (worker as Worker & { unref(): void }).unref() };
}

const PIECE = 1024 * 1024;

/** The connection must be neither written nor closed any more: closing copies the log. Returns sentences for a person. */
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
