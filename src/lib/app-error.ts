export interface AppErrorOptions {
  /** Names the failure in snake case, such as `post_changed`, for a caller that makes its own words. */
  code?: string;
  /** The invalid fields, each with the problem as the rest of a sentence: `must not be empty`. */
  fields?: Readonly<Record<string, string>>;
  /** Values that belong in those words. */
  details?: Readonly<Record<string, unknown>>;
  cause?: unknown;
  /** Response headers: `Retry-After`, `WWW-Authenticate`. */
  headers?: Record<string, string>;
  /** Default: every status below 500. Anything else is logged as a failure of the service. */
  isRefusal?: boolean;
}

/**
 * A failure that a caller can act on. HTTP responds with `status` and `{"error": message}`, so the message holds
 * nothing that an outsider must not know; the `cause` is for the log. The dashboard and the command line make their
 * words from `code`, `fields` and `details`, never from the message.
 */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: string | undefined;
  readonly fields: Readonly<Record<string, string>>;
  readonly details: Readonly<Record<string, unknown>>;
  readonly headers: Record<string, string>;
  readonly isRefusal: boolean;

  constructor(
    readonly status: number,
    message: string,
    options: AppErrorOptions = {},
  ) {
    super(message, { cause: options.cause });
    this.code = options.code;
    this.fields = options.fields ?? {};
    this.details = options.details ?? {};
    this.headers = options.headers ?? {};
    this.isRefusal = options.isRefusal ?? status < 500;
  }
}

/**
 * The actor may no longer act: the refusal that a new request would get. Nothing that was done for it may stay. Code that goes on
 * after other failures passes it on.
 */
export class AccessEnded extends AppError {}

/** `AppError` 404 with the code `<kind>_not_found`, such as `post_not_found`, and the id in `details`. */
export function notFound(kind: string, id: string): AppError {
  const name = `${kind.slice(0, 1).toUpperCase()}${kind.slice(1)}`;
  return new AppError(404, `${name} ${id} not found`, { code: `${kind}_not_found`, details: { id } });
}

/** `AppError` 400 about one field; `message` completes the sentence that the field's name begins. */
export function invalidField(field: string, message: string): AppError {
  return new AppError(400, `${field} ${message}`, { code: 'invalid_field', fields: { [field]: message } });
}

export const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

/** The code of an error of the system or the database, such as `ENOSPC`; empty without one. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** A change of something that is stored, or a function of what is stored now, which runs in the transaction that writes. */
export type ChangeOf<Stored, Change> = Change | ((stored: Stored) => Change);

export function changeFor<Stored, Change extends object>(
  stored: Stored,
  change: ChangeOf<Stored, Change>,
): Change {
  return typeof change === 'function' ? change(stored) : change;
}
