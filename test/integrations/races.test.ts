import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { createTrigger } from '../../src/drafting/triggers/service.ts';
import { connectIntegration, connectWithToken } from '../../src/integrations/connect.ts';
import { recordMade } from '../../src/integrations/hook-store.ts';
import { addPlace, disconnectIntegration, removePlace } from '../../src/integrations/places.ts';
import { rotateSecret, syncHooks } from '../../src/integrations/rotate.ts';
import { getSealedIntegration, listIntegrations, revealSecret } from '../../src/integrations/store.ts';
import { setToken } from '../../src/integrations/token.ts';
import { execute } from '../support/database.ts';
import { createHookWorld, type HookWorld, releaseOf } from '../support/hooks.ts';
import { rejection } from '../support/refusal.ts';

// Two people at once, the server's job beside a command, and what a process that was killed leaves behind.

let world: HookWorld;

beforeEach(async () => {
  world = await createHookWorld();
});

afterEach(() => world[Symbol.asyncDispose]());

const urlsAtGithub = () =>
  world.github.repositories.flatMap(({ hooks }) => hooks.map(({ config }) => config.url));
const secretAt = (repository: HookWorld['rocket']) => repository.hooks[0]?.config.secret ?? 'none';
const deliver = async (repository: HookWorld['rocket'], tag: string) =>
  (await world.github.emit(repository, 'release', releaseOf(repository, tag)))[0]?.statusCode;
const statuses = (calls: PromiseSettledResult<unknown>[]) => calls.map(({ status }) => status).sort();

/** GitHub does what it is asked, after something else has happened. */
const after = (happens: () => Promise<unknown>) => async (request: Request) => {
  const body = JSON.stringify(world.github.requests.at(-1)?.body);
  await happens();
  const { url, method, headers } = request;
  return fetch(url, { method, headers, ...(body === undefined ? {} : { body }) });
};

describe('two concurrent changes', () => {
  test('connect one repository once', async () => {
    const request = { type: 'github', organizationId: 'org_a', token: world.token } as const;
    const calls = await Promise.allSettled(
      ['acme/rocket', 'ACME/rocket'].map((place) =>
        connectWithToken(world.deps, { ...request, places: [place] }),
      ),
    );
    expect(statuses(calls)).toEqual(['fulfilled', 'rejected']);
    expect(await world.db.read((tx) => listIntegrations(tx))).toHaveLength(1);
    expect(world.rocket.hooks).toHaveLength(1);
  });

  test('add one repository once', async () => {
    const id = await world.connect();
    const calls = await Promise.allSettled([1, 2].map(() => addPlace(world.deps, id, 'acme/engine')));
    expect(statuses(calls)).toEqual(['fulfilled', 'rejected']);
    const [integration] = await world.db.read((tx) => listIntegrations(tx));
    expect(integration?.repositories).toHaveLength(2);
    expect(world.engine.hooks).toHaveLength(1);
    expect((await world.hooks(id)).map(({ remoteId }) => remoteId)).toEqual(
      [world.engine, world.rocket].map(({ hooks }) => String(hooks[0]?.id)),
    );
  });

  test('do not add a repository of another integration', async () => {
    const id = await world.connect('acme/engine');
    const other = await world.connect('acme/rocket');
    expect(await rejection(addPlace(world.deps, id, 'acme/rocket'))).toMatchObject({
      problem: { code: 'place_connected', place: 'acme/rocket', integrationId: other },
    });
    expect(world.rocket.hooks).toHaveLength(1);
  });

  test('rotate once: the other is refused, and no delivery is', async () => {
    const id = await world.connect();
    let isRefused = true;
    // The other comes while GitHub has the secret from before all that.
    world.github.failNext(
      after(async () => {
        const error = await rejection(rotateSecret(world.deps, id));
        expect(error).toMatchObject({ status: 409 });
        isRefused = (await deliver(world.rocket, 'v1')) !== 200;
      }),
    );
    const { secret } = await rotateSecret(world.deps, id);
    expect(isRefused).toBe(false);
    expect(secretAt(world.rocket)).toBe(secret);
    expect(await revealSecret(world.deps, id)).toBe(secret);
    expect((await rotateSecret(world.deps, id)).isSetAtProvider).toBe(true);
  });

  test('that set a token make one webhook, with the current secret', async () => {
    const { integrationId } = await connectIntegration(world.deps, 'github', 'org_a', 'acme/rocket');
    await Promise.all([1, 2].map(() => setToken(world.deps, integrationId, world.token)));
    expect(world.rocket.hooks).toHaveLength(1);
    expect(secretAt(world.rocket)).toBe(await revealSecret(world.deps, integrationId));
    expect(await syncHooks(world.deps)).toBe(0);
  });

  test('disconnect both sides', async () => {
    const id = await world.connect('acme/rocket', 'acme/engine');
    await Promise.allSettled([1, 2].map(() => disconnectIntegration(world.deps, id)));
    expect(await world.db.read((tx) => listIntegrations(tx))).toEqual([]);
    expect(urlsAtGithub()).toEqual([]);
  });
});

describe('while the job runs', () => {
  const changeTriggers = (integrationId: string) =>
    createTrigger(world.deps, { integrationId, event: 'pull_request', contentType: 'changelog' });

  test.each([
    ['an integration is disconnected', (id: string) => disconnectIntegration(world.deps, id)],
    ['a repository is removed', (id: string) => removePlace(world.deps, id, 'acme/rocket')],
  ])('%s during a change of its webhook leaves none', async (_, takeAway) => {
    const id = await world.connect('acme/rocket', 'acme/engine');
    await removePlace(world.deps, id, 'acme/engine');
    await addPlace(world.deps, id, 'acme/engine');
    await changeTriggers(id);
    // The second, as they are asked by name.
    world.github.failNext(
      after(() => takeAway(id)),
      { after: 1 },
    );
    await syncHooks(world.deps);
    expect(world.rocket.hooks).toEqual([]);
  });

  test('disconnecting after the job created the webhook again leaves none', async () => {
    const id = await world.connect();
    await changeTriggers(id);
    // The job comes in between the deletion at GitHub and the one here.
    const deleting = world.github;
    deleting.failNext(async (request) => {
      const done = await fetch(request.url, { method: 'DELETE', headers: request.headers });
      await execute(world.db, 'UPDATE hooks SET retry_at = NULL');
      await syncHooks(world.deps);
      return done;
    });
    await disconnectIntegration(world.deps, id);
    expect(urlsAtGithub()).toEqual([]);
  });
});

describe('an interrupted change', () => {
  /** As after a kill between the making at GitHub and the note of it. */
  const forgetRemoteIds = () => execute(world.db, "UPDATE hooks SET remote_id = NULL, events = '[]'");

  test('leaves an unrecorded webhook, which is deleted with its integration', async () => {
    const id = await world.connect('acme/rocket', 'acme/engine');
    await forgetRemoteIds();
    await removePlace(world.deps, id, 'acme/engine');
    expect(world.engine.hooks).toEqual([]);
    await disconnectIntegration(world.deps, id);
    expect(urlsAtGithub()).toEqual([]);
  });

  test('leaves an unrecorded webhook, which the job takes over', async () => {
    const id = await world.connect();
    await forgetRemoteIds();
    expect(await syncHooks(world.deps)).toBe(1);
    expect((await world.hooks(id))[0]?.remoteId).toBe(String(world.rocket.hooks[0]?.id));
    expect(world.rocket.hooks).toHaveLength(1);
  });

  test('fails at the second webhook: the job creates the first again', async () => {
    const id = await world.connect('acme/engine', 'acme/rocket');
    world.github.failNext('answers 500', { after: 1 });
    const error = await rejection(disconnectIntegration(world.deps, id));
    expect(error).toMatchObject({
      outcome: { code: 'not_disconnected', deleted: ['acme/engine'], mayBeGone: 'acme/rocket' },
    });
    expect(String(error)).toEndWith(
      'The integration is still connected. Tidings restores the deleted webhooks of acme/engine within a minute, and the webhook of acme/rocket if it is gone.',
    );
    expect([world.engine.hooks.length, world.rocket.hooks.length]).toEqual([0, 1]);
    // The second one is set once more, as its deletion may have been done.
    expect(await syncHooks(world.deps)).toBe(2);
    expect(await deliver(world.engine, 'v1')).toBe(200);
    expect(await deliver(world.rocket, 'v1')).toBe(200);
  });

  test('fails to set back the old secret: the job does so within a day', async () => {
    const id = await world.connect('acme/engine', 'acme/rocket');
    const secret = await revealSecret(world.deps, id);
    world.github.failNext('answers 403 for the permission', { after: 1 });
    world.github.failNext('answers 500');
    await rejection(rotateSecret(world.deps, id));
    expect(secretAt(world.engine)).not.toBe(secret);
    expect(await syncHooks(world.deps)).toBe(1);
    expect([secretAt(world.engine), secretAt(world.rocket)]).toEqual([secret, secret]);
    world.clock.advance(25 * 3_600_000);
    expect(await deliver(world.engine, 'v1')).toBe(200);
  });

  test('does not record a secret that another process rotated meanwhile', async () => {
    const id = await world.connect();
    const [hook] = await world.hooks(id);
    if (hook === undefined) throw new Error('there is no hook');
    const { secret } = await world.db.read((tx) => getSealedIntegration(tx, id));
    const made = { remoteId: hook.remoteId ?? '', events: hook.events, secret };
    const record = () => world.db.write((tx) => recordMade(tx, hook, made));
    expect((await record())?.hasPresentSecret).toBe(true);
    await rotateSecret(world.deps, id);
    expect((await record())?.hasPresentSecret).toBe(false);
    expect(await syncHooks(world.deps)).toBe(1);
  });
});
