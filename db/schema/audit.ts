import { sql } from 'drizzle-orm';
import { check, index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/**
 * Who did what, and from where. No row refers to another table: it outlives the person, the organization and the thing
 * that it names.
 */
export const auditEvents = sqliteTable(
  'audit_events',
  {
    // Ids only grow and are never reused, so they order the log.
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
    /** How many things or attempts the row stands for. */
    count: integer().notNull(),
    createdAt: text('created_at').notNull(),
    /** Milliseconds since 1970. */
    expiresAt: integer('expires_at').notNull(),
  },
  (table) => [
    index('audit_events_by_organization').on(table.organizationId),
    index('audit_events_by_account').on(table.targetId).where(sql`${table.organizationId} is null`),
    index('audit_events_by_refusal').on(table.createdAt).where(sql`${table.action} = 'sign_in.refused'`),
    index('audit_events_by_expiry').on(table.expiresAt),
    check(
      'audit_events_actor_type',
      sql`${table.actorType} in ('user', 'command_line', 'server', 'trigger', 'anonymous')`,
    ),
  ],
);
