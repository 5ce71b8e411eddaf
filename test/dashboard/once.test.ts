import { describe, expect, test } from 'bun:test';
import { once } from '../../src/dashboard/submission.ts';
import { DAY_MS } from '../../src/lib/time.ts';
import { sweep } from '../../src/server/sweep.ts';
import { execute, valuesOf } from '../support/database.ts';
import { createTestApp } from '../support/test-app.ts';
import { openTogether } from '../support/together.ts';

const done = async () => 'done';

test('a form without a mark is done each time', async () => {
  const { deps } = createTestApp();
  expect([await once(deps, null, done), await once(deps, '', done)]).toEqual(['done', 'done']);
});

describe('a form with a mark', () => {
  test('is done once, by one of two processes', async () => {
    const together = openTogether();
    const [one, other] = together.databases.map((db) => createTestApp({ db }).deps);
    if (one === undefined || other === undefined) throw new Error('two are opened');
    const results = await Promise.all([one, other, one, other].map((deps) => once(deps, 'mark', done)));
    expect(results.filter((result) => result !== null)).toEqual(['done']);
    expect(await once(other, 'mark', done)).toBeNull();
    expect(await once(other, 'another mark', done)).toBe('done');
  });

  test('can be sent again after its work failed, with the error of the work', async () => {
    const { deps } = createTestApp();
    const failing = once(deps, 'mark', () => Promise.reject(new Error('the provider is away')));
    await expect(failing).rejects.toThrow('the provider is away');
    expect(await once(deps, 'mark', done)).toBe('done');
  });

  test('is forgotten after a day', async () => {
    const { deps, clock } = createTestApp();
    await once(deps, 'mark', done);
    clock.advance(DAY_MS - 1);
    expect(await once(deps, 'mark', done)).toBeNull();
    await sweep(deps, { confirmed: clock.now() });
    expect(await valuesOf(deps.db, 'select mark from form_marks')).toEqual([['mark']]);
    clock.advance(1);
    await sweep(deps, { confirmed: clock.now() });
    expect(await valuesOf(deps.db, 'select mark from form_marks')).toEqual([]);
    expect(await once(deps, 'mark', done)).toBe('done');
  });

  test('is forgotten when ten thousand newer ones are there', async () => {
    const { deps, clock } = createTestApp();
    await once(deps, 'oldest', done);
    clock.advance(1);
    const expiresAt = clock.now().getTime() + DAY_MS;
    const newer = Array.from({ length: 9_999 }, (_, mark) => `('${mark}', ${expiresAt})`);
    await execute(deps.db, `insert into form_marks (mark, expires_at) values ${newer}`);
    expect(await once(deps, 'oldest', done)).toBeNull();
    clock.advance(1);
    await once(deps, 'newest', done);
    expect(await valuesOf(deps.db, 'select count(*) from form_marks')).toEqual([[10_000]]);
    expect(await once(deps, '0', done)).toBeNull();
    expect(await once(deps, 'oldest', done)).toBe('done');
  });
});
