import { describe, expect, test } from 'bun:test';
import { recoverDue } from '../../src/intake/recovery.ts';
import { setEnabled } from '../../src/integrations/connect.ts';
import { certificateOf, type Occasion } from '../../src/integrations/heartbeat.ts';
import { findInDatabase } from '../../src/server/attention.ts';
import { logOf } from '../support/deliveries.ts';
import { runAll, textsOf } from '../support/drafts.ts';
import { READER } from '../support/polling.ts';
import { HOUR_MS, MINUTE_MS, type RecoveryWorld, startRecovery } from '../support/recovery.ts';

/** Two hours of 1,000 events, 270 of which drafts are made of. */
async function busyHours(
  world: RecoveryWorld,
  onEach: (number: number) => Promise<unknown> = () => Promise.resolve(),
) {
  let sent = 0;
  for (let number = 0; number < 850; number++) {
    world.app.clock.advance((2 * HOUR_MS) / 850);
    if (number % 25 === 0 && number < 750) {
      sent += (await world.happen({ release: `v1.${number}.0`, notes: `- Notes of ${number}` })).length;
    } else if (number % 5 === 1 && number < 450) {
      sent += (await world.happen({ merge: number, title: `feat: request ${number}` })).length;
    } else if (number % 5 === 2 && number < 300) {
      sent += (await world.happen({ push: [`fix: change ${number}`, `feat: part of ${number}`] })).length;
    } else {
      sent += (await world.chat(number)).length;
    }
    await onEach(number);
  }
  return sent;
}

const relevant = async ({ app }: RecoveryWorld) =>
  (await logOf(app)).filter(({ status, payload }) => status === 'processed' && payload.data !== null);

test('two hours without the server: all that drafts are made of is back in 15 minutes, once', async () => {
  await using undisturbed = await startRecovery();
  const sent = await busyHours(undisturbed, async (number) => {
    if (number % 50 === 0) await runAll(undisturbed.app);
  });
  const expected = await textsOf(undisturbed.app);
  const count = (await relevant(undisturbed)).length;
  expect([sent, count]).toEqual([1000, 270]);

  await using world = await startRecovery();
  await world.start();
  world.goAway();
  await busyHours(world);
  world.comeBack();
  const requestsBefore = world.github.requests.length;
  await world.start();
  await world.recover(14 * MINUTE_MS);
  const requests = world.github.requests.slice(requestsBefore);
  expect(requests.filter(({ status }) => status >= 400)).toEqual([]);
  expect(requests.filter(({ method }) => method === 'POST')).toHaveLength(270);
  expect(requests.length).toBeLessThan(270 + 20);
  const log = await relevant(world);
  expect(new Set(log.map(({ referenceId }) => referenceId)).size).toBe(270);
  expect(log).toHaveLength(270);
  expect(await textsOf(world.app)).toEqual(expected);
  expect((await world.state()).rounds).toMatchObject([{ missed: 270, arrived: 270 }]);
}, 120_000);

test('nothing is asked twice, and a quiet webhook costs a request that does not count', async () => {
  await using world = await startRecovery();
  await world.start();
  world.goAway();
  await world.happen({ release: 'v1.0.0' });
  world.comeBack();
  await world.recover(HOUR_MS);
  expect(await relevant(world)).toHaveLength(1);
  const requests = world.github.requests.slice();
  await world.recover(HOUR_MS);
  const later = world.github.requests.slice(requests.length);
  const listed = later.filter(({ path }) => path.endsWith('/deliveries'));
  expect(listed.map(({ status }) => status)).toEqual(Array(6).fill(304));
  expect(later.length - listed.length).toBe(1);
});

test('a second outage in the middle of the recovery loses nothing', async () => {
  await using world = await startRecovery();
  await world.start();
  world.goAway();
  for (let number = 0; number < 25; number++) await world.happen({ release: `v1.${number}.0` });
  world.comeBack();
  await world.start();
  await world.recover(10_000);
  world.goAway();
  await world.recover(10_000);
  world.app.clock.advance(HOUR_MS);
  world.comeBack();
  await world.start();
  await world.recover(15 * MINUTE_MS);
  expect(await relevant(world)).toHaveLength(25);
});

test('a limit of the provider makes the recovery wait as long as it says', async () => {
  await using world = await startRecovery();
  await world.start();
  world.goAway();
  for (let number = 0; number < 3; number++) await world.happen({ release: `v1.${number}.0` });
  world.comeBack();
  world.github.failNext('answers 403 for its secondary rate limit', { after: 2 });
  await world.recover(10 * MINUTE_MS + 10_000);
  const before = world.github.requests.length;
  await world.recover(50_000);
  expect(world.github.requests).toHaveLength(before);
  expect(await world.state()).toMatchObject({ attempts: 1 });
  await world.recover(MINUTE_MS);
  expect(await relevant(world)).toHaveLength(3);
  expect(await world.state()).toMatchObject({ attempts: 0, problem: null });
});

test('a delivery that Tidings refuses again is lost, with the reason', async () => {
  await using world = await startRecovery();
  await world.start();
  const { id, name } = world.repository;
  const repository = { id, full_name: name, default_branch: 'main' };
  await world.github.emit(world.repository, 'release', { action: 'published', release: {}, repository });
  await world.recover(30 * MINUTE_MS);
  const { lost } = await world.state();
  expect(lost).toMatchObject([{ reason: expect.stringContaining('tag_name') }]);
  const posts = world.github.requests.filter(
    ({ method, path }) => method === 'POST' && path.includes('attempts'),
  );
  expect(posts).toHaveLength(1);
});

test('what arrived while the integration was disabled stays away', async () => {
  await using world = await startRecovery();
  await world.start();
  await setEnabled(world.app.deps, world.integrationId, false);
  await world.happen({ release: 'v1.0.0' });
  world.app.clock.advance(1000);
  await setEnabled(world.app.deps, world.integrationId, true);
  await world.recover(30 * MINUTE_MS);
  expect(await relevant(world)).toEqual([]);
});

test('after four days the provider has forgotten them: the changes are read, with few requests', async () => {
  await using undisturbed = await startRecovery();
  await busyHours(undisturbed);
  const expected = await textsOf(undisturbed.app);

  await using world = await startRecovery();
  await world.start();
  world.goAway();
  await busyHours(world);
  world.app.clock.advance(96 * HOUR_MS);
  // GitHub keeps none that old.
  for (const hook of world.repository.hooks) hook.attempts.splice(0);
  world.comeBack();
  const before = world.github.requests.length;
  await world.start();
  await world.recover(14 * MINUTE_MS);
  const requests = world.github.requests.slice(before);
  expect(requests.length).toBeLessThanOrEqual(60);
  expect(requests.filter(({ method }) => method === 'POST')).toEqual([]);
  const log = await relevant(world);
  expect(log.map(({ isPolled }) => isPolled)).toEqual(Array(270).fill(true));
  expect(await textsOf(world.app)).toEqual(expected);
  expect((await world.state()).reads).toMatchObject([{ news: 270 }]);
}, 120_000);

describe('the heartbeat', () => {
  const pings = ({ github }: RecoveryWorld) =>
    github.requests.filter(({ path }) => path.endsWith('/pings')).length;
  const beat = async (world: RecoveryWorld, occasion: Occasion, ms = 11 * MINUTE_MS) => {
    for (let left = ms; left > 0; left -= MINUTE_MS) {
      world.app.clock.advance(MINUTE_MS);
      await recoverDue(world.app.deps, occasion);
      await world.github.settled();
    }
  };
  const items = async ({ app }: RecoveryWorld) =>
    (await app.db.read((tx) => findInDatabase(tx, app.clock.now()))).filter(
      ({ kind }) => kind === 'heartbeat_failed',
    );

  test('is asked for once after a start, another certificate, another address, and a week of silence', async () => {
    await using world = await startRecovery();
    await world.start();
    const before = pings(world);
    const asked = async () => pings(world) - before;
    world.app.clock.advance(2 * HOUR_MS);
    const startedAt = world.app.clock.now();
    await beat(world, { startedAt, certificate: 'one' }, 30 * MINUTE_MS);
    expect(await asked()).toBe(1);
    await beat(world, { startedAt, certificate: 'two' }, 30 * MINUTE_MS);
    expect(await asked()).toBe(2);
    const moved = { ...world.app.deps, publicUrl: () => 'https://elsewhere.test' };
    world.app.clock.advance(11 * MINUTE_MS);
    await recoverDue(moved, { startedAt, certificate: 'two' });
    expect(await asked()).toBe(3);
    await beat({ ...world, app: { ...world.app, deps: { ...world.app.deps, ...moved } } }, { startedAt });
    expect(await asked()).toBe(3);
    world.app.clock.advance(8 * 24 * HOUR_MS);
    await beat({ ...world, app: { ...world.app, deps: { ...world.app.deps, ...moved } } }, { startedAt });
    expect(await asked()).toBe(4);
    expect(await items(world)).toEqual([]);
  });

  test('that does not arrive is an item with the reason of the provider, until one does', async () => {
    await using world = await startRecovery();
    await world.start();
    const [hook] = world.repository.hooks;
    if (hook === undefined) return expect.unreachable();
    const { url } = hook.config;
    hook.config.url = 'http://127.0.0.1:1';
    world.app.clock.advance(2 * HOUR_MS);
    const startedAt = world.app.clock.now();
    await beat(world, { startedAt });
    expect(await items(world)).toMatchObject([
      {
        subject: world.integrationId,
        message: 'acme/rocket: the ping that Tidings asked for did not arrive (failed to connect to host)',
      },
    ]);
    const failed = pings(world);
    await beat(world, { startedAt }, 50 * MINUTE_MS);
    expect(pings(world)).toBe(failed);
    hook.config.url = url;
    await beat(world, { startedAt }, 30 * MINUTE_MS);
    expect(pings(world)).toBe(failed + 1);
    expect(await items(world)).toEqual([]);
  });

  test.each([
    ['self-signed', 'expired', 'certificate has expired or is not yet valid'],
    ['expired', 'self-signed', 'certificate signed by unknown authority'],
  ])('finds a server whose certificate was %s and is now %s', async (before, after, reason) => {
    await using world = await startRecovery();
    let reached = 0;
    const serve = (name: string, port: number) => {
      const fileOf = (ending: string) => Bun.file(`${import.meta.dir}/../fixtures/tls/${name}.${ending}`);
      return Bun.serve({
        hostname: '127.0.0.1',
        port,
        tls: { cert: fileOf('crt'), key: fileOf('key') },
        fetch(request) {
          reached++;
          return world.app.fetch(request);
        },
      });
    };
    const old = serve(before, 0);
    const { origin, port } = old.url;
    const first = { certificate: await certificateOf(origin) };
    await world.start();
    await beat(world, first, 30 * MINUTE_MS);
    expect(await items(world)).toEqual([]);
    await old.stop(true);
    await using _ = serve(after, Number(port));
    const [hook] = world.repository.hooks;
    if (hook === undefined) return expect.unreachable();
    const { url } = hook.config;
    hook.config.url = new URL(new URL(url).pathname, origin).href;
    const asked = pings(world);
    const renewed = { certificate: await certificateOf(origin) };
    await beat(world, renewed, 30 * MINUTE_MS);
    expect(pings(world)).toBe(asked + 1);
    expect(await items(world)).toMatchObject([
      {
        subject: world.integrationId,
        message: `acme/rocket: the ping that Tidings asked for did not arrive (tls: failed to verify certificate: x509: ${reason})`,
      },
    ]);
    expect(reached).toBe(0);
    hook.config.url = url;
    await beat(world, renewed, 90 * MINUTE_MS);
    expect(await items(world)).toEqual([]);
  });
});

test('changes that a token may not read are lost, and say so', async () => {
  await using world = await startRecovery();
  await world.start();
  for (const token of world.github.tokens.values())
    Object.assign(token, { permissions: { repository_hooks: 'write' } });
  world.goAway();
  world.app.clock.advance(96 * HOUR_MS);
  world.comeBack();
  await world.start();
  await world.recover(MINUTE_MS);
  const lost = await world.app.db.read((tx) =>
    findInDatabase(tx, world.app.clock.now(), ['deliveries_lost']),
  );
  expect(lost).toMatchObject([{ subject: world.integrationId, count: 1 }]);
  for (const token of world.github.tokens.values()) Object.assign(token, READER);
  await world.recover(25 * HOUR_MS, HOUR_MS);
  expect(
    await world.app.db.read((tx) => findInDatabase(tx, world.app.clock.now(), ['deliveries_lost'])),
  ).toEqual([]);
});
