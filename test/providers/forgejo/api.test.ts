import { describe, expect, test } from 'bun:test';
import { forgejoApi } from '../../../src/providers/forgejo/api/index.ts';
import { PLACE, problemOf, SECRET, SETTINGS, startRocket } from '../../support/forgejo-api/rocket.ts';

const places = (world: ReturnType<typeof startRocket>) =>
  world.forgejo.requests.map(({ method, path }) => `${method} ${path}`);

describe('repositories', () => {
  test('are listed with those first that the token can administer, without archived ones', async () => {
    using world = startRocket();
    const { forgejo, repository, api } = world;
    forgejo.addRepository('acme/read-only', { rights: { ann: 'read' } });
    forgejo.addRepository('acme/engine', { rights: { ann: 'admin' } });
    forgejo.addRepository('acme/old', { rights: { ann: 'admin' }, isArchived: true });
    forgejo.addRepository('others/secret');
    const { places, isCut } = await api.listPlaces();
    expect(places).toEqual([
      { id: 'acme/engine', name: 'acme/engine', providerId: repository.id + 2, canAdminister: true },
      { id: PLACE, name: PLACE, providerId: repository.id, canAdminister: true },
      { id: 'acme/read-only', name: 'acme/read-only', providerId: repository.id + 1, canAdminister: false },
    ]);
    expect(isCut).toBe(false);
    expect(forgejo.requests[0]?.authorization).toBe(`token ${world.token}`);
  });

  test('are read page by page, up to a thousand', async () => {
    using world = startRocket();
    for (let index = 0; index < 1_000; index++) {
      world.forgejo.addRepository(`acme/r${index}`, { rights: { ann: 'admin' } });
    }
    const { places, isCut } = await world.api.listPlaces();
    expect(places).toHaveLength(1_000);
    expect(isCut).toBe(true);
    expect(world.forgejo.requests).toHaveLength(20);
  });

  test('are found by name and by a former name, with the right to administer', async () => {
    using world = startRocket();
    const { repository, api, forgejo } = world;
    expect(await api.getPlace(` ${PLACE} `)).toMatchObject({ name: PLACE, canAdminister: true });
    repository.formerPaths.push('acme/before');
    expect(await api.getPlace('acme/before')).toMatchObject({ id: PLACE, providerId: repository.id });
    forgejo.addRepository('acme/write', { rights: { ann: 'write' } });
    expect(await api.getPlace('acme/write')).toMatchObject({ canAdminister: false });
    expect(await problemOf(api.getPlace('acme/gone'), world.token)).toMatchObject({
      kind: 'place-not-found',
      message: `The server at ${forgejo.url} has no repository acme/gone that the token can see. Check the name, FORGEJO_API_URL, and the access of the token's owner.`,
    });
  });

  test.each(['rocket', 'acme/..', '../version', 'acme/rocket/hooks', ''])(
    'are never looked for by %p',
    async (name) => {
      using world = startRocket();
      expect(await problemOf(world.api.getPlace(name))).toMatchObject({ kind: 'place-not-found' });
      expect(world.forgejo.requests).toEqual([]);
    },
  );
});

describe('a webhook', () => {
  test('is created with what Tidings needs, found, listed and deleted', async () => {
    using world = startRocket();
    const { repository, api } = world;
    const hook = await api.createHook(PLACE, SETTINGS);
    expect(hook).toEqual({
      id: String(repository.hooks[0]?.id),
      placeId: PLACE,
      url: SETTINGS.url,
      events: ['pull_request', 'push', 'release'],
      isActive: true,
      isJson: true,
      hasSecret: null,
      lastResponse: null,
    });
    expect(repository.hooks).toMatchObject([{ type: 'forgejo', secret: SECRET }]);
    expect(await api.listHooks(PLACE)).toEqual([hook]);
    expect(await api.findHook(PLACE, hook.id)).toEqual(hook);
    await api.deleteHook(PLACE, hook.id);
    await api.deleteHook(PLACE, hook.id);
    expect(repository.hooks).toEqual([]);
    expect(await api.findHook(PLACE, hook.id)).toBeNull();
  });

  test('is of the type gitea at Gitea', async () => {
    using world = startRocket({ isGitea: true });
    await world.api.createHook(PLACE, SETTINGS);
    expect(world.repository.hooks).toMatchObject([{ type: 'gitea', secret: SECRET }]);
  });

  test('that has the secret is changed', async () => {
    using world = startRocket();
    const { repository, api } = world;
    const { id } = await api.createHook(PLACE, SETTINGS);
    Object.assign(repository.hooks[0] ?? {}, { isActive: false, contentType: 'form' });
    const settings = { ...SETTINGS, url: 'http://127.0.0.1:1/moved', events: ['release'], hasSecret: true };
    expect(await api.changeHook(PLACE, id, settings)).toBe(id);
    expect(repository.hooks).toMatchObject([
      { id: Number(id), url: settings.url, events: ['release'], isActive: true, contentType: 'json' },
    ]);
  });

  test('that may lack the secret is replaced, since the API cannot set it, and left-overs go too', async () => {
    using world = startRocket();
    const { repository, api } = world;
    const old = await api.createHook(PLACE, { ...SETTINGS, secret: 'old', url: 'http://127.0.0.1:1/old' });
    await api.createHook(PLACE, { ...SETTINGS, secret: 'interrupted' });
    const other = await api.createHook(PLACE, { ...SETTINGS, url: 'http://127.0.0.1:1/other' });
    const id = (await api.changeHook(PLACE, old.id, SETTINGS)) ?? '';
    expect(repository.hooks.map((hook) => [String(hook.id), hook.secret])).toEqual([
      [other.id, SECRET],
      [id, SECRET],
    ]);
    expect(id).not.toBe(old.id);
    // No event falls between the two.
    const methods = world.forgejo.requests.map(({ method }) => method);
    expect(methods.lastIndexOf('POST')).toBeLessThan(methods.indexOf('DELETE'));
  });

  test('that no longer exists is told, whatever is asked of it', async () => {
    using world = startRocket();
    const { api } = world;
    for (const call of [
      () => api.changeHook(PLACE, '7', SETTINGS),
      () => api.changeHook(PLACE, '7', { ...SETTINGS, hasSecret: true }),
      () => api.pingHook(PLACE, '7'),
    ]) {
      expect(await problemOf(call(), world.token)).toMatchObject({
        kind: 'hook-not-found',
        message: 'The webhook 7 of acme/rocket no longer exists',
      });
    }
    expect(await problemOf(api.findHook(PLACE, '../../..'))).toMatchObject({ kind: 'hook-not-found' });
    expect(world.repository.hooks).toEqual([]);
  });

  test('is listed among many, though Forgejo links no pages of them', async () => {
    using world = startRocket();
    const { api, repository } = world;
    for (let index = 0; index < 120; index++) {
      await api.createHook(PLACE, { ...SETTINGS, url: `http://127.0.0.1:1/${index}` });
    }
    expect(await api.listHooks(PLACE)).toHaveLength(repository.hooks.length);
    world.forgejo.requests.length = 0;
    await api.listHooks(PLACE);
    expect(places(world)).toEqual(Array(3).fill('GET /repos/acme/rocket/hooks'));
  });

  test('follows its repository to a new name', async () => {
    using world = startRocket();
    const { api, repository } = world;
    const { id } = await api.createHook(PLACE, SETTINGS);
    repository.formerPaths.push(PLACE);
    repository.path = 'acme/rocket-2';
    await api.changeHook(PLACE, id, { ...SETTINGS, events: ['release'], hasSecret: true });
    expect(await api.findHook(PLACE, id)).toMatchObject({ events: ['release'] });
    await api.deleteHook(PLACE, id);
    expect(repository.hooks).toEqual([]);
  });
});

test('a ping is a delivery that the server sends', async () => {
  using world = startRocket();
  const arrived = Promise.withResolvers<Headers>();
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch({ headers }) {
      arrived.resolve(headers);
      return new Response('ok');
    },
  });
  const url = `http://127.0.0.1:${server.port}/`;
  const { id } = await world.api.createHook(PLACE, { ...SETTINGS, url });
  await world.api.pingHook(PLACE, id);
  expect((await arrived.promise).get('x-forgejo-event')).toBe('push');
  await server.stop(true);
});

test('a site below a path of its host works', async () => {
  using world = startRocket({ path: '/git' });
  expect(world.forgejo.url).toEndWith('/git/api/v1');
  expect(await world.api.getPlace(PLACE)).toMatchObject({ name: PLACE });
});

describe('a problem says what to do', () => {
  test.each([
    [['write:repository'], 'The token needs the scopes write:repository and read:user'],
    [['read:user'], 'The token needs the scopes write:repository and read:user'],
    [['read:user', 'read:repository'], null],
  ] as const)('listing with %j: %p', async (scopes, words) => {
    using world = startRocket({ token: { user: 'ann', scopes } });
    const call = world.api.listPlaces();
    if (words === null) expect((await call).places).toHaveLength(1);
    else {
      const { kind, message } = await problemOf(call, world.token);
      expect(kind).toBe('missing-permission');
      expect(message).toBe(
        `${words}. Create a new one at ${world.forgejo.world.web}/user/settings/applications.`,
      );
    }
  });

  test('a token that may only read creates no webhook', async () => {
    using world = startRocket({ token: { user: 'ann', scopes: ['read:user', 'read:repository'] } });
    expect(await problemOf(world.api.createHook(PLACE, SETTINGS), world.token)).toMatchObject({
      kind: 'missing-permission',
    });
  });

  test('a token for public repositories alone', async () => {
    using world = startRocket({
      token: { user: 'ann', scopes: ['write:repository', 'read:user', 'public-only'] },
    });
    expect(await problemOf(world.api.listHooks(PLACE), world.token)).toMatchObject({
      kind: 'missing-permission',
      message: expect.stringContaining('public repositories only'),
    });
  });

  test('somebody who may write, but not administer', async () => {
    using world = startRocket({ token: { user: 'ben', scopes: ['write:repository', 'read:user'] } });
    for (const call of [() => world.api.listHooks(PLACE), () => world.api.createHook(PLACE, SETTINGS)]) {
      expect(await problemOf(call(), world.token)).toMatchObject({
        kind: 'missing-permission',
        message: expect.stringContaining("The token's owner does not administer acme/rocket"),
      });
    }
  });

  test('a server without webhooks, and a URL that it refuses', async () => {
    using world = startRocket();
    const { api, forgejo } = world;
    expect(await problemOf(api.createHook(PLACE, { ...SETTINGS, url: 'nowhere' }))).toMatchObject({
      kind: 'unreachable-url',
      message:
        "Forgejo rejected the webhook's URL: Invalid url. Set PUBLIC_URL to an address that Forgejo can reach.",
    });
    forgejo.world.hasWebhooks = false;
    expect(await problemOf(api.listHooks(PLACE))).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('has disabled webhooks'),
    });
  });

  test('a revoked token', async () => {
    using world = startRocket();
    world.forgejo.world.tokens.clear();
    expect(await problemOf(world.api.listPlaces(), world.token)).toMatchObject({
      kind: 'bad-token',
      message: expect.stringMatching(/unknown, revoked or expired.*write:repository and read:user/),
    });
  });

  test.each([
    ['30', '2026-11-21T03:49:48.000Z'],
    ['', '2026-11-21T03:50:18.000Z'],
    ['999999999', '2026-11-22T03:49:18.000Z'],
  ])('a limit that ends after %p seconds', async (after, time) => {
    using world = startRocket();
    world.forgejo.failNext(
      () => new Response('slow down', { status: 429, headers: { 'retry-after': after } }),
    );
    expect(await problemOf(world.api.getPlace(PLACE), world.token)).toMatchObject({
      kind: 'rate-limited',
      retryAt: new Date(time),
      message: `Forgejo accepts no more requests from this token until ${time.replace('.000Z', 'Z')}. Try again then.`,
    });
  });

  test.each([
    [
      'a failing server',
      (secret: string) => Response.json({ message: secret }, { status: 500 }),
      'provider-failed',
    ],
    ['a page instead of JSON', () => new Response('<html>', { status: 502 }), 'provider-failed'],
    ['a page for people', () => new Response('<html>'), 'provider-failed'],
    ['another shape', () => Response.json({ id: 'x' }), 'provider-failed'],
    [
      'a name that would lead elsewhere',
      () => Response.json({ ...REPOSITORY, full_name: '../x' }),
      'provider-failed',
    ],
    [
      'a refusal of another kind',
      (secret: string) => Response.json({ message: `${secret}\u0007` }, { status: 418 }),
      'refused',
    ],
    [
      'another server',
      () => new Response(null, { status: 307, headers: { location: 'http://other.test/' } }),
      'provider-failed',
    ],
  ] as const)('%s', async (_, respond, kind) => {
    using world = startRocket();
    world.forgejo.failNext(() => respond(SECRET));
    expect(await problemOf(world.api.createHook(PLACE, SETTINGS), world.token)).toMatchObject({ kind });
    world.forgejo.failNext(() => respond(world.token));
    expect(await problemOf(world.api.getPlace(PLACE), world.token)).toMatchObject({ kind });
  });

  test('a server that answers too late, or not at all', async () => {
    using world = startRocket();
    world.forgejo.failNext(() => new Promise<Response>(() => undefined));
    const slow = forgejoApi(world.forgejo.url, world.token, { requestMs: 50 });
    expect(await problemOf(slow.getPlace(PLACE), world.token)).toMatchObject({
      kind: 'provider-failed',
      message: 'Forgejo did not respond within 0.05 s. Try again later.',
    });
    const away = forgejoApi('http://127.0.0.1:1/api/v1', world.token);
    expect(await problemOf(away.getPlace(PLACE), world.token)).toMatchObject({
      kind: 'provider-failed',
      message: expect.stringContaining('Check the network and FORGEJO_API_URL'),
    });
  });

  test('an API that lists no repositories is another one', async () => {
    using world = startRocket();
    const api = forgejoApi(`${world.forgejo.world.web}/elsewhere`, world.token);
    expect(await problemOf(api.listPlaces(), world.token)).toMatchObject({
      kind: 'provider-failed',
      message: expect.stringContaining("is not Forgejo's API: it lists no repositories"),
    });
  });
});

const REPOSITORY = { id: 41, full_name: PLACE, default_branch: 'main', private: true };
