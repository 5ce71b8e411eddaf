import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { connectIntegration, connectWithToken } from '../../src/integrations/connect.ts';
import { addPlace, disconnectIntegration, removePlace } from '../../src/integrations/places.ts';
import { repairHooks } from '../../src/integrations/rotate.ts';
import { getIntegration, listIntegrations } from '../../src/integrations/store.ts';
import { setToken } from '../../src/integrations/token.ts';
import type { ProblemKind } from '../../src/providers/api.ts';
import { contentOf } from '../support/database.ts';
import { logOf } from '../support/deliveries.ts';
import type { Fault } from '../support/github-api/faults.ts';
import { createHookWorld, type HookWorld, releaseOf } from '../support/hooks.ts';
import { rejection } from '../support/refusal.ts';
import { allRows } from '../support/rows.ts';

let world: HookWorld;

beforeEach(async () => {
  world = await createHookWorld();
});

afterEach(() => world[Symbol.asyncDispose]());

const connect = (places: string[], token = world.token) =>
  connectWithToken(world.deps, { type: 'github', organizationId: 'org_a', token, places });

const count = async (table: string) => (await allRows(world.db))[table]?.length;

/** The state of both sides. */
const standing = async () => ({
  atGithub: world.github.repositories.flatMap(({ hooks }) => hooks.map(({ config }) => config.url)),
  integrations: await count('integrations'),
  repositories: await count('repositories'),
  hooks: await count('hooks'),
});

/** The names and GitHub's ids of an integration's repositories. */
const identities = async (integrationId: string) =>
  (await world.db.read((tx) => getIntegration(tx, integrationId))).repositories.map(
    ({ fullName, providerId }) => [fullName, providerId],
  );

test('a repository can be given as its URL, wherever it is named', async () => {
  const { integrationId } = await connect(['https://github.com/acme/rocket/tree/main']);
  expect((await identities(integrationId)).map(([name]) => name)).toEqual(['acme/rocket']);
  world.github.addRepository('acme/lander', { rights: { ann: 'admin' } });
  await addPlace(world.deps, integrationId, 'git@github.com:acme/lander.git');
  expect((await identities(integrationId)).map(([name]) => name)).toEqual(['acme/lander', 'acme/rocket']);
  await removePlace(world.deps, integrationId, 'https://github.com/acme/lander/');
  expect((await identities(integrationId)).map(([name]) => name)).toEqual(['acme/rocket']);
});

const NOTHING = { atGithub: [], integrations: 0, repositories: 0, hooks: 0 };

describe('connecting', () => {
  test('creates the webhook in the desired state, and its ping arrives', async () => {
    const { integrationId, places } = await connect(['Acme/Rocket']);
    const integration = await world.db.read((tx) => getIntegration(tx, integrationId));
    expect(integration).toMatchObject({ hasToken: true, enabled: true, type: 'github' });
    // GitHub's own spelling of the name is kept.
    expect(integration.repositories.map(({ fullName }) => fullName)).toEqual(['acme/rocket']);
    const [hook] = world.rocket.hooks;
    const [place] = places;
    expect(places).toHaveLength(1);
    expect(place).toMatchObject({ place: 'acme/rocket', hasPinged: true, hookId: String(hook?.id) });
    expect(hook).toMatchObject({ isActive: true, events: ['pull_request', 'push', 'release'] });
    expect(hook?.config).toMatchObject({ url: place?.webhookUrl, content_type: 'json', insecure_ssl: '0' });
    expect(hook?.config.secret?.length).toBeGreaterThan(40);
    expect((await world.hooks(integrationId))[0]).toMatchObject({
      remoteId: String(hook?.id),
      events: ['pull_request', 'push', 'release'],
      hasPresentSecret: true,
      problem: null,
    });
    const log = await logOf(world);
    expect(log.every(({ status, payload }) => status === 'processed' && payload.event === 'ping')).toBe(true);
  });

  test('several repositories share an integration and its secret, each with its own URL', async () => {
    const { places } = await connect(['acme/rocket', 'acme/engine', 'acme/rocket']);
    expect(places.map(({ place }) => place)).toEqual(['acme/rocket', 'acme/engine']);
    const [rocket, engine] = [world.rocket.hooks[0], world.engine.hooks[0]];
    expect(rocket?.config.url).not.toBe(engine?.config.url);
    expect(rocket?.config.secret).toBe(engine?.config.secret ?? '');
    expect(await standing()).toMatchObject({ integrations: 1, repositories: 2, hooks: 2 });
  });

  test('neither the database nor the log has the token or the secret in plain text', async () => {
    await world.connect();
    const secret = world.rocket.hooks[0]?.config.secret ?? '';
    const database = await contentOf(world.db);
    for (const value of [world.token, secret]) {
      expect(value.length).toBeGreaterThan(20);
      expect(database.includes(value)).toBe(false);
      expect(JSON.stringify(world.logged).includes(value)).toBe(false);
    }
  });
});

describe('a refusal says what to do and leaves nothing on either side', () => {
  test.each<[Fault, ProblemKind, string]>([
    ['answers 401', 'bad-token', 'Create a new one at'],
    ['answers 403 for the permission', 'missing-permission', '"Webhooks: read and write"'],
    ['answers 403 for the right', 'missing-permission', 'the role Admin'],
    ['wants single sign-on', 'missing-permission', 'Configure SSO'],
    ['answers 403 for its rate limit', 'rate-limited', '2026-11-21T04:10:00Z'],
    ['answers 403 for its secondary rate limit', 'rate-limited', 'until 2026-'],
    ['answers 500', 'provider-failed', 'Try again later'],
    ['answers 502 with a page', 'provider-failed', 'Try again later'],
    ['answers broken JSON', 'provider-failed', 'GITHUB_API_URL'],
  ])('%s', async (fault, kind, words) => {
    // Whichever request it befalls: looking for the repository, looking for its webhook, making it, the second one's, the pings.
    for (const after of [0, 1, 2, 3, 4, 5, 6, 7]) {
      world.github.failNext(fault, { after });
      const error = await rejection(connect(['acme/rocket', 'acme/engine']));
      expect(error).toMatchObject({ kind });
      expect(String(error)).toContain(words);
      await world.github.settled();
      expect({ after, ...(await standing()) }).toEqual({ after, ...NOTHING });
    }
  });

  test.each([
    ['an unknown token', () => connect(['acme/rocket'], 'github_pat_unknown'), 'bad-token'],
    ['a repository that is not there', () => connect(['acme/rocket', 'acme/boat']), 'place-not-found'],
    [
      'somebody without the role',
      () => connect(['acme/rocket'], world.github.addToken({ user: 'bob', scopes: ['repo'] })),
      'missing-permission',
    ],
    [
      'a classic token without the scope',
      () => connect(['acme/rocket'], world.github.addToken({ user: 'ann', scopes: ['public_repo'] })),
      'place-not-found',
    ],
    [
      'a fine-grained token without the permission',
      () => connect(['acme/rocket'], world.github.addToken({ user: 'ann', permissions: {} })),
      'missing-permission',
    ],
    [
      'a fine-grained token that may only read webhooks',
      () =>
        connect(
          ['acme/rocket'],
          world.github.addToken({ user: 'ann', permissions: { repository_hooks: 'read' } }),
        ),
      'missing-permission',
    ],
  ] as const)('%s', async (_, work, kind) => {
    expect(await rejection(work())).toMatchObject({ kind });
    expect(await standing()).toEqual(NOTHING);
  });

  test('too many webhooks at the second repository delete the first webhook again', async () => {
    for (let number = 0; number < 20; number++) {
      await connectOther(number);
    }
    const before = world.engine.hooks.length;
    const error = await rejection(connect(['acme/rocket', 'acme/engine']));
    expect(error).toMatchObject({ kind: 'too-many-hooks', outcome: { code: 'not_connected', left: [] } });
    expect(world.rocket.hooks).toEqual([]);
    expect(world.engine.hooks).toHaveLength(before);
    expect(await count('integrations')).toBe(0);
  });

  test('a URL without a server fails with the result of the ping', async () => {
    world.goAway();
    const error = await rejection(connect(['acme/rocket']));
    expect(error).toMatchObject({ kind: 'unreachable-url' });
    expect(String(error)).toContain('failed to connect to host');
    expect(String(error)).toContain('PUBLIC_URL');
    await world.github.settled();
    expect(await standing()).toEqual(NOTHING);
  });

  test('a webhook whose creation had no response is found and deleted', async () => {
    world.github.failNext(
      async (request) => {
        await fetch(request.url, { method: 'POST', headers: request.headers, body: lastBody() });
        return new Response('<h1>Bad gateway</h1>', { status: 502 });
      },
      { after: 2 },
    );
    expect(await rejection(connect(['acme/rocket']))).toMatchObject({ kind: 'provider-failed' });
    await world.github.settled();
    expect(await standing()).toEqual(NOTHING);
    // It was there.
    expect(world.github.requests.filter(({ method }) => method === 'DELETE')).toMatchObject([
      { status: 204 },
    ]);
  });

  test('the error names the places whose webhook could not be deleted', async () => {
    world.github.failNext('answers 403 for the permission', { after: 4, times: Number.POSITIVE_INFINITY });
    const error = await rejection(connect(['acme/rocket', 'acme/engine']));
    expect(error).toMatchObject({ outcome: { code: 'not_connected', left: ['acme/rocket'] } });
    expect(await count('integrations')).toBe(0);
  });

  test.each(['', 'two words', 'x'.repeat(513)])('the token %p', async (token) => {
    expect(await rejection(connect(['acme/rocket'], token))).toMatchObject({ code: 'invalid_token' });
    expect(world.github.requests).toEqual([]);
  });

  test('no repository, too many, an unknown organization, and a connected repository are refused', async () => {
    expect(await rejection(connect([]))).toMatchObject({ status: 400, code: 'no_places' });
    const many = Array.from({ length: 101 }, (_, index) => `acme/r${index}`);
    expect(await rejection(connect(many))).toMatchObject({ code: 'too_many_places', details: { max: 30 } });
    const nowhere = connectWithToken(world.deps, {
      type: 'github',
      organizationId: 'org_c',
      token: world.token,
      places: ['acme/rocket'],
    });
    expect(await rejection(nowhere)).toMatchObject({ status: 404 });
    const id = await world.connect();
    const again = await rejection(connect(['acme/engine', 'acme/rocket']));
    expect(again).toMatchObject({
      status: 409,
      problem: { code: 'place_connected', place: 'acme/rocket', integrationId: id },
    });
    expect(world.engine.hooks).toEqual([]);
  });
});

test('a repository of the same name at another provider is another one', async () => {
  await connectIntegration(world.deps, 'gitlab', 'org_a', 'acme/rocket');
  await connect(['acme/rocket']);
  expect(await standing()).toMatchObject({ integrations: 2, repositories: 2 });
});

test('too many repositories by hand connect nothing', async () => {
  const names = Array.from({ length: 101 }, (_, number) => `acme/r${number}`);
  const refused = await rejection(connectIntegration(world.deps, 'github', 'org_a', names));
  expect(refused).toMatchObject({ status: 400, problem: { code: 'too_many_places', max: 100, count: 101 } });
  expect(await standing()).toEqual(NOTHING);
});

describe('an integration that was connected by hand', () => {
  async function byHand() {
    const made = await connectIntegration(world.deps, 'github', 'org_a', 'acme/rocket');
    const post = `${world.github.url}/repos/acme/rocket/hooks`;
    const config = { url: made.webhookUrl, content_type: 'form', secret: 'pasted wrongly' };
    const body = JSON.stringify({ name: 'web', config, events: ['star'] });
    const headers = { authorization: `Bearer ${world.token}`, 'content-type': 'application/json' };
    await fetch(post, { method: 'POST', headers, body });
    await world.github.settled();
    return made;
  }

  test('gets a token, which takes over its webhook and corrects it', async () => {
    const { integrationId, secret } = await byHand();
    const hookId = world.rocket.hooks[0]?.id;
    const [place] = await setToken(world.deps, integrationId, ` ${world.token}\n`);
    expect(place).toMatchObject({ hookId: String(hookId), hasPinged: true });
    expect(world.rocket.hooks).toHaveLength(1);
    expect(world.rocket.hooks[0]).toMatchObject({
      id: hookId ?? 0,
      events: ['pull_request', 'push', 'release'],
    });
    expect(world.rocket.hooks[0]?.config).toMatchObject({ content_type: 'json', secret });
    expect(await world.db.read((tx) => getIntegration(tx, integrationId))).toMatchObject({ hasToken: true });
  });

  test('gets a token after one of its repositories was renamed', async () => {
    const names = ['acme/rocket', 'acme/engine'];
    const { integrationId, repositories } = await connectIntegration(world.deps, 'github', 'org_a', names);
    world.github.rename(world.rocket, 'acme/spaceship');
    await setToken(world.deps, integrationId, world.token);
    const webhookUrl = repositories.find(({ repository }) => repository === 'acme/rocket')?.webhookUrl;
    expect(world.rocket.hooks.map(({ config }) => config.url)).toEqual([webhookUrl ?? '']);
    const [sent] = await world.github.emit(world.rocket, 'release', releaseOf(world.rocket, 'v1'));
    expect(sent?.statusCode).toBe(200);
    expect(await identities(integrationId)).toEqual([
      ['acme/engine', world.engine.id],
      ['acme/spaceship', world.rocket.id],
    ]);
  });

  test('gets no token if GitHub has another repository under the name', async () => {
    const integrationId = await world.connect();
    world.github.rename(world.rocket, 'acme/spaceship');
    world.rocket.formerNames.splice(0);
    world.github.addRepository('acme/rocket', { rights: { ann: 'admin' } });
    expect(await rejection(setToken(world.deps, integrationId, world.token))).toMatchObject({
      status: 409,
      message:
        'At GitHub, acme/rocket is now a different repository. Remove it from the integration and add it again.',
    });
    expect(await identities(integrationId)).toEqual([['acme/rocket', world.rocket.id]]);
  });

  test('does not keep a token that lacks the permission', async () => {
    const { integrationId } = await byHand();
    const weak = world.github.addToken({ user: 'bob', permissions: { repository_hooks: 'write' } });
    expect(await rejection(setToken(world.deps, integrationId, weak))).toMatchObject({
      kind: 'missing-permission',
    });
    expect(await world.db.read((tx) => getIntegration(tx, integrationId))).toMatchObject({ hasToken: false });
    expect(await count('hooks')).toBe(0);
  });

  test('without a token, sends no request to GitHub', async () => {
    const { integrationId } = await connectIntegration(world.deps, 'github', 'org_a', 'acme/rocket');
    expect(await rejection(repairHooks(world.deps, integrationId))).toMatchObject({
      status: 409,
      problem: { code: 'no_token', integrationId, type: 'github' },
    });
    const added = await addPlace(world.deps, integrationId, 'acme/engine');
    expect(added).toMatchObject({ place: 'acme/engine' });
    expect(added.hookId).toBeUndefined();
    await disconnectIntegration(world.deps, integrationId);
    expect(world.github.requests).toEqual([]);
  });
});

describe('repositories of an integration', () => {
  test("have GitHub's ids from the start, so that a renamed one is not added twice", async () => {
    const id = await world.connect();
    await addPlace(world.deps, id, 'acme/engine');
    expect(await identities(id)).toEqual([
      ['acme/engine', world.engine.id],
      ['acme/rocket', world.rocket.id],
    ]);
    world.github.rename(world.engine, 'acme/motor');
    expect(await rejection(addPlace(world.deps, id, 'acme/motor'))).toMatchObject({ status: 409 });
    expect(await identities(id)).toHaveLength(2);
  });

  test('are added and removed with their webhook', async () => {
    const id = await world.connect();
    const added = await addPlace(world.deps, id, 'acme/engine');
    expect(added).toMatchObject({ place: 'acme/engine', hasPinged: true });
    expect(world.engine.hooks.map(({ config }) => config.url)).toEqual([added.webhookUrl]);
    expect(await rejection(addPlace(world.deps, id, 'ACME/engine'))).toMatchObject({ status: 409 });

    await removePlace(world.deps, id, 'Acme/Engine');
    expect(world.engine.hooks).toEqual([]);
    expect(world.rocket.hooks).toHaveLength(1);
    expect(
      (await world.db.read((tx) => getIntegration(tx, id))).repositories.map(({ fullName }) => fullName),
    ).toEqual(['acme/rocket']);
  });

  test('that cannot be added leave nothing, and those that cannot be removed stay', async () => {
    const id = await world.connect();
    world.github.failNext('answers 403 for the permission', { after: 1 });
    const error = await rejection(addPlace(world.deps, id, 'acme/engine'));
    expect(error).toMatchObject({ outcome: { code: 'not_added', left: [] } });
    expect(await standing()).toMatchObject({ repositories: 1, hooks: 1 });
    expect(world.engine.hooks).toEqual([]);

    await addPlace(world.deps, id, 'acme/engine');
    world.github.failNext('answers 500');
    expect(await rejection(removePlace(world.deps, id, 'acme/engine'))).toMatchObject({
      outcome: { code: 'not_removed', mayBeGone: true },
    });
    expect(await standing()).toMatchObject({ repositories: 2, hooks: 2 });
  });

  test('that are gone at GitHub are removed with force', async () => {
    const id = await world.connect('acme/rocket', 'acme/engine');
    world.github.repositories.splice(world.github.repositories.indexOf(world.engine), 1);
    const error = await rejection(removePlace(world.deps, id, 'acme/engine'));
    expect(error).toMatchObject({
      kind: 'place-not-found',
      outcome: { code: 'not_removed', mayBeGone: false },
    });
    expect(await standing()).toMatchObject({ repositories: 2, hooks: 2 });
    expect(await removePlace(world.deps, id, 'acme/engine', { force: true })).toEqual({ isLeft: true });
    expect(await standing()).toMatchObject({ repositories: 1, hooks: 1 });
  });

  test('cannot be removed if there is only one, or if it is unknown', async () => {
    const id = await world.connect();
    expect(await rejection(removePlace(world.deps, id, 'acme/rocket'))).toMatchObject({ code: 'last_place' });
    expect(await rejection(removePlace(world.deps, id, 'acme/boat'))).toMatchObject({
      status: 404,
      code: 'unknown_place',
    });
  });
});

describe('disconnecting', () => {
  test('deletes the webhooks, even if one is already gone', async () => {
    const id = await world.connect('acme/rocket', 'acme/engine');
    world.engine.hooks.splice(0);
    expect(await disconnectIntegration(world.deps, id)).toEqual({ left: [] });
    expect(await standing()).toEqual(NOTHING);
  });

  test('fails if GitHub does not delete them, unless it is forced', async () => {
    const id = await world.connect();
    world.github.tokens.delete(world.token);
    const error = await rejection(disconnectIntegration(world.deps, id));
    expect(error).toMatchObject({
      kind: 'bad-token',
      outcome: { code: 'not_disconnected', deleted: [], mayBeGone: null },
    });
    expect(await standing()).toMatchObject({ integrations: 1, hooks: 1 });

    expect(await disconnectIntegration(world.deps, id, { force: true })).toEqual({ left: ['acme/rocket'] });
    expect(await world.db.read((tx) => listIntegrations(tx))).toEqual([]);
    expect(world.rocket.hooks).toHaveLength(1);
  });
});

test('repairing brings every webhook to the desired state', async () => {
  const id = await world.connect('acme/rocket', 'acme/engine');
  const [before] = await world.hooks(id);
  const [rocket] = world.rocket.hooks;
  if (rocket === undefined) throw new Error('the hook is missing');
  const secret = rocket.config.secret ?? '';
  rocket.isActive = false;
  rocket.events = ['star'];
  rocket.config = { url: 'https://elsewhere.test/', content_type: 'form', insecure_ssl: '1' };
  world.engine.hooks.splice(0);
  const places = await repairHooks(world.deps, id);
  expect(places.map(({ place, hasPinged }) => [place, hasPinged])).toEqual([
    ['acme/engine', true],
    ['acme/rocket', true],
  ]);
  expect(rocket).toMatchObject({ isActive: true, events: ['pull_request', 'push', 'release'] });
  expect(rocket.config).toMatchObject({ content_type: 'json', insecure_ssl: '0', secret });
  expect(world.engine.hooks).toHaveLength(1);
  expect(before?.remoteId).not.toBe(String(world.engine.hooks[0]?.id));
});

function lastBody(): string {
  return JSON.stringify(world.github.requests.at(-1)?.body);
}

/** Some other webhook of acme/engine. */
async function connectOther(number: number): Promise<void> {
  const config = { url: `https://other.test/${number}`, content_type: 'json' };
  await fetch(`${world.github.url}/repos/acme/engine/hooks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${world.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'web', active: false, config, events: ['push'] }),
  });
}
