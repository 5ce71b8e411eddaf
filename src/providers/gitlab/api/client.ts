import { systemClock } from '../../../lib/time.ts';
import { ProviderProblem } from '../../api.ts';
import { type ApiResponse, serviceAt } from '../../api-fetch.ts';
import { numberIn } from '../../api-problems.ts';
import type { RequestBudget } from '../../reader.ts';
import { type Call, type ClientOptions, isFine, nextLink, readPages, restClient } from '../../rest.ts';
import { signingToken } from '../signing.ts';
import { isProjectName, webOf } from '../site.ts';
import { type Context, problemOf, reasonOf } from './problems.ts';
import { type Project, projectOf } from './responses.ts';
import { words } from './words.ts';

/** GitLab's REST API for a token, or without one. Every failure is a `ProviderProblem`. Never retries a failure. */
export function openClient(
  baseUrl: string,
  token: string | null,
  { clock = systemClock, ...options }: ClientOptions,
) {
  const service = serviceAt(
    baseUrl,
    'GitLab',
    'GITLAB_API_URL; for a self-managed GitLab it is https://HOST/api/v4',
  );
  const request = restClient(
    service,
    () => (token === null ? {} : { authorization: `Bearer ${token}` }),
    options,
  );
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
    const response = await request(path, call);
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

    readPages: (
      read: (page: number) => Promise<ApiResponse | null>,
      maxPages: number,
      take: (json: unknown) => boolean,
    ) => readPages(1, read, nextPage, { maxPages, listingMs: options.listingMs }, take),
  };
}

/** GitLab leaves the header out of very long lists, and links to the next page instead. */
export function nextPage(response: ApiResponse): number | null {
  const next = numberIn(response.headers, 'x-next-page');
  if (next !== null) return next;
  const page = Number(URL.parse(nextLink(response) ?? '')?.searchParams.get('page') ?? Number.NaN);
  return Number.isSafeInteger(page) && page > 1 ? page : null;
}

/** The route of a project. Throws `ProviderProblem` `place-not-found` for text that cannot be a project's name. */
function projectPath({ place, id }: Pick<Context, 'place' | 'id'>): string {
  if (id !== undefined) return `/projects/${id}`;
  if (place !== null && isProjectName(place)) return `/projects/${encodeURIComponent(place)}`;
  throw new ProviderProblem('place-not-found', words.badName(String(place)));
}
