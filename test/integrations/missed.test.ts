import { afterEach, beforeEach, expect, test } from 'bun:test';
import { connectIntegration, setEnabled } from '../../src/integrations/connect.ts';
import { findMissed, redeliverMissed } from '../../src/integrations/missed.ts';
import { logOf } from '../support/deliveries.ts';
import { createHookWorld, type HookWorld, idsOf, releaseOf } from '../support/hooks.ts';
import { rejection } from '../support/refusal.ts';
import { allRows } from '../support/rows.ts';

let world: HookWorld;

beforeEach(async () => {
  world = await createHookWorld();
});

afterEach(() => world[Symbol.asyncDispose]());

const HOUR_MS = 3_600_000;

async function release(tag: string, repository = world.rocket): Promise<string> {
  const [attempt] = await world.github.emit(repository, 'release', releaseOf(repository, tag));
  world.clock.advance(60_000);
  return attempt?.guid ?? '';
}

const shipped = async () => (await allRows(world.db)).events?.length;

test('deliveries of an hour without the server are missed, and redelivered once', async () => {
  const id = await world.connect('acme/rocket', 'acme/engine');
  const before = [await release('v1.0.0'), await release('v1.0.1', world.engine)];
  world.goAway();
  const away: string[] = [];
  for (let minute = 0; minute < 60; minute++) {
    away.push(await release(`v2.0.${minute}`, minute % 2 === 0 ? world.rocket : world.engine));
  }
  world.comeBack();
  const after = [await release('v3.0.0')];

  const found = await findMissed(world.deps, id);
  expect(found).toMatchObject({ counts: { arrived: 3, failed: 0, 'never-arrived': 60 }, isCut: false });
  expect(idsOf(found.missed)).toEqual(away);
  expect(found.missed[0]).toMatchObject({
    place: 'acme/rocket',
    event: 'release',
    action: 'published',
    fate: 'never-arrived',
    attempts: 1,
    cause: { code: 'no_response', response: { message: 'failed to connect to host' } },
  });
  expect(await shipped()).toBe(before.length + after.length);

  const asked = await redeliverMissed(world.deps, id, 'all');
  await world.github.settled();
  expect(asked.map(({ deliveryId, problem }) => [deliveryId, problem])).toEqual(
    away.map((each) => [each, null]),
  );
  expect(await shipped()).toBe(63);
  const log = (await logOf(world)).filter(({ payload }) => payload.event === 'release');
  expect(log.map(({ status }) => status)).toEqual(Array(63).fill('processed'));
  expect(new Set(log.map(({ referenceId }) => referenceId)).size).toBe(63);

  expect(await findMissed(world.deps, id)).toMatchObject({ missed: [], counts: { arrived: 63 } });
  expect(await redeliverMissed(world.deps, id, 'all')).toEqual([]);
});

test('a delivery that was answered but is not in the log has failed', async () => {
  const id = await world.connect();
  await setEnabled(world.deps, id, false);
  const refused = await release('v1.0.0');
  await setEnabled(world.deps, id, true);
  world.goAway();
  const { port } = new URL(world.url);
  const answered: string[] = [];
  for (const status of [503, 200]) {
    const other = Bun.serve({
      hostname: '127.0.0.1',
      port: Number(port),
      fetch: () => new Response('', { status }),
    });
    answered.push(await release(`v1.1.${status}`));
    await other.stop(true);
  }
  world.comeBack();

  const { missed, counts } = await findMissed(world.deps, id);
  expect(counts).toEqual({ arrived: 0, failed: 3, 'never-arrived': 0 });
  expect(idsOf(missed)).toEqual([refused, ...answered]);
  expect(missed.map(({ cause }) => cause)).toMatchObject([
    { code: 'refused', response: { statusCode: 403 } },
    { code: 'refused', response: { statusCode: 503 } },
    { code: 'answered_by_other', response: { statusCode: 200 } },
  ]);
});

test('only chosen deliveries are redelivered, and only missed ones', async () => {
  const id = await world.connect();
  const arrived = await release('v1.0.0');
  world.goAway();
  const [first = '', second = ''] = [await release('v1.0.1'), await release('v1.0.2')];
  world.comeBack();
  expect(await rejection(redeliverMissed(world.deps, id, [first, arrived]))).toMatchObject({ status: 404 });
  expect(await redeliverMissed(world.deps, id, [second])).toEqual([{ deliveryId: second, problem: null }]);
  await world.github.settled();
  expect(idsOf((await findMissed(world.deps, id)).missed)).toEqual([first]);
});

test('a delivery has arrived if any attempt did, and counts all its attempts', async () => {
  const id = await world.connect();
  world.goAway();
  const first = await release('v1.0.0');
  await redeliverMissed(world.deps, id, 'all');
  await world.github.settled();
  expect((await findMissed(world.deps, id)).missed).toMatchObject([{ deliveryId: first, attempts: 2 }]);
  world.comeBack();
  await redeliverMissed(world.deps, id, 'all');
  await world.github.settled();
  expect(await findMissed(world.deps, id)).toMatchObject({ counts: { arrived: 1 }, missed: [] });
});

test('deliveries of more than three days ago are not compared', async () => {
  const id = await world.connect();
  world.goAway();
  await release('v1.0.0');
  world.clock.advance(70 * HOUR_MS);
  const late = await release('v1.0.1');
  world.clock.advance(3 * HOUR_MS);
  world.comeBack();
  expect(idsOf((await findMissed(world.deps, id)).missed)).toEqual([late]);
});

test('a failure that affects all deliveries ends the redelivery', async () => {
  const id = await world.connect();
  world.goAway();
  await release('v1.0.0');
  await release('v1.0.1');
  world.comeBack();
  world.github.failNext('answers 403 for its rate limit', { after: 1 });
  const results = await redeliverMissed(world.deps, id, 'all');
  expect(results).toHaveLength(1);
  expect(results[0]?.problem).toMatchObject({ kind: 'rate-limited' });
});

test('without a token or the provider, missed deliveries are unknown', async () => {
  const byHand = await connectIntegration(world.deps, 'github', 'org_a', 'acme/engine');
  expect(await rejection(findMissed(world.deps, byHand.integrationId))).toMatchObject({ code: 'no_token' });
  const id = await world.connect();
  world.github.failNext('answers 502 with a page');
  expect(await rejection(findMissed(world.deps, id))).toMatchObject({ kind: 'provider-failed' });
  expect(await rejection(findMissed(world.deps, 'int_none'))).toMatchObject({ status: 404 });
});

test('a deleted webhook hides only its own deliveries; without any webhook the comparison fails', async () => {
  const id = await world.connect('acme/rocket', 'acme/engine');
  world.goAway();
  const missing = await release('v1.0.0');
  world.comeBack();
  world.engine.hooks.splice(0);
  const found = await findMissed(world.deps, id);
  expect(idsOf(found.missed)).toEqual([missing]);
  expect(found.unknown).toMatchObject([{ place: 'acme/engine', problem: { kind: 'hook-not-found' } }]);
  world.rocket.hooks.splice(0);
  expect(await rejection(findMissed(world.deps, id))).toMatchObject({ kind: 'hook-not-found' });
});
