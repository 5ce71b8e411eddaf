import { systemClock } from '../../../lib/clock.ts';
import {
  type HookSettings,
  type ProviderApi,
  ProviderProblem,
  type RemoteAttempt,
  type RemoteHook,
} from '../../api.ts';
import { type GithubClient, type GithubOptions, hookPath, openClient, repositoryPath } from './client.ts';
import { attemptsOf, hookOf, hooksOf, repositoriesOf, toPlace } from './responses.ts';
import { words } from './words.ts';

const DEFAULTS: GithubOptions = { clock: systemClock, requestMs: 10_000, listingMs: 30_000 };

const PER_PAGE = 100;

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
export function githubApi(baseUrl: string, token: string, options: Partial<GithubOptions> = {}): ProviderApi {
  const client = openClient(baseUrl, token, { ...DEFAULTS, ...options });
  return { type: 'github', ...placesOf(client), ...hooksOfRepository(client), ...attemptsOfHook(client) };
}

function placesOf({ octokit, about, ask, getRepository, readPages }: GithubClient) {
  return {
    /** Without archived repositories; when there are too many, those last pushed to. */
    async listPlaces() {
      const repositories: ReturnType<typeof repositoriesOf> = [];
      let isPartial = false;
      const pages = octokit.paginate.iterator('GET /user/repos', {
        affiliation: 'owner,collaborator,organization_member',
        sort: 'pushed',
        per_page: PER_PAGE,
      });
      const { isCut } = await ask(about(null), () =>
        readPages(pages, MAX_PLACE_PAGES, ({ data, headers }) => {
          repositories.push(...repositoriesOf(data));
          // GitHub leaves out organizations that require single sign-on, and only this header says so.
          isPartial ||= 'x-github-sso' in headers;
          return true;
        }),
      );
      // A push between two pages can put a repository on both.
      const places = new Map(
        repositories
          .filter(({ archived }) => archived !== true)
          .map((each) => [each.full_name, toPlace(each)]),
      );
      const sorted = [...places.values()].sort(
        (a, b) => Number(b.canAdminister) - Number(a.canAdminister) || (a.name < b.name ? -1 : 1),
      );
      return { places: sorted, isCut: isCut || isPartial };
    },

    /** A renamed repository comes under its new name. */
    getPlace: async (name: string) => toPlace(await getRepository(about(name.trim()))),
  };
}

function hooksOfRepository({ octokit, about, askBelow, readPages }: GithubClient) {
  return {
    async listHooks(placeId: string) {
      const context = about(placeId);
      const hooks: RemoteHook[] = [];
      const pages = octokit.paginate.iterator('GET /repos/{owner}/{repo}/hooks', {
        ...repositoryPath(context),
        per_page: PER_PAGE,
      });
      const listed = await askBelow(context, () =>
        readPages(pages, MAX_HOOK_PAGES, ({ data }) => hooks.push(...hooksOf(placeId, data)) >= 0),
      );
      if (listed === null) throw new ProviderProblem('missing-permission', words.noPermission(context));
      // Half a list could lack the hook that the caller looks for.
      if (listed.isCut) throw new ProviderProblem('provider-failed', words.listTooSlow(context));
      return hooks;
    },

    async findHook(placeId: string, hookId: string) {
      const context = about(placeId);
      const path = hookPath(context, hookId);
      return askBelow(context, async () =>
        hookOf(placeId, (await octokit.request('GET /repos/{owner}/{repo}/hooks/{hook_id}', path)).data),
      );
    },

    async createHook(placeId: string, settings: HookSettings) {
      const context = about(placeId, settings.secret);
      const body = { ...repositoryPath(context), name: 'web', ...bodyOf(settings) };
      const hook = await askBelow(context, async () =>
        hookOf(placeId, (await octokit.request('POST /repos/{owner}/{repo}/hooks', body)).data),
      );
      if (hook === null) throw new ProviderProblem('missing-permission', words.noPermission(context));
      return hook;
    },

    async changeHook(placeId: string, hookId: string, settings: HookSettings) {
      const context = about(placeId, settings.secret);
      const body = { ...hookPath(context, hookId), ...bodyOf(settings) };
      const changed = await askBelow(context, () =>
        octokit.request('PATCH /repos/{owner}/{repo}/hooks/{hook_id}', body),
      );
      if (changed === null) throw new ProviderProblem('hook-not-found', words.noHook(context, hookId));
    },

    async deleteHook(placeId: string, hookId: string) {
      const context = about(placeId);
      const path = hookPath(context, hookId);
      await askBelow(context, () => octokit.request('DELETE /repos/{owner}/{repo}/hooks/{hook_id}', path));
    },

    async pingHook(placeId: string, hookId: string) {
      const context = about(placeId);
      const path = hookPath(context, hookId);
      const pinged = await askBelow(context, () =>
        octokit.request('POST /repos/{owner}/{repo}/hooks/{hook_id}/pings', path),
      );
      if (pinged === null) throw new ProviderProblem('hook-not-found', words.noHook(context, hookId));
    },
  };
}

/** Always whole: GitHub removes from `config` whatever a change leaves out, the secret included. */
const bodyOf = ({ url, secret, events }: HookSettings) => ({
  active: true,
  events: [...events],
  config: { url, secret, content_type: 'json', insecure_ssl: '0' },
});

function attemptsOfHook({ octokit, about, askBelow, readPages }: GithubClient) {
  return {
    /** At most 2000. GitHub keeps attempts for some days only. */
    async listAttempts(placeId: string, hookId: string, since: Date) {
      const context = about(placeId);
      const from = since.toISOString();
      const attempts: RemoteAttempt[] = [];
      const pages = octokit.paginate.iterator('GET /repos/{owner}/{repo}/hooks/{hook_id}/deliveries', {
        ...hookPath(context, hookId),
        per_page: PER_PAGE,
      });
      const listed = await askBelow(context, () =>
        readPages(pages, MAX_ATTEMPT_PAGES, ({ data }) => {
          const page = attemptsOf(data);
          const recent = page.filter(({ deliveredAt }) => deliveredAt >= from);
          attempts.push(...recent);
          return recent.length === page.length;
        }),
      );
      if (listed === null) throw new ProviderProblem('hook-not-found', words.noHook(context, hookId));
      return { attempts, isCut: listed.isCut };
    },

    /** GitHub sends it a moment later, as a new attempt of the same delivery. */
    async redeliver(placeId: string, hookId: string, attemptId: string) {
      const context = about(placeId);
      // Not a literal: Octokit's types want a number, and an attempt's id has more digits than a number can hold.
      const route: string = 'POST /repos/{owner}/{repo}/hooks/{hook_id}/deliveries/{delivery_id}/attempts';
      const path = { ...hookPath(context, hookId), delivery_id: attemptId };
      const sent = await askBelow(context, () => octokit.request(route, path));
      if (sent === null) throw new ProviderProblem('refused', words.noAttempt(context, attemptId));
    },
  };
}
