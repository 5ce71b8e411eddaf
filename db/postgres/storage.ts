import { AsyncLocalStorage } from 'node:async_hooks';
import { drizzle } from 'drizzle-orm/sqlite-proxy';
import { within } from '../../src/lib/time.ts';
import {
  type Pace,
  type ReadOptions,
  type ReadTx,
  runWork,
  type Storage,
  setDialect,
  type WriteOptions,
  type WriteTx,
} from '../engine.ts';
import { DatabaseBusy, LeaseLost } from '../failures.ts';
import {
  type Answer,
  type Connection,
  ConnectionLost,
  isAborted,
  isRetryable,
  sqlStateOf,
  TICK_MS,
  toFailure,
  unwrap,
} from './connection.ts';
import { dialect, fromPostgresRows } from './dialect.ts';
import type { Pool } from './pool.ts';

// Statements are sent without waiting for BEGIN: a transaction of one query costs two round trips, and a read of one
// costs one.

const BEGIN_READ = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY';
const BEGIN_WRITE = 'BEGIN ISOLATION LEVEL READ COMMITTED';

const SETTINGS =
  "set_config('lock_timeout', ?, true), set_config('idle_in_transaction_session_timeout', ?, true)";
const LOCK_ALL = `SELECT ${SETTINGS}, pg_advisory_xact_lock(0)`;
const LOCK_SOME = `SELECT ${SETTINGS}, pg_advisory_xact_lock_shared(0)`;
const LOCK_ONE = 'pg_advisory_xact_lock(hashtextextended(?, 0))';
const SHARE_ONE = 'pg_advisory_xact_lock_shared(hashtextextended(?, 0))';

/** Fails with a division by zero unless the lease is held, and keeps it until the commit. */
const CHECK_LEASE =
  'SELECT 1 / count(*) FROM (SELECT FROM leases WHERE name = ? AND fence = ? FOR KEY SHARE) AS held';

const MAX_RETRIES = 2;

/** So long the first time, and twice as long the second, in milliseconds. */
const RETRY_WAIT_MS = 20;

/** Work without a key holds a lock that all other writes wait for. A step costs a round trip at least. */
const PACE: Pace = { holdMs: 5, restMs: 5, stepRows: 500 };

const IDLE_MS = 15_000;

const NESTED = 'a body of read or write waits for something other than a store';

export interface Session {
  readonly connection: Connection;
  readonly tx: WriteTx;
  work: Work | null;
  tick(): void;
}

interface Work {
  readonly isWrite: boolean;
  failure: unknown;
  /** COMMIT was sent: when the connection is lost now, nobody knows whether the work is done. */
  isCommitting: boolean;
  idleTicks: number;
  /** Rejects when the work is ended from outside. */
  readonly ended: PromiseWithResolvers<never>;
}

/** Drizzle over a connection, for one piece of work at a time. A body that sends nothing for `idleMs` is ended. */
export function createSession(connection: Connection, idleMs: number): Session {
  async function run(text: string, params: unknown[], method: string): Promise<{ rows: unknown[] }> {
    const { work } = session;
    if (work === null) throw new Error('a statement was sent after its read or write had ended');
    const answer = send(session, work, text, params);
    if (method === 'run' && work.isWrite) {
      // Nobody needs the answer before the commit, which fails when this fails.
      answer.catch(() => undefined);
      return { rows: [] };
    }
    const rows = fromPostgresRows(await answer);
    return { rows: method === 'get' ? (rows[0] as unknown[]) : rows };
  }
  const tx = drizzle(run) as unknown as WriteTx;
  setDialect(tx, dialect);
  const session: Session = {
    connection,
    tx,
    work: null,
    tick() {
      connection.tick();
      const { work } = session;
      if (work === null || connection.pending > 0) return;
      if (++work.idleTicks * TICK_MS <= idleMs) return;
      work.ended.reject(new Error(NESTED));
      connection.destroy(new ConnectionLost(new Error(NESTED)));
    },
  };
  return session;
}

async function send(
  { connection }: Session,
  work: Work,
  text: string,
  params: readonly unknown[],
  limitMs?: number,
): Promise<Answer> {
  work.idleTicks = 0;
  try {
    return await connection.send(text, params, limitMs);
  } catch (error) {
    if (work.failure === null) work.failure = error;
    throw isAborted(error) ? work.failure : error;
  } finally {
    work.idleTicks = 0;
  }
}

export interface Limits {
  /** How long a statement may wait for its answer without the time for locks, and a body send none, in milliseconds. */
  answerMs: number;
  /** How long work waits in all for its turn, a connection and other writers, unless it says so itself. */
  giveUpMs: number;
  /** When the server ends a write whose process stands still, so that its locks do not outlive it for long. */
  idleMs?: number;
}

export function createStorage(pool: Pool<Session>, limits: Limits): Storage {
  const idleMs = String(limits.idleMs ?? IDLE_MS);
  /** The body that runs, to refuse another read or write inside of it, which might wait for itself. */
  const bodies = new AsyncLocalStorage<{ isRunning: boolean }>();

  const lines = createLines();

  function refuseNested(): void {
    if (bodies.getStore()?.isRunning) throw new Error(NESTED);
  }

  async function runBody<Result>(body: () => Result | Promise<Result>): Promise<Result> {
    const present = { isRunning: true };
    try {
      return await bodies.run(present, body);
    } finally {
      present.isRunning = false;
    }
  }

  async function onSession<Result>(
    leftMs: () => number,
    isWrite: boolean,
    run: (session: Session, work: Work) => Promise<Result>,
  ): Promise<Result> {
    for (let retries = 0; ; retries++) {
      const session = await pool.acquire(leftMs());
      const ended = Promise.withResolvers<never>();
      const work: Work = { isWrite, failure: null, isCommitting: false, idleTicks: 0, ended };
      session.work = work;
      try {
        return await Promise.race([run(session, work), ended.promise]);
      } catch (error) {
        if (retries >= MAX_RETRIES || !mayRunAgain(work)) throw failureOf(work, unwrap(error));
      } finally {
        session.work = null;
        pool.release(session);
      }
      // After a deadlock, the other one has to take the row before this work does so again.
      await Bun.sleep(RETRY_WAIT_MS * (1 + retries));
    }
  }

  /** Reads with a name that have sent nothing yet: what they will see is newer than the request of whoever joins them. */
  const waiting = new Map<string, Promise<unknown>>();

  async function read<Result>(
    work: (tx: ReadTx) => Result | Promise<Result>,
    { single = false, name }: ReadOptions = {},
  ): Promise<Result> {
    refuseNested();
    if (name === undefined) return readNow(work, single);
    const joined = waiting.get(name);
    if (joined !== undefined) return joined as Promise<Result>;
    const forget = () => waiting.delete(name);
    const reading = readNow((tx) => {
      forget();
      return work(tx);
    }, single).finally(forget);
    waiting.set(name, reading);
    return reading;
  }

  function readNow<Result>(work: (tx: ReadTx) => Result | Promise<Result>, single: boolean): Promise<Result> {
    return onSession(untilGiveUp(limits.giveUpMs), false, async (session, present) => {
      const { tx, connection } = session;
      if (single) return await runBody(() => work(tx));
      void sendAhead(session, present, BEGIN_READ);
      try {
        return await runBody(() => work(tx));
      } finally {
        // Not awaited: whatever this connection does next comes after it.
        connection.send('ROLLBACK').catch(() => undefined);
      }
    });
  }

  async function write<Result>(
    work: (tx: WriteTx) => Result | Promise<Result>,
    { key, shares = [], giveUpMs = limits.giveUpMs, lease }: WriteOptions = {},
  ): Promise<Result> {
    refuseNested();
    const keys = key === undefined ? undefined : [...new Set([key].flat())].sort();
    if (lease?.isHeld() === false) throw new LeaseLost(`the lease ${lease.name} was lost`);
    const leftMs = untilGiveUp(giveUpMs);
    return lines.enter(keys ?? [ALONE], leftMs, () =>
      onSession(leftMs, true, async (session, present) => {
        const { tx, connection } = session;
        const lockMs = Math.max(1, Math.ceil(leftMs()));
        const ahead = (text: string, ...params: unknown[]) =>
          sendAhead(session, present, text, params, limits.answerMs + lockMs);
        const begun = sendAhead(session, present, BEGIN_WRITE);
        if (keys === undefined) void ahead(LOCK_ALL, String(lockMs), idleMs);
        else {
          const names = [...new Set([...keys, ...shares])].sort();
          const locks = names.map((name) => (keys.includes(name) ? LOCK_ONE : SHARE_ONE));
          void ahead([LOCK_SOME, ...locks].join(', '), String(lockMs), idleMs, ...names);
        }
        const leased = lease && ahead(CHECK_LEASE, lease.name, lease.fence);
        try {
          const { value, runEffects } = await runBody(() => runWork(tx, work));
          await begun;
          await commit(session, present);
          runEffects();
          return value;
        } catch (error) {
          connection.send('ROLLBACK').catch(() => undefined);
          const isLost = await leased?.then(() => false, isDivisionByZero);
          throw isLost ? new LeaseLost(`another process took over the lease ${lease?.name}`) : error;
        }
      }),
    );
  }

  return { pace: PACE, read, write, version: () => null };
}

function untilGiveUp(giveUpMs: number): () => number {
  const end = performance.now() + giveUpMs;
  return () => Math.max(end - performance.now(), 0);
}

const ALONE = '';

function createLines() {
  const last = new Map<string, Promise<void>>();

  async function enterOne<Result>(key: string, waitMs: number, work: () => Promise<Result>): Promise<Result> {
    const before = last.get(key);
    const { promise, resolve } = Promise.withResolvers<void>();
    last.set(key, promise);
    const leave = () => {
      resolve();
      if (last.get(key) === promise) last.delete(key);
    };
    if (before !== undefined) {
      await within(waitMs, before, () => new DatabaseBusy()).catch((error) => {
        void before.then(leave);
        throw error;
      });
    }
    return work().finally(leave);
  }

  /** The keys are sorted, so that works of several keys do not wait for each other. */
  function enter<Result>(
    [key, ...others]: readonly string[],
    leftMs: () => number,
    work: () => Promise<Result>,
  ): Promise<Result> {
    if (key === undefined) return work();
    return enterOne(key, leftMs(), () => enter(others, leftMs, work));
  }

  return { enter };
}

/** Sends a statement before those of the body, which fail when it fails. */
function sendAhead(
  session: Session,
  work: Work,
  text: string,
  params: readonly unknown[] = [],
  limitMs?: number,
): Promise<Answer> {
  const answer = send(session, work, text, params, limitMs);
  answer.catch((error) => {
    // Without BEGIN each statement would be a transaction of its own.
    if (text.startsWith('BEGIN')) session.connection.destroy(new ConnectionLost(error));
  });
  return answer;
}

async function commit(session: Session, work: Work): Promise<void> {
  if (work.failure !== null) throw work.failure;
  work.isCommitting = true;
  const { command } = await send(session, work, 'COMMIT', []);
  work.isCommitting = false;
  // PostgreSQL answers COMMIT with ROLLBACK when a statement failed.
  if (command !== 'COMMIT') throw work.failure ?? new Error(`the transaction ended with ${command}`);
}

function mayRunAgain({ failure, isCommitting }: Work): boolean {
  return isRetryable(failure) && !(isCommitting && failure instanceof ConnectionLost);
}

/** The failure of the database, or what the body threw when it is none. */
function failureOf({ failure }: Work, thrown: unknown): unknown {
  const own = toFailure(failure);
  return own === failure ? toFailure(thrown) : own;
}

const isDivisionByZero = (error: unknown): boolean => sqlStateOf(error) === '22012';
