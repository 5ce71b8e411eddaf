import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { integrations, repositories } from './integrations.ts';

/** The webhooks that Tidings keeps at providers: one for each place of an integration that has a token. */
export const hooks = sqliteTable(
  'hooks',
  {
    integrationId: text('integration_id')
      .notNull()
      .references(() => integrations.id, { onDelete: 'cascade' }),
    /** `owner/name` of a repository, a team's id, or `all-public-teams`. */
    placeId: text('place_id').notNull(),
    placeName: text('place_name').notNull(),
    repositoryId: text('repository_id').references(() => repositories.id, { onDelete: 'cascade' }),
    /** The provider's id; null until it was made there. */
    remoteId: text('remote_id'),
    /** What was set at the provider: names of events, sorted. */
    events: text({ mode: 'json' }).$type<string[]>().notNull(),
    /** Whether the integration's present secret was set at the provider. */
    hasPresentSecret: integer('has_present_secret', { mode: 'boolean' }).notNull(),
    problem: text(),
    /** When to try again, in milliseconds since 1970. */
    retryAt: integer('retry_at'),
    attempts: integer().notNull(),
    createdAt: text('created_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.integrationId, table.placeId] })],
);
