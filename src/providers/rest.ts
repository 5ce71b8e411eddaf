import type { TSchema } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { parseJsonInTurns } from '../lib/json.ts';
import { fetchWithoutRedirects } from '../lib/public-fetch.ts';
import { ProviderProblem } from './api.ts';

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

export const isFine = ({ status }: ApiResponse) => (status >= 200 && status < 300) || status === 304;

/** The address of the next page of a list; null on the last one. */
export const nextLink = ({ headers }: ApiResponse): string | null =>
  /<([^<>]{1,2000})>; ?rel="next"/.exec(headers.get('link') ?? '')?.[1] ?? null;

/** A header that counts something; null for an absent or another one. */
export function numberIn(headers: Headers, name: string): number | null {
  const text = headers.get(name) ?? '';
  return /^\d{1,12}$/.test(text) ? Number(text) : null;
}

/** A longer tag is none of a host's. */
const MAX_ETAG_LENGTH = 200;

export function etagOf({ headers }: ApiResponse): string | null {
  const etag = headers.get('etag');
  return etag !== null && etag.length <= MAX_ETAG_LENGTH ? etag : null;
}

/** Checks the parts of a response that Tidings reads. `otherShape`: the sentence about a response that lacks them. */
export const responseCheck =
  (otherShape: (expected: string) => string) =>
  <T extends TSchema>(schema: T, data: unknown, expected: string) => {
    if (Value.Check(schema, data)) return data;
    throw new ProviderProblem('provider-failed', otherShape(expected));
  };
