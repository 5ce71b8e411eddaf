import { sql } from 'drizzle-orm';
import { check, index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { organizations } from './organizations.ts';

// People who sign in to the dashboard. Times that are compared are milliseconds since 1970.

export const users = sqliteTable('users', {
  id: text().primaryKey(),
  /** In lower case. */
  email: text().notNull().unique(),
  /** argon2id, as Bun.password writes it; null until the person has chosen one. */
  passwordHash: text('password_hash'),
  createdAt: text('created_at').notNull(),
  /** A disabled person cannot sign in. Null: active. */
  disabledAt: text('disabled_at'),
});

export const memberships = sqliteTable(
  'memberships',
  {
    userId: text('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    organizationId: text('organization_id')
      .notNull()
      .references(() => organizations.id, { onDelete: 'cascade' }),
    role: text({ enum: ['owner', 'member'] }).notNull(),
    createdAt: text('created_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.userId, table.organizationId] }),
    index('memberships_by_organization').on(table.organizationId),
    check('memberships_role', sql`${table.role} in ('owner', 'member')`),
  ],
);

/** Who is signed in. The cookie's value is never stored: `hash` is its SHA-256. */
export const sessions = sqliteTable(
  'sessions',
  {
    hash: text().primaryKey(),
    userId: text('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    createdAt: text('created_at').notNull(),
    expiresAt: integer('expires_at').notNull(),
    /** Written at most once an hour, with the client's address and `User-Agent` of that use. */
    lastUsedAt: integer('last_used_at').notNull().default(0),
    address: text(),
    userAgent: text('user_agent'),
  },
  (table) => [index('sessions_by_user').on(table.userId), index('sessions_by_expiry').on(table.expiresAt)],
);

/** Links that work once: setting up, an invitation, choosing a password. `hash` is the SHA-256 of the token. */
export const oneTimeLinks = sqliteTable(
  'one_time_links',
  {
    hash: text().primaryKey(),
    purpose: text({ enum: ['setup', 'invitation', 'password'] }).notNull(),
    /** Whose password is to be chosen. */
    userId: text('user_id').references(() => users.id, { onDelete: 'cascade' }),
    /** What an invitation is to. */
    organizationId: text('organization_id').references(() => organizations.id, { onDelete: 'cascade' }),
    role: text({ enum: ['owner', 'member'] }),
    createdAt: text('created_at').notNull(),
    expiresAt: integer('expires_at').notNull(),
  },
  (table) => [
    index('one_time_links_by_expiry').on(table.expiresAt),
    check('one_time_links_purpose', sql`${table.purpose} in ('setup', 'invitation', 'password')`),
  ],
);
