import { type ProblemKind, ProviderProblem } from '../../api.ts';
import { type Call, type ClientOptions, type Context, type Host, hostClient } from '../../host.ts';
import { type ApiResponse, nextLink, numberIn, serviceAt } from '../../rest.ts';
import { isProjectName, signingToken, webOf } from '../provider.ts';
import { type Project, projectOf, words } from './responses.ts';

export const LARGEST_PAGE = { per_page: 100 };

/** GitLab's REST API for a token, or without one. */
export function openClient(
  baseUrl: string,
  token: string | null,
  use: 'for webhooks' | 'for reading',
  options: ClientOptions,
) {
  const host: Host<Project> = {
    service: serviceAt(
      baseUrl,
      'GitLab',
      'GITLAB_API_URL; for a self-managed GitLab it is https://HOST/api/v4',
    ),
    web: webOf(baseUrl),
    token,
    use,
    headersOf: (value) => (value === null ? {} : { authorization: `Bearer ${value}` }),
    secretsOf: (secret) => (secret === '' ? [] : [secret, signingToken(secret)]),
    routeOf(context) {
      const { place, id } = context;
      if (id !== undefined) return `/projects/${id}`;
      if (place !== null && isProjectName(place)) return `/projects/${encodeURIComponent(place)}`;
      throw new ProviderProblem('place-not-found', words.badName(context));
    },
    repositoryOf: projectOf,
    nextPage(response, { path, query }, count) {
      const page = count === 0 ? null : nextNumber(response);
      return page === null ? null : { path, query: { ...query, page } };
    },

    places: 'projects',
    textsOf,
    retrySecond(headers, nowSecond) {
      const after = numberIn(headers, 'retry-after');
      if (after !== null) return nowSecond + after;
      const reset = numberIn(headers, 'ratelimit-reset');
      return reset !== null && reset > nowSecond ? reset : null;
    },
    rateLimited: words.rateLimited,
    meaningOf,
  };
  const client = hostClient(host, options);
  const { send, accept, getRepository } = client;

  return {
    ...client,

    /**
     * A request below a project; null where the project has no such part. GitLab lets nobody change a moved project by
     * its former name, so that is done by its number.
     */
    async askBelow(context: Context, below: string, call?: Call): Promise<ApiResponse | null> {
      let response = await send(host.routeOf(context) + below, call);
      if (response.status === 405) {
        const { id } = await getRepository(context);
        response = await send(host.routeOf({ ...context, id }) + below, call);
      }
      const isPart = response.status === 404 && !/project/i.test(textsOf(response.json).join('; '));
      return isPart ? null : accept(response, context);
    },
  };
}

/** The number of the next page. GitLab leaves the header out of very long lists, and links to it instead. */
export function nextNumber(response: ApiResponse): number | null {
  const next = numberIn(response.headers, 'x-next-page');
  if (next !== null) return next;
  const page = Number(URL.parse(nextLink(response) ?? '')?.searchParams.get('page') ?? Number.NaN);
  return Number.isSafeInteger(page) && page > 1 ? page : null;
}

function meaningOf({ status }: ApiResponse, reason: string, context: Context): [ProblemKind, string] {
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

function textsOf(json: unknown): string[] {
  const { message, error, error_description: more } = { ...(json as Record<string, unknown> | null) };
  return [message, error, more].flatMap((each) => textsIn(each));
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
