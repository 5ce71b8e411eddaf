import { describe, expect, test } from 'bun:test';
import { signingToken } from '../../../src/providers/gitlab/provider.ts';
import { deliver } from '../../support/gitlab-api/deliver.ts';
import { problemOf, SECRET, SETTINGS, startRocket } from '../../support/gitlab-api/rocket.ts';

const PLACE = 'acme/tools/rocket';

/** A receiver that counts what arrives. */
function startReceiver(status = 200) {
  const arrived: Headers[] = [];
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch({ headers }) {
      arrived.push(headers);
      return new Response('ok', { status });
    },
  });
  const url = `http://127.0.0.1:${server.port}/hook`;
  return { url, arrived, [Symbol.dispose]: () => void server.stop(true) };
}

describe('projects', () => {
  test('are those whose webhooks the token may manage', async () => {
    using world = startRocket();
    const { gitlab, project, api } = world;
    gitlab.addProject('acme/engine', { roles: { ann: 50 } });
    gitlab.addProject('acme/read-only', { roles: { ann: 30 } });
    gitlab.addProject('acme/old', { roles: { ann: 50 }, isArchived: true });
    const { places, isCut } = await api.listPlaces();
    expect(places.map(({ name }) => name)).toEqual(['acme/engine', PLACE]);
    expect(places[1]).toEqual({ id: PLACE, name: PLACE, providerId: project.id, canAdminister: true });
    expect(isCut).toBe(false);
  });

  test('are found by name and by a former name, with the right to administer', async () => {
    using world = startRocket();
    const { project, api, gitlab } = world;
    expect(await api.getPlace(PLACE)).toMatchObject({ name: PLACE, canAdminister: true });
    project.formerPaths.push('acme/before');
    expect(await api.getPlace('acme/before')).toMatchObject({ id: PLACE, providerId: project.id });
    gitlab.addProject('acme/read-only', { roles: { ann: 30 } });
    expect(await api.getPlace('acme/read-only')).toMatchObject({ canAdminister: false });
    expect(await problemOf(api.getPlace('acme/gone'), world.token)).toMatchObject({
      kind: 'place-not-found',
      message:
        'GitLab has no project acme/gone that the token can see. Check the name, and the projects that the token may access.',
    });
    expect(await problemOf(api.getPlace('rocket'))).toMatchObject({
      message: 'A project has the form GROUP/NAME, such as acme/rocket, not rocket',
    });
  });
});

describe('a webhook', () => {
  test('of GitLab 19 signs, and never sends the secret', async () => {
    using world = startRocket();
    const { project, api } = world;
    const hook = await api.createHook(PLACE, SETTINGS);
    expect(hook).toMatchObject({
      placeId: PLACE,
      url: SETTINGS.url,
      events: ['push', 'release'],
      isActive: true,
      hasSecret: true,
    });
    expect(project.hooks[0]).toMatchObject({ token: null, signingToken: signingToken(SECRET) });
    expect(project.hooks[0]?.flags).toMatchObject({ merge_requests_events: false, tag_push_events: false });
    expect(await api.listHooks(PLACE)).toEqual([hook]);
    expect(await api.findHook(PLACE, hook.id)).toEqual(hook);

    await api.changeHook(PLACE, hook.id, { ...SETTINGS, secret: 'newer', events: ['merge_request'] });
    expect(project.hooks[0]).toMatchObject({ token: null, signingToken: signingToken('newer') });
    expect(await api.findHook(PLACE, hook.id)).toMatchObject({ events: ['merge_request'] });
    const bodies = JSON.stringify(world.gitlab.requests.map(({ body }) => body));
    expect(bodies).not.toContain(SECRET);

    await api.deleteHook(PLACE, hook.id);
    await api.deleteHook(PLACE, hook.id);
    expect(project.hooks).toEqual([]);
    expect(await api.findHook(PLACE, hook.id)).toBeNull();
  });

  test('that a person set up with the secret as its token signs instead, once Tidings manages it', async () => {
    using world = startRocket();
    const { project, api } = world;
    const { id } = await api.createHook(PLACE, SETTINGS);
    Object.assign(project.hooks[0] ?? {}, { token: SECRET, signingToken: null });
    await api.changeHook(PLACE, id, { ...SETTINGS, url: 'http://127.0.0.1:1/moved' });
    expect(project.hooks[0]).toMatchObject({
      url: 'http://127.0.0.1:1/moved',
      token: null,
      signingToken: signingToken(SECRET),
    });
  });

  test('of an older GitLab has the secret as its token, at every moment of a change', async () => {
    using world = startRocket({ canSign: false });
    const { project, api, gitlab } = world;
    const hook = await api.createHook(PLACE, SETTINGS);
    expect(hook.hasSecret).toBeNull();
    expect(project.hooks[0]).toMatchObject({ token: SECRET, signingToken: null });
    const before = gitlab.requests.length;
    await api.changeHook(PLACE, hook.id, { ...SETTINGS, url: 'http://127.0.0.1:1/moved' });
    expect(project.hooks[0]).toMatchObject({ token: SECRET, url: 'http://127.0.0.1:1/moved' });
    expect(gitlab.requests.slice(before).map(({ method }) => method)).toEqual(['GET', 'PUT']);
  });

  test('of a renamed project is changed by its number', async () => {
    using world = startRocket();
    const { project, api } = world;
    const { id } = await api.createHook(PLACE, SETTINGS);
    project.formerPaths.push(PLACE);
    project.path = 'acme/rocket-2';
    await api.changeHook(PLACE, id, { ...SETTINGS, events: ['release'] });
    expect(await api.findHook(PLACE, id)).toMatchObject({ events: ['release'] });
    await api.deleteHook(PLACE, id);
    expect(project.hooks).toEqual([]);
  });

  test('that GitLab disabled is enabled by a test that arrives', async () => {
    using world = startRocket();
    using receiver = startReceiver();
    const { project, api } = world;
    const settings = { ...SETTINGS, url: receiver.url };
    const { id } = await api.createHook(PLACE, settings);
    Object.assign(project.hooks[0] ?? {}, { alertStatus: 'disabled' });
    expect(await api.findHook(PLACE, id)).toMatchObject({ isActive: false });
    await api.changeHook(PLACE, id, settings);
    expect(receiver.arrived).toHaveLength(1);
    expect(await api.findHook(PLACE, id)).toMatchObject({ isActive: true });

    Object.assign(project.hooks[0] ?? {}, { alertStatus: 'disabled' });
    project.commits.splice(0);
    expect(await problemOf(api.changeHook(PLACE, id, settings))).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining(`/${PLACE}/-/hooks`),
    });
  });

  test('is pinged by a test push, which arrives before GitLab answers', async () => {
    using world = startRocket();
    using receiver = startReceiver();
    const { api, project } = world;
    const { id } = await api.createHook(PLACE, { ...SETTINGS, url: receiver.url });
    await api.pingHook(PLACE, id);
    expect(receiver.arrived.map((headers) => headers.get('x-gitlab-event'))).toEqual(['Push Hook']);
    expect((await api.listAttempts(PLACE, id, new Date(0))).attempts).toMatchObject([{ event: 'ping' }]);
    // An empty project, or too many tests: nothing to wait for.
    project.commits.splice(0);
    await api.pingHook(PLACE, id);
    expect(await problemOf(api.pingHook(PLACE, '1'))).toMatchObject({ kind: 'hook-not-found' });
  });
});

describe('attempts', () => {
  test('are listed with what was answered, and sent again with the same id', async () => {
    using world = startRocket();
    using receiver = startReceiver(503);
    const { api, project, gitlab } = world;
    const { id } = await api.createHook(PLACE, { ...SETTINGS, url: receiver.url });
    const [hook] = project.hooks;
    if (hook === undefined) throw new Error('no hook');
    await deliver(gitlab.world, hook, 'Release Hook', { object_kind: 'release', action: 'create' }, 'key-1');
    hook.url = 'http://127.0.0.1:1/';
    const merge = { object_kind: 'merge_request', object_attributes: { action: 'merge' } };
    await deliver(gitlab.world, hook, 'Merge Request Hook', merge, 'key-2');
    const { attempts, isCut } = await api.listAttempts(PLACE, id, new Date(0));
    expect(isCut).toBe(false);
    expect(attempts).toMatchObject([
      {
        deliveryId: 'key-2',
        event: 'merge_request',
        action: 'merge',
        statusCode: null,
        status: 'internal error',
      },
      { deliveryId: 'key-1', event: 'release', action: 'create', statusCode: 503, status: 'HTTP 503' },
    ]);
    expect(attempts[0]?.deliveredAt).toBe('2026-11-21T03:49:17.000Z');

    hook.url = receiver.url;
    await api.redeliver(PLACE, id, attempts[1]?.id ?? '');
    expect(receiver.arrived.map((headers) => headers.get('idempotency-key'))).toEqual(['key-1', 'key-1']);
    expect(await problemOf(api.redeliver(PLACE, id, '1'))).toMatchObject({ kind: 'refused' });
    expect(await problemOf(api.redeliver(PLACE, id, '../x'))).toMatchObject({ kind: 'refused' });
    world.clock.advance(60_000);
    expect((await api.listAttempts(PLACE, id, world.clock.now())).attempts).toEqual([]);
  });

  test('come in pages', async () => {
    using world = startRocket();
    using receiver = startReceiver();
    const { api, project, gitlab } = world;
    const { id } = await api.createHook(PLACE, { ...SETTINGS, url: receiver.url });
    const [hook] = project.hooks;
    for (let count = 0; hook !== undefined && count < 45; count++) {
      await deliver(gitlab.world, hook, 'Push Hook', { object_kind: 'push', commits: [] }, `key-${count}`);
    }
    const { attempts } = await api.listAttempts(PLACE, id, new Date(0));
    expect(attempts.map(({ deliveryId }) => deliveryId)).toEqual(
      Array.from({ length: 45 }, (_, index) => `key-${44 - index}`),
    );
  });
});

describe('problems', () => {
  const json =
    (status: number, body: unknown, headers: Record<string, string> = {}) =>
    () =>
      Response.json(body, { status, headers });

  test.each([
    ['an unknown token', json(401, { message: '401 Unauthorized' }), 'bad-token', 'scope api'],
    [
      'a token that may only read',
      json(403, { error: 'insufficient_scope', scope: 'api' }),
      'missing-permission',
      'lacks the scope api',
    ],
    ['a lower role', json(403, { message: '403 Forbidden' }), 'missing-permission', 'the role Maintainer'],
    ['a blocked URL', json(422, { error: 'Invalid url given' }), 'unreachable-url', 'Outbound requests'],
    [
      'too many webhooks',
      json(422, { message: { base: ['Maximum number of project hooks (100) exceeded'] } }),
      'too-many-hooks',
      'Maximum number of project hooks (100) exceeded',
    ],
    ['its own failure', json(500, {}), 'provider-failed', 'status 500'],
    ['a page', () => new Response('<html>', { status: 403 }), 'provider-failed', 'is not GitLab'],
    ['another shape', json(201, { id: 'x' }), 'provider-failed', 'instead of a webhook'],
    ['its limit', () => new Response('Retry later', { status: 429 }), 'rate-limited', '2026-11-21T03:50:18Z'],
    ['its limit for a while', json(429, {}, { 'retry-after': '30' }), 'rate-limited', '2026-11-21T03:49:48Z'],
    [
      'a wait of years',
      json(429, {}, { 'retry-after': '999999999' }),
      'rate-limited',
      '2026-11-22T03:49:18Z',
    ],
  ] as const)('%s', async (_, respond, kind, words) => {
    using world = startRocket();
    world.gitlab.failNext(respond);
    const problem = await problemOf(world.api.createHook(PLACE, SETTINGS), world.token, signingToken(SECRET));
    expect(problem).toMatchObject({ kind, message: expect.stringContaining(words) });
  });

  test('a refusal that quotes the request shows none of its secrets', async () => {
    using world = startRocket();
    const quoted = `${world.token} ${SECRET} ${signingToken(SECRET)} is wrong\nhere`;
    world.gitlab.failNext(json(400, { message: quoted }));
    const problem = await problemOf(world.api.createHook(PLACE, SETTINGS), world.token, signingToken(SECRET));
    expect(problem.message).toBe(
      'GitLab rejected the request with status 400: ******** ******** ******** is wrong here',
    );
  });

  test('of a token that may only read, of a local URL, and of a revoked token', async () => {
    using reading = startRocket({ token: { user: 'ann', scopes: ['read_api'] } });
    expect(await problemOf(reading.api.createHook(PLACE, SETTINGS))).toMatchObject({
      kind: 'missing-permission',
      message: expect.stringContaining('lacks the scope api'),
    });
    using careful = startRocket({ allowLocal: false });
    expect(await problemOf(careful.api.createHook(PLACE, SETTINGS))).toMatchObject({
      kind: 'unreachable-url',
    });
    careful.gitlab.world.tokens.clear();
    expect(await problemOf(careful.api.listPlaces(), careful.token)).toMatchObject({ kind: 'bad-token' });
    expect(careful.project.hooks).toEqual([]);
  });

  test('of a slow GitLab', async () => {
    using world = startRocket({ requestMs: 50 });
    world.gitlab.failNext(() => Promise.withResolvers<Response>().promise);
    expect(await problemOf(world.api.listPlaces())).toMatchObject({
      kind: 'provider-failed',
      message: 'GitLab did not respond within 0.05 s. Try again later.',
    });
  });

  test('of a list that GitLab does not have', async () => {
    using world = startRocket();
    const { id } = await world.api.createHook(PLACE, SETTINGS);
    world.gitlab.failNext(json(404, { error: '404 Not Found' }));
    expect(await problemOf(world.api.listAttempts(PLACE, id, new Date(0)))).toMatchObject({
      kind: 'missing-permission',
      message: expect.stringContaining('GitLab 17.3'),
    });
    expect(await problemOf(world.api.listAttempts(PLACE, '1', new Date(0)))).toMatchObject({
      kind: 'hook-not-found',
    });
  });
});
