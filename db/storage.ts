import { DatabaseMoved, type Drizzle, isInPlace, type Sqlite } from './client.ts';

// Access to the database: `read` and `write`. Their bodies are asynchronous and call only stores. With SQLite every
// statement is synchronous, so a body runs to its end without letting a timer or a request in between.

/** A connection to read through. Stores take it; nobody else uses its methods. */
export type ReadTx = Drizzle;

declare const writes: unique symbol;

/** A transaction that may write. Only `write` makes one, so a write outside of a transaction does not compile. */
export type WriteTx = Drizzle & { readonly [writes]: true };

export interface WriteOptions {
  /** Work of one key keeps its order. SQLite has a single writer, which keeps the order of all work. */
  key?: string;
  /** How long to wait while another process writes, in milliseconds. */
  giveUpMs?: number | undefined;
}

export interface Storage {
  /** Runs `work` on a snapshot: it sees no write that is in progress, and all that were committed before. */
  read<Result>(work: (tx: ReadTx) => Result | Promise<Result>): Promise<Result>;
  /**
   * Runs `work` in a transaction, which it may share with other work of the same turn of the event loop, and resolves
   * when it is on the disk. Work that throws leaves nothing behind, rejects with what it threw, and does not affect the
   * others. While another process writes, it waits without holding the thread, and rejects after `giveUpMs`. Rejects
   * with `DatabaseMoved` after the file was deleted or replaced.
   */
  write<Result>(work: (tx: WriteTx) => Result | Promise<Result>, options?: WriteOptions): Promise<Result>;
}

/** Limits the work that shares a commit, so that a flood cannot hold the thread for long. */
const MAX_BATCH = 128;

/** How soon to try again while another process writes, in milliseconds. */
const RETRY_MS = 10;

/** How long work waits for another process's write by default. Some providers give up on a response after five seconds. */
const GIVE_UP_MS = 4_000;

interface Pending {
  work: (tx: WriteTx) => unknown;
  /** By `performance.now()`. */
  givesUpAt: number;
  resolve: (value: never) => void;
  reject: (error: unknown) => void;
}

/** Runs one piece of work at a time on a connection. Idle, it starts the work in the same turn. */
function createTurns() {
  const waiting: (() => void)[] = [];
  let isBusy = false;
  return async function takeTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    if (isBusy) await new Promise<void>((resolve) => waiting.push(resolve));
    isBusy = true;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) isBusy = false;
      else next();
    }
  };
}

/**
 * `openReader` opens a connection of its own for reads. Null: reads share the connection of `writer`, and take turns
 * with its writes.
 */
export function createStorage(writer: Drizzle, openReader: (() => Drizzle) | null): Storage {
  const writeTurn = createTurns();
  const readTurn = openReader === null ? writeTurn : createTurns();
  const queue: Pending[] = [];
  let reader: Drizzle | null = null;

  async function read<Result>(work: (tx: ReadTx) => Result | Promise<Result>): Promise<Result> {
    return await readTurn(async () => {
      reader ??= openReader?.() ?? writer;
      const { $client } = reader;
      $client.query('BEGIN').run();
      try {
        return await work(reader);
      } finally {
        if ($client.inTransaction) $client.query('ROLLBACK').run();
      }
    });
  }

  function write<Result>(
    work: (tx: WriteTx) => Result | Promise<Result>,
    { giveUpMs = GIVE_UP_MS }: WriteOptions = {},
  ): Promise<Result> {
    return new Promise((resolve, reject) => {
      queue.push({ work, givesUpAt: performance.now() + giveUpMs, resolve, reject });
      if (queue.length === 1) setImmediate(startBatch);
    });
  }

  const startBatch = () => void writeTurn(commitBatch);

  async function commitBatch(): Promise<void> {
    const run = (sql: string) => writer.$client.query(sql).run();
    try {
      run('BEGIN IMMEDIATE');
    } catch (error) {
      waitOrGiveUp(error);
      return;
    }
    const batch = queue.slice(0, MAX_BATCH);
    try {
      const settle: (() => void)[] = [];
      for (const pending of batch) settle.push(await runOne(writer, pending, run));
      run('COMMIT');
      // Acknowledge nothing that was written to a file that was deleted or replaced.
      if (!isInPlace(writer)) throw new DatabaseMoved();
      for (const resolve of settle) resolve();
    } catch (error) {
      if (writer.$client.inTransaction) run('ROLLBACK');
      for (const { reject } of batch) reject(error);
    }
    queue.splice(0, batch.length);
    if (queue.length > 0) setImmediate(startBatch);
  }

  /** Nothing could begin. While another process writes, all wait except those that have waited long enough. */
  function waitOrGiveUp(error: unknown): void {
    const isBusy = error instanceof Error && 'code' in error && error.code === 'SQLITE_BUSY';
    const now = performance.now();
    const waiting = queue.splice(0).filter((pending) => {
      const waits = isBusy && now < pending.givesUpAt;
      if (!waits) pending.reject(error);
      return waits;
    });
    queue.push(...waiting);
    if (queue.length > 0) setTimeout(startBatch, RETRY_MS);
  }

  return { read, write };
}

/** The effects of the work that is running on a connection. */
const effects = new WeakMap<Sqlite, (() => void)[]>();

/**
 * Runs `effect`, such as a log line, once the work that calls this is on the disk; never when the work fails. Throws
 * outside of `write`.
 */
export function afterCommit(tx: Pick<WriteTx, '$client'>, effect: () => void): void {
  const own = effects.get(tx.$client);
  if (own === undefined) throw new Error('afterCommit was called outside of write');
  own.push(effect);
}

/** Returns a function that reports the outcome, to be called after the commit. */
async function runOne(
  writer: Drizzle,
  { work, resolve, reject }: Pending,
  run: (sql: string) => void,
): Promise<() => void> {
  const own: (() => void)[] = [];
  run('SAVEPOINT work');
  effects.set(writer.$client, own);
  try {
    const value = await work(writer as WriteTx);
    run('RELEASE work');
    return () => {
      for (const effect of own) runSafely(effect);
      resolve(value as never);
    };
  } catch (error) {
    // On a full disk SQLite rolls back the whole transaction by itself: then all of its work has failed.
    if (!writer.$client.inTransaction) throw error;
    run('ROLLBACK TO work');
    run('RELEASE work');
    return () => reject(error);
  } finally {
    effects.delete(writer.$client);
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
