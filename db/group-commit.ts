import { type Database, DatabaseMoved, isInPlace } from './client.ts';

// With synchronous=FULL a commit costs a write to the disk itself. Work that arrives together shares one.

/** How much work shares a commit at most, so that a flood cannot hold the thread for long. */
const MAX_BATCH = 128;

/** How soon to try again while another process writes, in milliseconds. */
const RETRY_MS = 10;

/** How long work waits for another process's write. Linear gives up on an answer after five seconds. */
const GIVE_UP_MS = 4_000;

interface Pending {
  work: () => unknown;
  /** By `performance.now()`. */
  givesUpAt: number;
  resolve: (value: never) => void;
  reject: (error: unknown) => void;
}

const queues = new WeakMap<Database, Pending[]>();

/**
 * Runs `work` (synchronous, its writes are its own) in a transaction that it may share with other work of the same
 * turn of the event loop, and resolves when that is on the disk. No timer: lone work waits for nobody, unless another
 * process is writing; then it waits without holding the thread, and rejects after `giveUpMs`. Work that throws leaves
 * nothing behind, rejects with what it threw, and does not touch the others. Rejects with `DatabaseMoved` after the
 * file was deleted or replaced.
 */
export function commitTogether<Result>(
  db: Database,
  work: () => Result,
  giveUpMs = GIVE_UP_MS,
): Promise<Result> {
  const queue = queues.get(db) ?? [];
  queues.set(db, queue);
  return new Promise((resolve, reject) => {
    queue.push({ work, givesUpAt: performance.now() + giveUpMs, resolve, reject });
    if (queue.length === 1) setImmediate(() => commitBatch(db, queue));
  });
}

function commitBatch(db: Database, queue: Pending[]): void {
  const run = (sql: string) => db.$client.query(sql).run();
  try {
    run('BEGIN IMMEDIATE');
  } catch (error) {
    waitOrGiveUp(db, queue, error);
    return;
  }
  const batch = queue.slice(0, MAX_BATCH);
  try {
    const settle = batch.map((pending) => runOne(db, pending, run));
    run('COMMIT');
    // Nobody may rely on a commit to a file that was deleted or replaced.
    if (!isInPlace(db)) throw new DatabaseMoved();
    for (const tell of settle) tell();
  } catch (error) {
    if (db.$client.inTransaction) run('ROLLBACK');
    for (const { reject } of batch) reject(error);
  }
  queue.splice(0, batch.length);
  if (queue.length > 0) setImmediate(() => commitBatch(db, queue));
}

/** Nothing could begin: all wait while somebody else writes, but for those who have waited long enough. */
function waitOrGiveUp(db: Database, queue: Pending[], error: unknown): void {
  const isBusy = error instanceof Error && 'code' in error && error.code === 'SQLITE_BUSY';
  const now = performance.now();
  const waiting = queue.splice(0).filter((pending) => {
    const waits = isBusy && now < pending.givesUpAt;
    if (!waits) pending.reject(error);
    return waits;
  });
  queue.push(...waiting);
  if (queue.length > 0) setTimeout(() => commitBatch(db, queue), RETRY_MS);
}

/** The effects of the work that is running; null while none is. */
let effects: (() => void)[] | null = null;

/**
 * Runs `effect`, such as a log line, once the work that calls this is on the disk; never when the work fails. Throws
 * outside of `commitTogether`: a write that must share a transaction cannot be made without one.
 */
export function afterCommit(effect: () => void): void {
  if (effects === null) throw new Error('afterCommit was called outside of commitTogether');
  effects.push(effect);
}

/** Returns what tells the outcome, once it is committed. */
function runOne(db: Database, { work, resolve, reject }: Pending, run: (sql: string) => void): () => void {
  const own: (() => void)[] = [];
  run('SAVEPOINT work');
  effects = own;
  try {
    const value = work();
    run('RELEASE work');
    return () => {
      for (const effect of own) runSafely(effect);
      resolve(value as never);
    };
  } catch (error) {
    // On a full disk SQLite rolls back the whole transaction by itself: then all of its work has failed.
    if (!db.$client.inTransaction) throw error;
    run('ROLLBACK TO work');
    run('RELEASE work');
    return () => reject(error);
  } finally {
    effects = null;
  }
}

/** The work is committed: a log that cannot be written must not make it look like a failure. */
function runSafely(effect: () => void): void {
  try {
    effect();
  } catch {
    // There is nowhere left to report it.
  }
}
