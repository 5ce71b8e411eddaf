import { sql } from 'drizzle-orm';
import {
  type AnySQLiteColumn,
  blob,
  check,
  index,
  integer,
  primaryKey,
  sqliteTable,
  text,
  uniqueIndex,
} from 'drizzle-orm/sqlite-core';
import { oneOf, organizations, partOf } from './organizations.ts';

export const CONTENT_TYPES = ['changelog', 'linkedin_post'] as const;
const STATUSES = ['draft', 'published'] as const;

const headColumns = () => ({
  id: text().primaryKey(),
  organizationId: partOf('organization_id', () => organizations.id),
  status: text({ enum: STATUSES }).notNull(),
  contentType: text('content_type', { enum: CONTENT_TYPES }).notNull(),
  createdAt: text('created_at').notNull(),
  updatedAt: text('updated_at').notNull(),
});
const textColumns = () => ({
  title: text().notNull(),
  content: text().notNull(),
  markdown: text().notNull(),
  sourceMetadata: text('source_metadata', { mode: 'json' }).$type<Record<string, unknown>>(),
  /** Publishing keeps `createdAt`. False: a draft whose date becomes the time of its first publication. */
  isDateSet: integer('is_date_set', { mode: 'boolean' }).notNull().default(true),
});

function postChecks(name: string, table: Record<keyof ReturnType<typeof headColumns>, AnySQLiteColumn>) {
  return [
    oneOf(table.status),
    check(`${name}_created_at`, sql`length(${table.createdAt}) = 24`),
    check(`${name}_updated_at`, sql`length(${table.updatedAt}) = 24`),
  ];
}

/** Times are ISO 8601 with milliseconds, which sorts by time, and milliseconds since 1970 as integers. */
export const posts = sqliteTable(
  'posts',
  {
    ...headColumns(),
    ...textColumns(),
    /** The words of title and text that search needs in another form (`posts/store.ts`); null for none. */
    searchWords: text('search_words'),
    /** Everybody may read it (`PUBLIC_POSTS`). SQL triggers put a message for each hook when what they read changes. */
    isPublic: integer('is_public', { mode: 'boolean' }).notNull().default(false),
  },
  (table) => [
    // One index per kind of filter, each in list order, so that any page is a walk along one index.
    index('posts_by_date').on(table.organizationId, table.createdAt, table.id),
    index('posts_by_status').on(table.organizationId, table.status, table.createdAt, table.id),
    index('posts_by_type').on(table.organizationId, table.contentType, table.createdAt, table.id),
    index('posts_by_status_and_type').on(
      table.organizationId,
      table.status,
      table.contentType,
      table.createdAt,
      table.id,
    ),
    ...postChecks('posts', table),
  ],
);

/** SQL triggers keep it. `version` gets a new random value whenever a post of the group changes, for cached pages. */
export const postCounts = sqliteTable(
  'post_counts',
  {
    organizationId: text('organization_id').notNull(),
    status: text({ enum: STATUSES }).notNull(),
    contentType: text('content_type', { enum: CONTENT_TYPES }).notNull(),
    count: integer().notNull(),
    version: text().notNull(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.status, table.contentType] })],
);

/** Texts of a post, or templates of a trigger, from the first edit on. No reference: posts in the trash keep theirs. */
export const postVersions = sqliteTable(
  'post_versions',
  {
    id: text().primaryKey(),
    postId: text('post_id').notNull(),
    organizationId: partOf('organization_id', () => organizations.id),
    title: text().notNull(),
    markdown: text().notNull(),
    contentType: text('content_type', { enum: CONTENT_TYPES }).notNull(),
    /** How the text came to be: an edit, an earlier version restored, a suggestion accepted, a trigger, an import. */
    origin: text({ enum: ['edit', 'restore', 'suggestion', 'trigger', 'import'] }).notNull(),
    actorType: text('actor_type').notNull(),
    actorId: text('actor_id'),
    actorName: text('actor_name'),
    createdAt: text('created_at').notNull(),
    /** Later than `createdAt` when autosaves of one person share a version. */
    updatedAt: text('updated_at').notNull(),
    /** The next autosave of the person may replace its text. */
    isAutosave: integer('is_autosave', { mode: 'boolean' }).notNull().default(false),
    /** How far the text came. Null: nobody approved or published it, as far as is known. */
    reached: text({ enum: ['approved', 'published'] }),
  },
  (table) => [
    index('post_versions_by_post').on(table.postId, table.createdAt, table.id),
    oneOf(table.origin),
  ],
);

/** When drafts will be published. Deleted with the draft, and when a person publishes it earlier. */
export const postSchedules = sqliteTable(
  'post_schedules',
  {
    postId: text('post_id').primaryKey(),
    organizationId: partOf('organization_id', () => organizations.id),
    publishAt: integer('publish_at').notNull(),
    timeZone: text('time_zone').notNull(),
    actorName: text('actor_name'),
    createdAt: text('created_at').notNull(),
  },
  (table) => [index('post_schedules_by_time').on(table.publishAt)],
);

/** The trash: posts that people deleted, until `expiresAt`. The content API never reads it. */
export const deletedPosts = sqliteTable(
  'deleted_posts',
  {
    ...headColumns(),
    ...textColumns(),
    deletedAt: text('deleted_at').notNull(),
    actorName: text('actor_name'),
    expiresAt: integer('expires_at').notNull(),
  },
  (table) => [
    index('deleted_posts_by_organization').on(table.organizationId, table.deletedAt, table.id),
    index('deleted_posts_by_expiry').on(table.expiresAt),
    ...postChecks('deleted_posts', table),
  ],
);

/** Changes that holders of API keys propose, until a person decides. No reference to `posts`, as with versions. */
export const postSuggestions = sqliteTable(
  'post_suggestions',
  {
    id: text().primaryKey(),
    postId: text('post_id').notNull(),
    organizationId: partOf('organization_id', () => organizations.id),
    keyId: text('key_id').notNull(),
    keyName: text('key_name').notNull(),
    title: text(),
    markdown: text(),
    note: text().notNull(),
    createdAt: text('created_at').notNull(),
    /** Of the assistant, which has no key: lines of the text, each with the line in its place. */
    rewrites: text({ mode: 'json' }).$type<[line: string, to: string][]>(),
  },
  (table) => [
    index('post_suggestions_by_post').on(table.postId, table.createdAt, table.id),
    index('post_suggestions_by_organization').on(table.organizationId, table.createdAt, table.id),
  ],
);

/** The newest request to approve the text of a post. No reference to `posts`, as with versions. */
export const postApprovals = sqliteTable(
  'post_approvals',
  {
    postId: text('post_id').primaryKey(),
    organizationId: partOf('organization_id', () => organizations.id),
    state: text({ enum: ['waiting', 'approved', 'declined', 'withdrawn'] }).notNull(),
    /** A hash of all that readers see of the post, and its newest version: every change makes one of them another. */
    hash: text().notNull(),
    versionId: text('version_id').notNull(),
    /** The new text of a published post. Null: it is about the post as it is. */
    change: text({ mode: 'json' }).$type<
      Record<'title' | 'markdown' | 'content', string> & {
        contentType: (typeof CONTENT_TYPES)[number];
      }
    >(),
    /** Null: no person, such as a trigger. */
    askedById: text('asked_by_id'),
    /** An email address, or who asked in words. */
    askedBy: text('asked_by').notNull(),
    askedAt: text('asked_at').notNull(),
    /** Null: the operator of the command line, or nobody yet. */
    decidedById: text('decided_by_id'),
    decidedBy: text('decided_by'),
    decidedAt: text('decided_at'),
    note: text(),
  },
  (table) => [
    index('post_approvals_waiting').on(table.askedAt).where(sql`${table.state} = 'waiting'`),
    oneOf(table.state),
  ],
);

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
    name: text().notNull(),
    alt: text().notNull(),
    actorName: text('actor_name'),
    createdAt: text('created_at').notNull(),
  },
  (table) => [uniqueIndex('media_by_content').on(table.organizationId, table.sha256), oneOf(table.type)],
);

/** Images in release notes that a job copies, because their addresses expire. */
export const mediaCopies = sqliteTable(
  'media_copies',
  {
    integrationId: text('integration_id').notNull(),
    url: text().notNull(),
    organizationId: partOf('organization_id', () => organizations.id),
    status: text({ enum: ['queued', 'done', 'failed'] }).notNull(),
    mediaId: text('media_id').references(() => media.id, { onDelete: 'set null' }),
    attempts: integer().notNull(),
    dueAt: integer('due_at').notNull(),
    error: text(),
    createdAt: text('created_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.integrationId, table.url] }),
    index('media_copies_due').on(table.status, table.dueAt),
    oneOf(table.status),
  ],
);
