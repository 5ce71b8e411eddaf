import { expect, test } from 'bun:test';
import { createTestApp } from '../support/test-app.ts';

// A log of millions must not be read through for one of its entries.

test.each([
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
  const plan = createTestApp()
    .db.$client.query<{ detail: string }, []>(
      `EXPLAIN QUERY PLAN SELECT * FROM deliveries WHERE ${condition}`,
    )
    .all()
    .map(({ detail }) => detail);
  expect(plan.join()).toMatch(/USING (COVERING )?INDEX/);
  expect(plan.join()).not.toMatch(/SCAN deliveries|USE TEMP B-TREE/);
});
