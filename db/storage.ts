import type { Database as Sqlite } from 'bun:sqlite';
import { statSync } from 'node:fs';
import { type Placeholder, sql } from 'drizzle-orm';
import type { BunSQLiteDatabase } from 'drizzle-orm/bun-sqlite';
import type { BaseSQLiteDatabase } from 'drizzle-orm/sqlite-core';
import { AppError, codeOf } from '../src/lib/app-error.ts';

// Access to the database: `read` and `write`. Their bodies are asynchronous and call only stores. With SQLite every
// statement is synchronous, so a body runs to its end without letting a timer or a request in between.

/** Drizzle over one SQLite connection. `$client` is the connection itself. */
export type Drizzle = BunSQLiteDatabase & { $client: Sqlite };

/**
 * A connection to read through. Stores take it; nobody else uses its methods. Its statements are promises to the types,
 * so that another engine can stand behind the stores; those of SQLite are done when they return.
 */
export type ReadTx = BaseSQLiteDatabase<'async', unknown>;

export function forStores(connection: Drizzle): ReadTx {
  return connection as unknown as ReadTx;
}

declare const writes: unique symbol;

/** A transaction that may write. Only `write` makes one, so a write outside of a transaction does not compile. */
export type WriteTx = ReadTx & { readonly [writes]: true };

interface WriteOptions {
  /** Work of one key keeps its order. SQLite has a single writer, which keeps the order of all work. */
  key?: string;
  /** How long to wait while another process writes, in milliseconds. */
  giveUpMs?: number | undefined;
}

export interface Storage {
  /**
   * Runs `work` on a snapshot: it sees no write in progress, and every earlier commit. Rejects when a body waits for
   * anything but a store, such as another `read`.
   */
  read<Result>(work: (tx: ReadTx) => Result | Promise<Result>): Promise<Result>;
  /**
   * Runs `work` in a transaction, which it may share with other work of the same turn of the event loop, and resolves
   * when it is on the disk. Work that throws leaves nothing behind, rejects with what it threw, and does not affect the
   * others. While another process writes, it waits without holding the thread, and rejects after `giveUpMs`. Rejects
   * with `DatabaseMoved` after the file was deleted or replaced, and when a body waits for anything but a store.
   */
  write<Result>(work: (tx: WriteTx) => Result | Promise<Result>, options?: WriteOptions): Promise<Result>;
}

/** The database file was deleted or replaced while it was open, so every further write is lost. */
export class DatabaseMoved extends AppError {
  constructor() {
    super(503, 'The database file was deleted or replaced', { headers: { 'retry-after': '60' } });
  }
}

/** The file behind each connection, as it was when the connection was opened. */
const openedFiles = new WeakMap<Sqlite, { ino: number; dev: number }>();

/**
 * False after somebody deleted or replaced the file: SQLite keeps writing to one that nobody will ever open again
 * (sqlite.org/howtocorrupt.html, 2.4).
 */
export function isInPlace(sqlite: Sqlite): boolean {
  const opened = openedFiles.get(sqlite);
  if (opened === undefined) return true;
  const present = statSync(sqlite.filename, { throwIfNoEntry: false });
  return present?.ino === opened.ino && present.dev === opened.dev;
}

/** Remembers the file of a connection that was just opened; none for a database in memory. */
export function rememberFile(sqlite: Sqlite): void {
  if (sqlite.filename !== ':memory:') openedFiles.set(sqlite, statSync(sqlite.filename));
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

/**
 * Reads and writes take turns on one connection: a second one would read through a page cache of its own, which each
 * commit empties.
 */
export function createStorage(connection: Drizzle): Storage {
  const turns = createTurns();
  const queue: Pending[] = [];
  const { $client } = connection;
  const begin = $client.query('BEGIN');
  const rollback = $client.query('ROLLBACK');

  /** Hot path: every request of the content API reads twice. */
  async function read<Result>(work: (tx: ReadTx) => Result | Promise<Result>): Promise<Result> {
    const turn = turns.enter();
    if (turn !== null) await turn;
    try {
      begin.run();
      try {
        return await work(forStores(connection));
      } finally {
        if ($client.inTransaction) rollback.run();
      }
    } finally {
      turns.leave();
    }
  }

  function write<Result>(
    work: (tx: WriteTx) => Result | Promise<Result>,
    { giveUpMs = GIVE_UP_MS }: WriteOptions = {},
  ): Promise<Result> {
    return new Promise((resolve, reject) => {
      const pending = { work, givesUpAt: performance.now() + giveUpMs, resolve, reject };
      queue.push(pending);
      turns.whenStuck((error) => {
        const at = queue.indexOf(pending);
        if (at !== -1) queue.splice(at, 1);
        reject(error);
      });
      if (queue.length === 1) setImmediate(() => void startBatch());
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
    const run = (sql: string) => $client.query(sql).run();
    try {
      run('BEGIN IMMEDIATE');
    } catch (error) {
      waitOrGiveUp(error);
      return;
    }
    const batch = queue.slice(0, MAX_BATCH);
    try {
      const settle: (() => void)[] = [];
      for (const pending of batch) settle.push(await runOne(connection, pending, run));
      run('COMMIT');
      // Acknowledge nothing that was written to a file that was deleted or replaced.
      if (!isInPlace($client)) throw new DatabaseMoved();
      for (const resolve of settle) resolve();
    } catch (error) {
      if ($client.inTransaction) run('ROLLBACK');
      for (const { reject } of batch) reject(error);
    }
    queue.splice(0, batch.length);
    if (queue.length > 0) setImmediate(() => void startBatch());
  }

  /** Nothing could begin. While another process writes, all wait except those that have waited long enough. */
  function waitOrGiveUp(error: unknown): void {
    const isBusy = codeOf(error) === 'SQLITE_BUSY';
    const now = performance.now();
    const waiting = queue.splice(0).filter((pending) => {
      const waits = isBusy && now < pending.givesUpAt;
      if (!waits) pending.reject(error);
      return waits;
    });
    queue.push(...waiting);
    if (queue.length > 0) setTimeout(() => void startBatch(), RETRY_MS);
  }

  return { read, write };
}

/** Lets one piece of work at a time use the connection. Each calls `enter`, and `leave` when it is done. */
function createTurns() {
  const waiting: (() => void)[] = [];
  /** The number of the present work; 0 when idle. */
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

  /**
   * Calls `refuse` when the present work is still running in the next turn of the event loop. It waits for something
   * other than a store then, such as a read or write inside another one, which would wait for itself forever.
   */
  function whenStuck(refuse: (error: Error) => void): void {
    const watched = present;
    if (watched === 0) return;
    setImmediate(() => {
      if (present === watched)
        refuse(new Error('a body of read or write waits for something other than a store'));
    });
  }

  return { enter, leave, whenStuck };
}

/** The effects of the work that is running on a connection. */
const effects = new WeakMap<ReadTx, (() => void)[]>();

/**
 * Runs `effect`, such as a log line, once the work that calls this is on the disk; never when the work fails. Throws
 * outside of `write`.
 */
export function afterCommit(tx: WriteTx, effect: () => void): void {
  const own = effects.get(tx);
  if (own === undefined) throw new Error('afterCommit was called outside of write');
  own.push(effect);
}

/** Returns a function that reports the outcome, to be called after the commit. */
async function runOne(
  connection: Drizzle,
  { work, resolve, reject }: Pending,
  run: (sql: string) => void,
): Promise<() => void> {
  const own: (() => void)[] = [];
  const tx = forStores(connection) as WriteTx;
  run('SAVEPOINT work');
  effects.set(tx, own);
  try {
    const value = await work(tx);
    run('RELEASE work');
    return () => {
      for (const effect of own) runSafely(effect);
      resolve(value as never);
    };
  } catch (error) {
    // On a full disk SQLite rolls back the whole transaction by itself: then all of its work has failed.
    if (!connection.$client.inTransaction) throw error;
    run('ROLLBACK TO work');
    run('RELEASE work');
    return () => reject(error);
  } finally {
    effects.delete(tx);
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

/**
 * Keeps statements for as long as their connection, built at first use. Otherwise Drizzle builds the SQL and SQLite
 * compiles it on every call, which costs more than the query.
 */
export function prepared<Statements>(build: (tx: ReadTx) => Statements): (tx: ReadTx) => Statements {
  const perConnection = new WeakMap<ReadTx, Statements>();
  return (tx) => {
    let statements = perConnection.get(tx);
    if (statements === undefined) {
      statements = build(tx);
      perConnection.set(tx, statements);
    }
    return statements;
  };
}

/** A named placeholder for each of the columns, for the values of an insert that is prepared. */
export function placeholdersFor<Name extends string>(
  columns: Readonly<Record<Name, unknown>>,
): Record<Name, Placeholder> {
  return Object.fromEntries(Object.keys(columns).map((name) => [name, sql.placeholder(name)])) as Record<
    Name,
    Placeholder
  >;
}
