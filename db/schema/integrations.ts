import { sql } from 'drizzle-orm';
import { blob, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import { oneOf, organizations, partOf } from './organizations.ts';

// Times are ISO 8601 in a column of text, and milliseconds since 1970 in one of integers.

const PROVIDER_IDS = ['github', 'gitlab', 'linear', 'forgejo'] as const;

const DELIVERY_STATUSES = ['processed', 'ignored', 'duplicate', 'rejected', 'failed'] as const;

export const EVENT_TYPES = ['push', 'pull_request', 'release', 'issue', 'project', 'project_update'] as const;

interface RangeCommit {
  sha: string;
  subject: string;
  breaking: string | null;
  author: string | null;
  url: string | null;
  identifiers?: string[];
  paths?: string[];
  at: string | null;
  /** The commit of the main line that brought it; absent for one of the main line. */
  broughtBy?: string;
}

/** A connected provider. Secrets are encrypted under the key of the data folder, never in the clear. */
export const integrations = sqliteTable(
  'integrations',
  {
    id: text().primaryKey(),
    organizationId: partOf('organization_id', () => organizations.id),
    type: text({ enum: PROVIDER_IDS }).notNull(),
    enabled: integer({ mode: 'boolean' }).notNull(),
    secret: blob({ mode: 'buffer' }).notNull(),
    /** The secret before the last rotation, accepted until `previousSecretUntil`. */
    previousSecret: blob('previous_secret', { mode: 'buffer' }),
    previousSecretUntil: text('previous_secret_until'),
    /** For the provider's API. Null: the webhook is set up by hand. */
    token: blob({ mode: 'buffer' }),
    /** Events are read from the provider's API; no webhook exists. */
    isPolled: integer('is_polled', { mode: 'boolean' }).notNull().default(false),
    createdAt: text('created_at').notNull(),
  },
  (table) => [index('integrations_by_organization').on(table.organizationId, table.createdAt)],
);

export const tokenStates = sqliteTable('token_states', {
  integrationId: text('integration_id')
    .primaryKey()
    .references(() => integrations.id, { onDelete: 'cascade' }),
  /** Null where it does not expire, or the provider does not say. */
  expiresAt: text('expires_at'),
  /** Why the provider refused it last; null when it did not. */
  problem: text(),
  problemSince: text('problem_since'),
  dueAt: integer('due_at').notNull(),
});

/** Repositories that are looked at for silence beyond their rhythm. `repositoryId` is empty for an issue tracker. */
export const silences = sqliteTable(
  'silences',
  {
    integrationId: partOf('integration_id', () => integrations.id),
    repositoryId: text('repository_id').notNull(),
    since: text(),
    /** The provider told of something newer. */
    isProven: integer('is_proven', { mode: 'boolean' }).notNull(),
    dueAt: integer('due_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.integrationId, table.repositoryId] })],
);

export const repositories = sqliteTable(
  'repositories',
  {
    id: text().primaryKey(),
    integrationId: partOf('integration_id', () => integrations.id),
    fullName: text('full_name').notNull(),
    /** The provider's id, which survives renames. Null until the API or a verified delivery tells it. */
    providerId: integer('provider_id'),
    createdAt: text('created_at').notNull(),
  },
  (table) => [uniqueIndex('repositories_by_provider_id').on(table.integrationId, table.providerId)],
);

/** How far the comparison of a webhook's deliveries with the log came. Absent values and null mean the same. */
interface Recovery {
  comparedAt?: string | null;
  until?: string;
  /** Of the provider's list of deliveries, when nothing on it was missing. */
  etag?: string | null;
  queue?: { attemptId: string; deliveryId: string }[];
  asked?: string[];
  /** Deliveries that the provider does not send again, or that are refused each time. */
  lost?: { deliveryId: string; deliveredAt: string; reason: string }[];
  rounds?: {
    at: string;
    compared: number;
    missed: number;
    result: 'requested' | 'read' | 'lost';
    arrived: number;
  }[];
  gap?: { since: string; at: string } | null;
  isOff?: boolean;
  lookedAt?: string;
  readAt?: string;
  /** Readings that brought something that no webhook had delivered, newest first. */
  reads?: { at: string; news: number; compared?: number }[];
  /** A reading that is under way: the events that are left, and the page to go on from. Times are ISO 8601. */
  reading?: {
    since: string;
    startedAt: string;
    left: { event: string; cursor: string | null }[];
    compared: number;
    news: number;
  } | null;
  /** Events whose changes the provider refuses to list, and why. */
  unread?: { event: string; reason: string }[];
  /** The last try of the whole way from the provider to the log. */
  heartbeat?: {
    askedAt: string;
    isWaiting: boolean;
    /** One has arrived at some time. */
    hasArrived: boolean;
    /** `PUBLIC_URL`, and the fingerprint of its certificate, at that time. */
    url: string;
    certificate: string | null;
    /** The attempt that was requested again, where the provider has no ping. */
    redelivered?: { attemptId: string; deliveryId: string; deliveredAt: string; requestedAt: string };
    problem: string | null;
    since: string | null;
  };
  problem?: string | null;
  attempts?: number;
}

/** The webhooks that Tidings keeps at providers: one for each place of an integration that has a token. */
export const hooks = sqliteTable(
  'hooks',
  {
    integrationId: partOf('integration_id', () => integrations.id),
    /** `owner/name` of a repository, a team's id, or `all-public-teams`. */
    placeId: text('place_id').notNull(),
    placeName: text('place_name').notNull(),
    repositoryId: text('repository_id').references(() => repositories.id, { onDelete: 'cascade' }),
    /** The provider's id; null until the hook exists there. */
    remoteId: text('remote_id'),
    events: text({ mode: 'json' }).$type<string[]>().notNull(),
    hasPresentSecret: integer('has_present_secret', { mode: 'boolean' }).notNull(),
    problem: text(),
    /** Time of the next attempt, in milliseconds since 1970. */
    retryAt: integer('retry_at'),
    attempts: integer().notNull(),
    /** No delivery before this time is missing any more; null: since `createdAt`. */
    knownUntil: text('known_until'),
    recoverAt: integer('recover_at'),
    recovery: text({ mode: 'json' }).$type<Recovery>(),
    createdAt: text('created_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.integrationId, table.placeId] })],
);

/** The memory of a poll for the next one. Null values and absent ones mean the same. */
interface PollCursor {
  /** The state of the repository at the last round. Without it, the next round takes the present as the start. */
  seen?: PollSeen | null;
  /** A webhook takes over: polling ends after the first delivery since then, and one more round. */
  webhookSince?: string | null;
  /** The webhook is deleted after the next round. */
  hasOldHook?: boolean;
  budget?: { limit: number; remaining: number; resetAt: string | null } | null;
  recorded?: number;
}

interface PollSeen {
  branch: string;
  head: string;
  headEtag: string | null;
  releases: readonly { id: string; content: string }[];
  releasesEtag: string | null;
  hasAllReleases: boolean;
  releasedUntil: string;
  merged: readonly { id: string; content: string }[];
  mergedEtag: string | null;
  /** Pull requests that were merged before are no news. */
  mergedFrom: string;
  /** Rounds since the provider was asked for the repository itself: its name, its default branch. */
  rounds: number;
}

/** The progress of polling: one row for each repository of a polled integration. */
export const polls = sqliteTable('polls', {
  repositoryId: text('repository_id')
    .primaryKey()
    .references(() => repositories.id, { onDelete: 'cascade' }),
  integrationId: partOf('integration_id', () => integrations.id),
  cursor: text({ mode: 'json' }).$type<PollCursor>(),
  dueAt: integer('due_at').notNull(),
  polledAt: text('polled_at'),
  problem: text(),
  attempts: integer().notNull(),
});

export const histories = sqliteTable(
  'histories',
  {
    id: text().primaryKey(),
    integrationId: partOf('integration_id', () => integrations.id),
    repositoryId: text('repository_id')
      .notNull()
      .references(() => repositories.id, { onDelete: 'cascade' }),
    triggerId: text('trigger_id').notNull(),
    since: text(),
    /** The maximum number of releases; null: all. */
    releases: integer(),
    publish: integer({ mode: 'boolean' }).notNull(),
    status: text({ enum: ['queued', 'done', 'failed', 'stopped'] }).notNull(),
    cursor: text({ mode: 'json' }).$type<Record<string, string | null>>(),
    /** How many releases were found so far, and how many of them are read. */
    found: integer().notNull(),
    read: integer().notNull(),
    problem: text(),
    dueAt: integer('due_at').notNull(),
    attempts: integer().notNull(),
    createdAt: text('created_at').notNull(),
    endedAt: text('ended_at'),
  },
  (table) => [oneOf(table.status)],
);

/** The commits of releases. One without a row, or whose commits are unknown, has what came between the two on its branch. */
export const releaseRanges = sqliteTable(
  'release_ranges',
  {
    integrationId: partOf('integration_id', () => integrations.id),
    repositoryId: text('repository_id').notNull(),
    tag: text().notNull(),
    previousTag: text('previous_tag'),
    /** Oldest first; null until they are known, and when the provider cannot tell. */
    commits: text({ mode: 'json' }).$type<RangeCommit[]>(),
    /** `queued` until the provider was asked. */
    status: text({ enum: ['queued', 'known', 'unknown'] }).notNull(),
    dueAt: integer('due_at').notNull(),
    attempts: integer().notNull(),
    problem: text(),
    createdAt: text('created_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.integrationId, table.repositoryId, table.tag] }),
    index('release_ranges_due').on(table.dueAt).where(sql`${table.status} = 'queued'`),
    oneOf(table.status),
  ],
);

/** The GitHub App of an integration. Its webhook serves all repositories of the installation. */
export const apps = sqliteTable('github_apps', {
  integrationId: text('integration_id')
    .primaryKey()
    .references(() => integrations.id, { onDelete: 'cascade' }),
  appId: integer('app_id').notNull(),
  slug: text().notNull(),
  url: text().notNull(),
  privateKey: blob('private_key', { mode: 'buffer' }).notNull(),
  installationId: integer('installation_id'),
  suspendedAt: text('suspended_at'),
  createdAt: text('created_at').notNull(),
});

// The next two tables refer to no other: the log outlives a disconnected integration. Times that are compared are
// milliseconds since 1970.

export const deliveryClaims = sqliteTable(
  'delivery_claims',
  {
    integrationId: text('integration_id').notNull(),
    deliveryId: text('delivery_id').notNull(),
    expiresAt: integer('expires_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.integrationId, table.deliveryId] }),
    index('delivery_claims_by_expiry').on(table.expiresAt),
  ],
);

/** The delivery log: one entry for each arrival, or for all refusals of one kind in a minute. */
export const deliveries = sqliteTable(
  'deliveries',
  {
    id: text().primaryKey(),
    organizationId: text('organization_id').notNull(),
    integrationId: text('integration_id').notNull(),
    integrationType: text('integration_type', { enum: PROVIDER_IDS }).notNull(),
    repositoryId: text('repository_id'),
    title: text().notNull(),
    status: text({ enum: DELIVERY_STATUSES }).notNull(),
    statusCode: integer('status_code').notNull(),
    referenceId: text('reference_id'),
    event: text(),
    action: text(),
    data: text({ mode: 'json' }).$type<Record<string, unknown>>(),
    /** Headers of a verified delivery; never a signature. */
    headers: text({ mode: 'json' }).$type<Record<string, string>>(),
    /** A sentence, for every status but `processed`. */
    reason: text(),
    count: integer().notNull(),
    bodyHash: blob('body_hash', { mode: 'buffer' }),
    /** The delivery id under which the same body was accepted before. */
    sameBodyAs: text('same_body_as'),
    replayOf: text('replay_of'),
    /** Read from the provider's API, not delivered by a webhook. */
    isPolled: integer('is_polled', { mode: 'boolean' }).notNull().default(false),
    durationMs: integer('duration_ms').notNull(),
    retentionDays: integer('retention_days').notNull(),
    createdAt: text('created_at').notNull(),
    expiresAt: integer('expires_at').notNull(),
  },
  (table) => [
    // These three are the orders of the log. What follows the id are the columns of its filters, so that a page with a
    // rare filter reads only the entries that it shows.
    index('deliveries_by_organization').on(
      table.organizationId,
      table.createdAt,
      table.id,
      table.status,
      table.event,
      table.integrationType,
      table.isPolled,
    ),
    index('deliveries_by_integration').on(
      table.integrationId,
      table.createdAt,
      table.id,
      table.status,
      table.event,
      table.isPolled,
    ),
    // Problems are rare.
    index('deliveries_by_problem')
      .on(
        table.organizationId,
        table.status,
        table.createdAt,
        table.id,
        table.integrationId,
        table.event,
        table.integrationType,
      )
      .where(sql`${table.status} <> 'processed'`),
    index('deliveries_by_reference').on(table.referenceId, table.integrationId),
    index('deliveries_by_body')
      .on(table.integrationId, table.bodyHash)
      .where(sql`${table.bodyHash} is not null`),
    index('deliveries_by_expiry').on(table.expiresAt),
    oneOf(table.status),
  ],
);

/** The log entries of each day and status, and the arrivals behind them. SQL triggers write it. */
export const deliveryCounts = sqliteTable(
  'delivery_counts',
  {
    organizationId: text('organization_id').notNull(),
    integrationId: text('integration_id').notNull(),
    /** In UTC, such as `2026-11-20`. */
    day: text().notNull(),
    status: text({ enum: DELIVERY_STATUSES }).notNull(),
    /** PostgreSQL has several rows, so that deliveries do not wait for each other. Only their sum has a meaning. */
    shard: integer().notNull(),
    entries: integer().notNull(),
    arrivals: integer().notNull(),
  },
  (table) => [
    primaryKey({
      columns: [table.organizationId, table.integrationId, table.day, table.status, table.shard],
    }),
  ],
);

/** The newest version of each event, for drafts. They outlive the log. `repositoryId` is empty for an issue tracker. */
export const events = sqliteTable(
  'events',
  {
    integrationId: partOf('integration_id', () => integrations.id),
    repositoryId: text('repository_id').notNull(),
    type: text({ enum: EVENT_TYPES }).notNull(),
    key: text().notNull(),
    releaseId: text('release_id'),
    /** Null for an issue tracker. */
    branch: text(),
    occurredAt: text('occurred_at').notNull(),
    version: text().notNull(),
    repository: text(),
    deliveryId: text('delivery_id').notNull(),
    /** Of a release. Stored before the long text, so that a list of releases reads none of their notes. */
    isPrerelease: integer('is_prerelease', { mode: 'boolean' }).generatedAlwaysAs(
      sql`json_extract("data", '$.isPrerelease')`,
      { mode: 'stored' },
    ),
    data: text({ mode: 'json' }).notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.integrationId, table.repositoryId, table.type, table.key] }),
    index('events_by_time').on(table.integrationId, table.repositoryId, table.type, table.occurredAt),
    index('releases_by_branch')
      .on(table.integrationId, table.repositoryId, table.branch, table.occurredAt, table.key)
      .where(sql`${table.type} = 'release'`),
    uniqueIndex('releases_by_id')
      .on(table.integrationId, table.repositoryId, table.releaseId)
      .where(sql`${table.releaseId} is not null`),
  ],
);
