import { index, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { triggers } from './triggers.ts';

/**
 * What a trigger wrote: one row for each subject, such as a release. The post itself is no foreign key: a row without
 * its post says that a person deleted it, and that it is not to come back.
 */
export const drafts = sqliteTable(
  'drafts',
  {
    triggerId: text('trigger_id')
      .notNull()
      .references(() => triggers.id, { onDelete: 'cascade' }),
    /** Where subjects follow each other: a branch of a repository, a team. */
    scope: text().notNull(),
    subject: text().notNull(),
    postId: text('post_id').notNull(),
    /** The hash of the text as it was written: a post that still has it was touched by nobody. */
    writtenHash: text('written_hash').notNull(),
    /** Which events it tells of; what was published of a rolling draft is not told again. */
    eventKeys: text('event_keys', { mode: 'json' }).$type<string[]>().notNull(),
    /** When the newest of them happened. */
    until: text().notNull(),
    /** A newer text, beside a post that a person has edited or published. */
    suggestion: text({ mode: 'json' }).$type<{
      title: string;
      markdown: string;
      content: string;
      eventKeys: string[];
      until: string;
    }>(),
    suggestedAt: text('suggested_at'),
    /** The hash of the suggestion that was turned down last. */
    dismissedHash: text('dismissed_hash'),
  },
  (table) => [
    primaryKey({ columns: [table.triggerId, table.scope, table.subject] }),
    index('drafts_by_post').on(table.postId),
  ],
);
