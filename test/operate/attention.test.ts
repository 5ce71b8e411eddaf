import { beforeEach, describe, expect, test } from 'bun:test';
import { utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { diagnose } from '../../src/integrations/doctor.ts';
import { trackUptime } from '../../src/integrations/uptime.ts';
import type { Connected } from '../../src/integrations/words.ts';
import { listAttention } from '../../src/people/attention.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { attentionJob } from '../../src/server/attention.ts';
import { startJobs } from '../../src/server/jobs.ts';
import { temporaryFolder } from '../support/cli.ts';
import { pageVisitor, type VisitPage } from '../support/dashboard.ts';
import { execute } from '../support/database.ts';
import { appWithGithub, githubRequest } from '../support/deliveries.ts';
import { createTriggerFor } from '../support/drafts.ts';
import type { TestApp } from '../support/test-app.ts';

const DAY_MS = 86_400_000;

let app: TestApp;
let connected: Connected;
let visit: VisitPage;
/** One look of the leader. */
let look: () => Promise<void>;

beforeEach(async () => {
  ({ app, connected } = await appWithGithub({ organizations: ['org_a', 'org_b'] }));
  visit = await pageVisitor(app);
  const { run } = attentionJob(
    { ...app.deps, db: app.db },
    { dataDir: temporaryFolder().path, backups: undefined, database: undefined },
  );
  look = async () => void (await run(new AbortController().signal));
});

const items = () => app.db.read((tx) => listAttention(tx));
const kinds = async () => (await items()).map(({ kind }) => kind);

const sample = () => samplePayload('github', 'release', { now: app.clock.now() });
const deliver = (secret?: string) =>
  app.request(
    ...githubRequest(connected, sample(), {
      event: 'release',
      ...(secret !== undefined && { secret }),
    }),
  );

const pageOf = async (path: string) => (await visit(path)).text();
const badge = async () =>
  /Attention<\/span><small[^>]*>(\d+)/.exec(await pageOf('/dashboard/org_a/posts'))?.[1];

test('a new installation needs nobody', async () => {
  await look();
  expect(await items()).toEqual([]);
  expect(await badge()).toBeUndefined();
  expect(await pageOf('/dashboard/org_a/attention')).toContain('Nothing needs you.');
});

describe('deliveries that are rejected', () => {
  test('are one item with all of them, from the first to the next good one', async () => {
    for (let number = 0; number < 6; number++) {
      await deliver('wrong');
      app.clock.advance(61_000 * (number % 2));
    }
    await look();
    const [item, ...others] = await items();
    expect(others).toEqual([]);
    expect(item).toMatchObject({
      id: `deliveries_rejected:${connected.integrationId}`,
      organizationId: 'org_a',
      since: '2026-11-20T12:00:00.000Z',
      count: 6,
      mutedUntil: null,
    });
    expect(item?.message).toStartWith('acme/rocket: the last 6 deliveries were not accepted (');
    expect(await badge()).toBe('1');

    const card = await pageOf('/dashboard/org_a/integrations');
    expect(card).toContain('<span class="tag failed">Needs attention</span>');
    expect(card).toContain(item?.message ?? 'no item');
    expect(card).toContain('6 deliveries in 30 days: 6 rejected');
    const page = await pageOf(`/dashboard/org_a/integrations/${connected.integrationId}`);
    expect(page).toContain('<span class="tag failed">Needs attention</span>');
    expect(page).toContain(item?.message ?? 'no item');
    // A phone folds the navigation.
    expect(page).toMatch(/Menu<small class="badge failed"[^>]*>1</);

    const diagnosis = await diagnose(app.deps, connected.integrationId);
    expect(diagnosis.findings.map(({ code }) => code)).toContain('secret_refused');

    app.clock.advance(1_000);
    await deliver();
    await look();
    expect(await items()).toEqual([]);
    expect(await badge()).toBeUndefined();
    const logged = app.logged.map(({ msg }) => String(msg)).filter((msg) => msg.includes('attention'));
    expect(logged).toEqual([
      `needs attention: ${item?.message}`,
      `no longer needs attention: ${item?.message}`,
    ]);
  });

  test('of a disabled integration need nobody', async () => {
    await deliver('wrong');
    await execute(app.db, 'UPDATE integrations SET enabled = 0');
    await look();
    expect(await items()).toEqual([]);
  });
});

test('a webhook that never delivered is an item after a day, and for a week', async () => {
  app.clock.advance(DAY_MS - 1);
  await look();
  expect(await kinds()).toEqual([]);
  app.clock.advance(1);
  await look();
  expect(await kinds()).toEqual(['no_deliveries']);
  app.clock.advance(6 * DAY_MS);
  await look();
  expect(await kinds()).toEqual([]);
});

test('what others left in the database is found, and ends with it', async () => {
  const trigger = await createTriggerFor(app, connected, 'release');
  await app.addPosts('org_a', { id: 'late', title: 'Late', status: 'draft' });
  const at = app.clock.now();
  const ago = (ms: number) => at.getTime() - ms;
  const states = {
    trigger_failed: `INSERT INTO trigger_runs (trigger_id, scope, since, revision, status, attempts, due_at, delivery_id, error, queued_at)
      VALUES ('${trigger.id}', 's', '', 1, 'failed', 8, 0, 'd', 'No text', '${at.toISOString()}')`,
    schedule_late: `INSERT INTO post_schedules (post_id, organization_id, publish_at, time_zone, created_at)
      VALUES ('late', 'org_a', ${ago(120_000)}, 'UTC', '${at.toISOString()}')`,
    webhook_failing: `INSERT INTO hooks (integration_id, place_id, place_name, events, has_present_secret, problem, attempts, created_at)
      VALUES ('${connected.integrationId}', 'acme/rocket', 'acme/rocket', '[]', 1, 'Not found', 1, '${at.toISOString()}')`,
    polling_failing: `INSERT INTO polls (repository_id, integration_id, due_at, problem, attempts)
      VALUES ('${connected.repositoryId}', '${connected.integrationId}', 0, 'Bad token', 3)`,
    app_suspended: `INSERT INTO github_apps (integration_id, app_id, slug, url, private_key, suspended_at, created_at)
      VALUES ('${connected.integrationId}', 1, 'tidings', 'https://github.com/settings/apps/app', '', '${at.toISOString()}', '${at.toISOString()}')`,
    hook_failed: `INSERT INTO rebuild_hooks (id, organization_id, name, kind, url, host, is_enabled, created_at)
      VALUES ('hook', 'org_a', 'Site', 'netlify', '', 'example.com', 1, '${at.toISOString()}')`,
  };
  for (const statement of Object.values(states)) await execute(app.db, statement);
  await execute(app.db, 'UPDATE integrations SET is_polled = 1');
  await execute(
    app.db,
    `INSERT INTO hook_messages (id, hook_id, organization_id, post_id, number, type, title, post_created_at, state, attempts, due_at, created_at)
     VALUES ('m', 'hook', 'org_a', 'late', 1, 'post.published', '', '', 'failed', 8, 1, '${at.toISOString()}')`,
  );
  await look();
  expect((await kinds()).sort()).toEqual(Object.keys(states).sort());
  for (const { effect, action, path } of await items()) {
    expect(effect).toEndWith('.');
    expect(action).toMatch(/tidings |https:/);
    expect((await visit(`/dashboard/org_a/${path?.replace(/#.*/, '')}`)).status).toBe(200);
  }
  const stranger = await pageVisitor(app, { organizationId: 'org_b' });
  expect(await (await stranger('/dashboard/org_b/attention')).text()).toContain('Nothing needs you.');
  for (const table of [
    'trigger_runs',
    'post_schedules',
    'hooks',
    'polls',
    'github_apps',
    'hook_messages',
    'token_states',
    'silences',
  ])
    await execute(app.db, `DELETE FROM ${table}`);
  await look();
  expect(await items()).toEqual([]);
});

test('what is known of webhooks and tokens is found, and ends with it', async () => {
  const at = app.clock.now();
  const states = {
    webhook_off: `INSERT INTO hooks (integration_id, place_id, place_name, events, has_present_secret, attempts, recovery, created_at)
      VALUES ('${connected.integrationId}', 'acme/pad', 'acme/pad', '[]', 1, 0, '{"isOff":true}', '${at.toISOString()}')`,
    deliveries_lost: `INSERT INTO hooks (integration_id, place_id, place_name, events, has_present_secret, attempts, recovery, created_at)
      VALUES ('${connected.integrationId}', 'acme/sky', 'acme/sky', '[]', 1, 0,
        '{"lost":[{"deliveryId":"d","deliveredAt":"${at.toISOString()}","reason":"Answered 500"}]}', '${at.toISOString()}')`,
    token_refused: `INSERT INTO token_states (integration_id, problem, problem_since, due_at)
      VALUES ('${connected.integrationId}', 'GitHub rejected the token. Create another one.', '${at.toISOString()}', 0)`,
    silent: `INSERT INTO silences (integration_id, repository_id, since, is_proven, due_at)
      VALUES ('${connected.integrationId}', '${connected.repositoryId}', '${at.toISOString()}', 1, 0)`,
  };
  for (const statement of Object.values(states)) await execute(app.db, statement);
  await look();
  expect((await kinds()).sort()).toEqual(Object.keys(states).sort());
  const found = await items();
  expect(found.map(({ message }) => message).sort()).toEqual([
    'acme/pad: the webhook is switched off or deleted at GitHub',
    'acme/rocket: GitHub rejected the token',
    'acme/rocket: nothing has arrived since Nov 20, 2026, 12:00 UTC, but the provider has newer changes',
    'acme/sky: 1 missed delivery cannot be had again (Answered 500)',
  ]);
  for (const { effect, action, path } of found) {
    expect(effect).toEndWith('.');
    expect(action).toContain('tidings integration ');
    expect(path).toBe(`integrations/${connected.integrationId}`);
  }
  for (const table of ['hooks', 'token_states', 'silences']) await execute(app.db, `DELETE FROM ${table}`);
  await look();
  expect(await items()).toEqual([]);
});

describe('of the server', () => {
  const lookWith = async (
    metrics: Pick<TestApp['deps']['metrics'], 'failingJobs' | 'runningJobs'>,
    dataDir = temporaryFolder().path,
  ) => {
    const { run } = attentionJob(
      { ...app.deps, db: app.db, metrics },
      { dataDir, backups: undefined, database: undefined },
    );
    await run(new AbortController().signal);
    return (await items()).map(({ id, count, message }) => ({ id, count, message }));
  };

  test('a job that fails three times in a row is an item until it succeeds', async () => {
    const { metrics } = app.deps;
    const failing = metrics.failingJobs;
    const state = { reason: 'no such table', agoMs: () => 0, effect: 'Expired entries take up room.' };
    failing.set('sweep', { ...state, inARow: 2 });
    expect(await lookWith(metrics)).toEqual([]);
    failing.set('sweep', { ...state, inARow: 3 });
    expect(await lookWith(metrics)).toEqual([
      {
        id: 'job_failing:sweep',
        count: 3,
        message: 'The job sweep has failed 3 times in a row (no such table)',
      },
    ]);
    failing.clear();
    expect(await lookWith(metrics)).toEqual([]);
  });

  test('a job that has run for an hour is an item until it ends', async () => {
    const { metrics } = app.deps;
    const { promise, resolve } = Promise.withResolvers<void>();
    let ms = 0;
    const started = Promise.withResolvers<void>();
    const job = {
      name: 'poll',
      effect: 'Changes that are polled make no drafts.',
      every: 1,
      run: () => {
        started.resolve();
        return promise;
      },
    };
    const jobs = startJobs([job], { ...app.deps, db: app.db }, () => ms);
    await started.promise;
    ms = 3_599_999;
    expect(await lookWith(metrics)).toEqual([]);
    ms = 3_600_000;
    const item = { id: 'job_failing:poll', count: 1, message: 'The job poll does not end' };
    expect(await lookWith(metrics)).toEqual([item]);
    resolve();
    await jobs.stop();
    expect(await lookWith(metrics)).toEqual([]);
  });

  test('files that a killed upgrade left are an item after an hour', async () => {
    const { path } = temporaryFolder();
    const file = join(path, 'tidings.db.rebuilt');
    writeFileSync(file, '');
    const at = (ms: number) => new Date(app.clock.now().getTime() - ms);
    utimesSync(file, at(3_599_000), at(3_599_000));
    expect(await lookWith(app.deps.metrics, path)).toEqual([]);
    utimesSync(file, at(3_601_000), at(3_601_000));
    expect(await lookWith(app.deps.metrics, path)).toMatchObject([
      {
        id: 'upgrade_unfinished:server',
        message: 'An unfinished upgrade or restore left 0 MB: tidings.db.rebuilt',
      },
    ]);
  });

  test('no process that runs is an item three minutes after the last sign of life', async () => {
    const uptime = trackUptime({ ...app.deps, db: app.db, process: 'test' });
    await uptime.begin();
    app.clock.advance(179_999);
    await look();
    expect(await items()).toEqual([]);
    app.clock.advance(1);
    await look();
    expect(await items()).toMatchObject([
      { id: 'server_stopped:server', message: 'No server runs', organizationId: null },
    ]);
    await uptime.beat();
    await look();
    expect(await items()).toEqual([]);
  });
});

describe('an item', () => {
  const id = () => `deliveries_rejected:${connected.integrationId}`;
  const mute = (time: string, item = id(), organization = 'org_a') =>
    visit(`/dashboard/${organization}/attention/mute`, { id: item, days: time });

  beforeEach(async () => {
    await deliver('wrong');
    await look();
  });

  test('is muted for a day, and comes back', async () => {
    expect((await mute('1')).status).toBe(303);
    expect(await badge()).toBeUndefined();
    expect(await pageOf('/dashboard/org_a/attention')).toContain('Muted (1)');
    app.clock.advance(DAY_MS - 1);
    await look();
    expect(await badge()).toBeUndefined();
    app.clock.advance(1);
    expect(await badge()).toBe('1');
  });

  test('is heard again when a person says so', async () => {
    await mute('7');
    await mute('0');
    expect(await badge()).toBe('1');
  });

  test('of another organization cannot be muted, and an unknown time mutes nothing', async () => {
    expect((await mute('1', 'deliveries_rejected:other')).status).toBe(404);
    expect((await mute('366')).status).toBe(400);
    expect(await badge()).toBe('1');
  });
});

test('a delivery whose draft failed is not green', async () => {
  const trigger = await createTriggerFor(app, connected, 'release');
  await deliver();
  await execute(
    app.db,
    `UPDATE delivery_results SET outcome = 'failed', error = 'No text' WHERE trigger_id = '${trigger.id}'`,
  );
  const html = await pageOf('/dashboard/org_a/deliveries');
  expect(html).toContain('<span class="tag failed">Draft failed</span>');
  expect(html).not.toContain('class="tag processed"');
});
