import { beforeEach, expect, test } from 'bun:test';
import { measureQueue } from '../../src/drafting/triggers/queue-store.ts';
import { createTrigger, type NewTrigger } from '../../src/drafting/triggers/service.ts';
import { connectPolled } from '../../src/intake/polling/connect.ts';
import { pollDue } from '../../src/intake/polling/poll.ts';
import { connectIntegration } from '../../src/integrations/connect.ts';
import type { Connected } from '../../src/integrations/words.ts';
import { providerOf, repositoryReaders, samplePayload } from '../../src/providers/index.ts';
import { logOf } from '../support/deliveries.ts';
import { postsOf, runAll } from '../support/drafts.ts';
import { releaseOf, startRocket } from '../support/gitlab-api/rocket.ts';
import { changed } from '../support/payloads.ts';
import { allRows } from '../support/rows.ts';
import { appWithOrganization, type TestApp } from '../support/test-app.ts';

// A release that is dated in the future waits for its time.

let app: TestApp;
let connected: Connected;

beforeEach(async () => {
  app = await appWithOrganization();
  connected = await connectIntegration(app.deps, 'gitlab', 'org_a', 'acme/rocket');
});

const create = (given: Partial<NewTrigger> = {}) =>
  createTrigger(app.deps, {
    ...{ integrationId: connected.integrationId, event: 'release', contentType: 'changelog', ...given },
  });

const inMinutes = (minutes: number) => new Date(app.clock.now().getTime() + minutes * 60_000).toISOString();

async function deliver(event: string, changes: Record<string, unknown>): Promise<void> {
  const sample = samplePayload('gitlab', event, { repository: 'acme/rocket', now: app.clock.now() }) ?? {};
  const body = JSON.stringify(changed(sample, changes));
  const deliveryId = crypto.randomUUID();
  const { secret } = connected;
  const headers = providerOf('gitlab').sign({ event, deliveryId, body, secret, now: app.clock.now() });
  const init = { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } };
  const path = new URL(connected.webhookUrl).pathname;
  expect((await app.request(path, init)).status).toBe(200);
}

const release = (tag: string, releasedAt: string, fields: Record<string, unknown> = {}) =>
  deliver('release', { tag, name: tag, description: 'Words.', released_at: releasedAt, ...fields });

async function posts(): Promise<string[]> {
  await runAll(app);
  return (await postsOf(app)).map(({ title, status }) => `${title} ${status}`).sort();
}

const outcomes = async () =>
  ((await allRows(app.db)).delivery_results as { outcome: string }[]).map(({ outcome }) => outcome);

test('makes no post before, and one then, dated as the release', async () => {
  await create({ publish: true });
  const releasedAt = inMinutes(3 * 24 * 60);
  await release('v3', releasedAt);
  expect(await posts()).toEqual([]);
  expect(await outcomes()).toEqual(['queued']);
  const { oldest, failed } = await app.db.read(measureQueue);
  expect([oldest?.slice(0, 16), failed]).toEqual([releasedAt.slice(0, 16), 0]);
  app.clock.advance(3 * 24 * 3_600_000 - 60_000);
  expect(await posts()).toEqual([]);
  app.clock.advance(60_000);
  expect(await posts()).toEqual(['v3 published']);
  expect((await postsOf(app))[0]?.createdAt.slice(0, 16)).toBe(releasedAt.slice(0, 16));
  expect(await outcomes()).toEqual(['created']);
  expect((await allRows(app.db)).trigger_runs).toEqual([]);
});

test('lets others pass, and does not divide what comes before it', async () => {
  await create();
  await release('v9', inMinutes(600));
  await release('v2', inMinutes(-5));
  expect(await posts()).toEqual(['v2 draft']);
  app.clock.advance(60_000);
  await release('v3', inMinutes(0));
  expect(await posts()).toEqual(['v2 draft', 'v3 draft']);
  app.clock.advance(600 * 60_000);
  expect(await posts()).toEqual(['v2 draft', 'v3 draft', 'v9 draft']);
  expect(await outcomes()).toEqual(['created', 'created', 'created']);
});

test('does not close a rolling draft before its time', async () => {
  await create({ event: 'push' });
  await release('v9', inMinutes(600));
  await deliver('push', {});
  expect((await posts()).join()).not.toContain('v9');
  app.clock.advance(601 * 60_000);
  expect((await posts()).join()).toContain('v9');
});

test('comes at once when its date is moved to now', async () => {
  await create();
  await release('v3', inMinutes(600));
  expect(await posts()).toEqual([]);
  await release('v3', inMinutes(-1), { action: 'update', description: 'Earlier.' });
  expect(await posts()).toEqual(['v3 draft']);
  expect((await allRows(app.db)).trigger_runs).toEqual([]);
});

test('waits as well when it is polled', async () => {
  using rocket = startRocket();
  const { gitlab, project, clock } = rocket;
  const polled = await appWithOrganization({
    clock,
    openReader: repositoryReaders({ gitlab: gitlab.url }),
    providerUrls: { gitlab: gitlab.url },
  });
  project.visibility = 'public';
  project.releases.push(releaseOf(1));
  const { integrationId } = await connectPolled(polled.deps, {
    ...{ type: 'gitlab', organizationId: 'org_a', repositories: ['acme/tools/rocket'] },
  });
  await createTrigger(polled.deps, { integrationId, event: 'release', contentType: 'changelog' });
  const poll = async () => {
    clock.advance(60_000);
    await pollDue(polled.deps);
    await runAll(polled);
    return (await postsOf(polled)).map(({ title }) => title);
  };
  await poll();
  const time = (minutes: number) => new Date(clock.now().getTime() + minutes * 60_000).toISOString();
  project.releases.push(releaseOf(5, { releasedAt: time(60) }));
  expect(await poll()).toEqual([]);
  expect(await logOf(polled)).toHaveLength(1);
  project.releases.push(releaseOf(3, { releasedAt: time(0) }));
  expect(await poll()).toHaveLength(1);
  clock.advance(3_600_000);
  expect(await poll()).toHaveLength(2);
});
