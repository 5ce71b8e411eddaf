import { blob, index, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { organizations } from './organizations.ts';

/** API keys of the embedded key service. The value itself is never stored: `hash` is its SHA-256. */
export const apiKeys = sqliteTable(
  'api_keys',
  {
    id: text().primaryKey(),
    organizationId: text('organization_id')
      .notNull()
      .references(() => organizations.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    hash: blob({ mode: 'buffer' }).notNull().unique(),
    prefix: text().notNull(),
    permissions: text({ mode: 'json' }).$type<string[]>().notNull(),
    createdAt: text('created_at').notNull(),
    expiresAt: text('expires_at'),
    revokedAt: text('revoked_at'),
    lastUsedAt: text('last_used_at'),
  },
  (table) => [index('api_keys_by_organization').on(table.organizationId, table.createdAt)],
);
