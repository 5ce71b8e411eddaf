import {
  type HookSettings,
  type ProblemKind,
  type ProviderApi,
  ProviderProblem,
  type RemoteHook,
} from '../../api.ts';
import {
  type Call,
  type ClientOptions,
  type Context,
  type Host,
  hostClient,
  hostHooks,
  sortPlaces,
} from '../../host.ts';
import { type ApiResponse, nextLink, numberIn, serviceAt } from '../../rest.ts';
import { authorization, isRepositoryName, webOf } from '../provider.ts';
import {
  hookOf,
  hooksOf,
  type Repository,
  repositoriesOf,
  repositoryOf,
  toPlace,
  words,
} from './responses.ts';

/** A thousand repositories: enough to choose from. Any other can be named. */
const MAX_PLACE_PAGES = 20;

/** Forgejo has no limit of hooks. */
const MAX_HOOK_PAGES = 10;

/**
 * The API of Forgejo or Gitea on behalf of an access token. `baseUrl` has no trailing slash: `https://codeberg.org/api/v1`.
 * Never retries, and no error holds the token or a webhook's secret.
 */
export function forgejoApi(
  baseUrl: string,
  token: string,
  options: ClientOptions = {},
): Omit<ProviderApi, 'findHookAnywhere' | 'listAttempts' | 'redeliver'> &
  Required<Pick<ProviderApi, 'pingHook'>> {
  const client = openClient(baseUrl, token, 'for webhooks', options);
  const { about, ask, askBelow, getRepository, list } = client;
  const { methods, askHook, requireHook, noHook, addHook } = hostHooks(client, {
    askBelow,
    paging: LARGEST_PAGE,
    maxPages: MAX_HOOK_PAGES,
    hookOf,
    hooksOf,
    words,
    hidden: words.noAdmin,
  });

  /** Gitea knows no hooks of the type `forgejo`, which are the same. */
  function createHook(placeId: string, settings: HookSettings): Promise<RemoteHook> {
    const context = about(placeId, settings.secret);
    const create = (type: 'forgejo' | 'gitea') => addHook(context, placeId, newHookBody(type, settings));
    return create('forgejo').catch((error: unknown) => {
      const isGitea = error instanceof ProviderProblem && /invalid hook type/i.test(error.message);
      if (isGitea) return create('gitea');
      throw error;
    });
  }

  return {
    type: 'forgejo',
    ...methods,

    /** Without archived repositories; when there are too many, those last updated. */
    async listPlaces() {
      const context = about(null);
      const listed = await list(
        (path, call) => ask(context, path, call),
        { path: '/user/repos', query: { order_by: 'recentupdate', ...LARGEST_PAGE } },
        MAX_PLACE_PAGES,
        repositoriesOf,
      );
      const active = (listed?.items ?? []).filter(({ archived }) => archived !== true);
      return { places: sortPlaces(active.map(toPlace)), isCut: listed?.isCut === true };
    },

    /** A renamed repository comes under its new name. */
    getPlace: async (name) => toPlace(await getRepository(about(name.trim()))),

    createHook,

    /**
     * Forgejo's API cannot change the secret of a hook, and does not say so: a new hook takes its place. Deletes the old
     * one last, with any that an interrupted replacement left, so that no event is lost in between.
     */
    async changeHook(placeId, hookId, settings) {
      const context = about(placeId, settings.secret);
      if (settings.hasSecret === true) {
        await requireHook(context, hookId, '', { method: 'PATCH', body: hookBody(settings) });
        return hookId;
      }
      const present = await methods.listHooks(placeId);
      const outdated = present.filter(({ id, url }) => id === hookId || url === settings.url);
      if (outdated.length === 0) throw noHook(context, hookId);
      const created = await createHook(placeId, settings);
      for (const { id } of outdated) await askHook(context, id, '', { method: 'DELETE' });
      return created.id;
    },

    /** A push that moves nothing. Forgejo sends none for a repository without commits. */
    async pingHook(placeId, hookId) {
      await requireHook(about(placeId), hookId, '/tests', { method: 'POST' });
    },
  };
}

export const hookBody = ({ url, events }: HookSettings) => ({
  active: true,
  branch_filter: '*',
  // `pull_request` would also subscribe to labels, reviews and comments.
  events: events.map((event) => (event === 'pull_request' ? 'pull_request_only' : event)),
  config: { url, content_type: 'json' },
});

export function newHookBody<Type extends 'forgejo' | 'gitea'>(type: Type, settings: HookSettings) {
  const { config, ...body } = hookBody(settings);
  return { ...body, type, config: { ...config, secret: settings.secret } };
}

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
