import { systemClock } from '../../../lib/time.ts';
import { type ProblemKind, ProviderProblem } from '../../api.ts';
import type { RequestBudget } from '../../reader.ts';
import {
  type ApiResponse,
  type Asked,
  type Call,
  type ClientOptions,
  isFine,
  nextLink,
  numberIn,
  problemWith,
  readPages,
  reasonIn,
  restClient,
  serviceAt,
} from '../../rest.ts';
import { isProjectName, signingToken, webOf } from '../provider.ts';
import { type Project, projectOf, type Subject, words } from './responses.ts';

/** A request, for the problem that it may end with. */
export interface Context extends Subject, Asked {
  /** The project's number, which survives renames; absent to ask by its name. */
  id?: number;
}

/** The problem behind a refusal. */
const problemOf = (response: ApiResponse, context: Context): ProviderProblem =>
  problemWith<Context>(
    { places: 'projects', reasonOf, retrySecond, meaningOf, rateLimited: words.rateLimited },
    response,
    context,
  );

function meaningOf(status: number, reason: string, context: Context): [ProblemKind, string] {
  if (status >= 500) return ['provider-failed', words.failed(context, status)];
  if (status === 404) return ['place-not-found', words.noPlace(context)];
  if (status === 401 || status === 403) {
    if (context.token === null) return ['place-not-found', words.noPlace(context)];
    if (/insufficient.scope|higher privileges/i.test(reason)) {
      return ['missing-permission', words.noScope(context)];
    }
    return status === 401
      ? ['bad-token', words.badToken(context)]
      : ['missing-permission', words.noAccess(context)];
  }
  if (status === 400 || status === 422) {
    if (/maximum number of .*hooks/i.test(reason)) {
      return ['too-many-hooks', words.tooManyHooks(context, reason)];
    }
    if (/\burl\b/i.test(reason)) return ['unreachable-url', words.unreachableUrl(reason)];
  }
  return ['refused', words.refused(status, reason)];
}

function retrySecond(headers: Headers, nowSecond: number): number | null {
  const after = numberIn(headers, 'retry-after');
  if (after !== null) return nowSecond + after;
  const reset = numberIn(headers, 'ratelimit-reset');
  return reset !== null && reset > nowSecond ? reset : null;
}

/** GitLab's reason, without secrets. */
function reasonOf(json: unknown, secrets: readonly string[] = []): string {
  const { message, error, error_description: more } = { ...(json as Record<string, unknown> | null) };
  return reasonIn([...textsIn(message), ...textsIn(error), ...textsIn(more)], secrets);
}

/** The texts of a message, which may be a text, a list, or lists by field: `{"url":["is blocked"]}`. */
function textsIn(value: unknown, field = ''): string[] {
  if (typeof value === 'string') return [field === '' ? value : `${field} ${value}`];
  if (Array.isArray(value)) return value.flatMap((each) => textsIn(each, field));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    textsIn(inner, name === 'base' || name === 'error' ? '' : name),
  );
}

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
