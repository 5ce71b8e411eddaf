import type { Rendered } from '../lib/rendered.ts';
import { gzipEtag, gzipPreference, matchesEtag } from './negotiation.ts';

// Every answer is made here, so that the headers that all of them carry stand in one place.

const commonHeaders = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' };

const jsonHeaders = {
  ...commonHeaders,
  'content-type': 'application/json',
  // JSON opened as a page runs nothing and is framed by nobody.
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
};

/** A smaller body fits in one packet as it is. */
const MIN_GZIP_BYTES = 1_400;

/**
 * 200 with the JSON bytes, or 304 when the client has them. For what only the key's owner may see. Compressing is safe
 * (see `asset`): posts hold no secret, and nothing of the request is repeated beside them but numbers.
 */
export function privateJson(request: Request, content: Rendered): Response | Promise<Response> {
  return negotiated(request, content, {
    'cache-control': 'private, no-cache',
    vary: 'authorization, accept-encoding',
  });
}

/** The same for what everybody may see, of the given content type. */
export function publicContent(
  request: Request,
  content: Rendered,
  headers: { 'content-type': string; 'content-security-policy'?: string },
): Response | Promise<Response> {
  const caching = { 'cache-control': 'public, no-cache', vary: 'accept-encoding' };
  return negotiated(request, content, caching, headers);
}

function negotiated(
  request: Request,
  content: Rendered,
  caching: Record<string, string>,
  headers: Record<string, string> = {},
): Response | Promise<Response> {
  const preference = gzipPreference(request.headers.get('accept-encoding'));
  const isZipped =
    preference === 'required' || (preference === 'accepted' && content.body.byteLength >= MIN_GZIP_BYTES);
  // Each representation has a strong tag of its own; a 304 carries the tag that a 200 would (RFC 9110 section 15.4.5).
  const etag = isZipped ? gzipEtag(content.etag) : content.etag;
  if (matchesEtag(request.headers.get('if-none-match'), content.etag)) {
    return new Response(null, { status: 304, headers: { ...commonHeaders, etag, ...caching } });
  }
  const all = { ...jsonHeaders, ...headers, etag, ...caching };
  return isZipped ? zipped(content, all) : new Response(content.body, { headers: all });
}

async function zipped(content: Rendered, headers: Record<string, string>): Promise<Response> {
  return new Response(await content.gzip(), { headers: { ...headers, 'content-encoding': 'gzip' } });
}

/** 200 with a value of this moment, as JSON. */
export function json(value: unknown): Response {
  return new Response(JSON.stringify(value), { headers: { ...jsonHeaders, 'cache-control': 'no-store' } });
}

export function plainText(text: string, type = 'text/plain; charset=utf-8'): Response {
  return new Response(text, {
    headers: { ...commonHeaders, 'content-type': type, 'cache-control': 'no-store' },
  });
}

/** 302 to a path of ours. */
export function redirect(path: string): Response {
  return new Response(null, { status: 302, headers: { ...commonHeaders, location: path } });
}

/** `{"error": message}`, the one form that every refusal has (section 7 of the spec). */
export function errorJson(status: number, message: string, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify({ error: message }), {
    status,
    headers: { ...jsonHeaders, 'cache-control': 'no-store', ...headers },
  });
}

/** What a page of the dashboard may load and do: its own style sheet and script, and forms to us. */
const pagePolicy = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** A page for one person's eyes: kept by nobody. */
export function page(
  html: string,
  status: number,
  cookies: readonly string[],
  headers: Readonly<Record<string, string>> = {},
): Response {
  return withCookies(
    new Response(html, {
      status,
      headers: {
        ...commonHeaders,
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': pagePolicy,
        'cache-control': 'no-store',
        'x-frame-options': 'DENY',
        ...headers,
      },
    }),
    cookies,
  );
}

/** 303: go on with a GET, after a form was sent. Escapes what a header cannot hold, such as control characters. */
export function seeOther(path: string, cookies: readonly string[]): Response {
  const location = path.toWellFormed().replaceAll(/[^!-~]/gu, encodeURIComponent);
  const headers = { ...commonHeaders, location, 'cache-control': 'no-store' };
  return withCookies(new Response(null, { status: 303, headers }), cookies);
}

/** A file whose name changes with it, and the same in gzip: kept for good. */
export interface Asset {
  type: string;
  body: string;
  zipped: Uint8Array<ArrayBuffer>;
}

/**
 * Pages themselves are never compressed: they hold secrets beside text of others, and their length would tell of both
 * (the BREACH attack).
 */
export function asset(request: Request, { type, body, zipped }: Asset): Response {
  const isZipped = gzipPreference(request.headers.get('accept-encoding')) !== 'refused';
  return new Response(isZipped ? zipped : body, {
    headers: {
      ...commonHeaders,
      'content-type': type,
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'accept-encoding',
      ...(isZipped ? { 'content-encoding': 'gzip' } : {}),
    },
  });
}

function withCookies(response: Response, cookies: readonly string[]): Response {
  for (const cookie of cookies) response.headers.append('set-cookie', cookie);
  return response;
}
