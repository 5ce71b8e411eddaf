import { systemClock } from '../../../lib/time.ts';
import { type Place, ProviderProblem, type RemoteHook } from '../../api.ts';
import { APP_HOOK, type AppApi, type AppCredential, type NewApp } from '../../app.ts';
import type { RepositoryReader } from '../../reader.ts';
import { type GithubOptions, openClient } from '../api/client.ts';
import { problemOf, refusalOf } from '../api/problems.ts';
import { githubReader } from '../api/reader.ts';
import { attemptsOf, toPlace } from '../api/responses.ts';
import { words } from '../api/words.ts';
import { appOf, configOf, createdOf, installationsOf, installedOf } from './responses.ts';
import { forgetToken, installationToken, openAsApp } from './tokens.ts';

/** A thousand repositories. */
const MAX_PLACE_PAGES = 10;

const MAX_ATTEMPT_PAGES = 20;

/** Throws `ProviderProblem` `refused` for a code that GitHub does not know, or not any more. */
export async function createApp(baseUrl: string, code: string, options: GithubOptions): Promise<NewApp> {
  const { request, about } = openClient(baseUrl, null, 'of an App', options);
  const badCode = () => new ProviderProblem('refused', words.badCode);
  if (!/^[\w-]{1,200}$/.test(code)) throw badCode();
  try {
    const { json } = await request(`/app-manifests/${code}/conversions`, { method: 'POST' });
    return createdOf(baseUrl, json);
  } catch (error) {
    if ([404, 422].includes(refusalOf(error, [code])?.status ?? 0)) throw badCode();
    throw problemOf(error, { ...about(null), secrets: [code] });
  }
}

/** GitHub's REST API on behalf of an App. `baseUrl` as for `githubApi`. No error holds the key or a token. */
export function githubAppApi(
  baseUrl: string,
  app: AppCredential,
  options: GithubOptions = {},
): AppApi & Required<Pick<AppApi, 'listAttempts' | 'redeliver'>> {
  const clock = options.clock ?? systemClock;
  const { request, find, readPages } = openAsApp(baseUrl, app, { ...options, clock });
  const openInstallation = () => {
    const [token, more] = asInstallation(baseUrl, app, options);
    return openClient(baseUrl, token, 'of an App', more);
  };

  /** As `find`, but GitHub must have it. */
  async function need<T>(work: () => Promise<T>): Promise<T> {
    const response = await find(work);
    if (response === null) throw new ProviderProblem('hook-not-found', words.isGone(app.slug));
    return response;
  }

  async function getHook(): Promise<RemoteHook> {
    const config = configOf((await need(() => request('/app/hook/config'))).json);
    const { events } = appOf((await need(() => request('/app'))).json);
    return {
      id: APP_HOOK,
      placeId: APP_HOOK,
      url: config.url ?? '',
      events: events.toSorted(),
      // GitHub's API says neither.
      isActive: true,
      lastResponse: null,
      isJson: config.content_type === 'json',
      hasSecret: (config.secret ?? '') !== '',
    };
  }

  async function findOwn(all: ReturnType<typeof installationsOf>) {
    const { owner } = appOf((await need(() => request('/app'))).json);
    return all.find(({ accountId }) => accountId !== null && accountId === owner?.id);
  }

  const notByHand = () => new ProviderProblem('refused', 'A GitHub App has one webhook.');

  return {
    type: 'github',

    async findInstallation({ ofOwner = false } = {}) {
      const response = await need(() => request('/app/installations', { query: { per_page: 100 } }));
      const all = installationsOf(response.json);
      const known = all.find(({ id }) => id === app.installationId);
      // A private App is installed on the account that owns it, once. Anybody can install a public one.
      const found = known ?? (ofOwner && all.length > 0 ? await findOwn(all) : all[0]);
      return found === undefined ? null : { id: found.id, suspendedAt: found.suspendedAt };
    },

    async listPlaces() {
      const { ask, about, readPages } = openInstallation();
      const places = new Map<string, Place>();
      const { isCut } = await ask(about(null), () =>
        readPages('/installation/repositories', {}, MAX_PLACE_PAGES, (json) => {
          for (const place of installedOf(json)) places.set(place.id, place);
          return true;
        }),
      );
      return { places: [...places.values()], isCut };
    },

    async getPlace(name) {
      const { getRepository, about } = openInstallation();
      return { ...toPlace(await getRepository(about(name.trim()))), canAdminister: true };
    },

    listHooks: async () => [await getHook()],
    findHook: () => getHook(),
    createHook: () => Promise.reject(notByHand()),

    /** The person who owns the App chooses its events: the API cannot. */
    async changeHook(_placeId, _hookId, { url, secret }) {
      const body = { url, secret, content_type: 'json', insecure_ssl: '0' };
      await need(() => request('/app/hook/config', { method: 'PATCH', body }));
    },

    /** Uninstalls the App, which ends its deliveries. Only a person can delete it. */
    async deleteHook() {
      const installed = await find(() => request('/app/installations', { query: { per_page: 10 } }));
      for (const { id } of installed === null ? [] : installationsOf(installed.json)) {
        await find(() => request(`/app/installations/${id}`, { method: 'DELETE' }));
      }
    },

    async listAttempts(_placeId, _hookId, since) {
      const from = since.toISOString();
      const attempts: ReturnType<typeof attemptsOf> = [];
      const { isCut } = await need(() =>
        readPages('/app/hook/deliveries', {}, MAX_ATTEMPT_PAGES, (json) => {
          const page = attemptsOf(json);
          const recent = page.filter(({ deliveredAt }) => deliveredAt >= from);
          attempts.push(...recent);
          return recent.length === page.length;
        }),
      );
      return { attempts, isCut };
    },

    async redeliver(placeId, _hookId, attemptId) {
      const path = `/app/hook/deliveries/${encodeURIComponent(attemptId)}/attempts`;
      const sent = await find(() => request(path, { method: 'POST' }));
      if (sent === null) throw new ProviderProblem('refused', words.noAttempt(placeId, attemptId));
    },
  };
}

export function githubAppReader(
  baseUrl: string,
  app: AppCredential,
  options: GithubOptions,
): RepositoryReader {
  return githubReader(baseUrl, ...asInstallation(baseUrl, app, options));
}

/** A token for each request, which is renewed when it ends, or when GitHub rejects it. */
function asInstallation(baseUrl: string, app: AppCredential, options: GithubOptions) {
  const { clock = systemClock } = options;
  const token = () => installationToken(baseUrl, app, clock);
  return [token, { ...options, onBadToken: () => forgetToken(baseUrl, app) }] as const;
}
