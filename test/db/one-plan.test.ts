import { Database } from 'bun:sqlite';
import { expect } from 'bun:test';
import { asc, eq } from 'drizzle-orm';
import { triggers } from '../../db/schema/triggers.ts';
import { drizzleOver } from '../../db/sqlite/connection.ts';
import { listDueRanges } from '../../src/drafting/triggers/range-store.ts';
import { testSqlite } from '../support/database.ts';
import { plansOf } from '../support/plans.ts';

// SQLite plans each statement once, for any values.

testSqlite('no statement has a bare variable, whose value SQLite would plan for', () => {
  const { sql } = drizzleOver(new Database(':memory:'))
    .select()
    .from(triggers)
    .where(eq(triggers.integrationId, 'int_x'))
    .orderBy(asc(triggers.id))
    .limit(5)
    .toSQL();
  expect(sql).toContain('= +? order by');
  expect(sql).not.toMatch(/[^+]\?/);
});

const now = new Date('2026-01-01T00:00:00.000Z');

testSqlite('the index of those that are queued finds ranges of releases without their values', async () => {
  const plans = await plansOf((db) => db.read((tx) => listDueRanges(tx, now, { limit: 10 })));
  expect(plans.filter((plan) => plan.includes('USING INDEX release_ranges_due'))).toHaveLength(1);
});
