import {
  and,
  asc,
  count,
  countDistinct,
  desc,
  eq,
  inArray,
  isNotNull,
  notExists,
  or,
  sql,
} from 'drizzle-orm';
import { dialectOf, prepared, type ReadTx } from '../../db/engine.ts';
import { postSchedules, postSuggestions, posts } from '../../db/schema/posts.ts';
import { drafts } from '../../db/schema/triggers.ts';
import { type ContentType, contentTypes, type Post, type PostStatus, postStatuses } from './model.ts';
import { countScheduled, listSchedules, type Schedule } from './schedule-store.ts';
import { type Found, searchPosts } from './search.ts';
import { countDrafts, listPostPage, readPosts, tallyPosts } from './store.ts';
import { countDeletedPosts } from './trash-store.ts';

// Posts as the people who write them list them: with schedules and waiting suggestions, which the API does not know.

/** `draft`: without a schedule. */
export const listedStatuses = ['draft', 'scheduled', 'published'] as const;
export type ListedStatus = (typeof listedStatuses)[number];

export interface ListFilter {
  /** Absent: all. */
  status: ListedStatus | undefined;
  contentType: ContentType | undefined;
  /** Only posts with a suggestion that waits. */
  hasSuggestion: boolean;
  /** Words to search for; empty: none. */
  q: string;
  page: number;
}

export interface ListedPost extends Post {
  schedule: Schedule | null;
  /** A trigger has a newer text. */
  hasNewVersion: boolean;
  /** The number of changes that holders of keys propose. */
  suggestedChanges: number;
}

type Page = Omit<Found, 'posts'> & { posts: ListedPost[] };

/** One page. Scheduled posts are in the order of their publication, all others newest first. */
export async function listPosts(
  tx: ReadTx,
  organizationId: string,
  filter: ListFilter,
  limit: number,
): Promise<Page> {
  const found = await findPosts(tx, organizationId, filter, limit);
  const ids = found.posts.map(({ id }) => id);
  const [schedules, newer, proposed] = await Promise.all([
    listSchedules(tx, ids),
    listNewer(tx, ids),
    countProposed(tx, ids),
  ]);
  const listed = found.posts.map((post) => ({
    ...post,
    schedule: (post.status === 'draft' && schedules.get(post.id)) || null,
    hasNewVersion: newer.has(post.id),
    suggestedChanges: proposed.get(post.id) ?? 0,
  }));
  return { ...found, posts: listed };
}

async function findPosts(
  tx: ReadTx,
  organizationId: string,
  filter: ListFilter,
  limit: number,
): Promise<Found> {
  const { status, contentType, hasSuggestion, q, page } = filter;
  const stored: PostStatus | undefined = status === 'scheduled' ? 'draft' : status;
  const selection = {
    statuses: stored ? [stored] : [...postStatuses],
    contentTypes: contentType ? [contentType] : [...contentTypes],
    limit,
    page,
    sort: 'desc' as const,
  };
  if (q !== '') return searchPosts(tx, organizationId, q, selection, (ids) => keepListed(tx, ids, filter));
  const isPlain = !hasSuggestion && (stored !== 'draft' || (await hasNoSchedule(tx, organizationId, status)));
  if (!isPlain) return listOwnPage(tx, organizationId, filter, limit);
  const { posts: found, totalItems } = await listPostPage(tx, organizationId, selection);
  return { posts: found, totalItems, isCut: false };
}

/** Then the list of drafts is that of the API. */
async function hasNoSchedule(tx: ReadTx, organizationId: string, status: ListedStatus | undefined) {
  return status === 'draft' && (await countScheduled(tx, organizationId)) === 0;
}

/** Of the posts that a search found, those that the filter lets through. */
async function keepListed(
  tx: ReadTx,
  ids: readonly string[],
  { status, hasSuggestion }: ListFilter,
): Promise<string[]> {
  const schedules =
    status === 'draft' || status === 'scheduled' ? await listSchedules(tx, ids) : new Map<string, Schedule>();
  const [newer, proposed] = hasSuggestion
    ? await Promise.all([listNewer(tx, ids), countProposed(tx, ids)])
    : [];
  return ids.filter((id) => {
    if (status === 'draft' && schedules.has(id)) return false;
    if (status === 'scheduled' && !schedules.has(id)) return false;
    return !hasSuggestion || newer?.has(id) || proposed?.has(id);
  });
}

/** A page by schedules or suggestions. */
async function listOwnPage(
  tx: ReadTx,
  organizationId: string,
  { status, contentType, hasSuggestion, page }: ListFilter,
  limit: number,
): Promise<Found> {
  const schedule = tx
    .select({ at: postSchedules.publishAt })
    .from(postSchedules)
    .where(eq(postSchedules.postId, posts.id));
  const scheduled = tx
    .select({ id: postSchedules.postId })
    .from(postSchedules)
    .where(eq(postSchedules.organizationId, organizationId));
  const newer = tx.select({ id: drafts.postId }).from(drafts).where(isNotNull(drafts.suggestion));
  const proposed = tx
    .select({ id: postSuggestions.postId })
    .from(postSuggestions)
    .where(eq(postSuggestions.organizationId, organizationId));
  const isListed = and(
    eq(posts.organizationId, organizationId),
    status && eq(posts.status, status === 'published' ? 'published' : 'draft'),
    contentType && eq(posts.contentType, contentType),
    status === 'draft' ? notExists(schedule) : undefined,
    status === 'scheduled' ? inArray(posts.id, scheduled) : undefined,
    hasSuggestion ? or(inArray(posts.id, newer), inArray(posts.id, proposed)) : undefined,
  );
  const order =
    status === 'scheduled'
      ? [asc(sql`(${schedule})`), asc(posts.id)]
      : [desc(posts.createdAt), desc(posts.id)];
  const [total, rows] = await Promise.all([
    tx.select({ number: count() }).from(posts).where(isListed).get(),
    tx
      .select({ id: posts.id })
      .from(posts)
      .where(isListed)
      .orderBy(...order)
      .limit(limit)
      .offset((page - 1) * limit)
      .all(),
  ]);
  const ids = rows.map(({ id }) => id);
  const byId = await readPosts(tx, ids);
  return { posts: ids.flatMap((id) => byId.get(id) ?? []), totalItems: total?.number ?? 0, isCut: false };
}

/** Those of these posts that a trigger has a newer text for. */
async function listNewer(tx: ReadTx, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const isListed = and(inArray(drafts.postId, dialectOf(tx).listed(ids)), isNotNull(drafts.suggestion));
  const rows = await tx.select({ id: drafts.postId }).from(drafts).where(isListed).all();
  return new Set(rows.map(({ id }) => id));
}

/** How many changes holders of keys propose for each of these posts, where there are any. */
async function countProposed(tx: ReadTx, ids: readonly string[]): Promise<Map<string, number>> {
  if (ids.length === 0) return new Map();
  const { postId } = postSuggestions;
  const isListed = inArray(postId, dialectOf(tx).listed(ids));
  const rows = await tx
    .select({ postId, number: count() })
    .from(postSuggestions)
    .where(isListed)
    .groupBy(postId)
    .all();
  return new Map(rows.map((row) => [row.postId, row.number]));
}

/** The number of an organization's posts with a suggestion that waits, of a trigger or of an API key. */
export async function countSuggestions(tx: ReadTx, organizationId: string): Promise<number> {
  const { newer, proposed } = statements(tx);
  const counted = await Promise.all([newer.get({ organizationId }), proposed.get({ organizationId })]);
  return counted.reduce((sum, row) => sum + (row?.number ?? 0), 0);
}

/** Drafts that nobody has scheduled. */
export async function countDraftsToReview(tx: ReadTx, organizationId: string): Promise<number> {
  const [all, scheduled] = await Promise.all([
    countDrafts(tx, organizationId),
    countScheduled(tx, organizationId),
  ]);
  return Math.max(0, all - scheduled);
}

export type PostNumbers = Awaited<ReturnType<typeof countPosts>>;

/** An organization's posts by what a person can filter by. */
export async function countPosts(tx: ReadTx, organizationId: string) {
  const everything = { statuses: [...postStatuses], contentTypes: [...contentTypes] };
  const [{ totalItems: all }, allDrafts, scheduled, trash, suggestions] = await Promise.all([
    tallyPosts(tx, organizationId, everything),
    countDrafts(tx, organizationId),
    countScheduled(tx, organizationId),
    countDeletedPosts(tx, organizationId),
    countSuggestions(tx, organizationId),
  ]);
  const draft = Math.max(0, allDrafts - scheduled);
  return { all, draft, scheduled, published: all - allDrafts, trash, suggestions };
}

const statements = prepared((tx) => ({
  newer: tx
    .select({ number: count() })
    .from(drafts)
    .innerJoin(posts, eq(posts.id, drafts.postId))
    .where(
      and(
        // The condition of the partial index.
        isNotNull(drafts.suggestion),
        // The cast keeps SQLite from reading all posts of the organization to find these few.
        sql`cast(${posts.organizationId} as text) = ${sql.placeholder('organizationId')}`,
      ),
    )
    .prepare(),
  // Posts that `newer` does not count.
  proposed: tx
    .select({ number: countDistinct(posts.id) })
    .from(postSuggestions)
    .innerJoin(posts, eq(posts.id, postSuggestions.postId))
    .where(
      and(
        eq(postSuggestions.organizationId, sql.placeholder('organizationId')),
        notExists(
          tx
            .select({ id: drafts.postId })
            .from(drafts)
            .where(and(eq(drafts.postId, posts.id), isNotNull(drafts.suggestion))),
        ),
      ),
    )
    .prepare(),
}));
