import { type Clock, systemClock } from '../../../lib/time.ts';
import { ProviderProblem } from '../../api.ts';
import { type ApiResponse, apiFetch, serviceAt } from '../../api-fetch.ts';
import { numberIn } from '../../api-problems.ts';
import type { RequestBudget } from '../../reader.ts';
import { signingToken } from '../signing.ts';
import { isProjectName, webOf } from '../site.ts';
import { type Context, problemOf, reasonOf } from './problems.ts';
import { type Project, projectOf } from './responses.ts';
import { words } from './words.ts';

export interface GitlabOptions {
  clock?: Clock;
  /** How long one request may take, in milliseconds. */
  requestMs?: number;
  /** The time, in milliseconds, after which a list reads no further page. */
  listingMs?: number;
  /** Aborts requests, as if GitLab did not answer. */
  signal?: AbortSignal | undefined;
}

type Query = Record<string, string | number | boolean>;

export interface Call {
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  query?: Query;
  body?: object;
  /** Of an earlier response; the status is 304 when nothing has changed. */
  etag?: string | null;
}

/** GitLab's REST API for a token, or without one. Every failure is a `ProviderProblem`. Never retries a failure. */
export function openClient(
  baseUrl: string,
  token: string | null,
  { clock = systemClock, requestMs = 10_000, listingMs = 30_000, signal }: GitlabOptions,
) {
  const service = serviceAt(
    baseUrl,
    'GitLab',
    'GITLAB_API_URL; for a self-managed GitLab it is https://HOST/api/v4',
  );
  // GitLab redirects requests for a renamed or moved project.
  const request = apiFetch(service, { timeoutMs: requestMs, signal, maxRedirects: 3 });
  const budget: RequestBudget = { limit: null, remaining: null, resetAt: null, pollMs: null };

  /** About a webhook of a project, whose secret is `secret`. */
  const about = (place: string | null, secret = ''): Context => ({
    place,
    service,
    web: webOf(baseUrl),
    token: token === null ? null : 'for webhooks',
    secrets: [token ?? '', secret, ...(secret === '' ? [] : [signingToken(secret)])],
    clock,
  });

  /** Any response of GitLab that is no rate limit and no failure of its own. */
  async function send(context: Context, path: string, call: Call): Promise<ApiResponse> {
    const { method = 'GET', query = {}, body, etag } = call;
    const url = new URL(service.address + path);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
    const response = await request(url.href, {
      method,
      headers: {
        'user-agent': 'tidings',
        accept: 'application/json',
        ...(token !== null && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(etag != null && { 'if-none-match': etag }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    readBudget(response.headers);
    if (response.status === 429 || response.status >= 500) throw problemOf(response, context);
    return response;
  }

  function readBudget(headers: Headers): void {
    const limit = numberIn(headers, 'ratelimit-limit');
    if (limit === null) return;
    const reset = numberIn(headers, 'ratelimit-reset');
    budget.limit = limit;
    budget.remaining = numberIn(headers, 'ratelimit-remaining');
    budget.resetAt = reset === null ? null : new Date(reset * 1000);
  }

  /** A response with what was asked for. */
  async function ask(context: Context, path: string, call: Call = {}): Promise<ApiResponse> {
    const response = await send(context, path, call);
    if (isFine(response)) return response;
    throw problemOf(response, context);
  }

  async function getProject(context: Context): Promise<Project> {
    return projectOf((await ask(context, projectPath(context))).json);
  }

  /**
   * A request below a project; null where the project has no such part. GitLab lets nobody change a moved project by
   * its former name, so that is done by its number.
   */
  async function askBelow(context: Context, below: string, call: Call = {}): Promise<ApiResponse | null> {
    let response = await send(context, projectPath(context) + below, call);
    if (response.status === 405) {
      const { id } = await getProject(context);
      response = await send(context, projectPath({ ...context, id }) + below, call);
    }
    if (isFine(response)) return response;
    if (response.status === 404 && !/project/i.test(reasonOf(response.json))) return null;
    throw problemOf(response, context);
  }

  return {
    about,
    ask,
    askBelow,
    getProject,
    budget,
    web: webOf(baseUrl),

    /** Reads pages until `take` returns false, `maxPages` are read, or time is up; `isCut` when GitLab has more. */
    async readPages(
      read: (page: number) => Promise<ApiResponse | null>,
      maxPages: number,
      take: (json: unknown) => boolean,
    ): Promise<{ isCut: boolean } | null> {
      const startedAt = performance.now();
      for (let page = 1; ; ) {
        const response = await read(page);
        if (response === null) return null;
        if (!take(response.json)) return { isCut: false };
        const next = nextPage(response);
        if (next === null) return { isCut: false };
        if (page >= maxPages || performance.now() - startedAt > listingMs) return { isCut: true };
        page = next;
      }
    },
  };
}

const isFine = ({ status }: ApiResponse) => (status >= 200 && status < 300) || status === 304;

/** GitLab leaves the header out of very long lists, and links to the next page instead. */
export function nextPage({ headers }: ApiResponse): number | null {
  const next = numberIn(headers, 'x-next-page');
  if (next !== null) return next;
  const link = /<([^>]{1,2000})>; rel="next"/.exec(headers.get('link') ?? '')?.[1];
  const page = Number(URL.parse(link ?? '')?.searchParams.get('page') ?? Number.NaN);
  return Number.isSafeInteger(page) && page > 1 ? page : null;
}

/** The route of a project. Throws `ProviderProblem` `place-not-found` for text that cannot be a project's name. */
function projectPath({ place, id }: Pick<Context, 'place' | 'id'>): string {
  if (id !== undefined) return `/projects/${id}`;
  if (place !== null && isProjectName(place)) return `/projects/${encodeURIComponent(place)}`;
  throw new ProviderProblem('place-not-found', words.badName(String(place)));
}
