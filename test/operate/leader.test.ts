import { expect, test } from 'bun:test';
import { once } from 'node:events';
import type { Lease, Storage } from '../../db/engine.ts';
import { DatabaseUnavailable, LeaseLost } from '../../db/failures.ts';
import { type Job, startJobs, startLeader } from '../../src/server/jobs.ts';
import { leaderJobs } from '../../src/server/work.ts';
import { valuesOf } from '../support/database.ts';
import { compose } from '../support/drafts.ts';
import { createTestApp } from '../support/test-app.ts';
import { openTogether } from '../support/together.ts';
import { until } from '../support/until.ts';

/** A job that runs until it is aborted. */
function longJob(run: (signal: AbortSignal) => Promise<unknown>): Job {
  return { name: 'long', effect: '', every: 1, run };
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}

const isTrue = (value: boolean) => value;

test('the only process leads at once', async () => {
  const { deps, db } = createTestApp();
  const started = Promise.withResolvers<void>();
  const leadership = startLeader({ ...deps, db }, () => [longJob(async () => started.resolve())]);
  await started.promise;
  expect(leadership.isLeader()).toBe(true);
  expect(await deps.metrics.registry.render()).toContain('\ntidings_leader 1\n');
  await leadership.stop();
  expect(leadership.isLeader()).toBe(false);
  expect(await deps.metrics.registry.render()).toContain('\ntidings_leader 0\n');
});

test('one of two processes leads, and the other takes its place when it stops', async () => {
  const together = openTogether();
  const leaderships = together.databases.map((db) =>
    startLeader({ ...createTestApp({ db }).deps, db }, () => []),
  );
  const leading = () => leaderships.filter((each) => each.isLeader());
  await until(
    async () => leading().length,
    (count) => count > 0,
  );
  const [first] = leading();
  expect(leading()).toHaveLength(1);
  await first?.stop();
  await until(
    async () => leading().length,
    (count) => count > 0,
  );
  expect(leading()).toHaveLength(1);
  expect(leading()[0]).not.toBe(first);
  await leading()[0]?.stop();
  for (const each of leaderships) await each.stop();
});

test('a leader that was frozen for long aborts its jobs, and what they still write is refused', async () => {
  const together = openTogether();
  const [db] = together.databases;
  const app = createTestApp({ db });
  await app.addOrganization('org_a');
  const wokenUp = Promise.withResolvers<void>();
  const written = Promise.withResolvers<unknown>();
  const leadership = startLeader({ ...app.deps, db }, (leased: Storage) => [
    longJob(async (signal) => {
      await wokenUp.promise;
      const rename = leased.write(
        (tx) => tx.run("update organizations set name = 'Late'") as Promise<unknown>,
      );
      written.resolve(await rename.catch((error: unknown) => error));
      await aborted(signal);
    }),
  ]);
  await until(async () => leadership.isLeader(), isTrue);
  await together.endLeases();
  wokenUp.resolve();
  expect(await written.promise).toBeInstanceOf(LeaseLost);
  await until(
    async () => leadership.isLeader(),
    (is) => !is,
  );
  expect(await valuesOf(db, 'select name from organizations')).toEqual([['Organization org_a']]);
  const said = 'stopped the jobs of the leader: another process may be the leader now';
  await until(async () => app.logged.some(({ msg }) => msg === said), isTrue);
  // It leads again when nobody else does.
  await until(async () => leadership.isLeader(), isTrue);
  await leadership.stop();
});

test('a process leads again although a job of its lost lease never ends', async () => {
  const together = openTogether();
  const [db] = together.databases;
  let starts = 0;
  const hanging = longJob(() => (starts++ === 0 ? new Promise(() => undefined) : Promise.resolve()));
  const leadership = startLeader({ ...createTestApp({ db }).deps, db }, () => [hanging], 0);
  await until(
    async () => starts,
    (count) => count === 1,
  );
  await together.endLeases();
  await until(
    async () => starts,
    (count) => count > 1,
  );
  expect(leadership.isLeader()).toBe(true);
  await leadership.stop();
});

test('a job that fails because another process leads is no error', async () => {
  const { deps, db, logged } = createTestApp();
  const leadership = startLeader({ ...deps, db }, () => [
    longJob(() => Promise.reject(new LeaseLost('another process took over the lease leader'))),
  ]);
  const said = 'job ended: another process took it over';
  await until(async () => logged.some(({ msg }) => msg === said), isTrue);
  await leadership.stop();
  expect(logged.filter(({ level }) => level === 'error')).toEqual([]);
});

test('the jobs of the leader write under its lease', async () => {
  const together = openTogether();
  const [db] = together.databases;
  const app = createTestApp({ db });
  await app.addOrganization('org_a');
  let leased: Storage | undefined;
  const leadership = startLeader({ ...app.deps, db }, (storage) => {
    leased = storage;
    return [];
  });
  await until(async () => leadership.isLeader(), isTrue);
  const sweep = leaderJobs({ ...app.deps, db: leased ?? db }, compose).find(({ name }) => name === 'sweep');
  await together.endLeases();
  const ended = await sweep?.run(new AbortController().signal).catch((error: unknown) => error);
  expect(ended).toBeInstanceOf(LeaseLost);
  await leadership.stop();
});

test('a process tries again when the database was away', async () => {
  const { deps, db, logged } = createTestApp();
  let attempts = 0;
  const lease = async (names: readonly string[]): Promise<Lease | null> => {
    if (++attempts === 1) throw new DatabaseUnavailable(new Error('gone'));
    return db.lease(names);
  };
  const storage = { pace: db.pace, read: db.read, write: db.write, version: db.version, lease };
  const leadership = startLeader({ ...deps, db: storage }, () => []);
  await until(async () => leadership.isLeader(), isTrue);
  await leadership.stop();
  expect(logged).toEqual([]);
});

test('a job that fails because the database is away is counted, not logged', async () => {
  const { deps, logged } = createTestApp();
  const away = {
    name: 'away',
    effect: '',
    every: 1,
    run: () => Promise.reject(new DatabaseUnavailable(null)),
  };
  const jobs = startJobs([away], deps);
  await until(
    async () => deps.metrics.jobs('away', 'failed').value,
    (count) => count > 1,
  );
  await jobs.stop();
  expect(logged).toEqual([]);
});
