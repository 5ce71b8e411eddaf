import { sqliteTable, text } from 'drizzle-orm/sqlite-core';

/** When the server ran: between two of these, deliveries may have been missed. */
export const serverRuns = sqliteTable('server_runs', {
  id: text().primaryKey(),
  /** The prefix of its links. */
  publicUrl: text('public_url').notNull(),
  startedAt: text('started_at').notNull(),
  /** The last time that it was known to run. */
  aliveAt: text('alive_at').notNull(),
});
