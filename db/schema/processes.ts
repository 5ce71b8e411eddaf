import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';

// Tables that the processes on one database share. Times are milliseconds since 1970.

/** Limits on guessing. A source without a row has made no attempt lately. */
export const throttles = sqliteTable(
  'throttles',
  {
    /** The hash of a limit and a source. */
    key: text().primaryKey(),
    /** When no attempt counts any more. Each attempt adds the time in which one is allowed. */
    fullAt: integer('full_at').notNull(),
  },
  (table) => [index('throttles_by_time').on(table.fullAt, table.key)],
);

/** Forms that were sent and work only once. */
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
  /** The process. */
  holder: text().notNull(),
  /** Grows while the holder is alive. */
  beat: integer().notNull(),
  /** Grows with each holder. */
  fence: integer().notNull(),
});
