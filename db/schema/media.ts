import { sql } from 'drizzle-orm';
import {
  blob,
  check,
  index,
  integer,
  primaryKey,
  sqliteTable,
  text,
  uniqueIndex,
} from 'drizzle-orm/sqlite-core';
import { organizations, partOf } from './organizations.ts';

/** Images of posts. The files are in the data folder or in a bucket, under the id. */
export const media = sqliteTable(
  'media',
  {
    /** Random, because everybody who knows the address may read the file. */
    id: text().primaryKey(),
    organizationId: partOf('organization_id', () => organizations.id),
    /** Of the stored bytes, so that an organization keeps each image once. */
    sha256: blob({ mode: 'buffer' }).notNull(),
    type: text({ enum: ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif'] }).notNull(),
    bytes: integer().notNull(),
    width: integer().notNull(),
    height: integer().notNull(),
    /** The name of the uploaded file. */
    name: text().notNull(),
    alt: text().notNull(),
    actorName: text('actor_name'),
    createdAt: text('created_at').notNull(),
  },
  (table) => [
    uniqueIndex('media_by_content').on(table.organizationId, table.sha256),
    index('media_by_organization').on(table.organizationId, table.createdAt, table.id),
    check(
      'media_type',
      sql`${table.type} in ('image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif')`,
    ),
  ],
);

/** Images in release notes that a job copies, because their addresses expire. */
export const mediaCopies = sqliteTable(
  'media_copies',
  {
    integrationId: text('integration_id').notNull(),
    /** The address in the notes. */
    url: text().notNull(),
    organizationId: partOf('organization_id', () => organizations.id),
    status: text({ enum: ['queued', 'done', 'failed'] }).notNull(),
    /** The copy; null until it is made. */
    mediaId: text('media_id').references(() => media.id, { onDelete: 'set null' }),
    attempts: integer().notNull(),
    /** Milliseconds since 1970. */
    dueAt: integer('due_at').notNull(),
    /** Why it failed, as a sentence. */
    error: text(),
    createdAt: text('created_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.integrationId, table.url] }),
    index('media_copies_due').on(table.status, table.dueAt),
    check('media_copies_status', sql`${table.status} in ('queued', 'done', 'failed')`),
  ],
);
