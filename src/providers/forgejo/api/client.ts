import { type Clock, systemClock } from '../../../lib/time.ts';
import { ProviderProblem } from '../../api.ts';
import { type ApiResponse, apiFetch, notTheApi, serviceAt } from '../../api-fetch.ts';
import { authorization, isRepositoryName, webOf } from '../site.ts';
import { type Context, problemOf } from './problems.ts';
import { type Repository, repositoryOf } from './responses.ts';
import { words } from './words.ts';

export interface ForgejoOptions {
  clock?: Clock;
  /** How long one request may take, in milliseconds. */
  requestMs?: number;
  /** The time, in milliseconds, after which a list reads no further page. */
  listingMs?: number;
  /** Aborts requests, as if Forgejo did not answer. */
  signal?: AbortSignal | undefined;
}

export interface Call {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  query?: Record<string, string | number | boolean>;
  body?: object;
  /** Of an earlier response; the status is 304 when nothing has changed. */
  etag?: string | null;
}

/** The most that Forgejo lists on a page, unless its administrator allows more. */
export const PER_PAGE = 50;

/** The API of Forgejo or Gitea for a token, or for nobody. Every failure is a `ProviderProblem`. Never retries. */
export function openClient(
  baseUrl: string,
  token: string | null,
  purpose: 'for webhooks' | 'for reading',
  { clock = systemClock, requestMs = 10_000, listingMs = 30_000, signal }: ForgejoOptions,
) {
  const service = serviceAt(baseUrl, 'Forgejo', 'FORGEJO_API_URL; it is https://HOST/api/v1');
  // Forgejo redirects requests for a renamed or moved repository.
  const request = apiFetch(service, { timeoutMs: requestMs, signal, maxRedirects: 3 });

  /** `secret` is that of the webhook in the request. */
  const about = (place: string | null, secret = ''): Context => ({
    place,
    service,
    web: webOf(baseUrl),
    token: token === null ? null : purpose,
    secrets: [token ?? '', secret],
    clock,
  });

  /** Any response of Forgejo. */
  function send(path: string, { method = 'GET', query = {}, body, etag }: Call): Promise<ApiResponse> {
    const url = new URL(service.address + path);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
    return request(url.href, {
      method,
      headers: {
        'user-agent': 'tidings',
        accept: 'application/json',
        ...(token !== null && { authorization: authorization(token) }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(etag != null && { 'if-none-match': etag }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  }

  /** A response with what was asked for. */
  async function ask(context: Context, path: string, call: Call = {}): Promise<ApiResponse> {
    const response = await send(path, call);
    if (!isFine(response)) throw problemOf(response, context);
    if (response.text === '' || response.json !== undefined) return response;
    throw notTheApi(service, `it sent no JSON with status ${response.status}`);
  }

  async function getRepository(context: Context): Promise<Repository> {
    return repositoryOf((await ask(context, repositoryPath(context))).json);
  }

  /** A request below a repository; null where the repository has no such part. */
  async function askBelow(context: Context, below: string, call: Call = {}): Promise<ApiResponse | null> {
    const response = await send(repositoryPath(context) + below, call);
    if (response.status !== 404) {
      if (isFine(response)) return response;
      throw problemOf(response, context);
    }
    // A 404 also stands for a repository that is gone, or that the token may not see.
    await getRepository(context);
    return null;
  }

  return {
    about,
    ask,
    askBelow,
    getRepository,

    /** Reads pages until `maxPages` are read or time is up; `isCut` when Forgejo has more. Null: there is no such list. */
    async readPages<Item>(
      read: (page: number) => Promise<ApiResponse | null>,
      maxPages: number,
      itemsOf: (json: unknown) => Item[],
    ): Promise<{ items: Item[]; isCut: boolean } | null> {
      const startedAt = performance.now();
      const items: Item[] = [];
      for (let page = 1; ; page++) {
        const response = await read(page);
        if (response === null) return null;
        const found = itemsOf(response.json);
        items.push(...found);
        // Some lists come with a count, but without links.
        const total = Number(response.headers.get('x-total-count') ?? 0);
        const hasMore = hasNextPage(response) || (found.length > 0 && items.length < total);
        if (!hasMore) return { items, isCut: false };
        if (page >= maxPages || performance.now() - startedAt > listingMs) return { items, isCut: true };
      }
    },
  };
}

const isFine = ({ status }: ApiResponse) => (status >= 200 && status < 300) || status === 304;

export const hasNextPage = ({ headers }: ApiResponse): boolean =>
  headers.get('link')?.includes('rel="next"') ?? false;

/** The route of a repository. Throws `ProviderProblem` `place-not-found` for text that cannot be a repository's name. */
function repositoryPath(context: Context): string {
  const { place } = context;
  if (place !== null && isRepositoryName(place)) return `/repos/${place}`;
  throw new ProviderProblem('place-not-found', words.badName(context));
}
