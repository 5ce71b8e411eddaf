import { sql } from 'drizzle-orm';
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { EVENT_TYPES, integrations, repositories } from './integrations.ts';
import { oneOf, organizations, partOf } from './organizations.ts';
import { CONTENT_TYPES, posts } from './posts.ts';

// Times are ISO 8601 in a column of text, and milliseconds since 1970 in one of integers.

export const triggers = sqliteTable(
  'triggers',
  {
    id: text().primaryKey(),
    integrationId: partOf('integration_id', () => integrations.id),
    repositoryId: text('repository_id').references(() => repositories.id, { onDelete: 'cascade' }),
    event: text({ enum: EVENT_TYPES }).notNull(),
    /** Its condition and result as one text, so that no two triggers do the same. */
    rule: text().notNull().unique(),
    /** An object with sorted names and values. */
    filters: text({ mode: 'json' }).notNull(),
    contentType: text('content_type', { enum: CONTENT_TYPES }).notNull(),
    titleTemplate: text('title_template'),
    bodyTemplate: text('body_template'),
    publish: integer({ mode: 'boolean' }).notNull(),
    enabled: integer({ mode: 'boolean' }).notNull(),
    createdAt: text('created_at').notNull(),
    updatedAt: text('updated_at').notNull(),
    /** Asks the assistant for another wording of its drafts. */
    suggests: integer({ mode: 'boolean' }).notNull().default(false),
  },
  (table) => [index('triggers_by_integration').on(table.integrationId)],
);

/** Events that a trigger may make posts of. Others change no more than the text of these posts. */
export const triggerEvents = sqliteTable(
  'trigger_events',
  {
    triggerId: partOf('trigger_id', () => triggers.id),
    repositoryId: text('repository_id').notNull(),
    type: text({ enum: EVENT_TYPES }).notNull(),
    key: text().notNull(),
    isMatch: integer('is_match', { mode: 'boolean' }).notNull(),
    /** Its post is a draft even if the trigger publishes. */
    draftOnly: integer('draft_only', { mode: 'boolean' }).notNull(),
    /** Its post is published even if the trigger makes drafts: a person asked for that. */
    publish: integer({ mode: 'boolean' }).notNull().default(false),
  },
  (table) => [primaryKey({ columns: [table.triggerId, table.repositoryId, table.type, table.key] })],
);

/** A row stands for all events in a scope (a branch of a repository, a team) since its last run, which deletes it. */
export const triggerRuns = sqliteTable(
  'trigger_runs',
  {
    triggerId: partOf('trigger_id', () => triggers.id),
    scope: text().notNull(),
    since: text().notNull(),
    /** Grows with each event, so that an event during a run queues another one. */
    revision: integer().notNull(),
    status: text({ enum: ['queued', 'failed'] }).notNull(),
    attempts: integer().notNull(),
    dueAt: integer('due_at').notNull(),
    deliveryId: text('delivery_id').notNull(),
    error: text(),
    queuedAt: text('queued_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.triggerId, table.scope] }),
    index('trigger_runs_due').on(table.status, table.attempts, table.dueAt),
    oneOf(table.status),
  ],
);

/** One row for each subject, such as a release. Without its post: a person deleted it, and it must not come back. */
export const drafts = sqliteTable(
  'drafts',
  {
    triggerId: partOf('trigger_id', () => triggers.id),
    scope: text().notNull(),
    subject: text().notNull(),
    postId: text('post_id').notNull(),
    /** The hash of the generated text. A post with the same hash was not edited. */
    writtenHash: text('written_hash').notNull(),
    /** Its events. Those of a published rolling draft are not repeated in the next one. */
    eventKeys: text('event_keys', { mode: 'json' }).$type<string[]>().notNull(),
    until: text().notNull(),
    /** A newer text for a post that a person has edited or published. */
    suggestion: text({ mode: 'json' }).$type<{
      title: string;
      markdown: string;
      content: string;
      eventKeys: string[];
      until: string;
    }>(),
    suggestedAt: text('suggested_at'),
    dismissedHash: text('dismissed_hash'),
    /** The hash of what the generated text was made from. Null where that is unknown. */
    source: text(),
    /** Changes that the generated text does not list, and why. */
    leftOut: text('left_out', { mode: 'json' })
      .$type<{ title: string; reference: { label: string; url: string | null }; reason: string }[]>()
      .notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.triggerId, table.scope, table.subject] }),
    index('drafts_by_subject').on(table.triggerId, table.subject),
    index('drafts_by_post').on(table.postId),
    index('drafts_with_suggestion').on(table.postId).where(sql`${table.suggestion} is not null`),
  ],
);

/** The result of each delivery for each trigger that received its event. Like the log, it outlives triggers and posts. */
export const deliveryResults = sqliteTable(
  'delivery_results',
  {
    deliveryId: text('delivery_id').notNull(),
    triggerId: text('trigger_id').notNull(),
    scope: text().notNull(),
    /** The event as drafts name it: its type, a space, and its key. */
    eventKey: text('event_key').notNull(),
    /** `waiting`: for a later post, as a push before its release. `kept`: a person's text stays as it is. */
    outcome: text({
      enum: [
        'queued',
        'created',
        'updated',
        'unchanged',
        'suggested',
        'kept',
        'removed',
        'waiting',
        'filtered',
        'failed',
      ],
    }).notNull(),
    postId: text('post_id'),
    error: text(),
    updatedAt: text('updated_at').notNull(),
    expiresAt: integer('expires_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.deliveryId, table.triggerId] }),
    index('delivery_results_unsettled')
      .on(table.triggerId, table.scope)
      .where(sql`${table.outcome} in ('queued', 'failed', 'waiting')`),
    index('delivery_results_by_expiry').on(table.expiresAt),
    oneOf(table.outcome),
  ],
);

export const roundups = sqliteTable(
  'roundups',
  {
    id: text().primaryKey(),
    organizationId: partOf('organization_id', () => organizations.id),
    name: text().notNull(),
    cadence: text({ enum: ['weekly', 'biweekly', 'monthly'] }).notNull(),
    weekday: integer().notNull(),
    time: text().notNull(),
    timeZone: text('time_zone').notNull(),
    /** The local date from which weeks are counted, such as `2026-11-27`. */
    startsOn: text('starts_on').notNull(),
    groupBy: text('group_by', { enum: ['repository', 'kind'] }).notNull(),
    /** Without any change: no post, or one that says so. */
    whenEmpty: text('when_empty', { enum: ['skip', 'line'] }).notNull(),
    contentType: text('content_type', { enum: CONTENT_TYPES }).notNull(),
    enabled: integer({ mode: 'boolean' }).notNull(),
    nextAt: integer('next_at').notNull(),
    createdAt: text('created_at').notNull(),
    updatedAt: text('updated_at').notNull(),
  },
  (table) => [
    index('roundups_by_organization').on(table.organizationId, table.createdAt),
    index('roundups_due').on(table.nextAt),
    oneOf(table.cadence),
    oneOf(table.groupBy),
    oneOf(table.whenEmpty),
  ],
);

export const roundupSources = sqliteTable(
  'roundup_sources',
  {
    roundupId: partOf('roundup_id', () => roundups.id),
    position: integer().notNull(),
    integrationId: partOf('integration_id', () => integrations.id),
    repositoryId: text('repository_id').references(() => repositories.id, { onDelete: 'cascade' }),
    team: text(),
  },
  (table) => [
    primaryKey({ columns: [table.roundupId, table.position] }),
    index('roundup_sources_by_integration').on(table.integrationId),
  ],
);

/** Each change is a row, which stays after its post is made, so that no other post of the roundup has it. */
export const roundupChanges = sqliteTable(
  'roundup_changes',
  {
    roundupId: partOf('roundup_id', () => roundups.id),
    key: text().notNull(),
    integrationId: text('integration_id').notNull(),
    repositoryId: text('repository_id').notNull(),
    event: text().notNull(),
    claimedAt: text('claimed_at').notNull(),
    /** Null until its post is made. Empty where nothing was to be told. */
    postId: text('post_id'),
  },
  (table) => [
    primaryKey({ columns: [table.roundupId, table.key] }),
    index('roundup_changes_pending')
      .on(table.roundupId, table.claimedAt, table.event, table.key)
      .where(sql`${table.postId} is null`),
  ],
);

/** The posts of a roundup. A row without its post means that a person deleted it. */
export const roundupPosts = sqliteTable(
  'roundup_posts',
  {
    postId: text('post_id').primaryKey(),
    roundupId: partOf('roundup_id', () => roundups.id),
    madeAt: text('made_at').notNull(),
    leftOut: text('left_out', { mode: 'json' })
      .$type<{ title: string; reference: { label: string; url: string | null }; reason: string }[]>()
      .notNull(),
  },
  (table) => [index('roundup_posts_by_time').on(table.roundupId, table.madeAt)],
);

/** How the assistant words the drafts of an organization, and what it used today. */
export const assistants = sqliteTable('assistants', {
  organizationId: partOf('organization_id', () => organizations.id).primaryKey(),
  /** The voice of the team, and examples of it, one a line. */
  voice: text().notNull(),
  examples: text().notNull(),
  /** Drafts of private repositories and of trackers may be sent too. */
  includesPrivate: integer('includes_private', { mode: 'boolean' }).notNull(),
  dailyRequests: integer('daily_requests').notNull(),
  dailyBytes: integer('daily_bytes').notNull(),
  /** The day of the next two, in UTC, such as `2026-11-28`. */
  day: text().notNull(),
  requests: integer().notNull(),
  bytes: integer().notNull(),
});

/** The posts that the assistant was asked to word, once or again, and its answers. */
export const wordings = sqliteTable(
  'wordings',
  {
    postId: partOf('post_id', () => posts.id).primaryKey(),
    organizationId: partOf('organization_id', () => organizations.id),
    status: text({ enum: ['queued', 'done'] }).notNull(),
    /** The person who asked; null for a trigger. */
    actorName: text('actor_name'),
    attempts: integer().notNull(),
    dueAt: integer('due_at').notNull(),
    /** Each line that was asked about, with another wording, or why it stays. */
    lines: text({ mode: 'json' })
      .$type<{ line: string; to: string | null; why: string | null }[]>()
      .notNull(),
    error: text(),
    askedAt: text('asked_at').notNull(),
  },
  (table) => [index('wordings_due').on(table.status, table.dueAt), oneOf(table.status)],
);
