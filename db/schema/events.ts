import { sql } from 'drizzle-orm';
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { integrations } from './integrations.ts';

/**
 * What was shipped: the newest version of each event, whatever number of deliveries told of it. Drafts are made from
 * these rows, so they outlive the log; they go with their integration. `repositoryId` is empty where there is none.
 */
export const events = sqliteTable(
  'events',
  {
    integrationId: text('integration_id')
      .notNull()
      .references(() => integrations.id, { onDelete: 'cascade' }),
    repositoryId: text('repository_id').notNull(),
    type: text({
      enum: ['push', 'pull_request', 'release', 'issue', 'project', 'project_update'],
    }).notNull(),
    key: text().notNull(),
    /** Null for an issue tracker. */
    branch: text(),
    occurredAt: text('occurred_at').notNull(),
    version: text().notNull(),
    repository: text(),
    deliveryId: text('delivery_id').notNull(),
    /** Of a release. It stands before the long text, so that a list of releases reads none of their notes. */
    isPrerelease: integer('is_prerelease', { mode: 'boolean' }).generatedAlwaysAs(
      sql`json_extract("data", '$.isPrerelease')`,
      { mode: 'stored' },
    ),
    data: text({ mode: 'json' }).notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.integrationId, table.repositoryId, table.type, table.key] }),
    index('events_by_time').on(table.integrationId, table.repositoryId, table.type, table.occurredAt),
  ],
);
