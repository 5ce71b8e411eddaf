import { getTableName, sql } from 'drizzle-orm';
import {
  type AnySQLiteColumn,
  blob,
  check,
  index,
  integer,
  primaryKey,
  sqliteTable,
  text,
} from 'drizzle-orm/sqlite-core';

export function oneOf(column: AnySQLiteColumn) {
  const values = column.enumValues?.map((value) => `'${value}'`).join(', ') ?? '';
  return check(`${getTableName(column.table)}_${column.name}`, sql`${column} in (${sql.raw(values)})`);
}

export const organizations = sqliteTable(
  'organizations',
  {
    id: text().primaryKey(),
    name: text().notNull(),
    plan: text({ enum: ['free', 'pro'] }).notNull(),
    createdAt: text('created_at').notNull(),
    /** When somebody moved it to the trash. Null: it is in use. */
    deletedAt: text('deleted_at'),
    /** Only sessions with a second factor enter. */
    needsSecondFactor: integer('needs_second_factor', { mode: 'boolean' }).notNull().default(false),
    needsApproval: integer('needs_approval', { mode: 'boolean' }).notNull().default(false),
  },
  (table) => [oneOf(table.plan)],
);

/** The column of rows that are deleted with the row that it names. */
export const partOf = <Name extends string>(name: Name, parent: () => AnySQLiteColumn) =>
  text(name).notNull().references(parent, { onDelete: 'cascade' });

/** API keys of the embedded key service. The value itself is never stored: `hash` is its SHA-256. */
export const apiKeys = sqliteTable(
  'api_keys',
  {
    id: text().primaryKey(),
    organizationId: partOf('organization_id', () => organizations.id),
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

// People who sign in to the dashboard. Times that are compared are milliseconds since 1970.

export const users = sqliteTable('users', {
  id: text().primaryKey(),
  email: text().notNull().unique(),
  /** argon2id, as Bun.password writes it; null until the person has chosen one. */
  passwordHash: text('password_hash'),
  createdAt: text('created_at').notNull(),
  disabledAt: text('disabled_at'),
});

export const memberships = sqliteTable(
  'memberships',
  {
    userId: partOf('user_id', () => users.id),
    organizationId: partOf('organization_id', () => organizations.id),
    /** People read `member` as publisher. */
    role: text({ enum: ['owner', 'member', 'writer'] }).notNull(),
    createdAt: text('created_at').notNull(),
    /** A rule about the identity provider gave it, and each sign-in through the provider renews or ends it. */
    byRule: integer('by_rule', { mode: 'boolean' }).notNull().default(false),
  },
  (table) => [primaryKey({ columns: [table.userId, table.organizationId] }), oneOf(table.role)],
);

/** Persons of an identity provider who sign in as a user. */
export const identities = sqliteTable(
  'identities',
  {
    issuer: text().notNull(),
    subject: text().notNull(),
    userId: partOf('user_id', () => users.id),
    /** The email address, or else the subject, for people to tell identities apart. */
    name: text().notNull(),
    createdAt: text('created_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.issuer, table.subject] }),
    index('identities_by_user').on(table.userId),
  ],
);

/** Sign-ins. The cookie's value is never stored: `hash` is its SHA-256. */
export const sessions = sqliteTable('sessions', {
  hash: text().primaryKey(),
  userId: partOf('user_id', () => users.id),
  createdAt: text('created_at').notNull(),
  expiresAt: integer('expires_at').notNull(),
  /** Written at most once an hour, with the client's address and `User-Agent` of that use. */
  lastUsedAt: integer('last_used_at').notNull().default(0),
  address: text(),
  userAgent: text('user_agent'),
  /** When the person last used a passkey or a recovery code in it. Null: it began with one factor alone. */
  confirmedAt: integer('confirmed_at'),
});

/** Passkeys (WebAuthn credentials) of people, by the ID that the authenticator gave. */
export const passkeys = sqliteTable(
  'passkeys',
  {
    id: text().primaryKey(),
    userId: partOf('user_id', () => users.id),
    name: text().notNull(),
    /** COSE. */
    publicKey: blob('public_key', { mode: 'buffer' }).notNull(),
    counter: integer().notNull(),
    transports: text().notNull(),
    createdAt: text('created_at').notNull(),
    lastUsedAt: text('last_used_at'),
  },
  (table) => [index('passkeys_by_user').on(table.userId)],
);

/** Codes that stand in for a lost passkey, once each. `hash` is the SHA-256 of the code. */
export const recoveryCodes = sqliteTable(
  'recovery_codes',
  {
    hash: text().primaryKey(),
    userId: partOf('user_id', () => users.id),
  },
  (table) => [index('recovery_codes_by_user').on(table.userId)],
);

export const providerSessions = sqliteTable(
  'provider_sessions',
  {
    hash: text()
      .primaryKey()
      .references(() => sessions.hash, { onDelete: 'cascade' }),
    issuer: text().notNull(),
    subject: text().notNull(),
    /** The provider's ID of its own session (`sid`), where it has one. */
    sid: text(),
    /** The sealed ID token, which the provider wants back when the person signs out there. Null: it offers no sign-out. */
    idToken: blob('id_token', { mode: 'buffer' }),
  },
  (table) => [index('provider_sessions_by_subject').on(table.issuer, table.subject)],
);

/** Links that work once: setting up, an invitation, choosing a password. `hash` is the SHA-256 of the token. */
export const oneTimeLinks = sqliteTable(
  'one_time_links',
  {
    hash: text().primaryKey(),
    purpose: text({ enum: ['setup', 'invitation', 'password'] }).notNull(),
    userId: text('user_id').references(() => users.id, { onDelete: 'cascade' }),
    /** The organization of an invitation, or of the owner who created a link for a new password. */
    organizationId: text('organization_id').references(() => organizations.id, { onDelete: 'cascade' }),
    role: text({ enum: ['owner', 'member', 'writer'] }),
    createdAt: text('created_at').notNull(),
    expiresAt: integer('expires_at').notNull(),
  },
  (table) => [oneOf(table.purpose)],
);

/** The audit log. No row refers to another table, because it outlives the person, organization and thing that it names. */
export const auditEvents = sqliteTable(
  'audit_events',
  {
    // Ids grow and are never reused, so they order the log.
    id: integer().primaryKey({ autoIncrement: true }),
    /** Null for events of accounts and the server. */
    organizationId: text('organization_id'),
    action: text().notNull(),
    actorType: text('actor_type', {
      enum: ['user', 'command_line', 'server', 'trigger', 'anonymous'],
    }).notNull(),
    actorId: text('actor_id'),
    actorName: text('actor_name'),
    address: text(),
    targetType: text('target_type'),
    targetId: text('target_id'),
    summary: text().notNull(),
    count: integer().notNull(),
    createdAt: text('created_at').notNull(),
    expiresAt: integer('expires_at').notNull(),
  },
  (table) => [
    index('audit_events_by_organization').on(table.organizationId),
    index('audit_events_by_account').on(table.targetId).where(sql`${table.organizationId} is null`),
    index('audit_events_by_refusal').on(table.createdAt).where(sql`${table.action} = 'sign_in.refused'`),
    index('audit_events_by_expiry').on(table.expiresAt),
    oneOf(table.actorType),
  ],
);
