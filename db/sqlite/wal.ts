import { dlopen, toArrayBuffer } from 'bun:ffi';
import { Database as Sqlite } from 'bun:sqlite';
import {
  close,
  closeSync,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  openSync,
  readSync,
  statSync,
  writeSync,
} from 'node:fs';
import { promisify } from 'node:util';
import { codeOf } from '../../src/lib/app-error.ts';
import type { CheckpointFailures } from '../engine.ts';
import { DatabaseBusy, DiskFailed } from '../failures.ts';
import { createCheckpoints } from './checkpoints.ts';
import { logIndexOf, logOf, reportsPosition } from './connection.ts';
import type { Files } from './files.ts';
import type { FailureLatch } from './write-queue.ts';

interface SharedSync {
  /** Resolves after a sync that began after the call. Rejects once the latch has a failure, such as that of a sync. */
  flush(): Promise<void>;
  runningMs(): number;
  settled(): Promise<void>;
}

function createSharedSync(sync: () => Promise<void>, latch: FailureLatch): SharedSync {
  let next: PromiseWithResolvers<void> | null = null;
  let running: Promise<void> | null = null;
  let startedAt = 0;

  async function run(): Promise<void> {
    while (next !== null) {
      const { promise, resolve, reject } = next;
      next = null;
      startedAt = performance.now();
      try {
        // The kernel reports a failed sync once and drops what it could not write, so a second try would prove nothing.
        if (latch.failure() === null) await uninterrupted(sync);
      } catch (error) {
        latch.fail(new DiskFailed(error));
      }
      const failure = latch.failure();
      if (failure === null) resolve();
      else reject(failure);
      // Let the waiting work settle first.
      await promise.catch(() => undefined);
    }
    running = null;
  }

  return {
    flush() {
      next ??= Promise.withResolvers();
      const { promise } = next;
      running ??= run();
      return promise;
    },
    runningMs: () => (running === null ? 0 : performance.now() - startedAt),
    settled: () => running ?? Promise.resolve(),
  };
}

/** A signal that interrupts a sync leaves what was not written marked as such, so the next one writes it. */
async function uninterrupted(sync: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await sync();
    } catch (error) {
      if (codeOf(error) !== 'EINTR') throw error;
    }
  }
}

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
//   lock (`rewriteLog`): the server at each start, and commands, which also do so before they close a database whose
//   server ended meanwhile.
//
// SQLite locks the database file and the `-shm` file, never the `-wal` file. POSIX drops a process's locks on a file when
// it closes any descriptor of it, so only the `-wal` file may be closed here. It stays the same file as long as our
// connection is open, and the descriptor too: Linux reports a failed write to each descriptor that was open by then.

/** Syncs the data of an open file. Tests pass their own. */
export type SyncFile = (descriptor: number) => Promise<void>;

export interface Wal {
  /** Resolves once all earlier commits are on the disk. Rejects after a failure of the latch, such as a failed sync. */
  flush(): Promise<void>;
  syncingMs(): number;
  /** Why nothing may be written now: a checkpoint holds the write lock. */
  refusal(): DatabaseBusy | null;
  afterCommit(): void;
  readonly checkpointFailures: Readonly<CheckpointFailures>;
  /** The log, also after it was deleted. */
  readonly descriptor: number;
  /** That of the log's index, which changes with each commit of any process; null where it cannot be mapped. */
  readonly header: Int32Array | null;
  /** Waits for the sync and the checkpoint that are running. Leaves the log open after a failure of the latch. */
  close(): Promise<void>;
}

interface WalOptions {
  latch: FailureLatch;
  files: Files;
  syncFile?: SyncFile | undefined;
}

// Every commit of any process writes the header of the log's index, the `-shm` file (sqlite.org/walformat.html, 2.1).

/** The header without its second copy. */
const HEADER_BYTES = 48;

/** musl takes the name for its own. */
const LIBRARY = process.platform === 'darwin' ? 'libSystem.B.dylib' : 'libc.so.6';

// The same on Linux and macOS.
const PROT_READ = 1;
const MAP_SHARED = 1;

const openLibrary = () =>
  dlopen(LIBRARY, { mmap: { args: ['ptr', 'u64', 'i32', 'i32', 'i32', 'i64'], returns: 'ptr' } });

/** One for all databases: it is compiled, and stays. */
let library: ReturnType<typeof openLibrary> | null = null;

/** Read-only, until the process ends. Call this while SQLite reads the same log, so that nobody may cut the file. */
export function mapHeader(log: string): Int32Array | null {
  try {
    // Never closed, also not after a failure: POSIX would drop the locks that SQLite has on the file, and the next process
    // would believe that it is alone.
    const descriptor = openSync(logIndexOf(log), 'r');
    if (fstatSync(descriptor).size < HEADER_BYTES) return null;
    library ??= openLibrary();
    const address = library.symbols.mmap(null, HEADER_BYTES, PROT_READ, MAP_SHARED, descriptor, 0);
    // A failure is -1 without a sign, which is no safe number.
    return typeof address === 'number' ? new Int32Array(toArrayBuffer(address, 0, HEADER_BYTES)) : null;
  } catch {
    return null;
  }
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
    descriptor,
    header: mapHeader(log),
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

// Brings a log that a former process left behind to the disk. See above for when that is needed.
//
// Linux keeps the pages of a failed sync in memory and marks them as clean (fsync(2)), so they look like part of the file
// until the power fails, and another sync writes none of them. Only a write makes them dirty again.

/** The log's header, and that of a frame, in bytes (sqlite.org/fileformat2.html#the_write_ahead_log). */
const HEADER = 32;
const FRAME_HEADER = 24;

/** The last bit tells the byte order of the checksums. */
const MAGIC = 0x377f0682;

const PIECE = 1024 * 1024;

/**
 * Writes the log of a database over itself, byte by byte the same, and syncs it. Holds the write lock meanwhile. Call it
 * before anything else is written: a checkpoint of a log that is not on the disk can damage the database. Throws when a
 * process keeps a log open of which the disk lost a part.
 */
export function rewriteLog(sqlite: Sqlite): void {
  const log = logOf(sqlite.filename);
  if ((statSync(log, { throwIfNoEntry: false })?.size ?? 0) === 0) return;
  const descriptor = openSync(log, 'r+');
  try {
    sqlite
      .transaction(() => {
        const committed = countCommitted(sqlite);
        const intact = writeOver(descriptor);
        if (intact < committed) {
          throw new Error(
            `the disk lost a part of ${log} (${committed - intact} of ${committed} pages), and another process keeps it open. Stop every process that has it open, such as Litestream, then start again`,
          );
        }
        while (!isSynced(descriptor));
      })
      .immediate();
  } finally {
    closeSync(descriptor);
  }
}

function isSynced(descriptor: number): boolean {
  try {
    fdatasyncSync(descriptor);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EINTR') return false;
    throw error;
  }
}

/** Pages in the log, as all processes see it. SQLite does not tell within a transaction, so another connection asks. */
function countCommitted(sqlite: Sqlite): number {
  if (!reportsPosition(sqlite)) return 0;
  using other = new Sqlite(sqlite.filename, { readwrite: true, create: false, strict: true });
  const [[, pages = 0] = []] = other.query('PRAGMA wal_checkpoint(NOOP)').values() as number[][];
  return pages;
}

/** Writes each intact frame again. Returns their number: like SQLite, it stops at the first one with a wrong checksum. */
function writeOver(descriptor: number): number {
  const header = Buffer.alloc(HEADER);
  readSync(descriptor, header, 0, HEADER, 0);
  const magic = header.readUInt32BE(0);
  const sum = createChecksum((magic & 1) === 1);
  sum.add(header, 0, HEADER - 8);
  if ((magic & ~1) !== MAGIC || !sum.isAt(header, HEADER - 8)) return 0;
  writeAll(descriptor, header, HEADER, 0);
  const size = FRAME_HEADER + header.readUInt32BE(8);
  const salt = header.subarray(16, 24);
  const piece = Buffer.alloc(Math.ceil(PIECE / size) * size);
  let frames = 0;
  for (;;) {
    const offset = HEADER + frames * size;
    const bytes = readSync(descriptor, piece, 0, piece.length, offset);
    let intact = 0;
    for (; intact + size <= bytes; intact += size) {
      if (!piece.subarray(intact + 8, intact + 16).equals(salt)) break;
      sum.add(piece, intact, intact + 8);
      sum.add(piece, intact + FRAME_HEADER, intact + size);
      if (!sum.isAt(piece, intact + 16)) break;
    }
    writeAll(descriptor, piece, intact, offset);
    frames += intact / size;
    if (intact < piece.length) return frames;
  }
}

function writeAll(descriptor: number, bytes: Buffer, length: number, offset: number): void {
  for (let done = 0; done < length; )
    done += writeSync(descriptor, bytes, done, length - done, offset + done);
}

/** The checksum that runs through the log (sqlite.org/fileformat2.html#checksum_algorithm). */
function createChecksum(isBigEndian: boolean) {
  let s0 = 0;
  let s1 = 0;
  return {
    add(bytes: Buffer, start: number, end: number): void {
      const view = new DataView(bytes.buffer, bytes.byteOffset + start, end - start);
      for (let at = 0; at < end - start; at += 8) {
        s0 = (s0 + view.getInt32(at, !isBigEndian) + s1) | 0;
        s1 = (s1 + view.getInt32(at + 4, !isBigEndian) + s0) | 0;
      }
    },
    isAt: (bytes: Buffer, at: number) => bytes.readInt32BE(at) === s0 && bytes.readInt32BE(at + 4) === s1,
  };
}
