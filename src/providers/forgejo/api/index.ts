import { type HookSettings, type ProviderApi, ProviderProblem, type RemoteHook } from '../../api.ts';
import { type ClientOptions, hostHooks, sortPlaces } from '../../host.ts';
import { LARGEST_PAGE, openClient } from './client.ts';
import { hookOf, hooksOf, repositoriesOf, toPlace, words } from './responses.ts';

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
