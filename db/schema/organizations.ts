import { sql } from 'drizzle-orm';
import { check, sqliteTable, text } from 'drizzle-orm/sqlite-core';

export const organizations = sqliteTable(
  'organizations',
  {
    id: text().primaryKey(),
    name: text().notNull(),
    plan: text({ enum: ['free', 'pro'] }).notNull(),
    createdAt: text('created_at').notNull(),
  },
  (table) => [check('organizations_plan', sql`${table.plan} in ('free', 'pro')`)],
);
