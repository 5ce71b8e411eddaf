import type { Database as Sqlite } from 'bun:sqlite';
import { existsSync, type Stats, statSync } from 'node:fs';
import type { LostFile } from '../failures.ts';
import { logOf, reportsPosition } from './connection.ts';

// The files of an open database. SQLite keeps using one that somebody deleted, replaced or cut, and what it writes there is
// lost with the process (sqlite.org/howtocorrupt.html, 2.4 and 4).

interface Watched {
  path: string;
  whenReplaced: LostFile;
  whenShorter: LostFile;
  ino: number;
  dev: number;
  /** As it was last seen. */
  size: number;
  /** True if a file that became shorter is too short. Null: SQLite does not tell now. */
  isTooShort(size: number): boolean | null;
}

export interface Files {
  /** Adds the lock of the folder. */
  watchLock(path: string): void;
  /** False when something may be lost; `findLost` tells. Takes 4 µs for each file. */
  lookWhole(): boolean;
  /** Asks SQLite whether a file became shorter by itself, so nobody else may be using the connection. */
  findLost(): LostFile | null;
}

/** Bytes of the log's header, and of that of a frame. */
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
    const index = log.replace(/-wal$/, '-shm');
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
