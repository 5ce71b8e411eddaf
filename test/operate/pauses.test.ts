import { expect, test } from 'bun:test';
import { findPause, listRuns, trackUptime } from '../../src/integrations/uptime.ts';
import { createTestApp, PUBLIC_URL } from '../support/test-app.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

function setUp() {
  const app = createTestApp();
  const startedAt = app.clock.now();
  return {
    ...app,
    startedAt,
    /** A server that starts now, runs so long, and ends. */
    async run(ms: number) {
      const uptime = trackUptime({ ...app.deps, process: 'test' });
      const pause = await uptime.begin();
      app.clock.advance(ms);
      await uptime.beat();
      return pause;
    },
  };
}

test('the first start follows no pause, a quick restart neither', async () => {
  const { run, clock, deps, startedAt } = setUp();
  expect(await run(10 * MINUTE_MS)).toBeNull();
  clock.advance(2 * MINUTE_MS - 1);
  expect(await run(MINUTE_MS)).toBeNull();
  expect(await findPause(deps, new Date(0).toISOString())).toBeNull();
  expect((await deps.db.read((tx) => listRuns(tx, 10))).map(({ startedAt }) => startedAt).at(-1)).toBe(
    startedAt.toISOString(),
  );
});

test('a start tells the pause that it follows, and it is found until somebody has looked since', async () => {
  const { run, clock, deps } = setUp();
  await run(10 * MINUTE_MS);
  const from = clock.now().toISOString();
  clock.advance(63 * MINUTE_MS);
  const to = clock.now().toISOString();
  expect(await run(5 * MINUTE_MS)).toEqual({ from, to });
  // A quick restart does not hide it.
  expect(await run(5 * MINUTE_MS)).toBeNull();
  expect(await findPause(deps, from)).toEqual({ from, to });
  expect(await findPause(deps, to)).toBeNull();
});

test('a server that was killed was away since its last beat', async () => {
  const { run, clock, deps } = setUp();
  const killed = trackUptime({ ...deps, process: 'test' });
  await killed.begin();
  clock.advance(MINUTE_MS);
  await killed.beat();
  const from = clock.now().toISOString();
  clock.advance(30 * MINUTE_MS);
  expect(await run(0)).toEqual({ from, to: clock.now().toISOString() });
});

test('several processes are away while none of them runs', async () => {
  const { clock, deps, run } = setUp();
  const started = (process: string) => {
    const uptime = trackUptime({ ...deps, process });
    return { ...uptime, pause: uptime.begin() };
  };
  const steady = started('steady');
  expect(await steady.pause).toBeNull();
  // Others come and go beside it.
  for (let restarts = 0; restarts < 3; restarts++) {
    await run(MINUTE_MS);
    clock.advance(10 * MINUTE_MS);
    await steady.beat();
  }
  expect(await run(MINUTE_MS)).toBeNull();
  expect(await findPause(deps, new Date(0).toISOString())).toBeNull();
  // The last one ends a minute after it.
  const from = clock.now().toISOString();
  clock.advance(5 * MINUTE_MS);
  const to = clock.now().toISOString();
  const [one, other] = [started('one'), started('other')];
  expect(await one.pause).toEqual({ from, to });
  expect(await other.pause).toBeNull();
  clock.advance(10 * MINUTE_MS);
  await Promise.all([one.beat(), other.beat()]);
  expect(await findPause(deps, from)).toEqual({ from, to });
  expect(await findPause(deps, to)).toBeNull();
});

test('the runs of processes whose clocks differ make no pause', async () => {
  const { run, clock, deps } = setUp();
  await run(10 * MINUTE_MS);
  clock.advance(-5 * MINUTE_MS);
  expect(await run(4 * MINUTE_MS)).toBeNull();
  expect(await findPause(deps, new Date(0).toISOString())).toBeNull();
});

test('runs that ended 30 days ago are forgotten', async () => {
  const { run, clock, db } = setUp();
  await run(MINUTE_MS);
  clock.advance(31 * DAY_MS);
  await run(MINUTE_MS);
  expect(await db.read((tx) => listRuns(tx, 10))).toMatchObject([{ publicUrl: PUBLIC_URL, process: 'test' }]);
});
