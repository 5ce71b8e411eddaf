import { describe, expect, test } from 'bun:test';
import { startJobs } from '../../src/server/jobs.ts';
import { createSharedDatabase, execute, valuesOf } from '../support/database.ts';
import { createTestApp } from '../support/test-app.ts';

/** A job that may rest, on a database and a clock that the test controls, and one that runs at each beat. */
function restingJob({
  restMs = 1_000,
  version = 1 as number | null,
  work = () => undefined as unknown,
} = {}) {
  const { deps } = createTestApp();
  const state = { version, now: 0, runs: 0 };
  let onBeat: (() => void) | undefined;
  const jobs = startJobs(
    [
      {
        name: 'rests',
        effect: '',
        every: 1,
        restMs,
        async run() {
          state.runs++;
          await work();
        },
      },
      { name: 'beats', effect: '', every: 1, run: async () => onBeat?.() },
    ],
    { ...deps, db: { version: () => state.version } },
    () => state.now,
  );
  return {
    state,
    stop: jobs.stop,
    /** How often the job has run after so many more beats. */
    async runsAfter(beats: number): Promise<number> {
      for (let beat = 0; beat < beats; beat++) {
        const { promise, resolve } = Promise.withResolvers<void>();
        onBeat = resolve;
        await promise;
      }
      return state.runs;
    },
  };
}

describe('a job that may rest', () => {
  test('runs once while nobody writes, and again after each write', async () => {
    const job = restingJob();
    expect(await job.runsAfter(5)).toBe(1);
    for (const [version, runs] of [
      [2, 2],
      [3, 3],
      [1, 4],
    ] as const) {
      job.state.version = version;
      expect(await job.runsAfter(5)).toBe(runs);
    }
    await job.stop();
  });

  test('runs when its rest is over', async () => {
    const job = restingJob({ restMs: 1_000 });
    expect(await job.runsAfter(3)).toBe(1);
    job.state.now = 999;
    expect(await job.runsAfter(3)).toBe(1);
    job.state.now = 1_000;
    expect(await job.runsAfter(3)).toBe(2);
    await job.stop();
  });

  test('runs again when something was written while it ran', async () => {
    const blocked = Promise.withResolvers<void>();
    const job = restingJob({ work: () => blocked.promise });
    expect(await job.runsAfter(3)).toBe(1);
    job.state.version = 2;
    expect(await job.runsAfter(3)).toBe(1);
    blocked.resolve();
    expect(await job.runsAfter(5)).toBe(2);
    await job.stop();
  });

  test('runs at each beat where the database does not tell', async () => {
    const job = restingJob({ version: null });
    expect(await job.runsAfter(10)).toBeGreaterThanOrEqual(5);
    await job.stop();
  });
});

test('a write of another process ends the rest', async () => {
  const shared = createSharedDatabase();
  const [db, other] = [shared.open(), shared.open()];
  const { deps } = createTestApp();
  const seen: unknown[] = [];
  const read = Promise.withResolvers<void>();
  const jobs = startJobs(
    [
      {
        name: 'rests',
        effect: '',
        every: 1,
        restMs: Number.POSITIVE_INFINITY,
        async run() {
          seen.push(await valuesOf(db, 'select mark from form_marks'));
          if (seen.length === 1)
            await execute(other, "insert into form_marks (mark, expires_at) values ('m', 0)");
          if (Bun.deepEquals(seen.at(-1), [['m']])) read.resolve();
        },
      },
    ],
    { ...deps, db },
  );
  await read.promise;
  expect(seen[0]).toEqual([]);
  await jobs.stop();
});
