import { blob, index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import { organizations } from './organizations.ts';

/** The ids of the providers. */
export const PROVIDER_IDS = ['github', 'linear', 'forgejo'] as const;

/** A connected provider. Secrets are encrypted under the key of the data folder, never in the clear. */
export const integrations = sqliteTable(
  'integrations',
  {
    id: text().primaryKey(),
    organizationId: text('organization_id')
      .notNull()
      .references(() => organizations.id, { onDelete: 'cascade' }),
    type: text({ enum: PROVIDER_IDS }).notNull(),
    enabled: integer({ mode: 'boolean' }).notNull(),
    secret: blob({ mode: 'buffer' }).notNull(),
    /** The secret before the last rotation, taken until the time beside it. */
    previousSecret: blob('previous_secret', { mode: 'buffer' }),
    previousSecretUntil: text('previous_secret_until'),
    /** What Tidings may ask the provider's API with. Null: the webhook is set up by hand. */
    token: blob({ mode: 'buffer' }),
    /** When somebody last looked for deliveries that never arrived. */
    missedCheckedAt: text('missed_checked_at'),
    createdAt: text('created_at').notNull(),
  },
  (table) => [index('integrations_by_organization').on(table.organizationId, table.createdAt)],
);

/** A repository of a code-hosting integration. */
export const repositories = sqliteTable(
  'repositories',
  {
    id: text().primaryKey(),
    integrationId: text('integration_id')
      .notNull()
      .references(() => integrations.id, { onDelete: 'cascade' }),
    /** `owner/name`. */
    fullName: text('full_name').notNull(),
    /** The provider's own id, which survives renames. Null until the provider or a verified delivery says it. */
    providerId: integer('provider_id'),
    createdAt: text('created_at').notNull(),
  },
  (table) => [
    index('repositories_by_integration').on(table.integrationId),
    uniqueIndex('repositories_by_provider_id').on(table.integrationId, table.providerId),
  ],
);
