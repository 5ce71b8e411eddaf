import { DrizzleQueryError } from 'drizzle-orm/errors';
import { DatabaseBusy, DatabaseUnavailable } from '../failures.ts';

// The codes of PostgreSQL's errors (postgresql.org/docs/current/errcodes-appendix.html).

/** The connection ended, or was ended because the server did not answer. */
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

/** The five characters of a server's error; empty for any other error. */
export function sqlStateOf(error: unknown): string {
  return error instanceof Bun.SQL.PostgresError ? (error.errno ?? '') : '';
}

/** Drizzle wraps each error together with the values of the statement, which must not reach a log. */
export function unwrap(error: unknown): unknown {
  return error instanceof DrizzleQueryError ? error.cause : error;
}

/** True after errors that end the connection: connection exceptions, shutdown, and all that the server did not send. */
export function endsConnection(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state === '' || /^(08|57P0)/.test(state) || isReadOnly(error);
}

/** The server became a standby. A new connection may lead to its successor. */
export const isReadOnly = (error: unknown): boolean => sqlStateOf(error) === '25006';

/** The transaction failed earlier: the first error tells why. */
export const isAborted = (error: unknown): boolean => sqlStateOf(error) === '25P02';

/** A lock was not free within `lock_timeout`. */
export const isLockTimeout = (error: unknown): boolean => sqlStateOf(error) === '55P03';

export const isDiskFull = (error: unknown): boolean => sqlStateOf(error) === '53100';

/**
 * Nothing was committed, and the same work may succeed at once: a deadlock, a conflict, a connection that had ended. Also a
 * row that other work has inserted or deleted since this work looked: it decides again with what is there now.
 */
export function isRetryable(error: unknown): boolean {
  return error instanceof ConnectionLost
    ? !error.isTimeout
    : /^(40001|40P01|23503|23505)/.test(sqlStateOf(error));
}

/** Another writer held the key for too long, or the statement was canceled. */
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
