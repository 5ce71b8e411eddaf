import { expect } from 'bun:test';
import { listPostsOfDelivery } from '../../src/drafting/store.ts';
import { countDays } from '../../src/integrations/deliveries/count-store.ts';
import {
  type LogFilter,
  listDeliveries,
  listLogged,
  listLogPage,
  listProcessed,
} from '../../src/integrations/deliveries/log-store.ts';
import { openTestDatabase, sqliteOf, testSqlite } from '../support/database.ts';
import { plansOf } from '../support/plans.ts';

// A log of millions must not be read through for one of its entries.

testSqlite.each([
  ["an entry by its id or the provider's", "id = 'x' OR reference_id = 'x'"],
  [
    'an earlier delivery of the same id',
    "reference_id = 'x' AND integration_id = 'y' AND status = 'processed'",
  ],
  [
    'an earlier body',
    "integration_id = 'x' AND body_hash = x'00' AND body_hash IS NOT NULL AND reference_id <> 'y'",
  ],
  ['what has expired', 'expires_at <= 5'],
  ['the newest of an organization', "organization_id = 'x' ORDER BY created_at DESC, id DESC LIMIT 50"],
])('%s is found by an index', (_, condition) => {
  const plan = sqliteOf(openTestDatabase())
    .$client.query<{ detail: string }, []>(`EXPLAIN QUERY PLAN SELECT * FROM deliveries WHERE ${condition}`)
    .all()
    .map(({ detail }) => detail);
  expect(plan.join()).toMatch(/USING (COVERING )?INDEX/);
  expect(plan.join()).not.toMatch(/SCAN deliveries|USE TEMP B-TREE/);
});

const before = { createdAt: '2026-11-20T00:00:00.000Z', id: 'dlv_x' };
const since = new Date('2026-11-19T00:00:00.000Z');

testSqlite.each<[LogFilter, string]>([
  [{}, 'deliveries_by_organization'],
  [{ since }, 'deliveries_by_organization'],
  [{ event: 'push' }, 'deliveries_by_organization'],
  [{ integrationType: 'linear' }, 'deliveries_by_organization'],
  [{ status: 'processed' }, 'deliveries_by_organization'],
  [{ status: 'processed', event: 'push', since }, 'deliveries_by_organization'],
  [{ status: 'failed' }, 'deliveries_by_problem'],
  [{ status: 'ignored', event: 'push', since }, 'deliveries_by_problem'],
  [{ status: 'failed', integrationId: 'int_x', integrationType: 'github' }, 'deliveries_by_problem'],
  [{ integrationId: 'int_x' }, 'deliveries_by_integration'],
  [{ integrationId: 'int_x', status: 'processed', event: 'push', since }, 'deliveries_by_integration'],
  [{ text: 'x' }, 'deliveries_by_organization'],
  [{ text: 'x', status: 'failed', since }, 'deliveries_by_problem'],
  [{ text: 'x', integrationId: 'int_x' }, 'deliveries_by_integration'],
  [{ anyId: 'x' }, 'deliveries_by_reference'],
  [{ anyId: 'x', status: 'failed', integrationId: 'int_x', since }, 'deliveries_by_reference'],
])('a page of the log with %p is read along %s', async (filter, index) => {
  const plans = await plansOf(async (db) => {
    await db.read((tx) => listLogPage(tx, 'org_a', filter, { limit: 50, before }));
    await db.read((tx) => listLogPage(tx, 'org_a', filter, { limit: 50 }));
    await db.read((tx) => listDeliveries(tx, 'org_a', { ...filter, since }, { limit: 50 }));
  });
  expect(plans.length).toBeGreaterThanOrEqual(3);
  for (const plan of plans) {
    expect(plan).toContain(index);
    expect(plan).not.toContain('SCAN deliveries');
    // The few entries of one id may be sorted; a whole log may not.
    if (filter.anyId === undefined) expect(plan).not.toContain('TEMP B-TREE');
  }
});

testSqlite("the deliveries of one of the provider's ids are found by it", async () => {
  const filter = { anyId: 'x', integrationId: 'int_x', status: 'processed' } as const;
  const plans = await plansOf((db) =>
    db.read((tx) => listDeliveries(tx, 'org_a', filter, { limit: 20, page: 1 })),
  );
  expect(plans.join()).toContain('deliveries_by_reference');
});

testSqlite("an integration's days are counted without looking at entries", async () => {
  const plans = await plansOf((db) =>
    db.read((tx) => countDays(tx, { id: 'int_x', organizationId: 'org_a' }, since, 30)),
  );
  expect(plans.join()).toContain('delivery_counts USING INDEX');
});

testSqlite('the posts of a delivery are found by way of the drafts, not among all posts', async () => {
  const plans = await plansOf(async (db) =>
    db.read((tx) => listPostsOfDelivery(tx, 'org_a', 'int_x', { key: 'push x', scope: null, event: null })),
  );
  expect(plans.join()).toContain('triggers_by_integration');
  expect(plans.join()).not.toContain('posts_by_');
});

// SQLite then reads an entry only after all of the filter holds.
testSqlite.each([
  ['deliveries_by_organization', ['status', 'event', 'integration_type', 'is_polled']],
  ['deliveries_by_integration', ['status', 'event', 'is_polled']],
  ['deliveries_by_problem', ['status', 'integration_id', 'event', 'integration_type']],
])('%s holds the columns of the filters', (index, columns) => {
  const held = sqliteOf(openTestDatabase())
    .$client.query<{ name: string }, [string]>('SELECT name FROM pragma_index_info(?)')
    .all(index)
    .map(({ name }) => name);
  expect(held).toEqual(expect.arrayContaining(columns));
});

testSqlite('what a rehearsal reads follows the index of its integration', async () => {
  const window = { since, before, limit: 250 };
  const plans = await plansOf((db) => db.read((tx) => listProcessed(tx, 'int_x', window)));
  expect(plans.join()).toContain('deliveries_by_integration');
  expect(plans.join()).not.toContain('TEMP B-TREE');
});

testSqlite('the deliveries that a provider names are found by their ids', async () => {
  const plans = await plansOf((db) => db.read((tx) => listLogged(tx, 'int_x', ['a', 'b'])));
  expect(plans.join()).toContain('USING INDEX deliveries_by_reference');
});
