import { sql } from 'drizzle-orm';
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import { oneOf, organizations, partOf } from './organizations.ts';
import { media } from './posts.ts';

// Times are ISO 8601 in a column of text, and milliseconds since 1970 in one of integers.

export const publications = sqliteTable(
  'publications',
  {
    organizationId: text('organization_id')
      .primaryKey()
      .references(() => organizations.id, { onDelete: 'cascade' }),
    slug: text().notNull(),
    isPageOn: integer('is_page_on', { mode: 'boolean' }).notNull(),
    isFeedOn: integer('is_feed_on', { mode: 'boolean' }).notNull(),
    isMcpOn: integer('is_mcp_on', { mode: 'boolean' }).notNull(),
    title: text().notNull(),
    description: text().notNull(),
    accentColor: text('accent_color').notNull(),
    logoId: text('logo_id').references(() => media.id, { onDelete: 'set null' }),
    links: text({ mode: 'json' }).$type<{ label: string; url: string }[]>().notNull(),
    /** The address under the team's own domain, at which a proxy serves the page; without a trailing slash. */
    address: text(),
    /** A new random value with each change, so that kept pages compare it. */
    version: text().notNull(),
    updatedAt: text('updated_at').notNull(),
  },
  (table) => [uniqueIndex('publications_by_slug').on(table.slug)],
);

/** Slugs that organizations had. They redirect to the current one, unless another organization takes them. */
export const formerSlugs = sqliteTable('former_slugs', {
  slug: text().primaryKey(),
  organizationId: partOf('organization_id', () => organizations.id),
  expiresAt: integer('expires_at').notNull(),
});

/** Addresses that are called when a public post changes, or when something needs a person. */
export const rebuildHooks = sqliteTable(
  'rebuild_hooks',
  {
    id: text().primaryKey(),
    organizationId: partOf('organization_id', () => organizations.id),
    name: text().notNull(),
    kind: text({ enum: ['signed', 'netlify', 'vercel', 'cloudflare', 'slack', 'discord'] }).notNull(),
    /** Its subject: changes of posts, or notices of what needs attention, those about the server too if it says so. */
    about: text({ enum: ['posts', 'attention', 'attention-and-server'] })
      .notNull()
      .default('posts'),
    /** Encrypted, because whoever knows a deploy hook's URL can call it. */
    url: text().notNull(),
    host: text().notNull(),
    /** Encrypted. Null where the receiver checks no signature. */
    secret: text(),
    isEnabled: integer('is_enabled', { mode: 'boolean' }).notNull(),
    createdAt: text('created_at').notNull(),
    held: text({ mode: 'json' }).$type<HeldNotices>(),
  },
  (table) => [oneOf(table.kind), oneOf(table.about)],
);

export interface HeldNotices {
  began: number;
  ended: number;
  since: number;
}

export interface Notice {
  /** `summary`: only of notices that were held back. */
  state: 'began' | 'ended' | 'summary';
  /** Null for an item of the server. */
  organizationId: string | null;
  itemId: string | null;
  kind: string | null;
  since: string;
  count: number;
  message: string;
  effect: string;
  action: string;
  link: string;
  /** Notices that were held back since the one before. */
  heldBack: { began: number; ended: number };
}

/** SQL triggers on `posts` insert a message for each hook. A message about a post holds only what was public. */
export const hookMessages = sqliteTable(
  'hook_messages',
  {
    /** `msg_` and 32 random hex digits. All attempts send it as `webhook-id`. */
    id: text().primaryKey(),
    hookId: partOf('hook_id', () => rebuildHooks.id),
    organizationId: text('organization_id').notNull(),
    postId: text('post_id').notNull(),
    number: integer().notNull(),
    type: text({
      enum: [
        'post.published',
        'post.changed',
        'post.unpublished',
        'post.deleted',
        'attention.began',
        'attention.ended',
        'attention.summary',
      ],
    }).notNull(),
    /** Title and date of the post as readers last saw it; message and beginning of an item. */
    title: text().notNull(),
    postCreatedAt: text('post_created_at').notNull(),
    /** The permalink when the sender first saw the message, so that all attempts send the same body. Null without a page. */
    url: text(),
    /** The content of a notice, as its payload has it. Null for a message about a post. */
    notice: text({ mode: 'json' }).$type<Notice>(),
    /** `merged`: a later message of the hook covers it, or a channel need not hear of it any more. */
    state: text({ enum: ['queued', 'sent', 'failed', 'merged'] }).notNull(),
    attempts: integer().notNull(),
    dueAt: integer('due_at').notNull(),
    /** Null until the sender first sees the message. */
    createdAt: text('created_at'),
    expiresAt: integer('expires_at'),
  },
  (table) => [
    uniqueIndex('hook_messages_by_post').on(table.hookId, table.postId, table.number),
    index('hook_messages_queued').on(table.dueAt).where(sql`${table.state} = 'queued'`),
    index('hook_messages_queued_by_hook').on(table.hookId, table.dueAt).where(sql`${table.state} = 'queued'`),
    index('hook_messages_by_expiry').on(table.expiresAt),
    oneOf(table.type),
    oneOf(table.state),
  ],
);

export const hookAttempts = sqliteTable(
  'hook_attempts',
  {
    id: text().primaryKey(),
    messageId: partOf('message_id', () => hookMessages.id),
    startedAt: text('started_at').notNull(),
    durationMs: integer('duration_ms').notNull(),
    statusCode: integer('status_code'),
    /** Why there is no response, or why it counts as a failure. */
    problem: text(),
    response: text(),
  },
  (table) => [index('hook_attempts_by_message').on(table.messageId, table.startedAt)],
);
