import { sql } from 'drizzle-orm';
import { blob, check, index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { PROVIDER_IDS } from './integrations.ts';

// Neither table refers to another: the log outlives an integration that was disconnected. Times that the sweeper
// and the claim compare are milliseconds since 1970.

/** Which deliveries were taken, so that none is processed twice. */
export const deliveryClaims = sqliteTable(
  'delivery_claims',
  {
    integrationId: text('integration_id').notNull(),
    deliveryId: text('delivery_id').notNull(),
    expiresAt: integer('expires_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.integrationId, table.deliveryId] }),
    index('delivery_claims_by_expiry').on(table.expiresAt),
  ],
);

/** The delivery log: one entry for each arrival, or for all of one kind that were refused in one minute. */
export const deliveries = sqliteTable(
  'deliveries',
  {
    id: text().primaryKey(),
    organizationId: text('organization_id').notNull(),
    integrationId: text('integration_id').notNull(),
    integrationType: text('integration_type', { enum: PROVIDER_IDS }).notNull(),
    repositoryId: text('repository_id'),
    title: text().notNull(),
    status: text({ enum: ['processed', 'ignored', 'duplicate', 'rejected', 'failed'] }).notNull(),
    statusCode: integer('status_code').notNull(),
    /** The provider's delivery id. */
    referenceId: text('reference_id'),
    event: text(),
    action: text(),
    data: text({ mode: 'json' }).$type<Record<string, unknown>>(),
    /** What the provider said of the delivery, of a verified one; never a signature. */
    headers: text({ mode: 'json' }).$type<Record<string, string>>(),
    /** In words, for anything that was not processed. */
    reason: text(),
    /** How many arrivals the entry stands for. */
    count: integer().notNull(),
    bodyHash: blob('body_hash', { mode: 'buffer' }),
    /** The delivery id under which the same body was taken before. */
    sameBodyAs: text('same_body_as'),
    /** The entry that this one ran again. */
    replayOf: text('replay_of'),
    durationMs: integer('duration_ms').notNull(),
    retentionDays: integer('retention_days').notNull(),
    createdAt: text('created_at').notNull(),
    expiresAt: integer('expires_at').notNull(),
  },
  (table) => [
    index('deliveries_by_organization').on(table.organizationId, table.createdAt, table.id),
    // With the status, so that days are counted without looking at their entries.
    index('deliveries_by_integration').on(table.integrationId, table.createdAt, table.id, table.status),
    // What needs attention is rare: it is found without reading all that went well.
    index('deliveries_by_problem')
      .on(table.organizationId, table.status, table.createdAt, table.id)
      .where(sql`${table.status} <> 'processed'`),
    index('deliveries_by_reference').on(table.referenceId, table.integrationId),
    index('deliveries_by_body')
      .on(table.integrationId, table.bodyHash)
      .where(sql`${table.bodyHash} is not null`),
    index('deliveries_by_expiry').on(table.expiresAt),
    check(
      'deliveries_status',
      sql`${table.status} in ('processed', 'ignored', 'duplicate', 'rejected', 'failed')`,
    ),
  ],
);
