import type { Database as Sqlite } from 'bun:sqlite';
import { close, fdatasync, openSync } from 'node:fs';
import { promisify } from 'node:util';
import { DatabaseBusy, type DiskFailed } from '../failures.ts';
import { createCheckpoints } from './checkpoints.ts';
import { logOf } from './connection.ts';
import { mapHeader } from './wal-index.ts';
import { createSharedSync } from './wal-sync.ts';

// The server's write-ahead log. SQLite would sync it at each commit, and sync log and database at each checkpoint,
// while the thread that serves requests waits. Here the thread appends to the log (`synchronous = NORMAL`), syncs run
// on a thread of the runtime, and checkpoints on one of ours.
//
// Why that is as durable as `synchronous = FULL`:
// - Work is acknowledged after a sync that began after its commit, so it is on the disk like a commit with FULL.
// - A reader may see a commit whose sync is still running. What it bases on that and writes is acknowledged after a
//   later sync, which covers both.
// - SQLite syncs the header of a log that starts again, and the folder of a new one, before it appends to it.
//
// SQLite locks the database file and the `-shm` file, never the `-wal` file. POSIX drops a process's locks on a file when
// it closes any descriptor of it, so only the `-wal` file may be closed here. It stays the same file as long as our
// connection is open, and the descriptor too: Linux reports a failed write to each descriptor that was open by then.

/** Syncs the data of an open file. Tests pass their own. */
export type SyncFile = (descriptor: number) => Promise<void>;

export interface Wal {
  /** The header of the log's index, which changes with each commit of any process; null where it cannot be mapped. */
  readonly header: Int32Array | null;
  /** Resolves once all earlier commits are on the disk. Rejects with `DiskFailed` after a sync that failed. */
  flush(): Promise<void>;
  /** The sync that failed, after which nothing is acknowledged any more. */
  failure(): DiskFailed | null;
  /** How long the present sync has been running, in milliseconds. */
  syncingMs(): number;
  /** Why nothing may be written now: the disk failed, or a checkpoint holds the write lock. */
  refusal(): DiskFailed | DatabaseBusy | null;
  /** Starts a checkpoint when the log is long enough for one. */
  afterCommit(): void;
  /** Waits for the sync and the checkpoint that are running. */
  close(): Promise<void>;
}

/** Takes over the syncs and checkpoints of a connection to a file in WAL mode. */
export function openWal(sqlite: Sqlite, syncFile: SyncFile = promisify(fdatasync)): Wal {
  // Copies what a former process committed into the database and syncs that: after a failed sync, syncing the log again
  // proves nothing. The statement also makes SQLite open the log.
  sqlite.run('PRAGMA wal_checkpoint(PASSIVE)');
  const log = logOf(sqlite.filename);
  const descriptor = openSync(log, 'r+');
  sqlite.run('PRAGMA synchronous = NORMAL');
  let isClosed = false;
  const sync = createSharedSync(async () => {
    // Another file may have the number of a closed descriptor.
    if (isClosed) throw new Error('the log is closed');
    await syncFile(descriptor);
  });
  const checkpoints = createCheckpoints(sqlite);
  return {
    header: mapHeader(log),
    flush: sync.flush,
    failure: sync.failure,
    syncingMs: sync.runningMs,
    refusal: () => sync.failure() ?? (checkpoints.isRestarting() ? new DatabaseBusy() : null),
    afterCommit: checkpoints.startIfDue,
    async close() {
      await checkpoints.close();
      await sync.settled();
      isClosed = true;
      await promisify(close)(descriptor);
    },
  };
}
