import { expect, test } from 'bun:test';
import { attemptOf } from '../../support/github-api/deliver.ts';
import { problemOf, SECRET, SETTINGS, startRocket } from '../../support/github-api/rocket.ts';

test('a hook is created, found, listed, changed and deleted', async () => {
  using world = startRocket();
  const { api, github, repository } = world;
  const created = await api.createHook('acme/rocket', SETTINGS);
  expect(created).toEqual({
    id: String(repository.hooks[0]?.id),
    placeId: 'acme/rocket',
    url: SETTINGS.url,
    events: ['push', 'release'],
    isActive: true,
    isJson: true,
    hasSecret: true,
    lastResponse: null,
  });
  expect(github.requests[0]).toEqual({
    method: 'POST',
    path: '/repos/acme/rocket/hooks',
    query: {},
    body: {
      name: 'web',
      active: true,
      events: ['push', 'release'],
      config: { url: SETTINGS.url, secret: SECRET, content_type: 'json', insecure_ssl: '0' },
    },
    authorization: `Bearer ${world.token}`,
    status: 201,
  });
  await github.settled();
  const found = await api.findHook('acme/rocket', created.id);
  // Nobody listens there: GitHub's own 502 is not a response.
  expect(found).toEqual({
    ...created,
    lastResponse: { statusCode: null, message: 'failed to connect to host' },
  });
  expect(await api.listHooks('acme/rocket')).toEqual(found === null ? [] : [found]);

  Object.assign(repository.hooks[0] ?? {}, { isActive: false });
  const other = {
    ...SETTINGS,
    url: 'http://127.0.0.1:1/other',
    secret: 'another secret',
    events: ['issues'],
  };
  await api.changeHook('acme/rocket', created.id, other);
  expect(repository.hooks[0]).toMatchObject({
    config: { url: other.url, secret: 'another secret', content_type: 'json', insecure_ssl: '0' },
    events: ['issues'],
    isActive: true,
  });

  await api.deleteHook('acme/rocket', created.id);
  expect(repository.hooks).toEqual([]);
  await api.deleteHook('acme/rocket', created.id);
  expect(await api.findHook('acme/rocket', created.id)).toBeNull();
  expect(await problemOf(api.changeHook('acme/rocket', created.id, SETTINGS))).toMatchObject({
    kind: 'hook-not-found',
    message: `The webhook ${created.id} of acme/rocket no longer exists`,
  });
});

test('a ping and a redelivery arrive, and every attempt is listed', async () => {
  using world = startRocket();
  const { api, github, repository, clock } = world;
  const seen: string[] = [];
  let status = 500;
  using receiver = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      seen.push(`${request.headers.get('x-github-event')} ${request.headers.get('x-github-delivery')}`);
      return new Response(null, { status });
    },
  });
  const url = `http://127.0.0.1:${receiver.port}/hook`;
  const hook = await api.createHook('acme/rocket', { ...SETTINGS, url });
  await github.settled();
  const ping = repository.hooks[0]?.attempts[0];

  clock.advance(1000);
  const [missed] = await github.emit(repository, 'release', { action: 'published' });
  status = 202;
  clock.advance(1000);
  await api.redeliver?.('acme/rocket', hook.id, String(missed?.id));
  await github.settled();
  clock.advance(1000);
  await api.pingHook?.('acme/rocket', hook.id);
  await github.settled();

  const since = new Date('2026-11-21T03:49:18.500Z');
  const [again, resent, first] = (await api.listAttempts?.('acme/rocket', hook.id, since))?.attempts ?? [];
  expect(again).toMatchObject({ event: 'ping', action: null, statusCode: 202, status: 'OK' });
  expect(resent).toEqual({
    id: String(repository.hooks[0]?.attempts[1]?.id),
    deliveryId: String(missed?.guid),
    deliveredAt: '2026-11-21T03:49:19.500Z',
    event: 'release',
    action: 'published',
    statusCode: 202,
    status: 'OK',
  });
  expect(first).toEqual({
    id: String(missed?.id),
    deliveryId: String(missed?.guid),
    deliveredAt: '2026-11-21T03:49:18.500Z',
    event: 'release',
    action: 'published',
    statusCode: 500,
    status: 'Invalid HTTP Response: 500',
  });
  // The first ping is older than `since`.
  expect((await api.listAttempts?.('acme/rocket', hook.id, since))?.attempts).toHaveLength(3);
  expect(seen).toEqual([
    `ping ${ping?.guid}`,
    `release ${missed?.guid}`,
    `release ${missed?.guid}`,
    `ping ${again?.deliveryId}`,
  ]);
  expect((await api.findHook('acme/rocket', hook.id))?.lastResponse).toEqual({
    statusCode: 202,
    message: 'OK',
  });

  expect(await problemOf(api.redeliver?.('acme/rocket', hook.id, '7') ?? Promise.resolve())).toMatchObject({
    kind: 'refused',
    message: 'GitHub no longer has the delivery 7 of acme/rocket, or its webhook',
  });
});

test('a hook that a person changed is reported as it is', async () => {
  using world = startRocket();
  const { api, github, repository } = world;
  const { id } = await api.createHook('acme/rocket', SETTINGS);
  await github.settled();
  Object.assign(repository.hooks[0] ?? {}, {
    config: { url: SETTINGS.url, content_type: 'form', insecure_ssl: '1' },
    events: ['release', '*'],
    isActive: false,
    lastResponse: { code: 422, status: 'misconfigured', message: 'Invalid HTTP Response: 404' },
  });
  expect(await api.findHook('acme/rocket', id)).toMatchObject({
    events: ['*', 'release'],
    isActive: false,
    isJson: false,
    hasSecret: false,
    lastResponse: { statusCode: 404, message: 'Invalid HTTP Response: 404' },
  });
});

test('places are sorted by right, then by name, without archived ones', async () => {
  using world = startRocket();
  const { api, github, repository: rocket } = world;
  github.addRepository('zeta/read', { rights: { mona: 'read' } });
  github.addRepository('acme/old', { rights: { mona: 'admin' }, isArchived: true });
  github.addRepository('acme/engine', { rights: { mona: 'admin' } });
  github.addRepository('beta/write', { rights: { mona: 'write' } });
  github.addRepository('other/hidden', { rights: { hubot: 'admin' } });
  expect(await api.listPlaces()).toEqual({
    places: [
      { id: 'acme/engine', name: 'acme/engine', providerId: expect.any(Number), canAdminister: true },
      { id: 'acme/rocket', name: 'acme/rocket', providerId: rocket.id, canAdminister: true },
      { id: 'beta/write', name: 'beta/write', providerId: expect.any(Number), canAdminister: false },
      { id: 'zeta/read', name: 'zeta/read', providerId: expect.any(Number), canAdminister: false },
    ],
    isCut: false,
  });
  expect(await api.getPlace('acme/old')).toMatchObject({ id: 'acme/old', canAdminister: false });
  expect(await api.getPlace(' ACME/Rocket ')).toEqual({
    id: 'acme/rocket',
    name: 'acme/rocket',
    providerId: rocket.id,
    canAdminister: true,
  });
});

test('a list without organizations that require single sign-on is cut', async () => {
  using world = startRocket({ token: { user: 'mona', scopes: ['repo'] } });
  world.github.addRepository('strict/repository', { rights: { mona: 'admin' }, wantsSso: true });
  const { places, isCut } = await world.api.listPlaces();
  expect({ names: places.map(({ name }) => name), isCut }).toEqual({ names: ['acme/rocket'], isCut: true });
});

test('at most a thousand repositories are listed', async () => {
  using world = startRocket();
  const { api, github } = world;
  for (let number = 1; number < 1000; number++) {
    github.addRepository(`acme/r${number}`, { rights: { mona: 'read' } });
  }
  const all = await api.listPlaces();
  expect([all.places.length, all.isCut]).toEqual([1000, false]);
  github.addRepository('acme/one-more', { rights: { mona: 'read' } });
  github.requests.length = 0;
  const some = await api.listPlaces();
  expect([some.places.length, some.isCut, github.requests.length]).toEqual([1000, true, 10]);
});

test('at most two thousand attempts are listed', async () => {
  using world = startRocket();
  const { api, github, repository } = world;
  const { id } = await api.createHook('acme/rocket', SETTINGS);
  await github.settled();
  const attempts = repository.hooks[0]?.attempts ?? [];
  const outcome = {
    status: 'OK',
    statusCode: 200,
    deliveredAt: '2026-11-21T04:00:00Z',
    durationSeconds: 0.1,
  };
  const delivery = { event: 'push', payload: {}, guid: 'a guid', isRedelivery: false };
  while (attempts.length < 2000) attempts.unshift(attemptOf(delivery, outcome));
  const list = async (since: string) => {
    github.requests.length = 0;
    const listed = await api.listAttempts?.('acme/rocket', id, new Date(since));
    return [listed?.attempts.length, listed?.isCut, github.requests.length];
  };
  expect(await list('2026-11-20T00:00:00Z')).toEqual([2000, false, 20]);
  attempts.unshift(attemptOf(delivery, outcome));
  expect(await list('2026-11-20T00:00:00Z')).toEqual([2000, true, 20]);
  expect(await list('2026-11-21T04:00:01Z')).toEqual([0, false, 1]);
});

test('a list of repositories that takes too long is cut', async () => {
  using world = startRocket({ listingMs: -1 });
  for (let number = 0; number < 100; number++) {
    world.github.addRepository(`acme/r${number}`, { rights: { mona: 'read' } });
  }
  const { places, isCut } = await world.api.listPlaces();
  expect([places.length, isCut, world.github.requests.length]).toEqual([100, true, 1]);
});

test('a list of hooks that takes too long fails', async () => {
  using world = startRocket({ listingMs: -1 });
  for (let number = 0; number < 101; number++) {
    await world.api.createHook('acme/rocket', { ...SETTINGS, events: [`event_${number}`] });
  }
  expect(await problemOf(world.api.listHooks('acme/rocket'))).toMatchObject({
    kind: 'provider-failed',
    message: 'GitHub took too long to list the webhooks of acme/rocket. Try again later.',
  });
});

test('a renamed repository has its new name, and its hooks are found by either name', async () => {
  using world = startRocket();
  const { api, github, repository } = world;
  github.rename(repository, 'acme/probe');
  expect((await api.getPlace('acme/rocket')).id).toBe('acme/probe');
  const { id } = await api.createHook('acme/rocket', SETTINGS);
  expect(repository.hooks).toHaveLength(1);
  expect((await api.findHook('acme/probe', id))?.id).toBe(id);
  await api.changeHook('acme/rocket', id, { ...SETTINGS, events: ['issues'] });
  expect(repository.hooks[0]?.events).toEqual(['issues']);
  await api.deleteHook('acme/rocket', id);
  expect(repository.hooks).toEqual([]);
});

test('the API of Enterprise Server is below a path', async () => {
  using world = startRocket({ basePath: '/api/v3' });
  const { api, github } = world;
  expect(github.url).toEndWith('/api/v3');
  expect((await api.listPlaces()).places).toHaveLength(1);
  const { id } = await api.createHook('acme/rocket', SETTINGS);
  await github.settled();
  expect((await api.listAttempts?.('acme/rocket', id, new Date(0)))?.attempts).toHaveLength(1);
  github.tokens.clear();
  const web = github.url.replace('/api/v3', '');
  expect((await problemOf(api.listPlaces())).message).toContain(` ${web}/settings/personal-access-tokens `);
});

test('a list with a failed page fails', async () => {
  using world = startRocket();
  for (let number = 0; number < 100; number++) {
    world.github.addRepository(`acme/r${number}`, { rights: { mona: 'read' } });
  }
  world.github.failNext('answers 403 for its rate limit', { after: 1 });
  expect((await problemOf(world.api.listPlaces())).kind).toBe('rate-limited');
  expect((await world.api.listPlaces()).places).toHaveLength(101);
});
