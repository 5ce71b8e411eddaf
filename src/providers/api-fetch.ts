import { fetchWithoutRedirects } from '../lib/outgoing.ts';

/** The largest response that is read, in bytes. A page of 100 GitHub repositories takes about a megabyte. */
const MAX_RESPONSE_BYTES = 16_777_216;

const REDIRECTS = [301, 302, 307, 308];

/** No usable response arrived. `detail` holds no secret: seconds, the code of an error, the origin of a redirect. */
export class NoResponse extends Error {
  constructor(
    readonly code: 'timed-out' | 'unreachable' | 'other-origin' | 'redirect-loop' | 'too-large',
    readonly detail = '',
  ) {
    super(`${code} ${detail}`);
  }
}

export interface ApiResponse {
  status: number;
  headers: Headers;
  text: string;
}

/**
 * A `fetch` for one API, whose token it sends to no other origin, whatever a redirect or a link says. A request,
 * redirects and response body included, takes at most `timeoutMs`. Without `maxRedirects` a redirect is the response.
 * Throws `NoResponse`.
 */
export function apiFetch(
  baseUrl: string,
  {
    timeoutMs,
    signal,
    maxRedirects = 0,
  }: { timeoutMs: number; signal?: AbortSignal | undefined; maxRedirects?: number },
): (url: string, init: RequestInit) => Promise<ApiResponse> {
  const { origin } = new URL(baseUrl);

  async function follow(first: string, init: RequestInit): Promise<ApiResponse> {
    let url = new URL(first);
    for (let redirects = 0; ; redirects++) {
      if (url.origin !== origin) throw new NoResponse('other-origin', url.origin);
      // Keeps the method, also where a browser would turn a POST into a GET.
      const response = await fetchWithoutRedirects(url, init);
      const { status, headers } = response;
      const location = headers.get('location');
      if (maxRedirects === 0 || location === null || !REDIRECTS.includes(status)) {
        return { status, headers, text: await boundedText(response) };
      }
      await response.body?.cancel();
      if (redirects === maxRedirects) throw new NoResponse('redirect-loop');
      url = new URL(location, url);
    }
  }

  return async (url, init) => {
    const timeout = AbortSignal.timeout(timeoutMs);
    try {
      return await follow(url, {
        ...init,
        signal: signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
      });
    } catch (error) {
      if (error instanceof NoResponse) throw error;
      if (timeout.aborted) throw new NoResponse('timed-out', String(timeoutMs / 1000));
      throw new NoResponse('unreachable', codeOf(error));
    }
  };
}

async function boundedText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_RESPONSE_BYTES) throw new NoResponse('too-large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The system's code for a failure. Its message may quote a header, and so the token. */
function codeOf(error: unknown): string {
  const { code, name } = error instanceof Error ? (error as Error & { code?: unknown }) : {};
  return typeof code === 'string' && /^\w{1,60}$/.test(code) ? code : (name ?? 'unknown failure');
}
