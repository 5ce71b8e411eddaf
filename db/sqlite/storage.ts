import type { Database as Sqlite } from 'bun:sqlite';
import { statSync } from 'node:fs';
import { sql } from 'drizzle-orm';
import type { BunSQLiteDatabase } from 'drizzle-orm/bun-sqlite';
import { codeOf } from '../../src/lib/app-error.ts';
import {
  type ReadOptions,
  type ReadTx,
  runWork,
  type Storage,
  setDialect,
  type WriteOptions,
  type WriteTx,
} from '../engine.ts';
import { DatabaseMoved, LeaseLost } from '../failures.ts';
import { searchPosts } from './search.ts';

// `read` and `write` on one SQLite connection. Every statement is synchronous, so a body runs to its end without letting
// a timer or a request in between.

/** Drizzle over one SQLite connection. `$client` is the connection itself. */
export type Drizzle = BunSQLiteDatabase & { $client: Sqlite };

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
  // Statements of SQLite are done when they return; to the stores they are promises, as those of any engine.
  const tx = connection as unknown as WriteTx;
  setDialect(tx, {
    rowKey: sql`rowid`,
    postKey: sql`rowid`,
    listed: (values) => sql`(select value from json_each(${JSON.stringify(values)}))`,
    contains: (text, part) => sql`instr(${text}, ${part}) > 0`,
    searchPosts,
  });
  const turns = createTurns();
  const queue: Pending[] = [];
  const { $client } = connection;
  const begin = $client.query('BEGIN');
  const rollback = $client.query('ROLLBACK');

  /** Hot path: every request of the content API reads twice. */
  async function read<Result>(
    work: (tx: ReadTx) => Result | Promise<Result>,
    { single = false }: ReadOptions = {},
  ): Promise<Result> {
    // Its statement is done when `work` returns.
    if (single && turns.areIdle()) return work(tx);
    const turn = turns.enter();
    if (turn !== null) await turn;
    try {
      if (single) return await work(tx);
      begin.run();
      try {
        return await work(tx);
      } finally {
        if ($client.inTransaction) rollback.run();
      }
    } finally {
      turns.leave();
    }
  }

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
      for (const pending of batch) settle.push(await runOne(connection, tx, pending, run));
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

  return { read, write, version: createVersion($client, turns.areIdle) };
}

/**
 * Asking for the commits of other processes locks the file for a moment, which takes 2 µs, so the requests of one turn of
 * the event loop share the question. The turn reads what was sent before it began, so no client that has seen a commit
 * gets a response from before it.
 */
function createVersion(sqlite: Sqlite, areIdle: () => boolean): () => number | null {
  // Changes with the commits of all other connections (sqlite.org/pragma.html#pragma_data_version).
  const dataVersion = sqlite.query('PRAGMA data_version');
  // Grows with each row that this connection writes.
  const totalChanges = sqlite.query('SELECT total_changes()');
  const readNumber = (query: typeof dataVersion) => Number(query.values()[0]?.[0]);
  let version = 0;
  let foreign = Number.NaN;
  let own = Number.NaN;
  let isKnown = false;
  const endTurn = () => {
    isKnown = false;
  };

  return () => {
    if (!areIdle()) return null;
    const present = { own: readNumber(totalChanges), foreign };
    if (!isKnown) {
      present.foreign = readNumber(dataVersion);
      isKnown = true;
      setImmediate(endTurn);
    }
    if (present.own !== own || present.foreign !== foreign) version++;
    ({ own, foreign } = present);
    return version;
  };
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

  return { enter, leave, whenStuck, areIdle: () => present === 0 };
}

/** Returns a function that reports the outcome, to be called after the commit. */
async function runOne(
  { $client }: Drizzle,
  tx: WriteTx,
  { work, resolve, reject }: Pending,
  run: (sql: string) => void,
): Promise<() => void> {
  run('SAVEPOINT work');
  try {
    const { value, runEffects } = await runWork(tx, work);
    run('RELEASE work');
    return () => {
      runEffects();
      resolve(value as never);
    };
  } catch (error) {
    // On a full disk SQLite rolls back the whole transaction by itself: then all of its work has failed.
    if (!$client.inTransaction) throw error;
    run('ROLLBACK TO work');
    run('RELEASE work');
    return () => reject(error);
  }
}
