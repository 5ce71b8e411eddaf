import type { Database } from './client.ts';

// With synchronous=FULL a commit costs a write to the disk itself. Work that arrives together shares one.

/** How much work shares a commit at most, so that a flood cannot hold the thread for long. */
const MAX_BATCH = 128;

interface Pending {
  work: () => unknown;
  resolve: (value: never) => void;
  reject: (error: unknown) => void;
}

const queues = new WeakMap<Database, Pending[]>();

/**
 * Runs `work` (synchronous, its writes are its own) in a transaction that it may share with other work of the same
 * turn of the event loop, and resolves when that is on the disk. No timer: lone work waits for nobody. Work that
 * throws leaves nothing behind, rejects with what it threw, and does not touch the others.
 */
export function commitTogether<Result>(db: Database, work: () => Result): Promise<Result> {
  const queue = queues.get(db) ?? [];
  queues.set(db, queue);
  return new Promise((resolve, reject) => {
    queue.push({ work, resolve, reject });
    if (queue.length === 1) setImmediate(() => commitBatch(db, queue));
  });
}

function commitBatch(db: Database, queue: Pending[]): void {
  const batch = queue.slice(0, MAX_BATCH);
  const run = (sql: string) => db.$client.query(sql).run();
  try {
    run('BEGIN IMMEDIATE');
    const settle = batch.map((pending) => runOne(pending, run));
    run('COMMIT');
    for (const tell of settle) tell();
  } catch (error) {
    if (db.$client.inTransaction) run('ROLLBACK');
    for (const { reject } of batch) reject(error);
  } finally {
    queue.splice(0, batch.length);
    if (queue.length > 0) setImmediate(() => commitBatch(db, queue));
  }
}

/** Returns what tells the outcome, once it is committed. */
function runOne({ work, resolve, reject }: Pending, run: (sql: string) => void): () => void {
  run('SAVEPOINT work');
  try {
    const value = work();
    run('RELEASE work');
    return () => resolve(value as never);
  } catch (error) {
    run('ROLLBACK TO work');
    run('RELEASE work');
    return () => reject(error);
  }
}
