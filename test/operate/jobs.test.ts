import { describe, expect, test } from 'bun:test';
import { startJobs } from '../../src/operate/jobs.ts';
import { createSharedDatabase, execute, testEngine } from '../support/database.ts';
import { createTestApp } from '../support/test-app.ts';

/** A job that may rest, on a database and a clock that the test controls, and one that runs at each beat. */
function restingJob({ restMs = 1_000, mark = 'a' as string | null, work = () => undefined as unknown } = {}) {
  const { deps } = createTestApp();
  const state = { mark, now: 0, runs: 0 };
  let onBeat: (() => void) | undefined;
  const jobs = startJobs(
    [
      {
        name: 'rests',
        every: 1,
        restMs,
        async run() {
          state.runs++;
          await work();
        },
      },
      { name: 'beats', every: 1, run: async () => onBeat?.() },
    ],
    { ...deps, db: { changeMark: () => state.mark } },
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
    for (const [mark, runs] of [
      ['b', 2],
      ['c', 3],
      ['a', 4],
    ] as const) {
      job.state.mark = mark;
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
    job.state.mark = 'b';
    expect(await job.runsAfter(3)).toBe(1);
    blocked.resolve();
    expect(await job.runsAfter(5)).toBe(2);
    await job.stop();
  });

  test('runs at each beat where the database does not tell', async () => {
    const job = restingJob({ mark: null });
    expect(await job.runsAfter(10)).toBeGreaterThanOrEqual(5);
    await job.stop();
  });
});

describe.if(testEngine === 'sqlite')('the mark of the database', () => {
  test('differs after each commit, of this process and of others, and stays while nobody writes', async () => {
    const shared = createSharedDatabase();
    const [one, other] = [shared.open(), shared.open()];
    await execute(one, "insert into form_marks (mark, expires_at) values ('m', 0)");
    const seen = new Set([one.changeMark()]);
    for (let round = 0; round < 50; round++) {
      const writer = round % 3 === 0 ? one : other;
      await execute(writer, `update form_marks set expires_at = ${round}`);
      const mark = one.changeMark();
      expect(seen.has(mark)).toBe(false);
      seen.add(mark);
      await one.read((tx) => tx.run('select count(*) from form_marks') as Promise<unknown>);
      expect(one.changeMark()).toBe(mark);
    }
  });
});
