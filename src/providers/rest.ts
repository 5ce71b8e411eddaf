import type { TSchema } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { parseJsonInTurns } from '../lib/json.ts';
import { fetchWithoutRedirects } from '../lib/network.ts';
import type { Clock } from '../lib/time.ts';
import { type ProblemKind, ProviderProblem } from './api.ts';

/** The largest response that is read, in bytes. A page of 100 GitHub repositories takes about a megabyte. */
const MAX_RESPONSE_BYTES = 16_777_216;

const REDIRECTS = [301, 302, 307, 308];

/** An API, as sentences name it. */
export interface ApiService {
  name: string;
  /** Its URL, without a trailing slash. */
  address: string;
  /** The variable that sets the URL. */
  setting: string;
}

export interface ApiResponse {
  status: number;
  headers: Headers;
  text: string;
  /** Undefined unless the text is JSON. */
  json: unknown;
}

export const notTheApi = ({ name, address, setting }: ApiService, reason: string) =>
  new ProviderProblem(
    'provider-failed',
    `The server at ${address} is not ${name}'s API: ${reason}. Check ${setting}.`,
  );

/** The service at a URL. Leaves out the name and password that a URL may hold. */
export function serviceAt(url: string, name: string, setting: string): ApiService {
  const { origin, pathname } = new URL(url);
  return { name, setting, address: origin + pathname.replace(/\/$/, '') };
}

/**
 * A `fetch` for one API, whose token it sends to no other origin, whatever a redirect or a link says. A request,
 * redirects and response body included, takes at most `timeoutMs`. Without `maxRedirects` a redirect is the response.
 * Throws `ProviderProblem` `provider-failed`, which holds no secret.
 */
export function apiFetch(
  service: ApiService,
  options: { timeoutMs: number; signal?: AbortSignal | undefined; maxRedirects?: number },
): (url: string, init: RequestInit) => Promise<ApiResponse> {
  const { name, address, setting } = service;
  const { timeoutMs, signal, maxRedirects = 0 } = options;
  const { origin } = new URL(address);
  const failed = (sentence: string) => new ProviderProblem('provider-failed', sentence);

  async function follow(first: string, init: RequestInit): Promise<ApiResponse> {
    let url = new URL(first);
    for (let redirects = 0; ; redirects++) {
      if (url.origin !== origin) {
        throw failed(
          `The server at ${address} redirects to ${url.origin}, and Tidings does not send the token there. Check ${setting}.`,
        );
      }
      // Keeps the method, also where a browser would turn a POST into a GET.
      const response = await fetchWithoutRedirects(url, init);
      const { status, headers } = response;
      const location = headers.get('location');
      if (maxRedirects === 0 || location === null || !REDIRECTS.includes(status)) {
        const text = await boundedText(response, service);
        return { status, headers, text, json: await parseJson(text) };
      }
      await response.body?.cancel();
      if (redirects === maxRedirects) throw notTheApi(service, 'it redirects endlessly');
      url = new URL(location, url);
    }
  }

  return async (url, init) => {
    const timeout = AbortSignal.timeout(timeoutMs);
    const either = signal === undefined ? timeout : AbortSignal.any([timeout, signal]);
    try {
      return await follow(url, { ...init, signal: either });
    } catch (error) {
      if (error instanceof ProviderProblem) throw error;
      if (timeout.aborted) {
        throw failed(`${name} did not respond within ${timeoutMs / 1000} s. Try again later.`);
      }
      throw failed(
        `${name} at ${address} cannot be reached (${codeOf(error)}). Check the network and ${setting}.`,
      );
    }
  };
}

async function boundedText(response: Response, service: ApiService): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_RESPONSE_BYTES) throw notTheApi(service, 'it sent more than 16 MiB');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** An integer that a number cannot hold, such as GitHub's id of a delivery, is read as its digits. */
async function parseJson(text: string): Promise<unknown> {
  try {
    return await parseJsonInTurns(text, /\d{16}/.test(text) ? exactly : undefined);
  } catch {
    return undefined;
  }
}

function exactly(_key: string, value: unknown, { source = '' }: { source?: string } = {}): unknown {
  const isInexact = typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source);
  return isInexact ? source : value;
}

/** The system's code for a failure. Its message may quote a header, and so the token. */
function codeOf(error: unknown): string {
  const { code, name } = error instanceof Error ? (error as Error & { code?: unknown }) : {};
  return typeof code === 'string' && /^\w{1,60}$/.test(code) ? code : (name ?? 'unknown failure');
}

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

// The problem that a refusal of a provider's API is. Each provider adds what its refusals mean.

/** A request, for the problem that it may end with. */
export interface Asked {
  service: ApiService;
  /** The repository or project; null for a request about none. */
  place: string | null;
  /** Never shown in a problem: the token, the webhook's secret. */
  secrets: readonly string[];
  clock: Clock;
}

/** What one provider's refusals mean. */
interface Meanings<Context extends Asked> {
  /** The places that the API lists. */
  places: string;
  reasonOf(json: unknown, secrets: readonly string[]): string;
  /** The second, since 1970, from which it accepts requests again; null where it does not say. */
  retrySecond(headers: Headers, nowSecond: number): number | null;
  rateLimited(context: Context, retryAt: Date): string;
  meaningOf(status: number, reason: string, context: Context): [ProblemKind, string];
}

/** Providers count by the minute or the hour. A longer wait is a mistake, or one of the clocks is wrong. */
const MAX_WAIT_SECONDS = 86_400;

/** The wait where no time is named. */
const DEFAULT_WAIT_SECONDS = 60;

const MAX_REASON_LENGTH = 300;

/** The problem behind a refusal. */
export function problemWith<Context extends Asked>(
  { places, reasonOf, retrySecond, rateLimited, meaningOf }: Meanings<Context>,
  { status, json, headers }: ApiResponse,
  context: Context,
): ProviderProblem {
  const { service, secrets, place, clock } = context;
  const reason = reasonOf(json, secrets);
  const cause = new Error(`${service.name} answered ${status}: ${reason}`);
  if (status === 429) {
    const now = Math.ceil(clock.now().getTime() / 1000);
    const second = retrySecond(headers, now) ?? now + DEFAULT_WAIT_SECONDS;
    const retryAt = new Date(Math.min(second, now + MAX_WAIT_SECONDS) * 1000);
    return new ProviderProblem('rate-limited', rateLimited(context, retryAt), { cause, retryAt });
  }
  if (status < 500 && json === undefined) return notTheApi(service, `it sent no JSON with status ${status}`);
  if (status === 404 && place === null) return notTheApi(service, `it lists no ${places}`);
  const [kind, message] = meaningOf(status, reason, context);
  return new ProviderProblem(kind, message, { cause });
}

/** The reason in these texts on one line, without secrets. */
export function reasonIn(texts: readonly string[], secrets: readonly string[]): string {
  const text = texts.filter((each) => each !== '').join('; ') || 'no reason given';
  const hidden = secrets.reduce(
    (rest, secret) => (secret ? rest.replaceAll(secret, '********') : rest),
    text,
  );
  return hidden.replaceAll(/\p{Cc}+/gu, ' ').slice(0, MAX_REASON_LENGTH);
}

/** A header that counts something; null for an absent or another one. */
export function numberIn(headers: Headers, name: string): number | null {
  const text = headers.get(name) ?? '';
  return /^\d{1,12}$/.test(text) ? Number(text) : null;
}

/** The subject of a request, for the sentences about it. */
export interface Subject<Use extends string> {
  /** A repository or a project; null for all that the token can see. */
  place: string | null;
  service: ApiService;
  /** The site that belongs to the API, such as `https://github.com`. */
  web: string;
  /** The use of the token; null without one. */
  token: Use | null;
}

type Place = Pick<Subject<never>, 'place'>;

export const untilTime = (time: Date) => time.toISOString().replace('.000Z', 'Z');

/** The sentences of every code host's problems: what happened, then what to do. */
export const commonWords = (name: string, setting: string) => ({
  otherShape: (expected: string) =>
    `${name} sent an unexpected response instead of ${expected}. Check ${setting}.`,
  listTooSlow: ({ place }: Place) =>
    `${name} took too long to list the webhooks of ${place}. Try again later.`,
  refused: (status: number, reason: string) =>
    `${name} rejected the request with status ${status}: ${reason}`,
  tokenRequired: ({ service }: { service: ApiService }) =>
    `The server at ${service.address} answers no requests without a token. Use a token.`,
  badName: ({ place }: Place) =>
    `A repository has the form OWNER/NAME, such as acme/rocket, not ${String(place).slice(0, 200)}`,
  badRef: (ref: string) => `${ref.slice(0, 200)} cannot be a tag, a branch or a commit`,
  noBranch: ({ place }: Place, branch: string) => `${place} has no branch ${branch}`,
  noHook: ({ place }: Place, hookId: string) => `The webhook ${hookId} of ${place} no longer exists`,
  noAttempt: (place: string, attemptId: string) =>
    `${name} no longer has the delivery ${attemptId} of ${place}, or its webhook`,
});
