import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { SECRET_KEY_BYTES } from '../../../src/lib/secret-box.ts';
import { APP_HOOK, type AppCredential } from '../../../src/providers/app.ts';
import {
  createApp,
  githubAppApi,
  githubAppReader,
  installationToken,
} from '../../../src/providers/github/app/api.ts';
import {
  appToken,
  githubApps,
  pages,
  parsePrivateKey,
  registration,
} from '../../../src/providers/github/app/support.ts';
import { fixedClock, type MovableClock } from '../../support/clock.ts';
import { githubExamples, githubSchemas } from '../../support/github.ts';
import { makeKeys, type StoredApp } from '../../support/github-api/apps.ts';
import { type GithubApi, startGithubApi } from '../../support/github-api/server.ts';
import type { StoredRepository } from '../../support/github-api/state.ts';
import { problemOf } from '../../support/problem-of.ts';

const NOWHERE = 'http://127.0.0.1:9';

const request = {
  name: 'Tidings of Acme',
  owner: null,
  homepageUrl: NOWHERE,
  webhookUrl: `${NOWHERE}/api/webhooks/github-app/org_a/int_1`,
  createdUrl: `${NOWHERE}/created`,
  installedUrl: `${NOWHERE}/installed`,
  state: 'sealed+state/',
};

describe('the form that creates an App', () => {
  const manifestOf = (fields: Readonly<Record<string, string>>) => JSON.parse(fields.manifest ?? '');

  test('goes to the account of the person or to an organization, with the state', () => {
    const own = registration(undefined, request);
    expect(own.action).toBe('https://github.com/settings/apps/new?state=sealed%2Bstate%2F');
    const acme = registration('https://github.acme.test/api/v3', { ...request, owner: 'acme-inc' });
    expect(acme.action).toBe(
      'https://github.acme.test/organizations/acme-inc/settings/apps/new?state=sealed%2Bstate%2F',
    );
  });

  test('asks for reading alone, for one webhook, and for a private App', () => {
    expect(manifestOf(registration(undefined, request).fields)).toEqual({
      name: 'Tidings of Acme',
      url: NOWHERE,
      hook_attributes: { url: request.webhookUrl, active: true },
      redirect_url: request.createdUrl,
      setup_url: request.installedUrl,
      setup_on_update: true,
      public: false,
      default_permissions: { contents: 'read', metadata: 'read', pull_requests: 'read' },
      default_events: ['push', 'pull_request', 'release'],
    });
  });

  test('keeps to the length of names at GitHub', () => {
    const long = registration(undefined, { ...request, name: `Tidings ${'x'.repeat(50)}` });
    expect(manifestOf(long.fields).name.length).toBeLessThanOrEqual(34);
  });

  test.each(['acme/x', '../x', '-acme', 'a b', '', 'x'.repeat(40)])(
    'refuses %p as an organization',
    (owner) => {
      expect(() => registration(undefined, { ...request, owner })).toThrow('organization at GitHub');
    },
  );
});

test('an App has pages for its repositories, its keys and its end', () => {
  const app = { slug: 'tidings', url: 'https://github.com/organizations/acme/settings/apps/tidings' };
  expect(pages(undefined, app)).toEqual({
    install: 'https://github.com/apps/tidings/installations/new',
    settings: app.url,
    installations: `${app.url}/installations`,
    danger: `${app.url}/advanced`,
  });
});

test('only an RSA key is a private key of an App', () => {
  const { privateKey, publicKey } = makeKeys();
  expect(parsePrivateKey(privateKey)).not.toBeNull();
  for (const text of ['', 'x', publicKey, privateKey.slice(0, 200), 'A'.repeat(SECRET_KEY_BYTES)]) {
    expect(parsePrivateKey(text)).toBeNull();
  }
});

let clock: MovableClock;
let github: GithubApi;
let rocket: StoredRepository;
let engine: StoredRepository;

beforeEach(() => {
  clock = fixedClock('2026-11-21T03:49:17.500Z');
  github = startGithubApi({ clock });
  rocket = github.addRepository('acme/rocket');
  engine = github.addRepository('acme/engine');
});

afterEach(async () => {
  await github.settled();
  github[Symbol.dispose]();
});

/** Sends the form to GitHub's page as a browser does, agrees there, and returns where that leads. */
async function agree(owner: string | null = null): Promise<URL> {
  const { action, fields } = registration(github.url, { ...request, owner });
  const body = new URLSearchParams({ ...fields, name: 'Tidings of Acme' });
  const response = await fetch(action, { method: 'POST', body, redirect: 'manual' });
  return new URL(response.headers.get('location') ?? '');
}

async function makeApp() {
  const code = (await agree('acme')).searchParams.get('code') ?? '';
  const { webhookSecret, url, ...made } = await createApp(github.url, code, { clock });
  const [app] = github.apps as [StoredApp];
  const credential: AppCredential = { ...made, installationId: null };
  return { app, credential, webhookSecret, url, code };
}

async function installedApp(...repositories: StoredRepository[]) {
  const made = await makeApp();
  github.installApp(made.app, repositories);
  await github.settled();
  const installationId = made.app.installation?.id ?? null;
  return { ...made, credential: { ...made.credential, installationId } };
}

const tokensMade = () => github.requests.filter(({ path }) => path.endsWith('/access_tokens')).length;

describe('creating an App', () => {
  test('exchanges the code for its key and its secret, once', async () => {
    const { app, credential, webhookSecret, url, code } = await makeApp();
    expect(credential).toMatchObject({ appId: app.id, slug: 'tidings-of-acme' });
    expect(parsePrivateKey(credential.privateKey)).not.toBeNull();
    expect(webhookSecret).toBe(app.hook.config.secret ?? '');
    expect(url).toBe(`${github.url}/organizations/acme/settings/apps/tidings-of-acme`);
    const again = await problemOf(createApp(github.url, code, { clock }), [code]);
    expect(again).toMatchObject({ kind: 'refused', message: expect.stringContaining('Delete the new App') });
  });

  test('GitHub sends the state back with the code', async () => {
    const target = await agree();
    expect(target.href).toStartWith(`${request.createdUrl}?`);
    expect(target.searchParams.get('state')).toBe(request.state);
  });

  test.each(['', 'a/../b', 'x'.repeat(201)])('asks GitHub nothing for the code %p', async (code) => {
    expect(await problemOf(createApp(github.url, code, { clock }), [])).toMatchObject({ kind: 'refused' });
    expect(github.requests).toEqual([]);
  });

  test.each([
    ['a key that is none', { pem: 'no key' }],
    ['no webhook secret', { webhook_secret: null }],
    ['a slug that is a path', { slug: '../x' }],
    ['no id', { id: 'x' }],
  ])('refuses a response with %s', async (_, wrong) => {
    const code = (await agree()).searchParams.get('code') ?? '';
    const [app] = github.apps as [StoredApp];
    const { privateKey: pem } = makeKeys();
    github.failNext(() =>
      Response.json(
        {
          id: app.id,
          slug: app.slug,
          owner: { login: 'ann', type: 'User' },
          pem,
          webhook_secret: 'x',
          ...wrong,
        },
        { status: 201 },
      ),
    );
    const problem = await problemOf(createApp(github.url, code, { clock }), [pem]);
    expect(problem).toMatchObject({
      kind: 'provider-failed',
      message: expect.stringContaining('unexpected'),
    });
  });
});

describe('signing in as an App', () => {
  test('a JWT lasts nine minutes, and may be a minute early', async () => {
    const { credential } = await makeApp();
    const [, claims = ''] = appToken(credential, clock).split('.');
    const now = Math.floor(clock.now().getTime() / 1000);
    expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toEqual({
      iat: now - 60,
      exp: now + 540,
      iss: String(credential.appId),
    });
  });

  test('finds its installation, and that somebody suspended it', async () => {
    const { app, credential } = await makeApp();
    const api = githubAppApi(github.url, credential, { clock });
    expect(await api.findInstallation()).toBeNull();
    github.installApp(app, [rocket]);
    expect(await api.findInstallation()).toEqual({ id: app.installation?.id ?? 0, suspendedAt: null });
    github.suspendApp(app);
    expect(await api.findInstallation()).toMatchObject({ suspendedAt: '2026-11-21T03:49:17Z' });
  });

  test('a key that somebody deleted at GitHub is named', async () => {
    const { app, credential } = await makeApp();
    app.publicKeys.length = 0;
    const api = githubAppApi(github.url, credential, { clock });
    expect(await problemOf(api.findInstallation(), [credential.privateKey])).toMatchObject({
      kind: 'bad-token',
      message: expect.stringContaining('private key of the App tidings-of-acme'),
    });
  });
});

describe('tokens of the installation', () => {
  test('read the repositories that were chosen, and no other', async () => {
    const { credential } = await installedApp(rocket);
    const api = githubAppApi(github.url, credential, { clock });
    expect(await api.listPlaces()).toEqual({
      places: [{ id: 'acme/rocket', name: 'acme/rocket', providerId: rocket.id, canAdminister: true }],
      isCut: false,
    });
    const reader = githubAppReader(github.url, credential, { clock });
    expect(await reader.getRepository('acme/rocket')).toMatchObject({
      providerId: rocket.id,
      isPrivate: true,
    });
    expect(await problemOf(reader.getRepository('acme/engine'), [])).toMatchObject({
      kind: 'place-not-found',
    });
  });

  test('are kept, asked for once by all, and renewed before they end', async () => {
    const { credential } = await installedApp(rocket);
    const token = () => installationToken(github.url, credential, clock);
    const [one, other] = await Promise.all([token(), token()]);
    expect(one).toBe(other ?? '');
    clock.advance(49 * 60_000);
    expect(await token()).toBe(one ?? '');
    expect(tokensMade()).toBe(1);
    clock.advance(2 * 60_000);
    expect(await token()).not.toBe(one ?? '');
    expect(tokensMade()).toBe(2);
  });

  test('a reader outlives its token', async () => {
    const { credential } = await installedApp(rocket);
    const reader = githubAppReader(github.url, credential, { clock });
    await reader.getRepository('acme/rocket');
    clock.advance(3 * 3_600_000);
    await reader.getRepository('acme/rocket');
    expect(tokensMade()).toBe(2);
  });

  test('one that GitHub rejects is not used again', async () => {
    const { credential } = await installedApp(rocket);
    const reader = githubAppReader(github.url, credential, { clock });
    await reader.getRepository('acme/rocket');
    github.tokens.clear();
    expect(await problemOf(reader.getRepository('acme/rocket'), [])).toMatchObject({ kind: 'bad-token' });
    await reader.getRepository('acme/rocket');
    expect(tokensMade()).toBe(2);
  });

  test('a failure is not kept', async () => {
    const { credential } = await installedApp(rocket);
    github.failNext('answers 500');
    const token = () => installationToken(github.url, credential, clock);
    expect(await problemOf(token(), [credential.privateKey])).toMatchObject({ kind: 'provider-failed' });
    expect(await token()).toStartWith('ghs_');
  });

  test('there is none without an installation, or while it is suspended', async () => {
    const { app, credential } = await installedApp(rocket);
    const none = installationToken(github.url, { ...credential, installationId: null }, clock);
    expect(await problemOf(none, [])).toMatchObject({
      kind: 'missing-permission',
      message: expect.stringContaining('is not installed'),
    });
    github.suspendApp(app);
    expect(await problemOf(installationToken(github.url, credential, clock), [])).toMatchObject({
      message: expect.stringContaining('suspended'),
    });
    github.uninstallApp(app);
    expect(await problemOf(installationToken(github.url, credential, clock), [])).toMatchObject({
      message: expect.stringContaining('is not installed'),
    });
  });
});

describe('the webhook of an App', () => {
  test('is found with its events, and gets a new secret', async () => {
    const { app, credential } = await installedApp(rocket);
    const api = githubAppApi(github.url, credential, { clock });
    expect(await api.findHook(APP_HOOK, APP_HOOK)).toMatchObject({
      url: request.webhookUrl,
      events: ['pull_request', 'push', 'release'],
      hasSecret: true,
      isJson: true,
    });
    const events = ['push'];
    await api.changeHook(APP_HOOK, APP_HOOK, { url: `${NOWHERE}/other`, secret: 'a new one', events });
    expect(app.hook.config).toMatchObject({ url: `${NOWHERE}/other`, secret: 'a new one' });
  });

  test('lists its deliveries, and sends one again', async () => {
    const { app, credential } = await installedApp(rocket);
    await github.emit(rocket, 'push', { repository: { id: rocket.id } });
    await github.emit(engine, 'push', { repository: { id: engine.id } });
    const api = githubAppApi(github.url, credential, { clock });
    const listed = await api.listAttempts(APP_HOOK, APP_HOOK, new Date(0));
    expect(listed.attempts.map(({ event, statusCode }) => [event, statusCode])).toEqual([
      ['push', null],
      ['installation', null],
    ]);
    await api.redeliver(APP_HOOK, APP_HOOK, listed.attempts[0]?.id ?? '');
    await github.settled();
    expect(app.hook.attempts.map(({ isRedelivery }) => isRedelivery)).toEqual([true, false, false]);
    expect(await problemOf(api.redeliver(APP_HOOK, APP_HOOK, '1'), [])).toMatchObject({ kind: 'refused' });
  });

  test('ends with the installation', async () => {
    const { app, credential } = await installedApp(rocket);
    const api = githubAppApi(github.url, credential, { clock });
    await api.deleteHook(APP_HOOK, APP_HOOK);
    expect(app.installation).toBeNull();
    await api.deleteHook(APP_HOOK, APP_HOOK);
  });
});

describe('events about the installation', () => {
  test('are those that GitHub sends', async () => {
    const seen = (await githubExamples()).flatMap(({ event, payload }) => {
      const read = githubApps.readChange(event, payload);
      return read === null ? [] : [`${event} ${payload.action}: ${read.change?.kind ?? read.result.outcome}`];
    });
    expect([...new Set(seen)].sort()).toEqual([
      'installation created: installed',
      'installation deleted: uninstalled',
      'installation new_permissions_accepted: ignored',
      'installation suspend: suspended',
      'installation unsuspend: unsuspended',
      'installation_repositories added: repositories',
      'installation_repositories removed: repositories',
    ]);
  });

  test('the stand-in sends them as GitHub describes them', async () => {
    const violations = await githubSchemas();
    const { app } = await installedApp(rocket);
    github.installApp(app, [engine]);
    github.suspendApp(app);
    github.suspendApp(app, false);
    github.uninstallApp(app);
    await github.settled();
    const sent = app.hook.attempts.map(({ event, payload }) => ({ event, payload }));
    expect(sent.map(({ event, payload }) => `${event} ${payload.action}`).sort()).toEqual([
      'installation created',
      'installation deleted',
      'installation suspend',
      'installation unsuspend',
      'installation_repositories added',
      'installation_repositories removed',
    ]);
    expect(sent.flatMap(({ event, payload }) => violations(event, payload))).toEqual([]);
  });

  test.each([
    ['installation', { action: 'created' }],
    ['installation', { action: 'created', installation: { id: 'x' } }],
    ['installation_repositories', { action: 'added', installation: { id: 1 } }],
  ])('a malformed %s is refused', (event, payload) => {
    expect(() => githubApps.readChange(event, payload)).toThrow();
  });
});
