import { afterEach, beforeEach, expect, test } from 'bun:test';
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabase, type SqliteDatabase } from '../../db/sqlite/client.ts';
import { startJobs } from '../../src/server/jobs.ts';
import { createReadiness, type Vitals } from '../../src/server/readiness.ts';
import { temporaryFolder } from '../support/cli.ts';
import { createTestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

let folder: ReturnType<typeof temporaryFolder>;
let db: SqliteDatabase;
let now = 0;

beforeEach(() => {
  folder = temporaryFolder();
  db = openDatabase(join(folder.path, 'tidings.db'), 'server');
  now = 0;
});

afterEach(() => {
  db.$client.close();
  folder.remove();
});

const readiness = (vitals: Partial<Vitals> = {}) =>
  createReadiness({
    db,
    isStopping: () => false,
    silentMs: () => 300,
    freeBytes: () => 1e9,
    failedDeliveries: { inARow: 0, lastAtMs: 0 },
    elapsedMs: () => now,
    ...vitals,
  });

test('a server in good health is ready, and was not written to for it', async () => {
  const other = openDatabase(join(folder.path, 'tidings.db'));
  const before = other.$client.query('PRAGMA data_version').values();
  expect(await readiness()()).toBeNull();
  expect(other.$client.query('PRAGMA data_version').values()).toEqual(before);
  expect(db.$client.inTransaction).toBe(false);
  other.$client.close();
});

test('a question in the middle of a read or write of the server waits for it', async () => {
  const whyNotReady = readiness();
  const asked: Promise<string | null>[] = [];
  const ask = async () => {
    asked.push(whyNotReady());
    await undefined;
    expect(db.$client.inTransaction).toBe(true);
  };
  await db.write(ask);
  await db.read(ask);
  expect(await Promise.all(asked)).toEqual([null, null]);
});

test.each<[string, Partial<Vitals>, string | null]>([
  ['it is told to stop', { isStopping: () => true }, 'The server is stopping'],
  ['the disk is nearly full', { freeBytes: () => 32 * 1024 * 1024 - 1 }, 'The disk is full'],
  ['the disk has just enough', { freeBytes: () => 32 * 1024 * 1024 }, null],
  ['nobody knows how much is free', { freeBytes: () => null }, null],
  [
    'the triggers stand still',
    { silentMs: () => 60_001 },
    'The job that writes drafts has not run for over a minute',
  ],
  ['the triggers take their time', { silentMs: () => 60_000 }, null],
])('when %s', async (_, vitals, answer) => {
  expect(await readiness(vitals)()).toBe(answer);
});

test('a database whose file is gone, until the next start, or whose connection is', async () => {
  const file = join(folder.path, 'tidings.db');
  renameSync(file, `${file}.moved`);
  expect(await readiness()()).toBe('The database file was deleted or replaced');
  // Anything written meanwhile would be lost.
  renameSync(`${file}.moved`, file);
  expect(await readiness()()).toBe('The database file was deleted or replaced');
  const closed = openDatabase(file);
  closed.$client.close();
  expect(await readiness({ db: closed })()).toStartWith('The database cannot be written (');
});

test("another process's write is no trouble, unless it does not end", async () => {
  const other = openDatabase(join(folder.path, 'tidings.db'));
  const whyNot = readiness();
  other.$client.run('BEGIN IMMEDIATE');
  expect(await whyNot()).toBeNull();
  now = 10_000;
  expect(await whyNot()).toBeNull();
  now = 10_001;
  expect(await whyNot()).toBe('Another process has been writing to the database for over 10 seconds');
  other.$client.run('ROLLBACK');
  expect(await whyNot()).toBeNull();
  other.$client.run('BEGIN IMMEDIATE');
  expect(await whyNot()).toBeNull();
  other.$client.close();
});

test('deliveries that fail in a row, until one is taken or for five seconds', async () => {
  const failedDeliveries = { inARow: 2, lastAtMs: 1_000 };
  const whyNot = readiness({ failedDeliveries });
  now = 1_000;
  expect(await whyNot()).toBeNull();
  failedDeliveries.inARow = 3;
  expect(await whyNot()).toBe('The last 3 deliveries failed');
  failedDeliveries.inARow = 0;
  expect(await whyNot()).toBeNull();
  failedDeliveries.inARow = 4;
  now = 6_000;
  expect(await whyNot()).toBe('The last 4 deliveries failed');
  // Without a delivery nobody can tell, so the next one is let in.
  now = 6_001;
  expect(await whyNot()).toBeNull();
  Object.assign(failedDeliveries, { inARow: 5, lastAtMs: 7_000 });
  now = 7_000;
  expect(await whyNot()).toBe('The last 5 deliveries failed');
});

test.each([
  ['CHECKPOINT', 'The write-ahead log cannot be copied into the database. Check the disk'],
  ['LOCKED', 'Another program has locked a table of the database'],
  ['ENOSPC', 'The disk is full'],
  ['READ_ONLY', 'The database cannot be written (READ_ONLY)'],
])('a database that answers a write with %s', async (code, answer) => {
  let health: string | null = code;
  const whyNot = readiness({ db: { health: async () => health } });
  expect(await whyNot()).toBe(answer);
  health = null;
  expect(await whyNot()).toBeNull();
});

test('a job that hangs or fails grows silent; one that works or says so does not', async () => {
  const app = createTestApp();
  let alive: (() => void) | undefined;
  let elapsed = 0;
  const jobs = startJobs(
    [
      { name: 'hangs', effect: '', every: 1, run: () => Promise.withResolvers<void>().promise },
      { name: 'fails', effect: '', every: 1, run: () => Promise.reject(new Error('no')) },
      {
        name: 'throws',
        effect: '',
        every: 1,
        run: () => {
          throw new Error('no');
        },
      },
      { name: 'works', effect: '', every: 1, run: async () => undefined },
      {
        name: 'is long',
        effect: '',
        every: 1,
        run: (_, onAlive) => {
          alive = onAlive;
          return Promise.withResolvers<void>().promise;
        },
      },
    ],
    app.deps,
    () => elapsed,
  );
  const silent = (name: string) => jobs.silentMs(name);
  const counted = () => app.deps.metrics.registry.render();
  const runs = async (job: string, outcome: string) =>
    Number(new RegExp(`job="${job}",outcome="${outcome}"\\} (\\d+)`).exec(await counted())?.[1] ?? 0);
  await until(
    async () => [await runs('works', 'done'), await runs('fails', 'failed'), alive === undefined ? 0 : 1],
    (each) => each.every((count) => count > 0),
  );
  elapsed = 1_000;
  const before = (await runs('works', 'done')) + 1;
  await until(
    async () => runs('works', 'done'),
    (count) => count > before,
  );
  expect(['hangs', 'fails', 'is long', 'works'].map(silent)).toEqual([1_000, 1_000, 1_000, 0]);
  alive?.();
  expect(silent('is long')).toBe(0);
  expect(await runs('throws', 'failed')).toBeGreaterThan(1);
  const counts = await counted();
  expect(counts).toMatch(/tidings_job_runs_total\{job="works",outcome="done"\} [1-9]/);
  expect(counts).toMatch(/tidings_job_runs_total\{job="fails",outcome="failed"\} [1-9]/);
});
