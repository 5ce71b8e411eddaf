import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { organizations } from './organizations.ts';

// Tables that the processes on one database share. Times are milliseconds since 1970.

/** Limits on guessing. A source without a row has made no attempt lately. */
export const throttles = sqliteTable(
  'throttles',
  {
    key: text().primaryKey(),
    /** When no attempt counts any more. Each attempt adds the time in which one is allowed. */
    fullAt: integer('full_at').notNull(),
  },
  (table) => [index('throttles_by_time').on(table.fullAt, table.key)],
);

export const formMarks = sqliteTable(
  'form_marks',
  {
    mark: text().primaryKey(),
    expiresAt: integer('expires_at').notNull(),
  },
  (table) => [index('form_marks_by_expiry').on(table.expiresAt)],
);

/** The rights to be the only process that does something. A SQLite file has one server, which keeps them in memory. */
export const leases = sqliteTable('leases', {
  name: text().primaryKey(),
  holder: text().notNull(),
  beat: integer().notNull(),
  fence: integer().notNull(),
});

/** Periods in which the server ran. Between two of them, deliveries may have been missed. */
export const serverRuns = sqliteTable('server_runs', {
  id: text().primaryKey(),
  /** The start of its links. */
  publicUrl: text('public_url').notNull(),
  startedAt: text('started_at').notNull(),
  aliveAt: text('alive_at').notNull(),
  /** Its process, such as `host-4711-1f3a`. Null before processes had names. */
  process: text(),
});

/** Elapsed time, as the server last observed it: at most one row. See `lib/elapsed.ts`. */
export const elapsedTime = sqliteTable('elapsed_time', {
  id: integer().primaryKey(),
  elapsedMs: integer('elapsed_ms').notNull(),
  wallMs: integer('wall_ms').notNull(),
  bootId: text('boot_id').notNull(),
  bootMs: integer('boot_ms').notNull(),
  offsetMs: integer('offset_ms').notNull(),
  newOffsetMs: integer('new_offset_ms'),
  newSinceMs: integer('new_since_ms'),
  sweptToMs: integer('swept_to_ms').notNull(),
});

/** Causes that need a person, as the leader saw them last: a row from the beginning of each cause to its end. */
export const attention = sqliteTable('attention', {
  id: text().primaryKey(),
  /** Null: the server itself. */
  organizationId: text('organization_id').references(() => organizations.id, { onDelete: 'cascade' }),
  kind: text().notNull(),
  subject: text().notNull(),
  since: text().notNull(),
  count: integer().notNull(),
  message: text().notNull(),
  effect: text().notNull(),
  /** A command that shows more, or corrects it. */
  action: text().notNull(),
  /** The page about it, below the organization's; null for the server. */
  path: text(),
  mutedUntil: text('muted_until'),
});
