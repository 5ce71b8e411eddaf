import { beforeEach, describe, expect, test } from 'bun:test';
import { silences } from '../../db/schema/integrations.ts';
import { watchSilence } from '../../src/intake/silence.ts';
import { setEnabled } from '../../src/integrations/connect.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { findInDatabase } from '../../src/server/attention.ts';
import { execute } from '../support/database.ts';
import { appWithGithub, githubRequest } from '../support/deliveries.ts';
import { startRecovery } from '../support/recovery.ts';
import type { TestApp } from '../support/test-app.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const itemsOf = (app: TestApp) => app.db.read((tx) => findInDatabase(tx, app.clock.now(), ['silent']));

describe('a webhook that was set up by hand', () => {
  let app: TestApp;
  let connected: Awaited<ReturnType<typeof appWithGithub>>['connected'];
  let pushes = 0;

  beforeEach(async () => {
    ({ app, connected } = await appWithGithub());
  });

  const push = () =>
    execute(
      app.db,
      `INSERT INTO events (integration_id, repository_id, type, key, branch, occurred_at, version, delivery_id, data)
       VALUES ('${connected.integrationId}', '${connected.repositoryId}', 'push', 'sha-${++pushes}', 'main',
         '${app.clock.now().toISOString()}', '', 'd-${pushes}', '{}')`,
    );

  /** Weekdays with a push, weekends without. */
  async function work(days: number) {
    for (let day = 0; day < days; day++) {
      app.clock.advance(DAY_MS);
      if (![0, 6].includes(app.clock.now().getUTCDay())) await push();
    }
  }

  async function rest(days: number) {
    for (let at = 0; at < days * 4; at++) {
      app.clock.advance(6 * HOUR_MS);
      await watchSilence(app.deps);
    }
  }

  test('is an item once it is silent for longer than its rhythm explains, until something arrives', async () => {
    await work(63);
    // Friday to Tuesday: a weekend is no silence.
    expect(app.clock.now().getUTCDay()).toBe(5);
    await rest(4);
    expect(await itemsOf(app)).toEqual([]);
    await rest(3);
    expect(await itemsOf(app)).toMatchObject([
      {
        kind: 'silent',
        subject: connected.integrationId,
        since: '2027-01-22T12:00:00.000Z',
        message:
          'acme/rocket: nothing has arrived since Jan 22, 2027, 12:00 UTC, which is unusually long for it',
      },
    ]);
    // An event that makes no draft shows that the webhook works.
    await app.request(...githubRequest(connected, { zen: 'Hi', hook_id: 1 }, { event: 'ping' }));
    app.clock.advance(300_000);
    await watchSilence(app.deps);
    expect(await itemsOf(app)).toEqual([]);
  });

  test('is no item with less than two weeks of history, or while it is disabled', async () => {
    await work(12);
    await rest(60);
    expect(await itemsOf(app)).toEqual([]);
    await work(60);
    await rest(60);
    expect(await itemsOf(app)).toHaveLength(1);
    await setEnabled(app.deps, connected.integrationId, false);
    expect(await itemsOf(app)).toEqual([]);
  });

  test('is looked at rarely, a few repositories at a time', async () => {
    for (let at = 0; at < 12; at++)
      await execute(
        app.db,
        `INSERT INTO repositories (id, integration_id, full_name, provider_id, created_at)
         VALUES ('repo-${at}', '${connected.integrationId}', 'acme/more-${at}', ${1000 + at}, '2026-11-20T12:00:00.000Z')`,
      );
    const looked = async () => (await app.db.read((tx) => tx.$count(silences))) as number;
    await watchSilence(app.deps);
    expect(await looked()).toBe(5);
    await watchSilence(app.deps);
    await watchSilence(app.deps);
    expect(await looked()).toBe(13);
  });

  test('a delivery of today is no silence, whatever arrived before', async () => {
    await work(60);
    app.clock.advance(30 * DAY_MS);
    const payload = samplePayload('github', 'release', { now: app.clock.now() });
    await app.request(...githubRequest(connected, payload, { event: 'release' }));
    await watchSilence(app.deps);
    expect(await itemsOf(app)).toEqual([]);
  });
});

test('with a token, only what the provider has and Tidings lacks makes a silence an item', async () => {
  await using world = await startRecovery();
  const { app, github } = world;
  for (let day = 0; day < 30; day++) {
    app.clock.advance(DAY_MS);
    await world.happen({ push: [`fix: change ${day}`] });
  }
  app.clock.advance(20 * DAY_MS);
  await watchSilence(app.deps);
  expect(await itemsOf(app)).toEqual([]);
  const asked = github.requests.length;
  app.clock.advance(HOUR_MS);
  await watchSilence(app.deps);
  expect(github.requests.length).toBe(asked);

  world.project.happen({ push: ['fix: nobody told of this'] });
  app.clock.advance(6 * HOUR_MS);
  await watchSilence(app.deps);
  const [item] = await itemsOf(app);
  expect(item?.message).toEndWith('but the provider has newer changes');
  expect(item?.effect).toBe('Changes there make no drafts, so readers do not learn of them.');
  await world.happen({ push: ['fix: this arrived'] });
  app.clock.advance(300_000);
  await watchSilence(app.deps);
  expect(await itemsOf(app)).toEqual([]);
});
