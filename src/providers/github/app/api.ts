import { Type } from '@sinclair/typebox';
import { BoundedMap } from '../../../lib/bounded-map.ts';
import { type Clock, systemClock } from '../../../lib/time.ts';
import { ProviderProblem, type RemoteHook } from '../../api.ts';
import { APP_HOOK, type AppApi, type AppCredential, type Installation, type NewApp } from '../../app.ts';
import { attemptList, type Call, type ClientOptions, sortPlaces } from '../../host.ts';
import type { RepositoryReader } from '../../reader.ts';
import type { ApiResponse } from '../../rest.ts';
import { openClient } from '../api/client.ts';
import { attemptsRoute, LARGEST_PAGE, listAttempts, MAX_PLACE_PAGES } from '../api/index.ts';
import { githubReader } from '../api/reader.ts';
import { checked, repositoriesOf, toPlace, words } from '../api/responses.ts';
import { appToken, keyHash, parsePrivateKey, settingsPage } from './support.ts';

// The parts of GitHub's responses about Apps that Tidings reads. Every function throws `ProviderProblem` for another shape.

const Id = Type.Integer({ minimum: 1 });
const Login = Type.String({ pattern: '^[\\w-]{1,100}$' });

const Account = Type.Optional(Type.Union([Type.Object({ id: Type.Optional(Id) }), Type.Null()]));

const App = Type.Object({ id: Id, owner: Account, events: Type.Array(Type.String()) });

const Created = Type.Object({
  id: Id,
  slug: Login,
  owner: Type.Object({ login: Type.Optional(Login), type: Type.Optional(Type.String()) }),
  pem: Type.String({ maxLength: 10_000 }),
  webhook_secret: Type.String({ minLength: 1, maxLength: 1_000 }),
});

const Installations = Type.Array(
  Type.Object({
    id: Id,
    app_id: Id,
    account: Account,
    suspended_at: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  }),
);

const AccessToken = Type.Object({
  token: Type.String({ pattern: '^[\\x21-\\x7e]{1,1000}$' }),
  expires_at: Type.String(),
});

const Config = Type.Object({
  url: Type.Optional(Type.String()),
  content_type: Type.Optional(Type.String()),
  secret: Type.Optional(Type.String()),
});

const Repositories = Type.Object({ repositories: Type.Array(Type.Unknown()) });

export const appOf = (data: unknown) => checked(App, data, 'an App');
export const configOf = (data: unknown) => checked(Config, data, "an App's webhook");

export function createdOf(baseUrl: string, data: unknown): NewApp {
  const { id, slug, owner, pem, webhook_secret: webhookSecret } = checked(Created, data, 'a new App');
  if (parsePrivateKey(pem) === null) throw otherShape('a private key');
  const account = { login: owner.login ?? '', isOrganization: owner.type === 'Organization' };
  return { appId: id, slug, url: settingsPage(baseUrl, slug, account), privateKey: pem, webhookSecret };
}

export function installationsOf(data: unknown): (Installation & { accountId: number | null })[] {
  return checked(Installations, data, 'installations').map(({ id, account, suspended_at }) => ({
    id,
    accountId: account?.id ?? null,
    suspendedAt: suspended_at ?? null,
  }));
}

export function accessTokenOf(data: unknown): { token: string; expiresAt: number } {
  const { token, expires_at } = checked(AccessToken, data, 'an access token');
  const expiresAt = Date.parse(expires_at);
  if (Number.isNaN(expiresAt)) throw otherShape('the end of an access token');
  return { token, expiresAt };
}

export function installedOf(data: unknown) {
  const list = checked(Repositories, data, 'repositories').repositories;
  // An installation has no roles: it may read what it has.
  return repositoriesOf(list).map((each) => ({ ...toPlace(each), canAdminister: true }));
}

const otherShape = (expected: string) => new ProviderProblem('provider-failed', words.otherShape(expected));

/** Tokens end after an hour. They are renewed that long before, in milliseconds. */
const RENEW_MS = 10 * 60_000;

const MAX_KEPT = 500;

/** `renewAt`: in milliseconds since 1970; infinite until the token is there. */
interface Kept {
  token: Promise<string>;
  renewAt: number;
}

/** The tokens of this process, by API, installation and key. They are nowhere else. */
const kept = new BoundedMap<string, Kept>(MAX_KEPT);

const tokenKey = (baseUrl: string, { appId, installationId, privateKey }: AppCredential) =>
  [baseUrl, appId, installationId, keyHash(privateKey)].join(' ');

/** GitHub's API as the App itself, and its failures in the words of an App. */
function openAsApp(baseUrl: string, app: AppCredential, options: ClientOptions & { clock: Clock }) {
  const client = openClient(baseUrl, async () => appToken(app, options.clock), 'of an App', options);
  /** Null when GitHub has no such thing. */
  const find = (path: string, call?: Call) => client.askAsApp(app.slug, path, call);
  return { ...client, find };
}

/** A token of the installation. Asks GitHub once, however many callers need it. Throws `ProviderProblem`. */
export function installationToken(baseUrl: string, app: AppCredential, clock: Clock): Promise<string> {
  const key = tokenKey(baseUrl, app);
  const known = kept.get(key);
  if (known !== undefined && clock.now().getTime() < known.renewAt) return known.token;
  const made = requestToken(baseUrl, app, clock);
  const entry: Kept = { renewAt: Number.POSITIVE_INFINITY, token: made.then(({ token }) => token) };
  made.then(
    ({ expiresAt }) => {
      entry.renewAt = expiresAt - RENEW_MS;
    },
    () => forgetEntry(key, entry),
  );
  kept.set(key, entry);
  return entry.token;
}

function forgetEntry(key: string, entry: Kept): void {
  if (kept.get(key) === entry) kept.delete(key);
}

async function requestToken(baseUrl: string, app: AppCredential, clock: Clock) {
  const { find, about } = openAsApp(baseUrl, app, { clock });
  const { installationId } = app;
  const notInstalled = () =>
    new ProviderProblem('missing-permission', words.notInstalled(app.slug, about(null).web));
  if (installationId === null) throw notInstalled();
  const path = `/app/installations/${installationId}/access_tokens`;
  const made = await find(path, { method: 'POST' });
  if (made === null) throw notInstalled();
  return accessTokenOf(made.json);
}

/** Throws `ProviderProblem` `refused` for a code that GitHub does not know, or not any more. */
export async function createApp(baseUrl: string, code: string, options: ClientOptions): Promise<NewApp> {
  const { send, accept, about } = openClient(baseUrl, null, 'of an App', options);
  const badCode = () => new ProviderProblem('refused', words.badCode);
  if (!/^[\w-]{1,200}$/.test(code)) throw badCode();
  const response = await send(`/app-manifests/${code}/conversions`, { method: 'POST' });
  if ([404, 422].includes(response.status)) throw badCode();
  return createdOf(baseUrl, accept(response, { ...about(null), secrets: [code] }).json);
}

/** GitHub's REST API on behalf of an App. `baseUrl` as for `githubApi`. No error holds the key or a token. */
export function githubAppApi(
  baseUrl: string,
  app: AppCredential,
  options: ClientOptions = {},
): AppApi & Required<Pick<AppApi, 'listAttempts' | 'redeliver'>> {
  const clock = options.clock ?? systemClock;
  const client = openAsApp(baseUrl, app, { ...options, clock });
  const { find } = client;
  const openInstallation = () => {
    const [token, more] = asInstallation(baseUrl, app, options);
    return openClient(baseUrl, token, 'of an App', more);
  };

  /** As `find`, but GitHub must have it. */
  async function need(path: string, call?: Call): Promise<ApiResponse> {
    const response = await find(path, call);
    if (response === null) throw new ProviderProblem('hook-not-found', words.isGone(app.slug));
    return response;
  }

  async function getHook(): Promise<RemoteHook> {
    const config = configOf((await need('/app/hook/config')).json);
    const { events } = appOf((await need('/app')).json);
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
    const { owner } = appOf((await need('/app')).json);
    return all.find(({ accountId }) => accountId !== null && accountId === owner?.id);
  }

  const notByHand = () => new ProviderProblem('refused', 'A GitHub App has one webhook.');

  return {
    type: 'github',

    async findInstallation({ ofOwner = false } = {}) {
      const response = await need('/app/installations', { query: LARGEST_PAGE });
      const all = installationsOf(response.json);
      const known = all.find(({ id }) => id === app.installationId);
      // A private App is installed on the account that owns it, once. Anybody can install a public one.
      const found = known ?? (ofOwner && all.length > 0 ? await findOwn(all) : all[0]);
      return found === undefined ? null : { id: found.id, suspendedAt: found.suspendedAt };
    },

    async listPlaces() {
      const { ask, about, list } = openInstallation();
      const listed = await list(
        (path, call) => ask(about(null), path, call),
        { path: '/installation/repositories', query: LARGEST_PAGE },
        MAX_PLACE_PAGES,
        installedOf,
      );
      return { places: sortPlaces(listed?.items ?? []), isCut: listed?.isCut === true };
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
      await need('/app/hook/config', { method: 'PATCH', body });
      return undefined;
    },

    /** Uninstalls the App, which ends its deliveries. Only a person can delete it. */
    async deleteHook() {
      const installed = await find('/app/installations', { query: { per_page: 10 } });
      for (const { id } of installed === null ? [] : installationsOf(installed.json)) {
        await find(`/app/installations/${id}`, { method: 'DELETE' });
      }
    },

    async listAttempts(_placeId, _hookId, since, etag) {
      const listed = await listAttempts(client, need, '/app/hook/deliveries', since, etag);
      return attemptList(listed ?? { items: [], isCut: false, etag: null, isUnchanged: false });
    },

    async redeliver(placeId, _hookId, attemptId) {
      const sent = await find(`/app/hook${attemptsRoute(attemptId)}`, { method: 'POST' });
      if (sent === null) throw new ProviderProblem('refused', words.noAttempt(placeId, attemptId));
    },
  };
}

export function githubAppReader(
  baseUrl: string,
  app: AppCredential,
  options: ClientOptions,
): RepositoryReader {
  return githubReader(baseUrl, ...asInstallation(baseUrl, app, options));
}

/** A token for each request, which is renewed when it ends, or when GitHub rejects it. */
function asInstallation(baseUrl: string, app: AppCredential, options: ClientOptions) {
  const { clock = systemClock } = options;
  const token = () => installationToken(baseUrl, app, clock);
  const onResponse = ({ status }: ApiResponse) => {
    if (status === 401) kept.delete(tokenKey(baseUrl, app));
  };
  return [token, { ...options, onResponse }] as const;
}
