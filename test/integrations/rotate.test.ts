import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { createTrigger, deleteTrigger, switchTrigger } from '../../src/drafting/triggers/service.ts';
import { rotateSecret, syncHooks } from '../../src/integrations/rotate.ts';
import { acceptedSecrets, getSealedIntegration, revealSecret } from '../../src/integrations/store.ts';
import { setToken } from '../../src/integrations/token.ts';
import { secretBox } from '../../src/lib/secret-box.ts';
import { execute } from '../support/database.ts';
import { logOf } from '../support/deliveries.ts';
import { createHookWorld, type HookWorld, releaseOf, startStream } from '../support/hooks.ts';
import { rejection } from '../support/refusal.ts';

let world: HookWorld;

beforeEach(async () => {
  world = await createHookWorld();
});

afterEach(() => world[Symbol.asyncDispose]());

const secretAt = (repository: HookWorld['rocket']) => repository.hooks[0]?.config.secret ?? 'none';
const MINUTE_MS = 60_000;

describe('rotating the secret', () => {
  test('sets it at GitHub and refuses no delivery of a stream', async () => {
    const id = await world.connect('acme/rocket', 'acme/engine');
    const before = secretAt(world.rocket);
    const stream = startStream(8, async (lane, number) => {
      const repository = lane % 2 === 0 ? world.rocket : world.engine;
      const sent = await world.github.emit(
        repository,
        'release',
        releaseOf(repository, `v${lane}.${number}`),
      );
      return sent.map(({ statusCode }) => statusCode);
    });
    const secrets = [before];
    for (let round = 0; round < 5; round++) {
      secrets.push((await rotateSecret(world.deps, id)).secret);
      await stream.settled();
    }
    const answers = await stream.end();

    expect(new Set(secrets).size).toBe(6);
    expect(secretAt(world.rocket)).toBe(secrets.at(-1) ?? '');
    expect(secretAt(world.engine)).toBe(secrets.at(-1) ?? '');
    expect(answers.length).toBeGreaterThan(20);
    expect(answers.filter((status) => status !== 200)).toEqual([]);
    expect((await logOf(world)).filter(({ status }) => status === 'rejected')).toEqual([]);
    expect((await world.hooks(id)).every(({ hasPresentSecret }) => hasPresentSecret)).toBe(true);
  });

  test('with now, ends the old secret as soon as GitHub has the new one', async () => {
    const id = await world.connect('acme/rocket', 'acme/engine');
    const old = secretAt(world.rocket);
    const accepted = async () =>
      acceptedSecrets(world.deps, await world.db.read((tx) => getSealedIntegration(tx, id)));
    const during: string[][] = [];
    // GitHub delivers while the second webhook is changed: either secret counts until both have the new one.
    world.github.failNext(
      async ({ url }) => {
        during.push(await accepted());
        return new Response(null, { status: 307, headers: { location: url } });
      },
      { after: 1 },
    );
    const { secret, isSetAtProvider } = await rotateSecret(world.deps, id, { now: true });
    expect(isSetAtProvider).toBe(true);
    expect(during).toEqual([[secret, old]]);
    expect([secretAt(world.rocket), secretAt(world.engine)]).toEqual([secret, secret]);
    expect(await accepted()).toEqual([secret]);
    const emit = async () =>
      (await world.github.emit(world.rocket, 'release', releaseOf(world.rocket, 'v1')))[0]?.statusCode;
    expect(await emit()).toBe(200);
    if (world.rocket.hooks[0] !== undefined) world.rocket.hooks[0].config.secret = old;
    expect(await emit()).toBe(401);
  });

  test('ends nothing if GitHub refuses the new one', async () => {
    const id = await world.connect();
    const before = await world.db.read((tx) => getSealedIntegration(tx, id));
    world.github.failNext('answers 403 for the permission');
    await rejection(rotateSecret(world.deps, id, { now: true }));
    expect(await world.db.read((tx) => getSealedIntegration(tx, id))).toEqual(before);
  });

  test('a refusal at the first webhook changes nothing', async () => {
    const id = await world.connect();
    const secret = await revealSecret(world.deps, id);
    const before = await world.hooks(id);
    world.github.failNext('answers 403 for the permission');
    const error = await rejection(rotateSecret(world.deps, id));
    expect(error).toMatchObject({ kind: 'missing-permission', outcome: { code: 'not_rotated' } });
    expect(await revealSecret(world.deps, id)).toBe(secret);
    expect(secretAt(world.rocket)).toBe(secret);
    expect(await world.hooks(id)).toEqual(before);
  });

  test('a refusal at the second webhook sets the first back', async () => {
    const id = await world.connect('acme/engine', 'acme/rocket');
    const secret = await revealSecret(world.deps, id);
    world.github.failNext('answers 403 for the permission', { after: 1 });
    expect(await rejection(rotateSecret(world.deps, id))).toMatchObject({ kind: 'missing-permission' });
    expect([secretAt(world.engine), secretAt(world.rocket)]).toEqual([secret, secret]);
    expect(await revealSecret(world.deps, id)).toBe(secret);
    expect(await syncHooks(world.deps)).toBe(0);
  });

  test('after a failure without a response, deliveries are accepted and the job finishes', async () => {
    const id = await world.connect();
    const secret = await revealSecret(world.deps, id);
    // GitHub does it, and its answer is lost.
    world.github.failNext(async (request) => {
      await fetch(request.url, {
        method: request.method,
        headers: request.headers,
        body: JSON.stringify(world.github.requests.at(-1)?.body),
      });
      return new Response(null, { status: 502 });
    });
    expect(await rejection(rotateSecret(world.deps, id))).toMatchObject({ kind: 'provider-failed' });
    expect(secretAt(world.rocket)).not.toBe(secret);
    const deliver = async () =>
      (await world.github.emit(world.rocket, 'release', releaseOf(world.rocket, 'v1')))[0]?.statusCode;
    expect(await deliver()).toBe(200);
    expect(await syncHooks(world.deps)).toBe(1);
    expect(secretAt(world.rocket)).toBe(secret);
    expect(await deliver()).toBe(200);
  });
});

test('after the secret key was lost, a new secret and a new token repair everything', async () => {
  const id = await world.connect();
  const lost = secretBox(new Uint8Array(32).fill(9));
  const sealed = lost.seal('nobody can read this', 'any more');
  await execute(world.db, sql`UPDATE integrations SET secret = ${sealed}, token = ${sealed}`);
  expect((await rotateSecret(world.deps, id)).isSetAtProvider).toBe(false);
  // Nobody has a token to ask with; the job keeps saying so.
  expect(await syncHooks(world.deps)).toBe(0);
  expect((await world.hooks(id))[0]?.problem).toContain('has no usable GitHub token');
  await setToken(world.deps, id, world.token);
  expect(secretAt(world.rocket)).toBe(await revealSecret(world.deps, id));
  const [attempt] = await world.github.emit(world.rocket, 'release', releaseOf(world.rocket, 'v1'));
  expect(attempt?.statusCode).toBe(200);
});

describe('the job that syncs webhooks', () => {
  const events = () => world.rocket.hooks[0]?.events ?? [];

  test('follows the events that triggers need', async () => {
    const id = await world.connect();
    const create = (event: string, repository?: string) =>
      createTrigger(world.deps, { integrationId: id, event, contentType: 'changelog', repository });
    expect(await syncHooks(world.deps)).toBe(0);

    const pulls = await create('pull_request');
    expect(await syncHooks(world.deps)).toBe(1);
    expect(events()).toEqual(['pull_request', 'release']);
    const secret = secretAt(world.rocket);
    expect(secret).toBe(await revealSecret(world.deps, id));

    const release = await create('release');
    await syncHooks(world.deps);
    expect(events()).toEqual(['pull_request', 'push', 'release']);
    await switchTrigger(world.deps, release.id, false);
    await syncHooks(world.deps);
    expect(events()).toEqual(['pull_request', 'release']);
    await deleteTrigger(world.deps, pulls.id);
    await syncHooks(world.deps);
    // Without an enabled trigger it delivers all that one could need.
    expect(events()).toEqual(['pull_request', 'push', 'release']);
    expect(await syncHooks(world.deps)).toBe(0);
  });

  test("a trigger of one repository changes that one's webhook alone", async () => {
    const id = await world.connect('acme/rocket', 'acme/engine');
    const trigger = { integrationId: id, event: 'pull_request', contentType: 'changelog' } as const;
    await createTrigger(world.deps, { ...trigger, repository: 'acme/rocket' });
    expect(await syncHooks(world.deps)).toBe(1);
    expect(events()).toEqual(['pull_request', 'release']);
    expect(world.engine.hooks[0]?.events).toEqual(['pull_request', 'push', 'release']);
  });

  test('retries at once after a failure while the clock was a year ahead', async () => {
    const id = await world.connect();
    await createTrigger(world.deps, { integrationId: id, event: 'pull_request', contentType: 'changelog' });
    const yearMs = 365 * 24 * 60 * MINUTE_MS;
    world.github.failNext('answers 500', { times: 1 });
    world.clock.advance(yearMs);
    expect(await syncHooks(world.deps)).toBe(0);
    world.clock.advance(-yearMs);
    expect(await syncHooks(world.deps)).toBe(1);
    expect(events()).toEqual(['pull_request', 'release']);
  });

  test('stores the failure and backs off', async () => {
    const id = await world.connect();
    await createTrigger(world.deps, { integrationId: id, event: 'pull_request', contentType: 'changelog' });
    world.github.failNext('answers 500', { times: 3 });
    const waits: number[] = [];
    for (const minutes of [1, 10, 60]) {
      expect(await syncHooks(world.deps)).toBe(0);
      const [hook] = await world.hooks(id);
      expect(hook?.problem).toContain('GitHub failed with status 500');
      waits.push(((hook?.retryAt ?? 0) - world.clock.now().getTime()) / MINUTE_MS);
      const asked = world.github.requests.length;
      world.clock.advance(minutes * MINUTE_MS - 1);
      await syncHooks(world.deps);
      expect(world.github.requests).toHaveLength(asked);
      world.clock.advance(1);
    }
    expect(waits).toEqual([1, 10, 60]);
    expect(await syncHooks(world.deps)).toBe(1);
    expect((await world.hooks(id))[0]).toMatchObject({ problem: null, retryAt: null, attempts: 0 });
    expect(events()).toEqual(['pull_request', 'release']);
  });

  test('waits until the time that GitHub gives', async () => {
    const id = await world.connect();
    await createTrigger(world.deps, { integrationId: id, event: 'pull_request', contentType: 'changelog' });
    world.github.failNext('answers 403 for its rate limit');
    await syncHooks(world.deps);
    expect((await world.hooks(id))[0]?.retryAt).toBe(Date.parse('2026-11-21T04:10:00Z'));
  });

  test.each(['answers 403 for its rate limit', 'answers 401', 'answers 500'] as const)(
    'asks no more for the others when GitHub %s',
    async (fault) => {
      const id = await world.connect('acme/engine', 'acme/rocket');
      await createTrigger(world.deps, { integrationId: id, event: 'pull_request', contentType: 'changelog' });
      world.github.failNext(fault, { times: 5 });
      const asked = world.github.requests.length;
      expect(await syncHooks(world.deps)).toBe(0);
      expect(world.github.requests).toHaveLength(asked + 1);
      const [engine, rocket] = await world.hooks(id);
      expect(engine?.problem).not.toBeNull();
      expect(rocket?.problem).toBe(engine?.problem ?? '');
      expect(rocket?.retryAt).toBe(engine?.retryAt ?? 0);
    },
  );

  test('creates a deleted webhook again at the next change', async () => {
    const id = await world.connect();
    world.rocket.hooks.splice(0);
    await createTrigger(world.deps, { integrationId: id, event: 'pull_request', contentType: 'changelog' });
    expect(await syncHooks(world.deps)).toBe(1);
    expect(events()).toEqual(['pull_request', 'release']);
  });

  test('stops when the server does', async () => {
    const id = await world.connect();
    await createTrigger(world.deps, { integrationId: id, event: 'pull_request', contentType: 'changelog' });
    expect(await syncHooks(world.deps, AbortSignal.abort())).toBe(0);
  });
});
