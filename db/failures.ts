import { AppError, codeOf } from '../src/lib/app-error.ts';

/** Nothing can be written safely until the next start. */
export abstract class StorageLost extends AppError {
  constructor(message: string, cause?: unknown) {
    super(503, message, { cause, headers: { 'retry-after': '60' } });
  }
}

export const lostFiles = {
  REPLACED: 'The database file was deleted or replaced',
  TRUNCATED: 'The database file was truncated',
  LOG_REPLACED: "The database's write-ahead log (-wal) was deleted or replaced",
  LOG_TRUNCATED: "The database's write-ahead log (-wal) was truncated",
  INDEX_REPLACED: 'The index of the write-ahead log (-shm) was deleted or replaced',
  LOCK_REPLACED: 'The lock file of the data folder was deleted or replaced',
} as const;

export type LostFile = keyof typeof lostFiles;

/** A file of the database is gone, so what is written may be lost. */
export class DatabaseMoved extends StorageLost {
  constructor(readonly lost: LostFile = 'REPLACED') {
    super(lostFiles[lost]);
  }
}

/** The disk failed to sync a commit. Nothing is acknowledged until the server starts again. */
export class DiskFailed extends StorageLost {
  constructor(cause: unknown) {
    super('The disk failed', cause);
  }
}

/** The database server cannot be reached or takes no work now. The pool logs the outage, once. */
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

export class PostgresError extends Error {
  override readonly name = 'PostgresError';
}

export class MoveError extends Error {
  override readonly name = 'MoveError';
}

export class DatabaseBusy extends AppError {
  constructor(cause?: unknown) {
    super(503, 'The database is busy', { cause, headers: { 'retry-after': '1' } });
  }
}

/** Another process took over a lease, so the work of its former holder is refused. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}

export function isLocked(error: unknown): boolean {
  return error instanceof DatabaseBusy || codeOf(error).startsWith('SQLITE_BUSY');
}

const FAULT_CODES =
  /^(SQLITE_(BUSY|CANTOPEN|FULL|IOERR|LOCKED|NOMEM|PROTOCOL|READONLY)|EDQUOT$|EIO$|EMFILE$|ENFILE$|ENOMEM$|ENOSPC$|EROFS$)/;

const DAMAGE_CODES = /^SQLITE_(CORRUPT|NOTADB)/;

const SYSTEM_FAILURES = [StorageLost, DatabaseUnavailable, DatabaseBusy];

/** The system failed and not the work, such as a full disk. The same work succeeds once that ends. */
export function isSystemFailure(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (SYSTEM_FAILURES.some((failure) => error instanceof failure)) return true;
  const code = codeOf(error);
  return FAULT_CODES.test(code) || DAMAGE_CODES.test(code) || isSystemFailure(error.cause);
}

/** The refusal to respond with: an `AppError`, or 503 for a fault of the system that may pass. Null for the unexpected. */
export function knownFailure(error: unknown): AppError | null {
  if (error instanceof AppError) return error;
  if (!(error instanceof Error)) return null;
  const code = codeOf(error);
  if (!FAULT_CODES.test(code)) return knownFailure(error.cause);
  if (/^SQLITE_(BUSY|LOCKED)/.test(code)) return new DatabaseBusy(error);
  const message = code.startsWith('SQLITE_') ? 'The database is not available' : 'Service unavailable';
  return new AppError(503, message, { cause: error, headers: { 'retry-after': '5' } });
}
