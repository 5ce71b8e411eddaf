import type { TSchema } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { Clock } from '../lib/time.ts';
import { ProviderProblem } from './api.ts';
import { type ApiResponse, type ApiService, apiFetch, notTheApi } from './api-fetch.ts';

// The REST APIs of code hosts have this in common: JSON in, JSON out, and lists in pages.

export interface ClientOptions {
  clock?: Clock;
  /** How long one request may take, in milliseconds. */
  requestMs?: number;
  /** The time, in milliseconds, after which a list reads no further page. */
  listingMs?: number;
  /** Aborts requests, as if the provider did not answer. */
  signal?: AbortSignal | undefined;
}

export interface Call {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  query?: Record<string, string | number | boolean>;
  body?: object;
  /** Of an earlier response; the status is 304 when nothing has changed. */
  etag?: string | null;
}

/** Sends a request to a path below the API's address, or to a link of the API. Never retries. */
export type Send = (path: string, call?: Call) => Promise<ApiResponse>;

/** `headersOf`: the headers of the API's own, with the token. */
export function restClient(
  service: ApiService,
  headersOf: () => Record<string, string> | Promise<Record<string, string>>,
  { requestMs = 10_000, signal }: ClientOptions,
): Send {
  // Providers redirect requests for a renamed or moved repository.
  const request = apiFetch(service, { timeoutMs: requestMs, signal, maxRedirects: 3 });
  return async (path, { method = 'GET', query = {}, body, etag } = {}) => {
    const url = URL.parse(path.startsWith('/') ? service.address + path : path);
    if (url === null) throw notTheApi(service, 'it links to no address');
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
    return request(url.href, {
      method,
      headers: {
        'user-agent': 'tidings',
        accept: 'application/json',
        ...(await headersOf()),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(etag != null && { 'if-none-match': etag }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  };
}

export const isFine = ({ status }: ApiResponse) => (status >= 200 && status < 300) || status === 304;

/** The address of the next page of a list; null on the last one. */
export const nextLink = ({ headers }: ApiResponse): string | null =>
  /<([^<>]{1,2000})>; ?rel="next"/.exec(headers.get('link') ?? '')?.[1] ?? null;

/**
 * Reads pages until `take` returns false, `maxPages` are read, or time is up; `isCut` when the provider has more. Null:
 * there is no such list.
 */
export async function readPages<Page>(
  first: Page,
  read: (page: Page) => Promise<ApiResponse | null>,
  next: (response: ApiResponse, page: Page) => Page | null,
  { maxPages, listingMs = 30_000 }: { maxPages: number; listingMs?: number | undefined },
  take: (json: unknown, response: ApiResponse) => boolean,
): Promise<{ isCut: boolean } | null> {
  const startedAt = performance.now();
  let page = first;
  for (let count = 1; ; count++) {
    const response = await read(page);
    if (response === null) return null;
    const following = take(response.json, response) ? next(response, page) : null;
    if (following === null) return { isCut: false };
    if (count >= maxPages || performance.now() - startedAt > listingMs) return { isCut: true };
    page = following;
  }
}

/** Checks the parts of a response that Tidings reads. `otherShape`: the sentence about a response that lacks them. */
export const responseCheck =
  (otherShape: (expected: string) => string) =>
  <T extends TSchema>(schema: T, data: unknown, expected: string) => {
    if (Value.Check(schema, data)) return data;
    throw new ProviderProblem('provider-failed', otherShape(expected));
  };
