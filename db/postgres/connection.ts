import { SQL } from 'bun';
import { sql } from 'drizzle-orm';
import { DrizzleQueryError } from 'drizzle-orm/errors';
import type { Storage } from '../engine.ts';
import { DatabaseBusy, DatabaseUnavailable } from '../failures.ts';
import { toPostgresSql, toPostgresValue } from './dialect.ts';

// The codes of PostgreSQL's errors (postgresql.org/docs/current/errcodes-appendix.html).

export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';
  constructor(
    cause: unknown,
    /** The server did not answer in time, so another try would wait as long. */
    readonly isTimeout = false,
  ) {
    super(isTimeout ? 'the database server did not respond' : 'the connection to the database was lost', {
      cause,
    });
  }
}

export function sqlStateOf(error: unknown): string {
  return error instanceof Bun.SQL.PostgresError ? (error.errno ?? '') : '';
}

/** Drizzle wraps each error together with the values of the statement, which must not reach a log. */
export function unwrap(error: unknown): unknown {
  return error instanceof DrizzleQueryError ? error.cause : error;
}

/** True after errors that end the connection: connection exceptions, shutdown, and all that the server did not send. */
function endsConnection(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state === '' || /^(08|57P0)/.test(state) || isReadOnly(error);
}

/** The server became a standby. A new connection may lead to its successor. */
export const isReadOnly = (error: unknown): boolean => sqlStateOf(error) === '25006';

export const isAborted = (error: unknown): boolean => sqlStateOf(error) === '25P02';

export const isLockTimeout = (error: unknown): boolean => sqlStateOf(error) === '55P03';

export const isDiskFull = (error: unknown): boolean => sqlStateOf(error) === '53100';

/** Nothing was committed, and the same work may succeed at once, also beside a row that other work has changed. */
export function isRetryable(error: unknown): boolean {
  return error instanceof ConnectionLost
    ? !error.isTimeout
    : /^(40001|40P01|23503|23505)/.test(sqlStateOf(error));
}

const BUSY = /^(55P03|57014|40001|40P01)/;

/** Connection, credentials, resources, shutdown, system errors: the server does not take the work now. */
const UNAVAILABLE = /^(08|25006|28|3D000|53|57P|58|F0|XX)/;

/** The failure for callers, who know nothing of PostgreSQL. Errors of the work itself stay as they are. */
export function toFailure(error: unknown): unknown {
  if (error instanceof ConnectionLost) return new DatabaseUnavailable(error);
  const state = sqlStateOf(error);
  if (BUSY.test(state)) return new DatabaseBusy(error);
  return UNAVAILABLE.test(state) ? new DatabaseUnavailable(error) : error;
}

// One connection. Bun's own pool opens a lost one again in the middle of a transaction, whose first half is then missing.

/** The rows of a statement, and the word that PostgreSQL ends it with, such as COMMIT. */
export type Answer = unknown[][] & { command: string };

export type ConnectionOptions = SQL.PostgresOrMySQLOptions;

export interface Connection {
  readonly isLost: boolean;
  readonly pending: number;
  /** The connection is lost when the answer takes longer than `limitMs` after the one before it. */
  send(text: string, params?: readonly unknown[], limitMs?: number): Promise<Answer>;
  /** Counts time; to be called every `TICK_MS`. */
  tick(): void;
  destroy(reason?: ConnectionLost): void;
}

/** Time is counted in calls, so that a process that stood still does not blame the server. */
export const TICK_MS = 250;

export async function connect(
  options: ConnectionOptions,
  { answerMs, connectMs, onLost }: { answerMs: number; connectMs: number; onLost: () => void },
): Promise<Connection> {
  let lost: ConnectionLost | null = null;
  const lose = (reason: ConnectionLost) => {
    if (lost !== null) return;
    lost = reason;
    // A reserved connection outlives its pool.
    void reserved?.close({ timeout: 0 }).catch(() => undefined);
    void pool.close({ timeout: 0 }).catch(() => undefined);
    onLost();
  };
  const pool = new SQL({
    ...options,
    adapter: 'postgres',
    max: 1,
    bigint: true,
    idleTimeout: 0,
    maxLifetime: 0,
    connectionTimeout: Math.ceil(connectMs / 1_000),
    onclose: (error) => lose(new ConnectionLost(error)),
  });
  let reserved: Awaited<ReturnType<typeof pool.reserve>> | null = null;
  try {
    reserved = await pool.reserve();
  } catch (error) {
    void pool.close({ timeout: 0 }).catch(() => undefined);
    throw error;
  }
  const own = reserved;
  const limits: number[] = [];
  let ticks = 0;

  function run(text: string, params: readonly unknown[]) {
    const statement = toPostgresSql(text);
    // Bun pipelines statements that are prepared, and of those without values only templates are.
    return params.length === 0
      ? own(templateOf(statement))
      : own.unsafe(statement, params.map(toPostgresValue));
  }

  return {
    get isLost() {
      return lost !== null;
    },
    get pending() {
      return limits.length;
    },
    async send(text, params = [], limitMs = answerMs) {
      if (lost !== null) throw lost;
      if (limits.length === 0) ticks = 0;
      limits.push(Math.ceil(limitMs / TICK_MS));
      try {
        return (await run(text, params).values().execute()) as unknown as Answer;
      } catch (error) {
        if (endsConnection(error)) lose(new ConnectionLost(error));
        if (error instanceof SQL.PostgresError) hideValues(error);
        throw lost ?? error;
      } finally {
        limits.shift();
        ticks = 0;
      }
    },
    tick() {
      const [limit] = limits;
      if (limit !== undefined && ++ticks > limit) lose(new ConnectionLost(undefined, true));
    },
    destroy: (reason = new ConnectionLost(undefined)) => lose(reason),
  };
}

/** The details of an error may hold values of rows, which must not reach a log. */
function hideValues(error: SQL.PostgresError): void {
  Object.assign(error, { detail: undefined, where: undefined });
}

const templates = new Map<string, TemplateStringsArray>();

function templateOf(text: string): TemplateStringsArray {
  const known = templates.get(text);
  if (known !== undefined) return known;
  if (templates.size >= 1_000) templates.clear();
  const template = Object.defineProperty([text], 'raw', { value: [text] }) as unknown as TemplateStringsArray;
  templates.set(text, template);
  return template;
}

export async function readServerTime(db: Pick<Storage, 'read'>): Promise<number> {
  const query = sql`SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint`;
  const [[ms] = []] = await db.read((tx) => tx.values<[number]>(query), { single: true });
  return Number(ms);
}
