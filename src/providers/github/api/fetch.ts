import { fetchWithoutRedirects } from '../../../lib/outgoing.ts';

/** Redirects that are followed: GitHub answers so for a repository that was renamed or moved. */
const REDIRECTS = [301, 302, 307, 308];
const MAX_REDIRECTS = 3;

/** The longest answer that is read, in bytes. A page of 100 repositories has about a megabyte. */
const MAX_ANSWER_BYTES = 16_777_216;

/** Nothing came that GitHub's API would say. The message is for people and tells what to do; it holds no secret. */
export class NoAnswer extends Error {}

export interface ApiAddress {
  /** Without a trailing slash. */
  baseUrl: string;
  /** How long one request may take, its redirects and its answer's body included. */
  requestMs: number;
  /** Ends a request early. */
  signal?: AbortSignal | undefined;
}

/**
 * A `fetch` for one API: it sends nothing to any other origin, whatever a redirect or a link says, since each request
 * carries the token; gives up after `requestMs`; and reads at most 16 MiB. What it resolves with has a JSON body, none,
 * or a status of 500 and more. Throws `NoAnswer`.
 */
export function apiFetch(address: ApiAddress): (url: string, init: RequestInit) => Promise<Response> {
  const home = new URL(address.baseUrl);
  const shown = home.origin + home.pathname.replace(/\/$/, '');

  async function follow(first: string, init: RequestInit, signal: AbortSignal): Promise<Response> {
    let url = new URL(first);
    for (let hops = 0; ; hops++) {
      if (url.origin !== home.origin) throw new NoAnswer(leadsAway(shown, url.origin));
      // The method stays, also where a browser would turn a POST into a GET.
      const response = await fetchWithoutRedirects(url, { ...init, signal });
      const location = response.headers.get('location');
      if (!REDIRECTS.includes(response.status) || location === null) return whole(response, shown);
      await response.body?.cancel();
      if (hops === MAX_REDIRECTS) throw new NoAnswer(notTheApi(shown, 'it redirects without end'));
      url = new URL(location, url);
    }
  }

  return async (url, init) => {
    const timeout = AbortSignal.timeout(address.requestMs);
    const signal = address.signal === undefined ? timeout : AbortSignal.any([timeout, address.signal]);
    try {
      return await follow(url, init, signal);
    } catch (error) {
      if (error instanceof NoAnswer) throw error;
      if (timeout.aborted) {
        throw new NoAnswer(`GitHub did not answer within ${address.requestMs / 1000} s. Try again later.`);
      }
      const advice = 'Check the network and GITHUB_API_URL, then try again.';
      throw new NoAnswer(`GitHub at ${shown} cannot be reached (${codeOf(error)}). ${advice}`);
    }
  };
}

async function whole(response: Response, shown: string): Promise<Response> {
  const { status, headers } = response;
  const text = await boundedText(response, shown);
  // A failing GitHub answers with a page, which says no more than its status.
  if (text !== '' && status < 500 && !isJson(text)) {
    const type = headers.get('content-type')?.split(';')[0] ?? 'something';
    throw new NoAnswer(notTheApi(shown, `it sent ${type.slice(0, 100)} with status ${status}, not JSON`));
  }
  const isNull = status === 204 || status === 205 || status === 304;
  return new Response(isNull ? null : text, { status, headers });
}

async function boundedText(response: Response, shown: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) throw new NoAnswer(notTheApi(shown, 'it sent more than 16 MiB'));
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The system's word for what went wrong. Its sentence may quote a header, and so the token. */
function codeOf(error: unknown): string {
  const { code, name } = error instanceof Error ? (error as Error & { code?: unknown }) : {};
  return typeof code === 'string' && /^\w{1,60}$/.test(code) ? code : (name ?? 'unknown failure');
}

/** What to say when something else answers. */
export function notTheApi(shown: string, why: string): string {
  const advice = 'Check GITHUB_API_URL; for Enterprise Server it is https://HOST/api/v3.';
  return `What answers at ${shown} is not GitHub's API: ${why}. ${advice}`;
}

function leadsAway(shown: string, origin: string): string {
  return `${shown} leads on to another server, ${origin}, which does not get the token. Check GITHUB_API_URL.`;
}
