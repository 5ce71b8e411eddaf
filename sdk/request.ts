export interface ClientOptions {
  /** The URL of the server, such as `https://tidings.example.com`. */
  baseUrl: string | URL;
  organizationId: string;
  /** An API key. Keep it on your server: everybody can read a key in a browser. Undefined is an error, for `process.env`. */
  key: string | undefined;
  /** For each attempt, including the body. Default: 10,000. */
  timeoutMs?: number | undefined;
  /** Allows `http://` to hosts other than this machine, such as within a private network. Default: false. */
  allowHttp?: boolean | undefined;
  /** Default: the global one. */
  fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  /** Waits between attempts, and rejects when the signal aborts. For tests. */
  sleep?: ((ms: number, signal?: AbortSignal) => Promise<void>) | undefined;
}

/** A request failed. `message` is the `error` of the API, or says why there was no response. */
export class TidingsError extends Error {
  override readonly name = 'TidingsError';
  /** The HTTP status. 0: no response. */
  readonly status: number;
  /** Identifies the request in the server's log. */
  readonly requestId: string | null;
  /** The seconds after which the server asks to try again. Null: it does not say. */
  readonly retryAfter: number | null;

  constructor(
    status: number,
    message: string,
    options: { requestId?: string | null; retryAfter?: number | null; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.status = status;
    this.requestId = options.requestId ?? null;
    this.retryAfter = options.retryAfter ?? null;
  }
}

/** `text` is null on 304. */
interface Result {
  etag: string | null;
  text: string | null;
}

type Send = (url: string, etag: string | null, signal?: AbortSignal) => Promise<Result>;

/** Section 7 of the API's contract: retry a 5xx after 1, 2 and 4 seconds, and never a 4xx. */
const RETRY_DELAYS_MS = [1_000, 2_000, 4_000];
const MAX_RETRY_AFTER_S = 60;
const ID = /^[A-Za-z0-9_-]{1,64}$/;

/** Throws a `TypeError` for an option that cannot work. No message contains the key. */
export function createSend({
  key,
  timeoutMs = 10_000,
  fetch = globalThis.fetch.bind(globalThis),
  sleep = abortableSleep,
}: ClientOptions): Send {
  if (key === undefined || !/^[!-~]+$/.test(key)) {
    throw new TypeError('`key` is not set, or has a space or line break. Set it to an API key.');
  }

  async function attempt(
    url: string,
    etag: string | null,
    signal?: AbortSignal,
  ): Promise<Result | TidingsError> {
    const timeout = AbortSignal.timeout(timeoutMs);
    const headers: Record<string, string> = { authorization: `Bearer ${key}`, accept: 'application/json' };
    if (etag !== null) headers['if-none-match'] = etag;
    try {
      const response = await fetch(url, {
        headers,
        // A redirect could send the key to another server. `error` would look like a network failure.
        redirect: 'manual',
        signal: signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
      });
      if (response.status === 304 && etag !== null) return { etag, text: null };
      const text = await response.text();
      if (response.status !== 200) return failureOf(response, text);
      if (isCutOff(response, text)) return new TidingsError(0, 'The response was cut off.');
      return { etag: response.headers.get('etag'), text };
    } catch (cause) {
      signal?.throwIfAborted();
      const { host } = new URL(url);
      const message = timeout.aborted
        ? `${host} did not respond within ${timeoutMs} ms.`
        : `Cannot reach ${host}: ${cause instanceof Error ? cause.message : String(cause)}`;
      return new TidingsError(0, message, { cause });
    }
  }

  return async (url, etag, signal) => {
    for (let retry = 0; ; retry++) {
      signal?.throwIfAborted();
      const result = await attempt(url, etag, signal);
      if (!(result instanceof TidingsError)) return result;
      const { status, retryAfter } = result;
      const delay = RETRY_DELAYS_MS[retry];
      const mayRetry = status === 0 || status >= 500;
      if (!mayRetry || delay === undefined) throw result;
      await sleep(retryAfter === null ? delay : Math.min(retryAfter, MAX_RETRY_AFTER_S) * 1_000, signal);
    }
  };
}

function failureOf(response: Response, text: string): TidingsError {
  const { status, headers } = response;
  const requestId = headers.get('x-request-id');
  if (status === 304) {
    const message =
      'The server responded with 304 to a request without `If-None-Match`. Check the cache in front of it.';
    return new TidingsError(304, message, { requestId });
  }
  // A browser hides the status of a redirect that it did not follow.
  if (response.type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    const target = headers.get('location');
    const message = `The server redirects${target === null ? '' : ` to ${target}`}. Set \`baseUrl\` to its final URL.`;
    return new TidingsError(status === 0 ? 302 : status, message, { requestId });
  }
  const message = errorOf(text) ?? `The server responded with ${status}.`;
  return new TidingsError(status, message, { requestId, retryAfter: retryAfterOf(headers) });
}

/** Seconds, from a number or a date (RFC 9110, section 10.2.3). */
function retryAfterOf(headers: Headers): number | null {
  const value = headers.get('retry-after')?.trim() ?? '';
  if (/^\d{1,9}$/.test(value)) return Number(value);
  // Only the form of HTTP dates: `Date.parse` also reads numbers and much else.
  const date = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(value)
    ? Date.parse(value)
    : Number.NaN;
  return Number.isNaN(date) ? null : Math.max(0, Math.ceil((date - Date.now()) / 1_000));
}

/** A proxy may end a response early without an error. Another program's page is no JSON. */
function isCutOff({ headers }: Response, text: string): boolean {
  if (!/\bjson\b/i.test(headers.get('content-type') ?? '')) return false;
  try {
    JSON.parse(text);
    return false;
  } catch {
    return true;
  }
}

/** The `error` of a body. Null if something else responded, such as a proxy. */
function errorOf(text: string): string | null {
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    return typeof error === 'string' ? error : null;
  } catch {
    return null;
  }
}

function abortableSleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}

/** The URL of the organization's posts, without a trailing slash. Throws a `TypeError` when an option is invalid. */
export function postsUrl({ baseUrl, organizationId, allowHttp = false }: ClientOptions): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new TypeError('`baseUrl` must be a URL such as https://tidings.example.com.');
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new TypeError('`baseUrl` must have no user, password, query or fragment.');
  }
  const isLocal = /^(?:(?:.+\.)?localhost|127(?:\.\d+){3}|\[::1\])$/.test(url.hostname);
  if (url.protocol === 'http:' && !isLocal && !allowHttp) {
    throw new TypeError(
      '`baseUrl` must start with https://, because the key would travel unencrypted. Within a private network, set `allowHttp: true`.',
    );
  }
  if (!ID.test(organizationId)) {
    throw new TypeError('`organizationId` must be 1 to 64 letters, digits, hyphens or underscores.');
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}/v1/${organizationId}/posts`;
}

/** Throws a `TypeError` when it is no id. */
export function requirePostId(postId: string): string {
  if (!ID.test(postId)) {
    throw new TypeError('A post id must be 1 to 64 letters, digits, hyphens or underscores.');
  }
  return postId;
}
