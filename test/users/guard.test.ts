import { describe, expect, test } from 'bun:test';
import { AppError } from '../../src/lib/app-error.ts';
import { DAY_MS } from '../../src/lib/time.ts';
import { createGuard, MAX_THROTTLES, saveThrottle } from '../../src/people/guard.ts';
import { sweep } from '../../src/server/sweep.ts';
import { fixedClock } from '../support/clock.ts';
import { valuesOf } from '../support/database.ts';
import { createTestApp } from '../support/test-app.ts';
import { openTogether } from '../support/together.ts';

/** 200, or the status of the refusal. */
async function statusOf(attempt: Promise<void>): Promise<number> {
  try {
    await attempt;
    return 200;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return error.status;
  }
}

const rowsOf = (db: Parameters<typeof valuesOf>[0]) => valuesOf(db, 'select key, full_at from throttles');

/** Two processes on one database, each with a clock of its own. */
function setUp() {
  const { databases } = openTogether();
  const [one, other] = databases.map((db) => {
    const app = createTestApp({ db, clock: fixedClock() });
    return { ...app, guard: createGuard(app.deps) };
  });
  if (one === undefined || other === undefined) throw new Error('two are opened');
  return { one, other };
}

describe('two processes', () => {
  test('share the attempts of a source, and together let exactly the last one pass', async () => {
    const { one, other } = setUp();
    for (let attempt = 0; attempt < 4; attempt++) await one.guard.count('session');
    const statuses = await Promise.all(
      [one, other, one, other].map(({ guard }) => statusOf(guard.count('session'))),
    );
    expect(statuses.sort()).toEqual([200, 429, 429, 429]);
  });

  test('allow one more attempt every 20 seconds', async () => {
    const { one, other } = setUp();
    for (let attempt = 0; attempt < 5; attempt++) await one.guard.count('session');
    other.clock.advance(19_999);
    expect(await statusOf(other.guard.count('session'))).toBe(429);
    other.clock.advance(1);
    expect(await statusOf(other.guard.count('session'))).toBe(200);
    expect(await statusOf(other.guard.count('session'))).toBe(429);
  });

  test('share the attempts on an account, and forget those of who knows its password', async () => {
    const { one, other } = setUp();
    for (let attempt = 0; attempt < 5; attempt++) {
      await one.guard.signIn('ann@acme.example', '192.0.2.1', false).count();
    }
    const mine = other.guard.signIn('ann@acme.example', '192.0.2.1', false);
    expect(await statusOf(mine.requireAllowed())).toBe(429);
    expect(await statusOf(mine.count())).toBe(429);
    other.clock.advance(20_000);
    await mine.count();
    await other.db.write((tx) => mine.succeed(tx));
    for (let attempt = 0; attempt < 5; attempt++) {
      expect(await statusOf(one.guard.signIn('ann@acme.example', '192.0.2.1', false).count())).toBe(200);
    }
  });

  test('a right password gives its address one attempt back, not those on other accounts', async () => {
    const { one, other } = setUp();
    const of = (name: string) => one.guard.signIn(`${name}@acme.example`, '192.0.2.1', false);
    for (let attempt = 0; attempt < 29; attempt++) await of(`guessed${attempt}`).count();
    await of('ann').count();
    await other.db.write((tx) => of('ann').succeed(tx));
    expect(await statusOf(of('ben').count())).toBe(200);
    expect(await statusOf(of('cid').count())).toBe(429);
  });

  test('whose clocks differ by a day lock nobody out', async () => {
    const { one, other } = setUp();
    other.clock.advance(DAY_MS);
    for (let attempt = 0; attempt < 5; attempt++) await other.guard.count('session');
    expect(await statusOf(other.guard.count('session'))).toBe(429);
    expect(await statusOf(one.guard.count('session'))).toBe(200);
  });

  test.each([30_000, 900_000])(
    'whose clocks differ by %d ms allow a source no more attempts',
    async (skewMs) => {
      const { one, other } = setUp();
      other.clock.advance(skewMs);
      const statuses: number[] = [];
      for (let round = 0; round < 10; round++) {
        for (const { guard } of [one, other]) statuses.push(await statusOf(guard.count('session')));
      }
      // Each has let five pass at most.
      expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(10);
    },
  );
});

test('limits survive a restart', async () => {
  const app = createTestApp();
  for (let attempt = 0; attempt < 5; attempt++) await createGuard(app.deps).count('session');
  expect(await statusOf(createGuard(app.deps).count('session'))).toBe(429);
});

test('a refused attempt writes nothing, and no attempt stores what was typed', async () => {
  const app = createTestApp();
  const guard = createGuard(app.deps);
  for (let attempt = 0; attempt < 5; attempt++) await guard.count('correct horse');
  const before = await rowsOf(app.db);
  expect(await statusOf(guard.count('correct horse'))).toBe(429);
  expect(await rowsOf(app.db)).toEqual(before);
  expect(JSON.stringify(before)).not.toContain('horse');
});

test('attempts that count no longer are swept', async () => {
  const app = createTestApp();
  await createGuard(app.deps).count('session');
  app.clock.advance(19_999);
  await sweep(app.deps, { confirmed: app.clock.now() });
  expect(await rowsOf(app.db)).toHaveLength(1);
  app.clock.advance(1);
  await sweep(app.deps, { confirmed: app.clock.now() });
  expect(await rowsOf(app.db)).toEqual([]);
});

test('ten thousand sources are remembered, and beyond that those whose attempts stop counting first are not', async () => {
  const app = createTestApp();
  const guard = createGuard(app.deps);
  for (let attempt = 0; attempt < 5; attempt++) await guard.count('first');
  await app.db.write(async (tx) => {
    const fullAt = app.clock.now().getTime() + 1;
    for (let other = 0; other < MAX_THROTTLES + 50; other++) await saveThrottle(tx, `${other}`, fullAt);
  });
  await guard.count('one more');
  const rows = await rowsOf(app.db);
  expect(rows).toHaveLength(MAX_THROTTLES);
  expect(await statusOf(guard.count('first'))).toBe(429);
});
