import { expect, test } from 'bun:test';
import { recordEvent } from '../../src/drafting/events.ts';
import { readScope, saveDraft } from '../../src/drafting/store.ts';
import { createTrigger } from '../../src/drafting/triggers/service.ts';
import type { Event } from '../../src/providers/events.ts';
import { testSqlite, valuesOf } from '../support/database.ts';
import { appWithGithub } from '../support/deliveries.ts';
import { plansOf } from '../support/plans.ts';

/** A rolling draft of a push and a pull request, and an older push that is in no draft. */
async function setUp() {
  const { app, connected } = await appWithGithub();
  const { integrationId, repositoryId = null } = connected;
  const { id } = await createTrigger(app.deps, { integrationId, event: 'release', contentType: 'changelog' });
  const event = (type: 'push' | 'pull_request', key: string, day: number) =>
    ({
      type,
      key,
      occurredAt: `2026-11-0${day}T00:00:00.000Z`,
      version: '1',
      branch: 'main',
      repository: 'acme/rocket',
      deliveryId: 'x',
      data: {},
    }) as unknown as Event;
  await app.db.write(async (tx) => {
    for (const each of [event('push', 'a b', 1), event('push', 'c', 3), event('pull_request', 'a b', 2)]) {
      await recordEvent(tx, { integrationId, repositoryId }, each, null);
    }
    await saveDraft(tx, {
      triggerId: id,
      scope: 'main',
      subject: 'open',
      postId: 'post_x',
      writtenHash: 'x',
      eventKeys: ['push c', 'pull_request a b'],
      until: '2026-11-03T00:00:00.000Z',
      suggestion: null,
      suggestedAt: null,
      dismissedHash: null,
      leftOut: [],
      source: null,
    });
  });
  const oldestEvent = (subjects: string[]) =>
    app.db.read(async (tx) => {
      const scope = await readScope(tx, { integrationId, repositoryId }, { triggerId: id, scope: 'main' });
      return scope.oldestEvent(subjects);
    });
  return { app, oldestEvent };
}

test('the oldest event of drafts is that of any type, found by type and key', async () => {
  const { oldestEvent } = await setUp();
  expect(await oldestEvent(['open', 'another'])).toBe('2026-11-02T00:00:00.000Z');
  expect(await oldestEvent(['another'])).toBeNull();
});

test('a draft without a suggestion is not among those that have one', async () => {
  const { app } = await setUp();
  const suggested = 'SELECT post_id FROM drafts WHERE suggestion IS NOT NULL';
  expect(await valuesOf(app.db, suggested)).toEqual([]);
});

testSqlite('the events of drafts are found by their keys, not among all of a repository', async () => {
  const { app, oldestEvent } = await setUp();
  const plans = await plansOf(() => oldestEvent(['open']), app.db);
  const onEvents = plans.filter((plan) => plan.includes('events'));
  expect(onEvents).not.toEqual([]);
  for (const plan of onEvents) expect(plan).toContain('AND type=? AND key=?');
});
