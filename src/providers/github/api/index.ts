import type { HookSettings, ProviderApi } from '../../api.ts';
import { attemptList, type ClientOptions, hostHooks, sortPlaces } from '../../host.ts';
import { isoTime } from '../../provider.ts';
import { openClient } from './client.ts';
import { attemptsOf, hookOf, hooksOf, type Repository, repositoriesOf, toPlace, words } from './responses.ts';

/** A thousand repositories: enough to choose from. Any other can be named. */
export const MAX_PLACE_PAGES = 10;

/** GitHub allows 20 hooks for each of its seventy-odd events, so no repository has more. */
const MAX_HOOK_PAGES = 20;

const MAX_ATTEMPT_PAGES = 20;

export const LARGEST_PAGE = { per_page: 100 };

/**
 * GitHub's REST API on behalf of a token, fine-grained or classic. `baseUrl` has no trailing slash:
 * `https://api.github.com`, or `https://HOST/api/v3`. Never retries, writes nothing to the console, and no error holds
 * the token or a webhook's secret.
 */
export function githubApi(
  baseUrl: string,
  token: string,
  options: ClientOptions = {},
): Required<Omit<ProviderApi, 'findHookAnywhere' | 'listChanges'>> {
  const client = openClient(baseUrl, token, 'for webhooks', options);
  const { about, ask, askBelow, getRepository, list } = client;
  const { methods, askHook, requireHook, noHook, addHook, resend } = hostHooks(client, {
    askBelow,
    paging: LARGEST_PAGE,
    maxPages: MAX_HOOK_PAGES,
    hookOf,
    hooksOf,
    words,
    hidden: words.noPermission,
  });

  return {
    type: 'github',
    ...methods,

    /** Without archived repositories; when there are too many, those last pushed to. */
    async listPlaces() {
      const context = about(null);
      let isPartial = false;
      const query = {
        affiliation: 'owner,collaborator,organization_member',
        sort: 'pushed',
        ...LARGEST_PAGE,
      };
      const listed = await list(
        (path, call) => ask(context, path, call),
        { path: '/user/repos', query },
        MAX_PLACE_PAGES,
        (json, _: readonly Repository[], { headers }) => {
          // GitHub leaves out organizations that require single sign-on, and only this header says so.
          isPartial ||= headers.has('x-github-sso');
          return repositoriesOf(json);
        },
      );
      const active = (listed?.items ?? []).filter(({ archived }) => archived !== true);
      return { places: sortPlaces(active.map(toPlace)), isCut: isPartial || listed?.isCut === true };
    },

    async getExpiry() {
      const { headers } = await ask(about(null), '/user/repos', { query: { per_page: 1 } });
      return expiryIn(headers);
    },

    /** A renamed repository comes under its new name. */
    getPlace: async (name) => toPlace(await getRepository(about(name.trim()))),

    createHook: (placeId, settings) =>
      addHook(about(placeId, settings.secret), placeId, { name: 'web', ...bodyOf(settings) }),

    async changeHook(placeId, hookId, settings) {
      const context = about(placeId, settings.secret);
      await requireHook(context, hookId, '', { method: 'PATCH', body: bodyOf(settings) });
      return undefined;
    },

    async pingHook(placeId, hookId) {
      await requireHook(about(placeId), hookId, '/pings', { method: 'POST' });
    },

    /** At most 2000. GitHub keeps attempts for some days only. */
    async listAttempts(placeId, hookId, since, etag) {
      const context = about(placeId);
      const listed = await listAttempts(
        client,
        (path, call) =>
          path.startsWith('/') ? askHook(context, hookId, path, call) : askBelow(context, path, call),
        '/deliveries',
        since,
        etag,
      );
      if (listed === null) throw noHook(context, hookId);
      return attemptList(listed);
    },

    /** GitHub sends it a moment later, as a new attempt of the same delivery. */
    redeliver: (placeId, hookId, attemptId) => resend(placeId, hookId, attemptId, attemptsRoute(attemptId)),
  };
}

/** GitHub writes `2026-12-24 10:00:00 UTC`, or an offset such as `+0100` at the end. */
function expiryIn(headers: Headers): string | null {
  const text = headers.get('github-authentication-token-expiration') ?? '';
  const [, day, time, zone = ''] = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) (UTC|[+-]\d{4})$/.exec(text) ?? [];
  return isoTime(
    day === undefined ? null : `${day}T${time}${zone === 'UTC' ? 'Z' : zone.replace(/..$/, ':$&')}`,
  );
}

/** The attempts since then of a hook, or of an App. */
export function listAttempts(
  { list }: Pick<ReturnType<typeof openClient>, 'list'>,
  read: Parameters<typeof list>[0],
  path: string,
  since: Date,
  etag: string | null = null,
) {
  const from = since.toISOString();
  const isOlder = ({ deliveredAt }: { deliveredAt: string }) => deliveredAt < from;
  const first = { path, query: LARGEST_PAGE };
  return list(read, first, MAX_ATTEMPT_PAGES, attemptsOf, isOlder, etag);
}

export const attemptsRoute = (attemptId: string) => `/deliveries/${encodeURIComponent(attemptId)}/attempts`;

/** Always whole: GitHub removes from `config` whatever a change leaves out, the secret included. */
const bodyOf = ({ url, secret, events }: HookSettings) => ({
  active: true,
  events: [...events],
  config: { url, secret, content_type: 'json', insecure_ssl: '0' },
});
