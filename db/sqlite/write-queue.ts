import { runWork, type WriteOptions, type WriteTx } from '../engine.ts';
import { DatabaseMoved, isLocked, LeaseLost, type StorageLost } from '../failures.ts';
import type { Drizzle } from './connection.ts';
import type { Files } from './files.ts';
import type { Wal } from './wal.ts';

// The queue of work that writes. Work that is queued when a batch begins shares its transaction, each in a savepoint.

/** A flood cannot hold the thread for long, and one part of a full queue is committed while the one before it is synced. */
const MAX_BATCH = 32;

const RETRY_MS = 2;

/** How long work waits for another process's write by default. Some providers give up on a response after five seconds. */
const GIVE_UP_MS = 4_000;

/** While somebody reads, readers get the thread after a batch for so many times as long as it took. */
const REST = 8;
const MAX_REST_MS = 25;

/** Expect more reads for so long after one, in milliseconds. Busy readers leave gaps of several turns of the event loop. */
const READING_MS = 1;

interface Pending {
  work: (tx: WriteTx) => unknown;
  givesUpAt: number;
  resolve: (value: never) => void;
  reject: (error: unknown) => void;
}

interface Surroundings {
  /** Null where a commit is on the disk when it returns. */
  wal: Wal | null;
  files: Files;
  latch: FailureLatch;
  countReads: () => number;
}

export function createWriteQueue(
  connection: Drizzle,
  turns: Turns,
  { wal, files, latch, countReads }: Surroundings,
) {
  // Statements of SQLite are done when they return; to the stores they are promises, as those of any engine.
  const tx = connection as unknown as WriteTx;
  const { $client } = connection;
  const run = (sql: string) => $client.query(sql).run();
  const queue: Pending[] = [];
  let restsUntil = 0;
  let commits = 0;
  let readsSeen = 0;
  let readAt = 0;

  function write<Result>(
    work: (tx: WriteTx) => Result | Promise<Result>,
    { giveUpMs = GIVE_UP_MS, lease }: WriteOptions = {},
  ): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (lease?.isHeld() === false) throw new LeaseLost(`the lease ${lease.name} was given back`);
      const pending = { work, givesUpAt: performance.now() + giveUpMs, resolve, reject };
      queue.push(pending);
      turns.whenStuck((error) => {
        const at = queue.indexOf(pending);
        if (at !== -1) queue.splice(at, 1);
        reject(error);
      });
      if (queue.length === 1) schedule();
    });
  }

  /** Begins the next batch when nobody reads any more, or when the rest is over. */
  function schedule(): void {
    setImmediate(() => {
      const now = performance.now();
      const reads = countReads();
      if (reads !== readsSeen) readAt = now;
      readsSeen = reads;
      if (now < restsUntil && now - readAt < READING_MS) schedule();
      else void startBatch();
    });
  }

  async function startBatch(): Promise<void> {
    try {
      await turns.enter();
    } catch (error) {
      for (const { reject } of queue.splice(0)) reject(error);
      return;
    }
    await commitBatch().finally(turns.leave);
  }

  async function commitBatch(): Promise<void> {
    if (queue.length === 0) return;
    const startedAt = performance.now();
    try {
      requireFiles();
      const refusal = latch.failure() ?? wal?.refusal();
      if (refusal) throw refusal;
      run('BEGIN IMMEDIATE');
    } catch (error) {
      waitOrGiveUp(error);
      return;
    }
    const batch = queue.slice(0, MAX_BATCH);
    try {
      const settle: (() => void)[] = [];
      const isShared = batch.length > 1;
      for (const pending of batch) settle.push(await runOne(connection, tx, pending, isShared, run));
      run('COMMIT');
      commits++;
      void acknowledge(batch, settle);
      // Beside the sync.
      wal?.afterCommit();
    } catch (error) {
      if ($client.inTransaction) run('ROLLBACK');
      for (const { reject } of batch) reject(error);
    }
    queue.splice(0, batch.length);
    const endedAt = performance.now();
    restsUntil = endedAt + Math.min((endedAt - startedAt) * REST, MAX_REST_MS);
    if (queue.length > 0) schedule();
  }

  /** Settles the work of a commit once the commit is on the disk. Later batches run meanwhile. */
  async function acknowledge(batch: readonly Pending[], settle: readonly (() => void)[]): Promise<void> {
    try {
      await wal?.flush();
      // Acknowledge nothing that was written to a file that was deleted, replaced or cut.
      if (!files.lookWhole()) await inTurn(requireFiles);
      const failure = latch.failure();
      if (failure !== null) throw failure;
      for (const resolve of settle) resolve();
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  /** The connection must be idle. */
  function requireFiles(): void {
    const lost = files.lookWhole() ? null : files.findLost();
    if (lost !== null) latch.fail(new DatabaseMoved(lost));
  }

  async function inTurn(work: () => void): Promise<void> {
    const turn = turns.enter();
    if (turn !== null) await turn;
    try {
      work();
    } finally {
      turns.leave();
    }
  }

  /** Nothing could begin. While somebody else writes, all wait except those that have waited long enough. */
  function waitOrGiveUp(error: unknown): void {
    const now = performance.now();
    const waiting = queue.splice(0).filter((pending) => {
      const waits = isLocked(error) && now < pending.givesUpAt;
      if (!waits) pending.reject(error);
      return waits;
    });
    queue.push(...waiting);
    if (queue.length > 0) setTimeout(() => void startBatch(), RETRY_MS);
  }

  return { write, commits: () => commits };
}

/** Returns a function that reports the outcome after the commit. Throws when all of the transaction has to be undone. */
async function runOne(
  { $client }: Drizzle,
  tx: WriteTx,
  { work, resolve, reject }: Pending,
  isShared: boolean,
  run: (sql: string) => void,
): Promise<() => void> {
  if (isShared) run('SAVEPOINT work');
  try {
    const { value, runEffects } = await runWork(tx, work);
    if (isShared) run('RELEASE work');
    return () => {
      runEffects();
      resolve(value as never);
    };
  } catch (error) {
    // On a full disk SQLite rolls back the whole transaction by itself: then all of its work has failed.
    if (!isShared || !$client.inTransaction) throw error;
    run('ROLLBACK TO work');
    run('RELEASE work');
    return () => reject(error);
  }
}

/** Keeps the first failure after which nothing may be acknowledged until the next start. */
export interface FailureLatch {
  failure(): StorageLost | null;
  fail(error: StorageLost): void;
  readonly failed: Promise<StorageLost>;
}

export function createFailureLatch(): FailureLatch {
  const { promise, resolve } = Promise.withResolvers<StorageLost>();
  let failure: StorageLost | null = null;
  return {
    failure: () => failure,
    fail(error) {
      failure ??= error;
      resolve(failure);
    },
    failed: promise,
  };
}

/** Lets one piece of work at a time use the connection. Each calls `enter`, and `leave` when it is done. */
export function createTurns() {
  const waiting: (() => void)[] = [];
  let present = 0;
  let count = 0;

  /** Null: idle, the work begins at once. Rejects when the present work is stuck. */
  function enter(): Promise<void> | null {
    if (present === 0) {
      present = ++count;
      return null;
    }
    return new Promise((resolve, reject) => {
      const begin = () => {
        present = ++count;
        resolve();
      };
      waiting.push(begin);
      whenStuck((error) => {
        const at = waiting.indexOf(begin);
        if (at === -1) return;
        waiting.splice(at, 1);
        reject(error);
      });
    });
  }

  function leave(): void {
    const next = waiting.shift();
    if (next === undefined) present = 0;
    else next();
  }

  /** Calls `refuse` when the work runs on in the next turn of the event loop: it waits for something other than a store. */
  function whenStuck(refuse: (error: Error) => void): void {
    const watched = present;
    if (watched === 0) return;
    setImmediate(() => {
      if (present === watched)
        refuse(new Error('a body of read or write waits for something other than a store'));
    });
  }

  return { enter, leave, whenStuck, areIdle: () => present === 0 };
}

export type Turns = ReturnType<typeof createTurns>;
