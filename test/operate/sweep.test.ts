import { beforeEach, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { FIRST_COUNT, foldPastCounts } from '../../src/integrations/deliveries/count-store.ts';
import { deleteExpiredClaims, deleteExpiredDeliveries } from '../../src/integrations/deliveries/store.ts';
import { changeOrganization } from '../../src/people/organizations.ts';
import { startJobs } from '../../src/server/jobs.ts';
import { planSweep, sweep } from '../../src/server/sweep.ts';
import { leaderJobs } from '../../src/server/work.ts';
import { oneStep, testPostgres, valuesOf } from '../support/database.ts';
import { claimCount, connectGithub, githubRequest, logOf } from '../support/deliveries.ts';
import { compose } from '../support/drafts.ts';
import { appWithOrganization, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

let app: TestApp;

beforeEach(async () => {
  app = await appWithOrganization({ organizations: ['free', 'pro'] });
  await changeOrganization(app.deps, 'pro', { plan: 'pro' });
  for (const organization of ['free', 'pro']) {
    const connected = await connectGithub(app, organization);
    await Promise.all(
      Array.from({ length: 150 }, () => app.request(...githubRequest(connected, { zen: organization }))),
    );
  }
});

const DAY_MS = 86_400_000;
const inDays = (days: number) => new Date(app.clock.now().getTime() + days * DAY_MS);
const counts = async () => ({
  claims: await claimCount(app),
  free: (await logOf(app, 'free')).length,
  pro: (await logOf(app, 'pro')).length,
});

test.each([
  [
    'a millisecond before a day',
    1 - 1 / DAY_MS,
    { deliveryIds: 0, logs: 0 },
    { claims: 300, free: 150, pro: 150 },
  ],
  ['a day', 1, { deliveryIds: 300, logs: 0 }, { claims: 0, free: 150, pro: 150 }],
  [
    'a millisecond before 7 days',
    7 - 1 / DAY_MS,
    { deliveryIds: 300, logs: 0 },
    { claims: 0, free: 150, pro: 150 },
  ],
  ['7 days', 7, { deliveryIds: 300, logs: 150 }, { claims: 0, free: 0, pro: 150 }],
  ['30 days', 30, { deliveryIds: 300, logs: 300 }, { claims: 0, free: 0, pro: 0 }],
])('after %s', async (_, days, removed, left) => {
  expect(await planSweep(app.deps, { confirmed: inDays(days) })).toEqual({ ...removed, sessions: 0 });
  expect(await counts()).toEqual({ claims: 300, free: 150, pro: 150 });
  expect(await sweep(app.deps, { confirmed: inDays(days) })).toEqual({ ...removed, sessions: 0 });
  expect(await counts()).toEqual(left);
  expect(await sweep(app.deps, { confirmed: inDays(days) })).toEqual({
    deliveryIds: 0,
    logs: 0,
    sessions: 0,
  });
});

testPostgres('a claim that a delivery renews meanwhile stays', async () => {
  const asOf = inDays(2);
  const renewed = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const delivery = app.db.write(
    async (tx) => {
      const later = asOf.getTime() + DAY_MS;
      await tx.values(sql`UPDATE delivery_claims SET expires_at = ${later} RETURNING 1`);
      renewed.resolve();
      await gate.promise;
    },
    { key: 'delivery' },
  );
  await renewed.promise;
  const sweeping = sweep(app.deps, { confirmed: asOf });
  await until(
    () => valuesOf(app.db, "SELECT FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted"),
    (waiting) => waiting.length > 0,
  );
  gate.resolve();
  await delivery;
  expect(await sweeping).toMatchObject({ deliveryIds: 0 });
  expect(await claimCount(app)).toBe(300);
});

testPostgres('a delivery waits for no step of it, however long that takes', async () => {
  const connected = await connectGithub(app, 'free', 'acme/other');
  app.clock.advance(31 * DAY_MS);
  const removed = Promise.withResolvers<number[]>();
  const gate = Promise.withResolvers<void>();
  const step = app.db.write(
    async (tx) => {
      const counts: number[] = [];
      for (const deleteSome of [deleteExpiredClaims, deleteExpiredDeliveries])
        counts.push(await deleteSome(tx, app.clock.now(), 500));
      await foldPastCounts(tx, app.clock.now(), FIRST_COUNT, 500);
      removed.resolve(counts);
      await gate.promise;
    },
    { key: 'sweep' },
  );
  expect(await removed.promise).toEqual([300, 300]);
  for (const repository of [connected, await connectGithub(app, 'pro', 'acme/third')]) {
    expect((await app.request(...githubRequest(repository, { zen: 'new' }))).status).toBe(200);
  }
  gate.resolve();
  await step;
  expect(await counts()).toEqual({ claims: 2, free: 1, pro: 1 });
});

test('each commit of it names what it waits for, so that no other write waits for it', async () => {
  const write = app.db.write.bind(app.db);
  const keys: unknown[] = [];
  app.db.write = (work, order) => {
    keys.push(order?.key);
    return write(work, order);
  };
  await sweep(app.deps, { confirmed: inDays(30) });
  expect(new Set(keys)).toEqual(new Set(['sweep']));
});

test('requests are answered between its commits', async () => {
  Object.assign(app.db, { pace: oneStep });
  let answered = 0;
  const sweeping = sweep(app.deps, { confirmed: inDays(30) }).then(() => answered);
  const asking = (async () => {
    for (; answered < 3; answered++) await app.request('/ping');
  })();
  expect(await sweeping).toBeGreaterThan(0);
  await asking;
});

test('ends between two commits when the server stops', async () => {
  const abort = new AbortController();
  abort.abort();
  expect(await sweep(app.deps, { confirmed: inDays(30), signal: abort.signal })).toEqual({
    deliveryIds: 0,
    logs: 0,
    sessions: 0,
  });
  expect((await counts()).claims).toBe(300);
});

test('the job logs how much it removed, and nothing when it removed nothing', async () => {
  const job = leaderJobs(app.deps, compose).find(({ name }) => name === 'sweep');
  expect(job?.every).toBe('*/5 * * * *');
  const said = () => app.logged.filter(({ job }) => job === 'sweep');
  await job?.run(new AbortController().signal);
  expect(said()).toEqual([]);
  app.clock.advance(7 * DAY_MS);
  await job?.run(new AbortController().signal);
  expect(said()).toMatchObject([{ level: 'info', deliveryIds: 300, logs: 150, msg: 'removed expired rows' }]);
});

test('a failed job is logged and runs again', async () => {
  let runs = 0;
  const twice = Promise.withResolvers<void>();
  const jobs = startJobs(
    [
      {
        name: 'failing',
        effect: '',
        every: 1,
        async run() {
          if (++runs === 2) twice.resolve();
          throw new Error('no');
        },
      },
    ],
    app.deps,
  );
  await twice.promise;
  await jobs.stop();
  expect(app.logged.filter(({ msg }) => msg === 'job failed').length).toBeGreaterThanOrEqual(2);
});
