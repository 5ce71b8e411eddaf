import type { Database as Sqlite } from 'bun:sqlite';
import { close, fdatasync, openSync } from 'node:fs';
import { promisify } from 'node:util';
import type { CheckpointFailures } from '../engine.ts';
import { DatabaseBusy } from '../failures.ts';
import { createCheckpoints } from './checkpoints.ts';
import { logOf } from './connection.ts';
import type { FailureLatch } from './failure-latch.ts';
import type { Files } from './files.ts';
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
// Why a failed sync loses nothing that is acknowledged later: the disk then lacks a part of the log, although every process
// reads it and later syncs succeed. Nothing may be appended after that part, and no checkpoint may copy what follows it.
// - After a failed sync the server acknowledges nothing, makes no checkpoint, releases its lock on the folder, and exits.
//   The kernel reports the failure to every descriptor that was open by then (fsync(2)), so ours learns of a failed sync
//   of any process.
// - Whoever opens the database without a server beside it first writes the log over itself and syncs it, under the write
//   lock (`wal-rewrite.ts`): the server at each start, and commands, which also do so before they close a database whose
//   server ended meanwhile.
//
// SQLite locks the database file and the `-shm` file, never the `-wal` file. POSIX drops a process's locks on a file when
// it closes any descriptor of it, so only the `-wal` file may be closed here. It stays the same file as long as our
// connection is open, and the descriptor too: Linux reports a failed write to each descriptor that was open by then.

/** Syncs the data of an open file. Tests pass their own. */
export type SyncFile = (descriptor: number) => Promise<void>;

export interface Wal {
  /** The header of the log's index, which changes with each commit of any process; null where it cannot be mapped. */
  readonly header: Int32Array | null;
  /** Resolves once all earlier commits are on the disk. Rejects after a failure of the latch, such as a failed sync. */
  flush(): Promise<void>;
  /** How long the present sync has been running, in milliseconds. */
  syncingMs(): number;
  /** Why nothing may be written now: a checkpoint holds the write lock. */
  refusal(): DatabaseBusy | null;
  /** Starts a checkpoint when the log is long enough for one. */
  afterCommit(): void;
  readonly checkpointFailures: Readonly<CheckpointFailures>;
  /** The log, also after it was deleted. */
  readonly descriptor: number;
  /** Waits for the sync and the checkpoint that are running. Leaves the log open after a failure of the latch. */
  close(): Promise<void>;
}

interface WalOptions {
  latch: FailureLatch;
  files: Files;
  syncFile?: SyncFile | undefined;
}

/** Takes over the syncs and checkpoints of a connection to a file in WAL mode, whose log is open and on the disk. */
export function openWal(sqlite: Sqlite, { latch, files, syncFile = promisify(fdatasync) }: WalOptions): Wal {
  const log = logOf(sqlite.filename);
  const descriptor = openSync(log, 'r+');
  sqlite.run('PRAGMA synchronous = NORMAL');
  let isClosed = false;
  const sync = createSharedSync(async () => {
    // Another file may have the number of a closed descriptor.
    if (isClosed) throw new Error('the log is closed');
    await syncFile(descriptor);
  }, latch);
  // It reads the log by its name.
  const isSafe = () => latch.failure() === null && files.lookWhole();
  const checkpoints = createCheckpoints(sqlite, { isSafe });
  return {
    header: mapHeader(log),
    descriptor,
    flush: sync.flush,
    syncingMs: sync.runningMs,
    refusal: () => (checkpoints.isRestarting() ? new DatabaseBusy() : null),
    afterCommit: checkpoints.startIfDue,
    checkpointFailures: checkpoints.failures,
    async close() {
      await checkpoints.close();
      await sync.settled();
      if (latch.failure() !== null) return;
      isClosed = true;
      await promisify(close)(descriptor);
    },
  };
}
