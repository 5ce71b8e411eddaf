import { type ProblemKind, ProviderProblem } from '../../api.ts';
import {
  type Call,
  type ClientOptions,
  type Context,
  type Host,
  hostClient,
  type Token,
} from '../../host.ts';
import { type ApiResponse, nextLink, serviceAt } from '../../rest.ts';
import { webOf } from '../app/support.ts';
import { type Repository, repositoryOf, words } from './responses.ts';

/** Both parts of a repository's name as GitHub allows them, so that none can lead to another route. */
const NAME = /^([\w-]{1,100})\/(?!\.{1,2}$)([\w.-]{1,100})$/;

/** GitHub's REST API for one token, or for nobody. */
export function openClient(
  baseUrl: string,
  token: Token,
  use: NonNullable<Context['token']>,
  options: ClientOptions,
) {
  const host: Host<Repository> = {
    ...refusals,
    service: serviceAt(baseUrl, 'GitHub', 'GITHUB_API_URL; for Enterprise Server it is https://HOST/api/v3'),
    web: webOf(baseUrl),
    token,
    use,
    headersOf: (value) => ({
      accept: 'application/vnd.github+json',
      'x-github-api-version': '2022-11-28',
      ...(value !== null && { authorization: `Bearer ${value}` }),
    }),
    routeOf(context) {
      const { place } = context;
      if (place !== null && NAME.test(place)) return `/repos/${place}`;
      throw new ProviderProblem('place-not-found', words.badName(context));
    },
    repositoryOf,
    // Some lists continue at a cursor, so the next page is where a link leads.
    nextPage(response) {
      const link = nextLink(response);
      return link === null ? null : { path: link, query: {} };
    },
  };
  const client = hostClient(host, options);
  const { send, accept, getRepository } = client;
  const sendBelow = (context: Context, below: string, call?: Call) =>
    send(below.startsWith('/') ? host.routeOf(context) + below : below, call);
  const hasStatus = (response: ApiResponse, ...statuses: number[]) =>
    statuses.includes(response.status) && refusals.notJson(response) === null && !refusals.isLimit(response);

  return {
    ...client,

    /** A request below a repository that webhooks need; null when the repository has no such part. */
    async askBelow(context: Context, below: string, call?: Call): Promise<ApiResponse | null> {
      const response = await sendBelow(context, below, call);
      if (!hasStatus(response, 404)) return accept(response, context);
      // A 404 also hides parts that the token may not see. The repository itself tells the two apart.
      const { permissions } = await getRepository(context);
      if (lacksScope(response)) throw new ProviderProblem('missing-permission', words.noScope(context));
      if (permissions?.admin !== true)
        throw new ProviderProblem('missing-permission', words.noAdmin(context));
      return null;
    },

    /** The same for reading: a branch, a tag, a commit, a list. */
    async askPart(context: Context, below: string, call?: Call): Promise<ApiResponse | null> {
      const response = await sendBelow(context, below, call);
      // An empty repository refuses with 409, and 422 is for the number of an unknown commit.
      if (!hasStatus(response, 404, 409, 422)) return accept(response, context);
      await getRepository(context);
      return null;
    },

    /** A request as the App `slug`; null when GitHub has no such thing. */
    async askAsApp(slug: string, path: string, call?: Call): Promise<ApiResponse | null> {
      const response = await send(path, call);
      if (hasStatus(response, 404)) return null;
      if (hasStatus(response, 401)) throw new ProviderProblem('bad-token', words.badKey(slug));
      const isSuspended = /suspended/i.test(refusals.textsOf(response.json).join('; '));
      if (isSuspended && hasStatus(response, 403)) {
        throw new ProviderProblem('missing-permission', words.suspended(slug));
      }
      return accept(response, client.about(null));
    },
  };
}

/** True for a classic token that has none of the scopes that GitHub accepts for the refused request. */
function lacksScope({ headers }: ApiResponse): boolean {
  const scopes = headers.get('x-oauth-scopes');
  if (scopes === null) return false;
  const accepted = scopesIn(
    headers.get('x-accepted-oauth-scopes') ?? 'admin:repo_hook, write:repo_hook, repo',
  );
  return !scopesIn(scopes).some((scope) => accepted.includes(scope));
}

const scopesIn = (header: string) => header.split(',').flatMap((scope) => scope.trim() || []);

/** The meanings of GitHub's refusals. */
export const refusals = {
  places: 'repositories',
  requestId: 'x-github-request-id',
  rateLimited: words.rateLimited,

  // A failing GitHub sends a page.
  notJson({ status, headers, text, json }: ApiResponse): string | null {
    if (text === '' || status >= 500 || json !== undefined) return null;
    const type = headers.get('content-type')?.split(';')[0]?.slice(0, 100) ?? 'something';
    return `it sent ${type} with status ${status}, not JSON`;
  },

  /** Leaves out the `value` of each error, which repeats the request. */
  textsOf(json: unknown): string[] {
    const { message, errors } = { ...(json as { message?: unknown; errors?: unknown } | null) };
    const details = (Array.isArray(errors) ? errors : []).map(detailOf).filter((detail) => detail !== '');
    if (details.length > 0) return details;
    return typeof message === 'string' ? [message] : [];
  },

  isLimit({ status, headers, json }: ApiResponse): boolean {
    if (status !== 403) return status === 429;
    if (waitOf(headers) !== null || resetOf(headers) !== null) return true;
    return /rate limit|abuse detection/i.test(refusals.textsOf(json).join('; '));
  },

  retrySecond(headers: Headers, nowSecond: number): number | null {
    const wait = waitOf(headers);
    return wait === null ? resetOf(headers) : nowSecond + wait;
  },

  meaningOf({ status, headers }: ApiResponse, reason: string, context: Context): [ProblemKind, string] {
    if (status >= 500) return ['provider-failed', words.failed(context, status)];
    if (status === 401) {
      return ['bad-token', (context.token === null ? words.tokenRequired : words.badToken)(context)];
    }
    if (status === 404) return ['place-not-found', words.noPlace(context)];
    if (status === 403) {
      const sso = headers.get('x-github-sso') ?? '';
      if (sso.startsWith('required') || /SAML enforcement/i.test(reason)) {
        return ['missing-permission', words.ssoRequired(context)];
      }
      if (/not accessible by/i.test(reason)) return ['missing-permission', words.noPermission(context)];
      if (/admin rights/i.test(reason)) return ['missing-permission', words.noAdmin(context)];
    }
    if (status === 422) {
      if (/hook already exists/i.test(reason)) return ['hook-exists', words.hookExists(context)];
      if (/cannot have more than \d+ hooks/i.test(reason)) {
        return ['too-many-hooks', words.tooManyHooks(context, reason)];
      }
      if (/reachable over the public internet/i.test(reason)) {
        return ['unreachable-url', words.unreachableUrl(reason)];
      }
    }
    return ['refused', words.refused(status, reason)];
  },
};

/** The seconds to wait; null where GitHub does not name them. */
function waitOf(headers: Headers): number | null {
  const after = Number(headers.get('retry-after') ?? Number.NaN);
  return after >= 0 ? Math.ceil(after) : null;
}

/** The second of the end of a limit that is used up. */
function resetOf(headers: Headers): number | null {
  const reset = Number(headers.get('x-ratelimit-reset') ?? Number.NaN);
  const remaining = Number(headers.get('x-ratelimit-remaining') ?? Number.NaN);
  return remaining === 0 && reset > 0 ? reset : null;
}

function detailOf(error: unknown): string {
  if (typeof error === 'string') return error;
  const { message, field, code } = { ...(error as Record<string, unknown> | null) };
  if (typeof message === 'string' && message !== '') return message;
  return [field, code].filter((part) => typeof part === 'string').join(' ');
}
