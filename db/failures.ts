import { AppError, codeOf } from '../src/lib/app-error.ts';

// Failures of the database itself, in the terms of no engine.

/** The database file was deleted or replaced while it was open, so every further write is lost. */
export class DatabaseMoved extends AppError {
  constructor() {
    super(503, 'The database file was deleted or replaced', { headers: { 'retry-after': '60' } });
  }
}

/**
 * The disk failed to sync a commit. Whether it has the last commits is unknown, so nothing is acknowledged until the
 * server starts again.
 */
export class DiskFailed extends AppError {
  constructor(cause: unknown) {
    super(503, 'The disk failed', { cause, headers: { 'retry-after': '60' } });
  }
}

/**
 * The database server cannot be reached or does not take the work now. The same work may succeed later. The pool of
 * connections logs the outage, once.
 */
export class DatabaseUnavailable extends AppError {
  constructor(cause: unknown) {
    super(503, 'The database is not available', {
      code: 'database_unavailable',
      cause,
      headers: { 'retry-after': '5' },
      isRefusal: true,
    });
  }
}

/** A PostgreSQL that cannot be used. The message says why and what to do. */
export class PostgresError extends Error {
  override readonly name = 'PostgresError';
}

/** Something prevents the move of a database to another engine. The message says what to do. */
export class MoveError extends Error {
  override readonly name = 'MoveError';
}

/** Other writers held the database or the work's key for too long. */
export class DatabaseBusy extends AppError {
  constructor(cause?: unknown) {
    super(503, 'The database is busy', { cause, headers: { 'retry-after': '1' } });
  }
}

/** Another process took over a lease, so the work of its former holder is refused. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}

/** Other writers held the database's lock for too long. */
export function isLocked(error: unknown): boolean {
  return error instanceof DatabaseBusy || codeOf(error).startsWith('SQLITE_BUSY');
}

const SYSTEM_CODES =
  /^(SQLITE_(BUSY|CANTOPEN|CORRUPT|FULL|IOERR|LOCKED|NOMEM|NOTADB|PROTOCOL|READONLY)|EDQUOT$|EIO$|EMFILE$|ENFILE$|ENOMEM$|ENOSPC$|EROFS$)/;

const SYSTEM_FAILURES = [DatabaseMoved, DiskFailed, DatabaseUnavailable, DatabaseBusy];

/**
 * The system failed and not the work: a full disk, a locked or damaged database, one that is away, no memory, no file
 * descriptors. The same work succeeds once that ends.
 */
export function isSystemFailure(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (SYSTEM_FAILURES.some((failure) => error instanceof failure)) return true;
  if ('code' in error && SYSTEM_CODES.test(String(error.code))) return true;
  return isSystemFailure(error.cause);
}
