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

  constructor(status: number, message: string, options: { requestId?: string | null; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.status = status;
    this.requestId = options.requestId ?? null;
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
const MAX_RETRY_AFTER_MS = 60_000;
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

  async function attempt(url: string, etag: string | null, signal?: AbortSignal): Promise<Result | Failure> {
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
      if (response.status === 200) return { etag: response.headers.get('etag'), text };
      return failureOf(response, text);
    } catch (cause) {
      signal?.throwIfAborted();
      const { host } = new URL(url);
      const message = timeout.aborted
        ? `${host} did not respond within ${timeoutMs} ms.`
        : `Cannot reach ${host}: ${cause instanceof Error ? cause.message : String(cause)}`;
      return { error: new TidingsError(0, message, { cause }), retryAfterMs: null };
    }
  }

  return async (url, etag, signal) => {
    for (let retry = 0; ; retry++) {
      signal?.throwIfAborted();
      const result = await attempt(url, etag, signal);
      if (!('error' in result)) return result;
      const { error, retryAfterMs } = result;
      const delay = RETRY_DELAYS_MS[retry];
      const mayRetry = error.status === 0 || error.status >= 500;
      if (!mayRetry || delay === undefined) throw error;
      await sleep(retryAfterMs ?? delay, signal);
    }
  };
}

interface Failure {
  error: TidingsError;
  /** From `Retry-After`, at most a minute. */
  retryAfterMs: number | null;
}

function failureOf(response: Response, text: string): Failure {
  const { status, headers } = response;
  const requestId = headers.get('x-request-id');
  // A browser hides the status of a redirect that it did not follow.
  if (response.type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    const target = headers.get('location');
    const message = `The server redirects${target === null ? '' : ` to ${target}`}. Set \`baseUrl\` to its final URL.`;
    return {
      error: new TidingsError(status === 0 ? 302 : status, message, { requestId }),
      retryAfterMs: null,
    };
  }
  const message = errorOf(text) ?? `The server responded with ${status}.`;
  const seconds = headers.get('retry-after') ?? '';
  const isSeconds = /^\d{1,9}$/.test(seconds);
  return {
    error: new TidingsError(status, message, { requestId }),
    retryAfterMs: isSeconds ? Math.min(Number(seconds) * 1_000, MAX_RETRY_AFTER_MS) : null,
  };
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
