import { type HookSettings, type ProviderApi, ProviderProblem, type RemoteHook } from '../../api.ts';
import type { Call } from '../../rest.ts';
import { type Context, type GithubOptions, hookPath, openClient, repositoryPath } from './client.ts';
import { attemptsOf, hookOf, hooksOf, repositoriesOf, toPlace, words } from './responses.ts';

/** A thousand repositories: enough to choose from. Any other can be named. */
const MAX_PLACE_PAGES = 10;

/** GitHub allows 20 hooks for each of its seventy-odd events, so no repository has more. */
const MAX_HOOK_PAGES = 20;

const MAX_ATTEMPT_PAGES = 20;

/**
 * GitHub's REST API on behalf of a token, fine-grained or classic. `baseUrl` has no trailing slash:
 * `https://api.github.com`, or `https://HOST/api/v3`. Never retries, writes nothing to the console, and no error holds
 * the token or a webhook's secret.
 */
export function githubApi(
  baseUrl: string,
  token: string,
  options: GithubOptions = {},
): Required<Omit<ProviderApi, 'findHookAnywhere'>> {
  const { request, about, ask, askBelow, askHook, getRepository, readPages } = openClient(
    baseUrl,
    token,
    'for webhooks',
    options,
  );

  /** As `askHook`, but a hook that does not exist is a problem. */
  async function requireHook(context: Context, hookId: string, below: string, call: Call) {
    if ((await askHook(context, hookId, below, call)) === null) throw noHook(context, hookId);
  }

  return {
    type: 'github',

    /** Without archived repositories; when there are too many, those last pushed to. */
    async listPlaces() {
      const repositories: ReturnType<typeof repositoriesOf> = [];
      let isPartial = false;
      const query = { affiliation: 'owner,collaborator,organization_member', sort: 'pushed' };
      const { isCut } = await ask(about(null), () =>
        readPages('/user/repos', query, MAX_PLACE_PAGES, (json, { headers }) => {
          repositories.push(...repositoriesOf(json));
          // GitHub leaves out organizations that require single sign-on, and only this header says so.
          isPartial ||= headers.has('x-github-sso');
          return true;
        }),
      );
      const active = repositories.filter(({ archived }) => archived !== true);
      // A push between two pages can put a repository on both.
      const places = [...new Map(active.map((each) => [each.full_name, toPlace(each)])).values()].sort(
        (a, b) => Number(b.canAdminister) - Number(a.canAdminister) || (a.name < b.name ? -1 : 1),
      );
      return { places, isCut: isCut || isPartial };
    },

    /** A renamed repository comes under its new name. */
    getPlace: async (name) => toPlace(await getRepository(about(name.trim()))),

    async listHooks(placeId) {
      const context = about(placeId);
      const path = `${repositoryPath(context)}/hooks`;
      const hooks: RemoteHook[] = [];
      const listed = await askBelow(context, () =>
        readPages(path, {}, MAX_HOOK_PAGES, (json) => {
          hooks.push(...hooksOf(placeId, json));
          return true;
        }),
      );
      if (listed === null) throw new ProviderProblem('missing-permission', words.noPermission(context));
      // Half a list could lack the hook that the caller looks for.
      if (listed.isCut) throw new ProviderProblem('provider-failed', words.listTooSlow(context));
      return hooks;
    },

    async findHook(placeId, hookId) {
      const response = await askHook(about(placeId), hookId);
      return response && hookOf(placeId, response.json);
    },

    async createHook(placeId, settings) {
      const context = about(placeId, settings.secret);
      const path = `${repositoryPath(context)}/hooks`;
      const body = { name: 'web', ...bodyOf(settings) };
      const response = await askBelow(context, () => request(path, { method: 'POST', body }));
      if (response === null) throw new ProviderProblem('missing-permission', words.noPermission(context));
      return hookOf(placeId, response.json);
    },

    async changeHook(placeId, hookId, settings) {
      const context = about(placeId, settings.secret);
      await requireHook(context, hookId, '', { method: 'PATCH', body: bodyOf(settings) });
    },

    async deleteHook(placeId, hookId) {
      await askHook(about(placeId), hookId, '', { method: 'DELETE' });
    },

    pingHook: (placeId, hookId) => requireHook(about(placeId), hookId, '/pings', { method: 'POST' }),

    /** At most 2000. GitHub keeps attempts for some days only. */
    async listAttempts(placeId, hookId, since) {
      const context = about(placeId);
      const path = `${hookPath(context, hookId)}/deliveries`;
      const from = since.toISOString();
      const attempts: ReturnType<typeof attemptsOf> = [];
      const listed = await askBelow(context, () =>
        readPages(path, {}, MAX_ATTEMPT_PAGES, (json) => {
          const page = attemptsOf(json);
          const recent = page.filter(({ deliveredAt }) => deliveredAt >= from);
          attempts.push(...recent);
          return recent.length === page.length;
        }),
      );
      if (listed === null) throw noHook(context, hookId);
      return { attempts, isCut: listed.isCut };
    },

    /** GitHub sends it a moment later, as a new attempt of the same delivery. */
    async redeliver(placeId, hookId, attemptId) {
      const below = `/deliveries/${encodeURIComponent(attemptId)}/attempts`;
      const sent = await askHook(about(placeId), hookId, below, { method: 'POST' });
      if (sent === null) throw new ProviderProblem('refused', words.noAttempt(placeId, attemptId));
    },
  };
}

/** Always whole: GitHub removes from `config` whatever a change leaves out, the secret included. */
const bodyOf = ({ url, secret, events }: HookSettings) => ({
  active: true,
  events: [...events],
  config: { url, secret, content_type: 'json', insecure_ssl: '0' },
});

const noHook = (context: Context, hookId: string) =>
  new ProviderProblem('hook-not-found', words.noHook(context, hookId));
