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
import { listWaiting } from './approval-rule.ts';
import {
  type ContentType,
  contentTypes,
  type PageSelection,
  type Post,
  type PostStatus,
  postStatuses,
} from './model.ts';
import { countScheduled, listSchedules, type Schedule } from './schedule.ts';
import {
  asSearched,
  countDrafts,
  findPostIds,
  listPostPage,
  partsOf,
  readPosts,
  tallyPosts,
} from './store.ts';
import { countDeletedPosts } from './trash.ts';

/** The rest of a longer query is ignored. */
const MAX_QUERY_LENGTH = 200;
const MAX_WORDS = 12;

/** The shortest unfinished word that finds longer ones, in letters. */
const MIN_BEGINNING = 3;

/** The most posts that a search returns, unless fewer are wanted. */
export const MAX_FOUND = 1_000;

export type Found = Awaited<ReturnType<typeof searchPosts>>;

/** Newest first. The last word may be unfinished unless it is too common. `isCut`: more posts match. `keep`: which count. */
export async function searchPosts(
  tx: ReadTx,
  organizationId: string,
  query: string,
  { maxFound = MAX_FOUND, ...selection }: Omit<PageSelection, 'sort'> & { maxFound?: number },
  keep: (ids: string[]) => Promise<string[]> = async (ids) => ids,
): Promise<{ posts: Post[]; totalItems: number; isCut: boolean }> {
  const words = toWords(query);
  if (words.length === 0) return { posts: [], totalItems: 0, isCut: false };
  const { statuses, contentTypes: types } = selection;
  const find = (isUnfinished: boolean) =>
    findPostIds(tx, {
      organizationId,
      words,
      isUnfinished,
      statuses: statuses.length < postStatuses.length ? statuses : null,
      contentTypes: types.length < contentTypes.length ? types : null,
      limit: maxFound + 1,
    });
  // A common unfinished word is not searched for: the engine may read all posts with it before it returns the first.
  const isUnfinished = mayBeUnfinished(words);
  const isAlone = words.length === 1;
  const found = await find(isUnfinished && !isAlone);
  const ids = isUnfinished && isAlone && found.length <= maxFound ? await find(true) : found;
  const isCut = ids.length > maxFound;
  const kept = await keep(ids.slice(0, maxFound));
  const start = (selection.page - 1) * selection.limit;
  const pageIds = kept.slice(start, start + selection.limit);
  const byId = await readPosts(tx, pageIds);
  const posts = pageIds.flatMap((id) => byId.get(id) ?? []);
  return { posts, totalItems: kept.length, isCut };
}

/** Splits a query into words, each a word of the index or several. The index has no words of symbols alone. */
function toWords(query: string): string[] {
  return partsOf(query.slice(0, MAX_QUERY_LENGTH).toWellFormed())
    .map(asSearched)
    .filter((word) => /[\p{L}\p{N}]/u.test(word))
    .slice(0, MAX_WORDS);
}

/** One or two letters match too much, but in a script without capitals one character may be a word. */
function mayBeUnfinished(words: readonly string[]): boolean {
  const [end = ''] = words.at(-1)?.match(/[\p{L}\p{N}\p{M}]+(?=[^\p{L}\p{N}]*$)/u) ?? [];
  return end.length >= MIN_BEGINNING || /\p{Lo}/u.test(end);
}

// Posts as the people who write them list them: with schedules and waiting suggestions, which the API does not know.

/** `draft`: without a schedule. */
export const listedStatuses = ['draft', 'scheduled', 'published'] as const;
export type ListedStatus = (typeof listedStatuses)[number];

export interface ListFilter {
  status: ListedStatus | undefined;
  contentType: ContentType | undefined;
  /** Only posts with a suggestion that waits. */
  hasSuggestion: boolean;
  /** Only posts whose text somebody asks to approve. */
  needsReview?: boolean | undefined;
  /** Words to search for; empty: none. */
  q: string;
  page: number;
}

export interface ListedPost extends Post {
  schedule: Schedule | null;
  hasNewVersion: boolean;
  suggestedChanges: number;
  /** Somebody asks to approve its text. */
  needsReview: boolean;
}

/** Requests that a list knows: more wait for nobody to look through them. */
const MAX_REVIEWS = 1_000;

/** The posts of an organization whose text somebody asks to approve. */
async function listReviews(tx: ReadTx, organizationId: string): Promise<Set<string>> {
  return new Set((await listWaiting(tx, organizationId, MAX_REVIEWS)).map(({ id }) => id));
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
  const [schedules, newer, proposed, reviews] = await Promise.all([
    listSchedules(tx, ids),
    listNewer(tx, ids),
    countProposed(tx, ids),
    listReviews(tx, organizationId),
  ]);
  const listed = found.posts.map((post) => ({
    ...post,
    schedule: (post.status === 'draft' && schedules.get(post.id)) || null,
    hasNewVersion: newer.has(post.id),
    suggestedChanges: proposed.get(post.id) ?? 0,
    needsReview: reviews.has(post.id),
  }));
  return { ...found, posts: listed };
}

async function findPosts(
  tx: ReadTx,
  organizationId: string,
  filter: ListFilter,
  limit: number,
): Promise<Found> {
  const { status, contentType, hasSuggestion, needsReview, q, page } = filter;
  const stored: PostStatus | undefined = status === 'scheduled' ? 'draft' : status;
  const selection = {
    statuses: stored ? [stored] : [...postStatuses],
    contentTypes: contentType ? [contentType] : [...contentTypes],
    limit,
    page,
    sort: 'desc' as const,
  };
  const keep = (ids: string[]) => keepListed(tx, organizationId, ids, filter);
  if (q !== '') return searchPosts(tx, organizationId, q, selection, keep);
  const isPlain =
    !hasSuggestion &&
    !needsReview &&
    (stored !== 'draft' || (await hasNoSchedule(tx, organizationId, status)));
  if (!isPlain) return listOwnPage(tx, organizationId, { ...selection, status, hasSuggestion, needsReview });
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
  organizationId: string,
  ids: readonly string[],
  { status, hasSuggestion, needsReview }: ListFilter,
): Promise<string[]> {
  const reviews = needsReview ? await listReviews(tx, organizationId) : null;
  const schedules =
    status === 'draft' || status === 'scheduled' ? await listSchedules(tx, ids) : new Map<string, Schedule>();
  const [newer, proposed] = hasSuggestion
    ? await Promise.all([listNewer(tx, ids), countProposed(tx, ids)])
    : [];
  return ids.filter((id) => {
    if (reviews?.has(id) === false) return false;
    if (status === 'draft' && schedules.has(id)) return false;
    if (status === 'scheduled' && !schedules.has(id)) return false;
    return !hasSuggestion || newer?.has(id) || proposed?.has(id);
  });
}

/** The drafts with a schedule, in the order of their publication. */
export function listScheduledPage(
  tx: ReadTx,
  organizationId: string,
  selection: Pick<PageSelection, 'contentTypes' | 'limit' | 'page'>,
): Promise<Found> {
  return listOwnPage(tx, organizationId, {
    ...selection,
    ...{ status: 'scheduled', hasSuggestion: false, needsReview: false },
  });
}

type OwnSelection = Pick<ListFilter, 'status' | 'hasSuggestion' | 'needsReview'> &
  Pick<PageSelection, 'contentTypes' | 'limit' | 'page'>;

/** A page by schedules or suggestions. */
async function listOwnPage(
  tx: ReadTx,
  organizationId: string,
  { status, contentTypes: types, hasSuggestion, needsReview, page, limit }: OwnSelection,
): Promise<Found> {
  const reviews = needsReview ? [...(await listReviews(tx, organizationId))] : null;
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
    types.length < contentTypes.length ? inArray(posts.contentType, types) : undefined,
    status === 'draft' ? notExists(schedule) : undefined,
    status === 'scheduled' ? inArray(posts.id, scheduled) : undefined,
    hasSuggestion ? or(inArray(posts.id, newer), inArray(posts.id, proposed)) : undefined,
    reviews ? inArray(posts.id, dialectOf(tx).listed(reviews)) : undefined,
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

async function listNewer(tx: ReadTx, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const isListed = and(inArray(drafts.postId, dialectOf(tx).listed(ids)), isNotNull(drafts.suggestion));
  const rows = await tx.select({ id: drafts.postId }).from(drafts).where(isListed).all();
  return new Set(rows.map(({ id }) => id));
}

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

// Every page of the dashboard counts.
const suggestionCounts = prepared((tx) => {
  const organizationId = sql.placeholder('organizationId');
  const hasNewer = isNotNull(drafts.suggestion);
  const newer = tx
    .select({ number: count() })
    .from(drafts)
    .innerJoin(posts, eq(posts.id, drafts.postId))
    // The cast keeps SQLite from reading all posts of the organization to find these few.
    .where(and(hasNewer, sql`cast(${posts.organizationId} as text) = ${organizationId}`));
  const counted = tx
    .select({ id: drafts.postId })
    .from(drafts)
    .where(and(eq(drafts.postId, posts.id), hasNewer));
  const proposed = tx
    .select({ number: countDistinct(posts.id) })
    .from(postSuggestions)
    .innerJoin(posts, eq(posts.id, postSuggestions.postId))
    .where(and(eq(postSuggestions.organizationId, organizationId), notExists(counted)));
  return { newer: newer.prepare(), proposed: proposed.prepare() };
});

/** The number of an organization's posts with a suggestion that waits, of a trigger or of an API key. */
export async function countSuggestions(tx: ReadTx, organizationId: string): Promise<number> {
  const { newer, proposed } = suggestionCounts(tx);
  const rows = await Promise.all([newer.get({ organizationId }), proposed.get({ organizationId })]);
  return rows.reduce((sum, row) => sum + (row?.number ?? 0), 0);
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

export async function countPosts(tx: ReadTx, organizationId: string) {
  const everything = { statuses: [...postStatuses], contentTypes: [...contentTypes] };
  const [{ totalItems: all }, allDrafts, scheduled, trash, suggestions, reviews] = await Promise.all([
    tallyPosts(tx, organizationId, everything),
    countDrafts(tx, organizationId),
    countScheduled(tx, organizationId),
    countDeletedPosts(tx, organizationId),
    countSuggestions(tx, organizationId),
    listReviews(tx, organizationId),
  ]);
  const draft = Math.max(0, allDrafts - scheduled);
  const published = all - allDrafts;
  return { all, draft, scheduled, published, trash, suggestions, reviews: reviews.size };
}
