/**
 * A failure with an answer: `status` and `message` go to the client as `{"error": message}`.
 * The message carries nothing an outsider must not know; the `cause` is for the log.
 */
export class AppError extends Error {
  override readonly name = 'AppError';

  constructor(
    readonly status: number,
    message: string,
    options: { cause?: unknown; headers?: Record<string, string>; isRefusal?: boolean } = {},
  ) {
    super(message, { cause: options.cause });
    this.headers = options.headers ?? {};
    this.isRefusal = options.isRefusal ?? status < 500;
  }

  /** Sent with the answer: `Retry-After`, `WWW-Authenticate`. */
  readonly headers: Record<string, string>;

  /** Whether the client caused it. Anything else is logged as a failure of the service. */
  readonly isRefusal: boolean;
}
