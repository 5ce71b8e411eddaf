import { type HookSettings, type ProviderApi, ProviderProblem, type RemoteHook } from '../../api.ts';
import type { Call, ClientOptions } from '../../rest.ts';
import { type Context, openClient, PER_PAGE } from './client.ts';
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
  const { about, ask, askBelow, getRepository, readPages } = openClient(
    baseUrl,
    token,
    'for webhooks',
    options,
  );

  /** As `askBelow`, about a hook. */
  async function askHook(context: Context, hookId: string, below = '', call: Call = {}) {
    if (!/^\d{1,15}$/.test(hookId)) throw noHook(context, hookId);
    return askBelow(context, `/hooks/${hookId}${below}`, call);
  }

  async function listHooks(context: Context, placeId: string): Promise<RemoteHook[]> {
    const listed = await readPages(
      (page) => askBelow(context, '/hooks', { query: { limit: PER_PAGE, page } }),
      MAX_HOOK_PAGES,
      (json) => hooksOf(placeId, json),
    );
    if (listed === null) throw new ProviderProblem('missing-permission', words.noAdmin(context));
    // Half a list could lack the hook that the caller looks for.
    if (listed.isCut) throw new ProviderProblem('provider-failed', words.listTooSlow(context));
    return listed.items;
  }

  /** Gitea knows no hooks of the type `forgejo`, which are the same. */
  async function createHook(placeId: string, settings: HookSettings): Promise<RemoteHook> {
    const context = about(placeId, settings.secret);
    const create = (type: 'forgejo' | 'gitea') =>
      askBelow(context, '/hooks', { method: 'POST', body: newHookBody(type, settings) });
    const response = await create('forgejo').catch((error: unknown) => {
      const isGitea = error instanceof ProviderProblem && /invalid hook type/i.test(error.message);
      if (isGitea) return create('gitea');
      throw error;
    });
    if (response === null) throw new ProviderProblem('missing-permission', words.noAdmin(context));
    return hookOf(placeId, response.json);
  }

  /** Deletes the old hook last, with any that an interrupted replacement left, so that no event is lost in between. */
  async function replaceHook(context: Context, placeId: string, hookId: string, settings: HookSettings) {
    const present = await listHooks(context, placeId);
    const outdated = present.filter(({ id, url }) => id === hookId || url === settings.url);
    if (outdated.length === 0) throw noHook(context, hookId);
    const created = await createHook(placeId, settings);
    for (const { id } of outdated) await askHook(context, id, '', { method: 'DELETE' });
    return created.id;
  }

  return {
    type: 'forgejo',

    /** Without archived repositories; when there are too many, those last updated. */
    async listPlaces() {
      const query = { order_by: 'recentupdate', limit: PER_PAGE };
      const listed = await readPages(
        (page) => ask(about(null), '/user/repos', { query: { ...query, page } }),
        MAX_PLACE_PAGES,
        repositoriesOf,
      );
      const active = (listed?.items ?? []).filter(({ archived }) => archived !== true);
      // A push between two pages can put a repository on both.
      const places = [...new Map(active.map((each) => [each.id, toPlace(each)])).values()];
      return {
        places: places.sort(
          (a, b) => Number(b.canAdminister) - Number(a.canAdminister) || (a.name < b.name ? -1 : 1),
        ),
        isCut: listed?.isCut ?? false,
      };
    },

    /** A renamed repository comes under its new name. */
    getPlace: async (name) => toPlace(await getRepository(about(name.trim()))),

    listHooks: (placeId) => listHooks(about(placeId), placeId),

    async findHook(placeId, hookId) {
      const response = await askHook(about(placeId), hookId);
      return response && hookOf(placeId, response.json);
    },

    createHook,

    /** Forgejo's API cannot change the secret of a hook, and does not say so: a new hook takes its place. */
    async changeHook(placeId, hookId, settings) {
      const context = about(placeId, settings.secret);
      if (settings.hasSecret !== true) return replaceHook(context, placeId, hookId, settings);
      const body = hookBody(settings);
      if ((await askHook(context, hookId, '', { method: 'PATCH', body })) !== null) return hookId;
      throw noHook(context, hookId);
    },

    async deleteHook(placeId, hookId) {
      await askHook(about(placeId), hookId, '', { method: 'DELETE' });
    },

    /** A push that moves nothing. Forgejo sends none for a repository without commits. */
    async pingHook(placeId, hookId) {
      const context = about(placeId);
      if ((await askHook(context, hookId, '/tests', { method: 'POST' })) === null)
        throw noHook(context, hookId);
    },
  };
}

/** The body that changes a hook. */
export const hookBody = ({ url, events }: HookSettings) => ({
  active: true,
  branch_filter: '*',
  // `pull_request` would also subscribe to labels, reviews and comments.
  events: events.map((event) => (event === 'pull_request' ? 'pull_request_only' : event)),
  config: { url, content_type: 'json' },
});

/** The body that creates a hook. */
export function newHookBody<Type extends 'forgejo' | 'gitea'>(type: Type, settings: HookSettings) {
  const { config, ...body } = hookBody(settings);
  return { ...body, type, config: { ...config, secret: settings.secret } };
}

const noHook = (context: Context, hookId: string) =>
  new ProviderProblem('hook-not-found', words.noHook(context, hookId));
