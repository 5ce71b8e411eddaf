import { isIP } from 'node:net';
import { type AnyElysia, Elysia } from 'elysia';
import { lazily } from '../lib/bounded-map.ts';
import { type Logger, withoutSecrets } from '../lib/log.ts';
import type { Count, Durations, Metrics } from '../lib/metrics.ts';
import { beginTurn, errorJson } from './respond.ts';

export type Fetch = (request: Request) => Response | Promise<Response>;

/** The path of the URL, which is relative or has a host that no URL can have when `Host` is missing or invalid. */
export function pathOf({ url }: Request): string {
  const path = url.replace(/^https?:\/\/[^/?#]*/i, '');
  return new URL(`http://localhost${path}`).pathname;
}

const requestIds = new WeakMap<Request, string>();

/** Long enough for every tracer's ids, and too narrow for a sentence. */
const GIVEN_ID = /^[A-Za-z0-9_.:-]{8,128}$/;

/** Joins a request's log lines and its response: its well-formed `X-Request-Id`, or a new id at the first call. */
export function requestIdOf(request: Request): string {
  const given = request.headers.get('x-request-id') ?? '';
  if (GIVEN_ID.test(given)) return given;
  const id = requestIds.get(request) ?? `req_${Bun.randomUUIDv7('base64url')}`;
  requestIds.set(request, id);
  return id;
}

export const exactPaths = {
  // `/v1/x/posts/` is another path than `/v1/x/posts`, not a post without an id.
  strictPath: true,
  // Otherwise the path is cut wrong for short host names.
  handler: { standardHostname: false },
} as const;

interface Handling {
  log: Logger;
  metrics: Metrics;
  /** A response that was given before and can be given again, with its route. */
  findRepeated: (request: Request) => { route: string; response: Response } | null;
}

const matched = new WeakMap<Request, string>();

export const matchedRoutes = new Elysia({ name: 'matched-routes' }).onTransform(
  { as: 'global' },
  ({ request, route }) => {
    matched.set(request, route);
  },
);

/** The path is logged without its query, which may hold a one-time link's token. */
export function requestHandling({ log, metrics, findRepeated }: Handling) {
  const record = createRecorder(metrics);

  return new Elysia({ name: 'requests' })
    .use(matchedRoutes)
    .wrap((next, request) => () => handle(next as unknown as Fetch, request));

  function handle(next: Fetch, request: Request): Response | Promise<Response> {
    const startedAt = performance.now();
    // Also for a request like an earlier one: neither its number of hosts nor its body is a part of that.
    const refused = refuseHost(request) ?? refuseLargeBody(request);
    if (refused !== null) return finish(request, refused, null, startedAt);
    const repeated = findRepeated(request);
    if (repeated !== null) return finish(request, repeated.response, repeated.route, startedAt);
    beginTurn(request);
    const end = (response: Response) => finish(request, response, matched.get(request) ?? null, startedAt);
    const response = next(request);
    return response instanceof Response ? end(response) : response.then(end);
  }

  function finish(request: Request, response: Response, route: string | null, startedAt: number): Response {
    const durationMs = performance.now() - startedAt;
    record(route, request.method, response.status, durationMs / 1000);
    const level = response.status >= 500 ? 'warn' : response.status >= 400 ? 'info' : 'debug';
    if (log.isLevelEnabled(level)) {
      log[level](
        {
          requestId: requestIdOf(request),
          method: request.method,
          // A client may put a key in the place of an id.
          path: withoutSecrets(pathOf(request).slice(0, 500)),
          status: response.status,
          durationMs: Math.round(durationMs * 100) / 100,
        },
        'request',
      );
    }
    return response;
  }
}

let validHost = '';

/** Bun joins several Host headers with a comma. Without one, or with a bad one, it leaves the URL relative. */
function refuseHost(request: Request): Response | null {
  const host = request.headers.get('host');
  if (host?.includes(',')) return errorJson(400, 'Invalid Host header');
  if (host && host !== validHost) {
    if (!URL.canParse(`http://${host}`)) return errorJson(400, 'Invalid Host header');
    validHost = host;
  }
  if (!request.url.startsWith('/')) return null;
  if (host) return errorJson(400, 'Invalid Host header');
  // A copy of the request would lose the client's address.
  Object.defineProperty(request, 'url', { value: new URL(`http://localhost${request.url}`).href });
  return null;
}

/** The receiver checks the size of its bodies itself, to log the refusal. */
const READS_BODIES = '/api/webhooks/';

/** Refuses a body that announces too large a size, on every path. Nothing reads an unexpected body without a size. */
function refuseLargeBody(request: Request): Response | null {
  if (!request.headers.has('content-length') || !declaresTooMuch(request.headers, MAX_BODY_BYTES))
    return null;
  return pathOf(request).startsWith(READS_BODIES) ? null : errorJson(413, 'Payload too large');
}

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Counts requests. Hot path: keeps the series of each matched route, method and status. */
function createRecorder(metrics: Pick<Metrics, 'requests' | 'requestDurations'>) {
  const series = new Map<string, { durations: Durations; count: Count }>();

  function open(key: string, route: string | null, method: string, status: number) {
    // Clients must not be able to create labels.
    const path = route?.replaceAll(/:(\w+)/g, '{$1}') ?? 'none';
    const name = METHODS.has(method) ? method : 'other';
    const durations = metrics.requestDurations(path, name);
    const opened = { durations, count: metrics.requests(path, name, String(status)) };
    if (name === method) series.set(key, opened);
    return opened;
  }

  return (route: string | null, method: string, status: number, seconds: number) => {
    const key = `${method} ${status} ${route}`;
    const { durations, count } = series.get(key) ?? open(key, route, method, status);
    durations.observe(seconds);
    count.value++;
  };
}

export const MAX_BODY_BYTES = 25 * 1024 * 1024;

/** The time for an upload of an unverified sender. Providers give up after 5 to 10 seconds. */
export const UNVERIFIED_UPLOAD_MS = 15_000;

/** Room for two of the largest deliveries and small ones. */
const MAX_UNVERIFIED_BYTES = 64 * 1024 * 1024;

/** The memory for bodies of unverified senders, with its metric. */
export function createUploadBudget({ registry }: Pick<Metrics, 'registry'>): UploadBudget {
  const budget = new UploadBudget(MAX_UNVERIFIED_BYTES);
  registry.gauge(
    'tidings_unverified_upload_bytes',
    'Bytes of unfinished uploads from unverified senders. At 64 MiB, the largest gets 503.',
    () => budget.bytes,
  );
  return budget;
}

export type UploadProblem = 'too_large' | 'aborted' | 'too_slow' | 'no_room';

/** The sender caused it, so it is never logged as a failure of the service. */
export class UploadError extends Error {
  override readonly name = 'UploadError';

  constructor(
    readonly problem: UploadProblem,
    cause?: unknown,
  ) {
    super(`the body was not read: ${problem}`, { cause });
  }
}

interface Upload {
  bytes: number;
  isStopped: boolean;
  /** Ends a pending read. Bun does so itself, on answering, for a body that it buffers. */
  cancel?: () => void;
  stop(problem: UploadProblem): void;
}

/** When it is full, the largest upload is stopped, so that small deliveries get through beside large ones. */
export class UploadBudget {
  readonly #uploads = new Set<Upload>();
  bytes = 0;

  constructor(readonly maxBytes: number) {}

  add(upload: Upload, bytes: number): void {
    this.#uploads.add(upload);
    upload.bytes += bytes;
    this.bytes += bytes;
    while (this.bytes > this.maxBytes) {
      const largest = [...this.#uploads].reduce((a, b) => (b.bytes > a.bytes ? b : a));
      this.remove(largest);
      largest.stop('no_room');
    }
  }

  remove(upload: Upload): void {
    if (this.#uploads.delete(upload)) this.bytes -= upload.bytes;
  }
}

export interface UploadLimits {
  maxBytes: number;
  timeoutMs: number;
  budget?: UploadBudget | undefined;
}

/** Up to this declared length Bun buffers the body itself, which is faster than a stream. */
const MAX_BUFFERED_BYTES = 256 * 1024;

const declaredBytes = (headers: Headers) => Number(headers.get('content-length') ?? Number.NaN);

export function declaresTooMuch(headers: Headers, maxBytes: number): boolean {
  return declaredBytes(headers) > maxBytes;
}

export async function readUpload(
  request: Request,
  { maxBytes, timeoutMs, budget }: UploadLimits,
): Promise<Uint8Array> {
  if (declaresTooMuch(request.headers, maxBytes)) throw new UploadError('too_large');
  const stopped = Promise.withResolvers<never>();
  const upload: Upload = {
    bytes: 0,
    isStopped: false,
    stop(problem) {
      upload.isStopped = true;
      stopped.reject(new UploadError(problem));
      upload.cancel?.();
    },
  };
  const timer = setTimeout(() => upload.stop('too_slow'), timeoutMs);
  try {
    return await Promise.race([readBytes(request, upload, maxBytes, budget), stopped.promise]);
  } catch (error) {
    throw error instanceof UploadError ? error : new UploadError('aborted', error);
  } finally {
    clearTimeout(timer);
    budget?.remove(upload);
  }
}

/** Finds a mark between the parts of a body more than `most` times: a library would hold the thread for each. */
export function hasMoreThan(
  most: number,
  mark: string,
  { buffer, byteOffset, byteLength }: Uint8Array,
): boolean {
  const body = Buffer.from(buffer, byteOffset, byteLength);
  let count = 0;
  for (let at = body.indexOf(mark); at !== -1; at = body.indexOf(mark, at + mark.length)) {
    if (++count > most) return true;
  }
  return false;
}

async function readBytes(
  request: Request,
  upload: Upload,
  maxBytes: number,
  budget: UploadBudget | undefined,
): Promise<Uint8Array> {
  const declared = declaredBytes(request.headers);
  if (declared <= MAX_BUFFERED_BYTES) {
    budget?.add(upload, declared);
    return request.bytes();
  }
  const reader = request.body?.getReader();
  if (reader === undefined) return new Uint8Array();
  upload.cancel = () => void reader.cancel().catch(() => undefined);
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done || upload.isStopped) break;
      length += value.byteLength;
      if (length > maxBytes) {
        upload.cancel();
        throw new UploadError('too_large');
      }
      chunks.push(value);
      budget?.add(upload, value.byteLength);
    }
    return Buffer.concat(chunks);
  } finally {
    // Free the memory now, because the budget no longer counts it and the garbage collector may be late.
    for (const { buffer } of chunks) if (!buffer.detached) buffer.transfer(0);
  }
}

/** While more than this waits, nothing else is let in. */
const MAX_WAITING_BYTES = 1024 * 1024;

/** Routes that load at the first request. `mayPause`: the bodies of requests that wait are small. */
export function lateRoutes(
  paths: readonly string[],
  load: (mayPause: () => boolean) => Promise<AnyElysia>,
): AnyElysia {
  let waitingBytes = 0;
  const loaded = lazily(() => load(() => waitingBytes <= MAX_WAITING_BYTES));
  const forward = async ({ request }: { request: Request }) => {
    const { headers } = request;
    waitingBytes += headers.has('transfer-encoding') ? Infinity : declaredBytes(headers) || 0;
    return (await loaded()).fetch(request);
  };
  const unread = { parse: 'none' } as const;
  const app = new Elysia(exactPaths);
  for (const path of paths) {
    // Otherwise Elysia would measure the body of a response to HEAD again, which has none.
    app.all(path, forward, unread).head(path, forward, unread);
  }
  return app;
}

/** The last address in the trusted proxy's `header`, since earlier ones come from the client; or the peer's. */
export function clientAddress(headers: Headers, peer: string | null, header: string | undefined): string {
  const forwarded = header === undefined ? undefined : headers.get(header)?.split(',').at(-1)?.trim();
  return parseIp(forwarded) ?? parseIp(peer ?? undefined) ?? 'unknown';
}

/** Normalizes an IP address: IPv6 is compressed, and IPv4 in IPv6 becomes IPv4. Null for anything else. */
function parseIp(text: string | undefined): string | null {
  if (text === undefined || isIP(text) === 0) return null;
  if (isIP(text) === 4) return text;
  const [withoutZone = ''] = text.split('%');
  const address = new URL(`http://[${withoutZone}]`).hostname.slice(1, -1);
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(address) ?? [];
  if (high === undefined || low === undefined) return address;
  const [first, second] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return [first >> 8, first & 255, second >> 8, second & 255].join('.');
}

export type Hsts = 'subdomains' | 'host' | 'off';

/** A year, in seconds: what browsers' preload lists and ASVS ask for. */
const MAX_AGE = 'max-age=31536000';

/** Pages that a proxy may serve under a team's own domain, on which Tidings must set no policy. */
const PROXIED = '/changelog/';

/** Adds `Strict-Transport-Security` (RFC 6797) to each response of a server whose public URL is https. */
export function withHsts(fetch: Fetch, publicUrl: string | undefined, hsts: Hsts): Fetch {
  if (hsts === 'off' || publicUrl?.startsWith('https:') !== true) return fetch;
  const { host } = new URL(publicUrl);
  const policy = hsts === 'subdomains' ? `${MAX_AGE}; includeSubDomains` : MAX_AGE;

  function policyFor(request: Request): string | null {
    if (!pathOf(request).startsWith(PROXIED)) return policy;
    return request.headers.get('host') === host ? MAX_AGE : null;
  }

  function add(request: Request, response: Response): Response {
    const value = policyFor(request);
    if (value !== null) response.headers.set('strict-transport-security', value);
    return response;
  }

  return (request) => {
    const response = fetch(request);
    return response instanceof Response
      ? add(request, response)
      : response.then((late) => add(request, late));
  };
}
