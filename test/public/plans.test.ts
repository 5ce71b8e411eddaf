import { expect } from 'bun:test';
import type { ReadTx } from '../../db/engine.ts';
import { countMonth, findNeighbors, listLines, listMonths } from '../../src/readers/public/model.ts';
import { testSqlite } from '../support/database.ts';
import { plansOf } from '../support/plans.ts';

// A page of ten thousand posts must not be read through.

const post = { id: 'post_x', createdAt: '2026-01-01T00:00:00.000Z' };

testSqlite.each<[string, (tx: ReadTx) => Promise<unknown>]>([
  ['the posts before and after another', (tx) => findNeighbors(tx, 'org_a', post)],
  ['the months that have posts', (tx) => listMonths(tx, 'org_a', 120)],
  ['the posts of a month', (tx) => listLines(tx, 'org_a', { month: '2026-01', limit: 100 })],
  ['the number of posts of a month', (tx) => countMonth(tx, 'org_a', '2026-01')],
])('an index finds %s in their order', async (_, read) => {
  const plans = await plansOf((db) => db.read(read));
  const about = plans.filter((plan) => /posts/.test(plan));
  expect(about.length).toBeGreaterThan(0);
  for (const plan of about) {
    expect(plan).toContain('posts_by_status_and_type');
    expect(plan).not.toMatch(/SCAN posts|TEMP B-TREE/);
  }
});
