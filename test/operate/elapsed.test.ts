import { beforeEach, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Connected } from '../../src/integrations/words.ts';
import { type ClockState, DAY_MS, firstObservation, nextSweepMs, observe } from '../../src/lib/time.ts';
import { publishDuePosts, schedulePost } from '../../src/posts/schedule.ts';
import { createPost, deletePost } from '../../src/posts/service.ts';
import { readPost } from '../../src/posts/store.ts';
import { createElapsed, describeJump } from '../../src/server/elapsed.ts';
import { sweep } from '../../src/server/sweep.ts';
import { fixedClock, type MovableClock } from '../support/clock.ts';
import { execute, valuesOf } from '../support/database.ts';
import { appWithGithub, githubRequest } from '../support/deliveries.ts';
import type { TestApp } from '../support/test-app.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const YEARS_MS = 3652 * DAY_MS;

let app: TestApp;
let connected: Connected;

beforeEach(async () => {
  ({ app, connected } = await appWithGithub());
  await app.addPosts('org_a', { id: 'one' });
  await deletePost(app.deps, 'one');
  await deliver('first');
  await sweep(app.deps);
});

async function deliver(delivery: string): Promise<string> {
  const response = await app.request(...githubRequest(connected, { zen: 'x' }, { delivery }));
  const { message } = (await response.json()) as { message: string };
  return message.startsWith('Duplicate') ? 'duplicate' : 'processed';
}

/** The rows that a sweep may remove. */
async function rows() {
  const count = async (table: string) =>
    Number((await valuesOf(app.db, `SELECT count(*) FROM ${table}`))[0]?.[0]);
  return {
    trash: await count('deleted_posts'),
    log: await count('deliveries'),
    audit: await count('audit_events'),
    claims: await count('delivery_claims'),
  };
}

/** A server that sweeps every hour for a while. */
async function run(ms: number, deps = app.deps): Promise<void> {
  for (let passed = 0; passed < ms; passed += HOUR_MS) {
    app.clock.advance(HOUR_MS);
    await sweep(deps);
  }
}

/** The services after a restart, of the machine too where `boot` is another one. */
const restarted = (boot: string, clock: MovableClock = app.clock) => ({
  ...app.deps,
  elapsed: createElapsed({ clock }, { id: boot, ms: clock.elapsedMs }),
});

describe('a wall clock that jumps once', () => {
  test.each([
    ['ten years ahead', YEARS_MS],
    ['two days ahead', 2 * DAY_MS],
    ['31 days ahead', 31 * DAY_MS],
    ['ten years back', -YEARS_MS],
  ])('%s, removes nothing, and duplicates stay duplicates', async (_, jump) => {
    const before = await rows();
    app.clock.jump(jump);
    expect(await deliver('first')).toBe('duplicate');
    const noted = await rows();
    await run(5 * HOUR_MS);
    expect(await rows()).toEqual(noted);
    app.clock.jump(-jump);
    await sweep(app.deps);
    expect(await deliver('first')).toBe('duplicate');
    expect(await rows()).toEqual({ ...before, log: before.log + 2 });
  });

  test.each(['test', 'another boot'])('while no server runs (%s), removes nothing', async (boot) => {
    const before = await rows();
    app.clock.jump(YEARS_MS);
    const deps = restarted(boot);
    await app.db.read((tx) => deps.elapsed.load(tx));
    await run(5 * HOUR_MS, deps);
    expect(await rows()).toEqual(before);
  });

  test('before the first sweep, removes nothing: a server was alive shortly before', async () => {
    await execute(app.db, 'DELETE FROM elapsed_time');
    const alive = app.clock.now().toISOString();
    await execute(
      app.db,
      `INSERT INTO server_runs (id, public_url, started_at, alive_at) VALUES ('run', '', '${alive}', '${alive}')`,
    );
    const before = await rows();
    app.clock.jump(YEARS_MS);
    await sweep(restarted('another boot'));
    expect(await rows()).toEqual(before);
  });

  test('does not keep a claim that it made for longer than 24 hours', async () => {
    app.clock.jump(YEARS_MS);
    expect(await deliver('ahead')).toBe('processed');
    app.clock.jump(-YEARS_MS);
    app.clock.advance(DAY_MS - 1);
    expect(await deliver('ahead')).toBe('duplicate');
    app.clock.advance(1);
    expect(await deliver('ahead')).toBe('processed');
  });

  test('is believed when it has been stable for a day, a day of rows in each sweep, text after that', async () => {
    app.clock.jump(40 * DAY_MS);
    const before = await rows();
    await run(DAY_MS - HOUR_MS);
    expect(await rows()).toEqual({ ...before, claims: 1 });
    await run(2 * HOUR_MS);
    expect(app.deps.elapsed.jumpMs()).toBe(0);
    expect(await rows()).toMatchObject({ trash: 1, log: 1 });
    await run(10 * HOUR_MS);
    expect(await rows()).toMatchObject({ trash: 1, log: 0 });
    await run(30 * HOUR_MS);
    expect(await rows()).toEqual({ trash: 0, log: 0, audit: 0, claims: 0 });
  });

  test('removes text a sweep later than other rows', async () => {
    app.clock.advance(28 * DAY_MS);
    await sweep(app.deps);
    app.clock.jump(3 * DAY_MS);
    await run(25 * HOUR_MS);
    expect([app.deps.elapsed.jumpMs(), await rows()]).toMatchObject([0, { trash: 1, audit: 0 }]);
    await run(HOUR_MS);
    expect(await rows()).toMatchObject({ trash: 0 });
  });

  test('is believed when a person confirms the time', async () => {
    app.clock.jump(40 * DAY_MS);
    await sweep(app.deps);
    expect(describeJump(app.deps.elapsed.jumpMs())?.problem).toBe(
      'The clock jumped forward by 40 days. Until it has been stable for a day, expired rows are removed by elapsed time',
    );
    await sweep(app.deps, { confirmed: app.clock.now() });
    expect(app.deps.elapsed.jumpMs()).toBe(0);
    expect(await rows()).toEqual({ trash: 0, log: 0, audit: 0, claims: 1 });
  });
});

describe('a scheduled post', () => {
  let id: string;
  const publish = (deps = app.deps) => publishDuePosts(deps, { runningSince: new Date(0) });

  /** Due in two hours. */
  beforeEach(async () => {
    const draft = { title: 'Soon', markdown: 'Text', contentType: 'changelog' } as const;
    ({ id } = await createPost(app.deps, 'org_a', draft));
    const publishAt = new Date(app.clock.now().getTime() + 2 * HOUR_MS).toISOString();
    await schedulePost(app.deps, id, { publishAt, timeZone: 'UTC' });
  });

  test.each([
    ['five hours ahead', 5 * HOUR_MS],
    ['ten years ahead', YEARS_MS],
    ['a day back', -DAY_MS],
  ])('is published when it is due by elapsed time, with a wall clock that jumps %s', async (_, jump) => {
    const due = new Date(app.clock.now().getTime() + 2 * HOUR_MS).toISOString();
    app.clock.jump(jump);
    expect(await publish()).toBe(0);
    await run(HOUR_MS);
    app.clock.advance(HOUR_MS - 1);
    expect(await publish()).toBe(0);
    app.clock.advance(1);
    expect(await publish()).toBe(1);
    const post = await app.db.read((tx) => readPost(tx, id));
    expect(post).toMatchObject({ status: 'published', createdAt: due, updatedAt: due });
  });

  test('follows a clock that drifts, that was set right again, or that sweeps believe', async () => {
    const soon = 2 * HOUR_MS - 5 * MINUTE_MS;
    for (const drift of [50_000, 50_000, DAY_MS, -DAY_MS]) {
      app.clock.jump(drift);
      expect(await publish()).toBe(0);
    }
    app.clock.advance(soon + 3 * MINUTE_MS + 20_000 - 1);
    expect(await publish()).toBe(0);
    app.clock.advance(1);
    expect(await publish()).toBe(1);
  });

  test('is late by no more than a day when the clock was wrong until it jumped', async () => {
    app.clock.jump(2 * HOUR_MS);
    await run(HOUR_MS);
    expect(await publish()).toBe(0);
    await sweep(app.deps, { confirmed: app.clock.now() });
    expect(await publish()).toBe(1);
  });

  test('is published at the start after the machine was off', async () => {
    app.clock.jump(3 * DAY_MS);
    const deps = restarted('another boot');
    await app.db.read((tx) => deps.elapsed.load(tx));
    await sweep(deps);
    expect(await publish(deps)).toBe(1);
  });
});

test('a pause of the machine up to a day counts, and a longer one is believed after a day', async () => {
  app.clock.jump(20 * HOUR_MS);
  const deps = restarted('second boot');
  await sweep(deps);
  expect(deps.elapsed.jumpMs()).toBe(0);
  app.clock.jump(7 * DAY_MS);
  const later = restarted('third boot');
  await sweep(later);
  expect(later.elapsed.jumpMs()).toBe(7 * DAY_MS);
  expect(await rows()).toMatchObject({ log: 1 });
  await run(DAY_MS + HOUR_MS, later);
  expect(later.elapsed.jumpMs()).toBe(0);
});

test('whatever the wall clock does, no sweep goes a day beyond what elapsed time allows', () => {
  const step = fc.record({
    passed: fc.integer({ min: 0, max: 3 * HOUR_MS }),
    jump: fc.oneof(
      fc.constant(0),
      fc.integer({ min: -MINUTE_MS, max: MINUTE_MS }),
      fc.integer({ min: -YEARS_MS, max: YEARS_MS }),
    ),
    reboots: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const clock = fixedClock();
      let boot = 0;
      const observation = () => ({
        wallMs: clock.now().getTime(),
        boot: { id: `${boot}`, ms: clock.elapsedMs },
      });
      let state: ClockState = firstObservation(observation());
      const started = state.elapsedMs;
      for (const { passed, jump, reboots } of steps) {
        clock.advance(passed);
        clock.jump(jump);
        if (reboots) boot++;
        const before = state;
        state = observe(state, observation());
        const elapsed = state.elapsedMs - before.elapsedMs;
        // A reboot hides how much time passed: by the wall clock, a day at most.
        expect(elapsed).toBeGreaterThanOrEqual(0);
        expect(elapsed).toBeLessThanOrEqual(reboots ? DAY_MS : passed);
        const swept = nextSweepMs(state);
        expect(swept).toBeLessThanOrEqual(before.sweptToMs + elapsed + DAY_MS);
        state = { ...state, sweptToMs: swept };
      }
      if (!steps.some(({ reboots }) => reboots)) expect(state.elapsedMs - started).toBe(clock.elapsedMs());
    }),
  );
});
