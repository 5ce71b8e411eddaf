import { BoundedMap } from '../lib/bounded-map.ts';
import type { ByteRange } from '../lib/file-store.ts';

export const commonHeaders = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' };

const jsonHeaders = {
  ...commonHeaders,
  'content-type': 'application/json',
  // JSON that is opened as a page runs no script and cannot be framed.
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
};

/** A body that is ready to send, with its strong `ETag`. Immutable, because it may be sent many times. */
export interface Rendered {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly etag: string;
  readonly gzip: () => Promise<Uint8Array<ArrayBuffer>>;
}

/** A larger body is compressed in a thread, because it would block other requests for a millisecond or more. */
const MAX_SYNC_BYTES = 256 * 1024;

/** The same bytes give the same tag. Level 1 takes a third of the time of level 6, for a quarter instead of a sixth. */
export function rendered(
  body: Uint8Array<ArrayBuffer>,
  onGzip: (bytes: number) => void = () => undefined,
  level: 1 | 9 = 1,
): Rendered {
  let zipped: Promise<Uint8Array<ArrayBuffer>> | undefined;
  return {
    body,
    etag: `"${Bun.hash(body).toString(36)}"`,
    gzip() {
      zipped ??= compress(body, level).then((bytes) => {
        onGzip(bytes.byteLength);
        return bytes;
      });
      return zipped;
    },
  };
}

async function compress(body: Uint8Array<ArrayBuffer>, level: 1 | 9): Promise<Uint8Array<ArrayBuffer>> {
  if (body.byteLength <= MAX_SYNC_BYTES) return Bun.gzipSync(body, { level });
  const { gzip } = await import('node:zlib');
  const { promise, resolve, reject } = Promise.withResolvers<Buffer<ArrayBuffer>>();
  gzip(body, { level }, (error, bytes) => (error === null ? resolve(bytes) : reject(error)));
  return promise;
}

/** A smaller body fits in one packet uncompressed. */
const MIN_GZIP_BYTES = 1_400;

/** Compressing is safe, unlike that of pages, which hold secrets (BREACH): the body repeats only numbers of the request. */
export function privateJson(request: Request, content: Rendered): Response | Promise<Response> {
  return negotiated(request, content, {}, 'private, no-cache', 'authorization, accept-encoding');
}

export function publicContent(
  request: Request,
  content: Rendered,
  headers: { 'content-type': string; 'content-security-policy'?: string },
): Response | Promise<Response> {
  return negotiated(request, content, headers, 'public, no-cache');
}

/** Other sites show it. Caches revalidate it, so that an image of a post that is no longer public is gone at once. */
export async function publicImage(
  request: Request,
  etag: string,
  draw: () => Promise<Uint8Array<ArrayBuffer>>,
): Promise<Response> {
  const headers = {
    ...fileHeaders,
    'accept-ranges': 'none',
    'cache-control': 'public, no-cache',
    'content-type': 'image/png',
    etag,
  };
  if (matchesEtag(request.headers.get('if-none-match'), etag)) {
    return new Response(null, { status: 304, headers });
  }
  return ok(request, await draw(), headers);
}

/** A file whose name contains its hash, so that browsers keep it forever. */
export function asset(request: Request, content: Rendered, type: string): Response | Promise<Response> {
  const headers = { 'content-type': type };
  const caching = 'public, max-age=31536000, immutable';
  // WOFF2 is compressed already.
  return negotiated(request, content, headers, caching, undefined, type !== 'font/woff2');
}

/** A file that everybody may read and caches may keep: its address names one content. */
const fileHeaders = {
  ...commonHeaders,
  'cache-control': 'public, max-age=31536000, immutable',
  // Opened as a page it runs nothing.
  'content-security-policy': "default-src 'none'; sandbox",
  'cross-origin-resource-policy': 'cross-origin',
  'accept-ranges': 'bytes',
};

/** The DOM's types, which a dependency loads, lack it. */
type FromIterable = { from(chunks: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array<ArrayBuffer>> };
const streamOf = (chunks: AsyncIterable<Uint8Array>) =>
  (ReadableStream as unknown as FromIterable).from(chunks);

/** 200 or 206 with a file of `size` bytes, as it is read. */
export function fileResponse(
  body: AsyncIterable<Uint8Array>,
  { type, etag, size, range }: { type: string; etag: string; size: number; range: ByteRange | null },
): Response {
  const { first, last } = range ?? { first: 0, last: size - 1 };
  const headers = {
    ...fileHeaders,
    'content-type': type,
    'content-length': String(last - first + 1),
    etag,
    ...(range && { 'content-range': `bytes ${first}-${last}/${size}` }),
  };
  return new Response(streamOf(body), { status: range === null ? 200 : 206, headers });
}

export function notModifiedFile(etag: string): Response {
  return new Response(null, { status: 304, headers: { ...fileHeaders, etag } });
}

function negotiated(
  request: Request,
  content: Rendered,
  headers: Record<string, string>,
  cacheControl: string,
  vary = 'accept-encoding',
  mayZip = true,
): Response | Promise<Response> {
  const caching = { 'cache-control': cacheControl, vary };
  const preference = gzipPreference(request.headers.get('accept-encoding'));
  const isSmaller = mayZip && content.body.byteLength >= MIN_GZIP_BYTES;
  const isZipped = preference === 'required' || (preference === 'accepted' && isSmaller);
  // A 304 carries the tag that a 200 would (RFC 9110 section 15.4.5).
  const etag = isZipped ? gzipEtag(content.etag) : content.etag;
  if (matchesEtag(request.headers.get('if-none-match'), content.etag)) {
    return new Response(null, { status: 304, headers: { ...commonHeaders, etag, ...caching } });
  }
  const all = { ...jsonHeaders, ...headers, etag, ...caching };
  if (!isZipped) return ok(request, content.body, all);
  return content.gzip().then((body) => ok(request, body, { ...all, 'content-encoding': 'gzip' }));
}

/** The latest request of this turn of the event loop; null in a later turn. */
let current: Request | null = null;

function endTurn(): void {
  current = null;
}

/** Must be called when a request arrives: `ok` sends a large body another way in a later turn of the event loop. */
export function beginTurn(request: Request): void {
  if (current === null) setImmediate(endTurn);
  current = request;
}

/** True if the request is the latest, and arrived in this turn of the event loop. */
export function isCurrent(request: Request): boolean {
  return request === current;
}

/** Bun's send buffer holds 16 KiB, for headers and body. The rest is for headers. */
const MAX_BUFFERED_BYTES = 15 * 1024;

/**
 * 200 with a whole body. In a later turn than its request, Bun 1.4.5 sends a body that exceeds its buffer with a system
 * call for each part of each header: 190 µs for 42 KB. It sends a direct stream at once: 20 µs. A stream that ends below
 * its high-water mark has a `Content-Length` like any other body, except in response to HEAD.
 */
function ok(request: Request, body: Uint8Array<ArrayBuffer>, headers: Record<string, string>): Response {
  if (body.byteLength <= MAX_BUFFERED_BYTES || isCurrent(request) || request.method === 'HEAD') {
    return new Response(body, { headers });
  }
  const source: Bun.DirectUnderlyingSource = {
    type: 'direct',
    pull(controller) {
      controller.write(body);
      controller.close();
    },
  };
  // The DOM's types, which a dependency loads, have no direct streams.
  const stream = new ReadableStream(source as object, { highWaterMark: body.byteLength + 1 });
  return new Response(stream, { headers });
}

export function json(value: unknown, status = 200): Response {
  return new Response(JSON.stringify(value), {
    status,
    headers: { ...jsonHeaders, 'cache-control': 'no-store' },
  });
}

export function plainText(text: string, type = 'text/plain; charset=utf-8'): Response {
  return new Response(text, {
    headers: { ...commonHeaders, 'content-type': type, 'cache-control': 'no-store' },
  });
}

export function redirect(location: string): Response {
  return new Response(null, { status: 302, headers: { ...commonHeaders, location } });
}

/** `{"error": message}`, the form of every refusal (section 7 of the spec). */
export function errorJson(status: number, message: string, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify({ error: message }), {
    status,
    headers: { ...jsonHeaders, 'cache-control': 'no-store', ...headers },
  });
}

/** Allows a dashboard page its own style sheet, scripts, typefaces and forms. */
const pagePolicy = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The header for a page that has a form for another site, whose origin it allows. */
export function formsTo(url: string): Record<string, string> {
  const policy = pagePolicy.replace("form-action 'self'", `form-action 'self' ${new URL(url).origin}`);
  return { 'content-security-policy': policy };
}

const pageHeaders = {
  ...commonHeaders,
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': pagePolicy,
  'cache-control': 'no-store',
  'x-frame-options': 'DENY',
};

export function page(html: string, status: number, cookies: readonly string[], more: object = {}): Response {
  return new Response(html, { status, headers: withCookies({ ...pageHeaders, ...more }, cookies) });
}

/** A page that is made while it is sent. */
export function streamedPage(
  chunks: AsyncIterable<Uint8Array>,
  status: number,
  cookies: readonly string[],
  more: object = {},
): Response {
  // nginx would collect it.
  const headers = { ...pageHeaders, 'x-accel-buffering': 'no', ...more };
  return new Response(streamOf(chunks), { status, headers: withCookies(headers, cookies) });
}

/** A file that a browser saves, as it is made. When that fails, the connection breaks. */
export function download(
  { name, type, body }: { name: string; type: string; body: AsyncIterable<Uint8Array> },
  cookies: readonly string[],
): Response {
  const headers = {
    ...commonHeaders,
    'content-type': type,
    'content-disposition': `attachment; filename="${name}"`,
    'content-security-policy': "default-src 'none'; sandbox",
    'cache-control': 'no-store',
  };
  return new Response(streamOf(body), { headers: withCookies(headers, cookies) });
}

export function pageData(value: unknown, status: number, cookies: readonly string[]): Response {
  const headers = { ...jsonHeaders, 'cache-control': 'no-store' };
  return new Response(JSON.stringify(value), { status, headers: withCookies(headers, cookies) });
}

/** 303 after a form. Escapes characters that a header cannot hold. */
export function seeOther(path: string, cookies: readonly string[]): Response {
  const location = path.toWellFormed().replaceAll(/[^!-~]/gu, encodeURIComponent);
  const headers = { ...commonHeaders, location, 'cache-control': 'no-store' };
  return new Response(null, { status: 303, headers: withCookies(headers, cookies) });
}

function withCookies(headers: Record<string, string>, cookies: readonly string[]): [string, string][] {
  return [...Object.entries(headers), ...cookies.map((each): [string, string] => ['set-cookie', each])];
}

/** Reads `Accept-Encoding` (RFC 9110 section 12.5.3). `required`: the client excludes `identity`, and takes gzip. */
export function gzipPreference(acceptEncoding: string | null): 'refused' | 'accepted' | 'required' {
  if (acceptEncoding === null) return 'refused';
  const weights: Record<string, number> = {};
  for (const part of acceptEncoding.toLowerCase().split(',')) {
    const [coding = '', ...parameters] = part.split(';').map((each) => each.trim());
    weights[coding] = Number(parameters.find((each) => each.startsWith('q='))?.slice(2) ?? 1);
  }
  const { gzip = weights['*'] ?? 0, identity = weights['*'] } = weights;
  // Also false for a weight that is not a number.
  if (!(gzip > 0)) return 'refused';
  if (identity === 0) return 'required';
  return weights.identity !== undefined && weights.identity > gzip ? 'refused' : 'accepted';
}

function gzipEtag(etag: string): string {
  return `${etag.slice(0, -1)}-gzip"`;
}

/** `If-None-Match` names either representation. Weak comparison, by RFC 9110 section 13.1.2. */
export function matchesEtag(ifNoneMatch: string | null, etag: string): boolean {
  if (ifNoneMatch === null) return false;
  const zipped = gzipEtag(etag);
  return ifNoneMatch.split(',').some((candidate) => {
    const tag = candidate.trim().replace(/^W\//, '');
    return tag === '*' || tag === etag || tag === zipped;
  });
}

/** The rough cost of a kept body beside its bytes: key, version, map entry. */
const OVERHEAD_BYTES = 1024;

interface Entry extends Rendered {
  version: string;
}

/** Keeps bodies as sent, the most recent up to `maxBytes`. `version` changes whenever the content of the body would. */
export function keptBodies(maxBytes: number, level: 1 | 9 = 1) {
  const kept = new BoundedMap<string, Entry>(maxBytes);

  return {
    find(key: string, version: string): Rendered | null {
      const entry = kept.get(key);
      return entry?.version === version ? entry : null;
    },
    keep(key: string, version: string, body: Uint8Array<ArrayBuffer>): Rendered {
      const fresh: Entry = { ...rendered(body, (size) => kept.addWeight(key, fresh, size), level), version };
      kept.set(key, fresh, body.byteLength + OVERHEAD_BYTES);
      return fresh;
    },
  };
}
