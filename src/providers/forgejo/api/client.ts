import { type ProblemKind, ProviderProblem } from '../../api.ts';
import { type Call, type ClientOptions, type Context, type Host, hostClient } from '../../host.ts';
import { type ApiResponse, nextLink, numberIn, serviceAt } from '../../rest.ts';
import { authorization, isRepositoryName, webOf } from '../provider.ts';
import { type Repository, repositoryOf, words } from './responses.ts';

/** The most that Forgejo lists on a page, unless its administrator allows more. */
export const LARGEST_PAGE = { limit: 50 };

/** The API of Forgejo or Gitea for a token, or for nobody. */
export function openClient(
  baseUrl: string,
  token: string | null,
  use: 'for webhooks' | 'for reading',
  options: ClientOptions,
) {
  const host: Host<Repository> = {
    service: serviceAt(baseUrl, 'Forgejo', 'FORGEJO_API_URL; it is https://HOST/api/v1'),
    web: webOf(baseUrl),
    token,
    use,
    headersOf: (value) => (value === null ? {} : { authorization: authorization(value) }),
    routeOf(context) {
      const { place } = context;
      if (place !== null && isRepositoryName(place)) return `/repos/${place}`;
      throw new ProviderProblem('place-not-found', words.badName(context));
    },
    repositoryOf,
    // Some lists come with a count, but without links.
    nextPage(response, { path, query }, count) {
      const isCounted = count > 0 && count < Number(response.headers.get('x-total-count') ?? 0);
      const page = Number(query.page ?? 1) + 1;
      return nextLink(response) !== null || isCounted ? { path, query: { ...query, page } } : null;
    },

    places: 'repositories',
    textsOf(json) {
      const { message, errors } = { ...(json as { message?: unknown; errors?: unknown } | null) };
      return [message, ...(Array.isArray(errors) ? errors : [])];
    },
    // Limits are those of a proxy in front of Forgejo.
    retrySecond(headers, nowSecond) {
      const after = numberIn(headers, 'retry-after');
      return after === null ? null : nowSecond + after;
    },
    rateLimited: words.rateLimited,
    meaningOf,
  };
  const client = hostClient(host, options);

  return {
    ...client,

    /** A request below a repository; null where the repository has no such part. */
    async askBelow(context: Context, below: string, call?: Call): Promise<ApiResponse | null> {
      const response = await client.send(host.routeOf(context) + below, call);
      if (response.status !== 404) return client.accept(response, context);
      // A 404 also stands for a repository that is gone, or that the token may not see.
      await client.getRepository(context);
      return null;
    },
  };
}

function meaningOf({ status }: ApiResponse, reason: string, context: Context): [ProblemKind, string] {
  if (status >= 500) return ['provider-failed', words.failed(context, status)];
  if (status === 404) return ['place-not-found', words.noPlace(context)];
  if (status === 401 || status === 403) {
    if (context.token === null) return ['bad-token', words.tokenRequired(context)];
    if (status === 401) return ['bad-token', words.badToken(context)];
    return meaningOfDenial(reason, context);
  }
  if (status === 409 && /empty/i.test(reason)) return ['refused', words.isEmpty(context)];
  if (status === 422 && /\burl\b/i.test(reason)) return ['unreachable-url', words.badUrl(reason)];
  return ['refused', words.refused(status, reason)];
}

function meaningOfDenial(reason: string, context: Context): [ProblemKind, string] {
  if (/webhooks disabled/i.test(reason)) return ['refused', words.noWebhooks(context)];
  if (/required scope/i.test(reason)) return ['missing-permission', words.noScope(context)];
  if (/limited to public/i.test(reason)) return ['missing-permission', words.publicOnly(context)];
  if (/collaborator with admin/i.test(reason)) return ['missing-permission', words.noAdmin(context)];
  return ['missing-permission', words.noAccess(context, reason)];
}
