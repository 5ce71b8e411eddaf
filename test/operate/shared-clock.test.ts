import { expect, test } from 'bun:test';
import { readServerTime } from '../../db/postgres/connection.ts';
import { openSharedClock } from '../../src/server/elapsed.ts';
import { openTestDatabase, testPostgres } from '../support/database.ts';

const START = Date.UTC(2026, 10, 20);

/** A database server whose clock is right, and a machine whose clock may be set. */
function world() {
  const said: string[] = [];
  const state = { passedMs: 0, offMs: 0, serverOffMs: 0, tripMs: 0 };
  const needs = {
    async readNow() {
      state.passedMs += state.tripMs / 2;
      const read = START + state.passedMs + state.serverOffMs;
      state.passedMs += state.tripMs / 2;
      return read;
    },
    log: {
      info: (text: unknown) => said.push(String(text)),
      warn: (_: unknown, text?: string) => said.push(text ?? ''),
    },
    ownClock: { now: () => new Date(START + state.passedMs + state.offMs) },
    elapsedMs: () => state.passedMs,
  };
  const trueNow = () => START + state.passedMs + state.serverOffMs;
  return { state, needs, said, trueNow };
}

test.each([
  ['ahead of', 300_000],
  ['behind', -300_000],
])('a machine %s the database server follows its time, and says so once', async (side, offMs) => {
  const { state, needs, said, trueNow } = world();
  Object.assign(state, { offMs, tripMs: 40 });
  const { clock, follow } = await openSharedClock(needs);
  expect(clock.now().getTime()).toBe(trueNow());
  state.passedMs += 10_000;
  await follow();
  expect(clock.now().getTime()).toBe(trueNow());
  expect(said).toEqual([
    `the clock of this machine is 300.0 s ${side} that of the database server, which Tidings follows. Run an NTP client on both`,
  ]);
  state.offMs = 0;
  await follow();
  expect(said.slice(1)).toEqual(['the clock of this machine agrees with that of the database server again']);
});

test('a clock that is set between two looks changes nothing', async () => {
  const { state, needs, trueNow } = world();
  const { clock } = await openSharedClock(needs);
  state.offMs = 3_600_000;
  state.passedMs += 9_999;
  expect(clock.now().getTime()).toBe(trueNow());
});

test('a difference of a second or less is no trouble', async () => {
  const { state, needs, said } = world();
  state.offMs = 1_000;
  const { follow } = await openSharedClock(needs);
  expect(said).toEqual([]);
  state.offMs = -1_001;
  await follow();
  expect(said).toHaveLength(1);
});

test('it follows the server when that is set, and goes on steadily while a look tells no more than it knows', async () => {
  const { state, needs, trueNow } = world();
  const { clock, follow } = await openSharedClock(needs);
  Object.assign(state, { serverOffMs: 20, tripMs: 100 });
  await follow();
  expect(clock.now().getTime()).toBe(trueNow() - 20);
  state.serverOffMs = 60_000;
  await follow();
  expect(clock.now().getTime()).toBe(trueNow());
  // An answer that took long may be from any time since.
  Object.assign(state, { serverOffMs: 0, tripMs: 1_001 });
  await follow();
  expect(clock.now().getTime()).toBe(trueNow() + 60_000);
});

test('it goes on while the server is away', async () => {
  const { state, needs, trueNow } = world();
  let isAway = false;
  const readNow = () => (isAway ? Promise.reject(new Error('away')) : needs.readNow());
  const { clock, follow } = await openSharedClock({ ...needs, readNow });
  isAway = true;
  state.passedMs += 60_000;
  await expect(follow()).rejects.toThrow('away');
  expect(clock.now().getTime()).toBe(trueNow());
});

test('a slow first look blames no clock, and the next one is better', async () => {
  const { state, needs, said, trueNow } = world();
  state.tripMs = 3_000;
  const { clock, follow } = await openSharedClock({
    ...needs,
    // All of the time passes on the way back.
    async readNow() {
      const read = trueNow();
      state.passedMs += state.tripMs;
      return read;
    },
  });
  expect(said).toEqual([]);
  expect(clock.now().getTime()).toBe(trueNow() - 1_500);
  state.tripMs = 0;
  await follow();
  expect(clock.now().getTime()).toBe(trueNow());
});

testPostgres('a real server tells its time', async () => {
  const db = openTestDatabase();
  const before = Date.now();
  const ms = await readServerTime(db);
  // The server of the tests runs on this machine.
  expect(ms).toBeGreaterThanOrEqual(before - 1);
  expect(ms).toBeLessThanOrEqual(Date.now() + 1);
});
