import { and, asc, desc, eq, inArray, type SQL, sql } from 'drizzle-orm';
import { imports, postCounts, posts, stagedPosts } from '../../db/schema/posts.ts';
import { prepared, type ReadTx } from '../../db/storage.ts';
import { notFound } from '../lib/app-error.ts';
import {
  contentTypes,
  type OwnedPost,
  type PageSelection,
  type Post,
  type PostJson,
  type PostSelection,
  postStatuses,
} from './model.ts';

// Posts as readers see them. While an import is applied (see `write-store.ts`), a post may have two versions, and the
// staged one counts.

/** The number of posts in a selection, and a text that changes whenever one of them does. */
export interface Tally {
  totalItems: number;
  version: string;
}

/** Counts the organization's posts in a selection without reading them. */
export async function tallyPosts(
  tx: ReadTx,
  organizationId: string,
  { statuses, contentTypes: types }: PostSelection,
): Promise<Tally> {
  let totalItems = 0;
  let version = '';
  // A group outside of the selection adds nothing to the version.
  for (const group of statements(tx).tally.all({ organizationId })) {
    if (!statuses.includes(group.status) || !types.includes(group.contentType)) continue;
    totalItems += group.count;
    version += group.version;
  }
  return { totalItems, version };
}

export async function countDrafts(tx: ReadTx, organizationId: string): Promise<number> {
  const drafts = { statuses: ['draft' as const], contentTypes: [...contentTypes] };
  return (await tallyPosts(tx, organizationId, drafts)).totalItems;
}

/** One page in list order, with the tally of the same snapshot. A page past the end is empty. */
export async function listPostPage(
  tx: ReadTx,
  organizationId: string,
  selection: PageSelection,
): Promise<Tally & { posts: PostJson[] }> {
  const tally = await tallyPosts(tx, organizationId, selection);
  const { fromEnd, ...window } = pageWindow(tally.totalItems, selection);
  if (window.take === 0) return { ...tally, posts: [] };
  const page = isApplying(tx, organizationId)
    ? listAppliedPage(tx, organizationId, selection, window)
    : listStoredPage(tx, organizationId, selection, window);
  return { ...tally, posts: fromEnd ? page.reverse() : page };
}

/** The post, when it is in the organization and matches the selection. */
export async function findPostJson(
  tx: ReadTx,
  organizationId: string,
  postId: string,
  selection: PostSelection,
): Promise<PostJson | null> {
  const row = statements(tx).byId.get({ organizationId, postId });
  if (row === undefined) return null;
  const matches = selection.statuses.includes(row.status) && selection.contentTypes.includes(row.contentType);
  return matches ? row.json : null;
}

/** A post of any organization. */
export async function readPost(tx: ReadTx, postId: string): Promise<OwnedPost | null> {
  const row = statements(tx).read.get({ postId });
  return row === undefined ? null : { ...parsePost(row.json), organizationId: row.organizationId };
}

/** A post of any organization. Throws `AppError` 404. */
export async function getPost(tx: ReadTx, postId: string): Promise<Post> {
  const row = await readPost(tx, postId);
  if (row === null) throw notFound('post', postId);
  const { organizationId: _, ...post } = row;
  return post;
}

export function parsePost(json: PostJson): Post {
  return JSON.parse(new TextDecoder().decode(json)) as Post;
}

/** SQLite's own bound on `?` in one statement is 32,766; a smaller batch costs nothing. */
const MAX_VARIABLES = 1_000;

function* chunks<Item>(items: readonly Item[]): Generator<Item[]> {
  for (let start = 0; start < items.length; start += MAX_VARIABLES) {
    yield items.slice(start, start + MAX_VARIABLES);
  }
}

/** The existing posts with these ids, of any organization. */
export async function readPosts(tx: ReadTx, postIds: readonly string[]): Promise<OwnedPost[]> {
  const read: OwnedPost[] = [];
  for (const ids of chunks(postIds)) {
    const staged = tx
      .select({ id: stagedPosts.id, organizationId: stagedPosts.organizationId, json: stagedPosts.json })
      .from(stagedPosts)
      .where(and(inArray(stagedPosts.id, ids), isApplied))
      .all();
    const isStaged = new Set(staged.map(({ id }) => id));
    const stored = tx
      .select({ id: posts.id, organizationId: posts.organizationId, json: posts.json })
      .from(posts)
      .where(inArray(posts.id, ids))
      .all();
    for (const row of [...staged, ...stored.filter(({ id }) => !isStaged.has(id))]) {
      read.push({ ...parsePost(row.json), organizationId: row.organizationId });
    }
  }
  return read;
}

/** The organization of each of these post ids that is in use, also by an import in progress. */
export async function findOwners(tx: ReadTx, postIds: readonly string[]): Promise<Map<string, string>> {
  const owners = new Map<string, string>();
  for (const ids of chunks(postIds)) {
    for (const table of [posts, stagedPosts]) {
      const rows = tx
        .select({ id: table.id, organizationId: table.organizationId })
        .from(table)
        .where(inArray(table.id, ids))
        .all();
      for (const { id, organizationId } of rows) owners.set(id, organizationId);
    }
  }
  return owners;
}

/**
 * The ids of posts that match a query of SQLite's full-text search (FTS5), newest first. Of more than `limit`, those
 * that were added last: the walk along the index ends there.
 */
export async function findPostIds(tx: ReadTx, match: string, limit: number): Promise<string[]> {
  const rows = tx.all<{ id: string }>(sql`
    with found as materialized (
      select rowid as number from post_search where post_search match ${match} order by rowid desc limit ${limit}
    )
    select ${posts.id} from found
    join post_numbers on post_numbers.number = found.number
    join ${posts} on ${posts.id} = post_numbers.post_id
    order by ${posts.createdAt} desc, ${posts.id} desc`);
  return rows.map(({ id }) => id);
}

/**
 * A condition: readers see staged posts now. Ids are unique, so a read by id needs no more. A scalar subquery, because
 * `exists` becomes a join, which made the read of one post ten times as slow.
 */
const isApplied = sql`(select ${imports.state} from ${imports}) = 'applying'`;

/** Readers of the organization see staged posts now. */
function isApplying(tx: ReadTx, organizationId: string): boolean {
  const current = statements(tx).currentImport.get();
  return current?.state === 'applying' && current.organizationId === organizationId;
}

const statements = prepared((tx) => ({
  tally: tx
    .select({
      status: postCounts.status,
      contentType: postCounts.contentType,
      count: postCounts.count,
      version: postCounts.version,
    })
    .from(postCounts)
    .where(eq(postCounts.organizationId, sql.placeholder('organizationId')))
    .prepare(),
  currentImport: tx.select().from(imports).prepare(),
  read: tx
    .select({ json: stagedPosts.json, organizationId: stagedPosts.organizationId })
    .from(stagedPosts)
    .where(and(eq(stagedPosts.id, sql.placeholder('postId')), isApplied))
    .unionAll(
      tx
        .select({ json: posts.json, organizationId: posts.organizationId })
        .from(posts)
        .where(eq(posts.id, sql.placeholder('postId'))),
    )
    .prepare(),
  byId: tx
    .select({ json: stagedPosts.json, status: stagedPosts.status, contentType: stagedPosts.contentType })
    .from(stagedPosts)
    .where(and(isOneOf(stagedPosts), isApplied))
    .unionAll(
      tx
        .select({ json: posts.json, status: posts.status, contentType: posts.contentType })
        .from(posts)
        .where(isOneOf(posts)),
    )
    .prepare(),
  pages: new Map<string, ReturnType<typeof buildPageStatement>>(),
}));

function isOneOf(table: typeof posts | typeof stagedPosts) {
  return and(
    eq(table.id, sql.placeholder('postId')),
    eq(table.organizationId, sql.placeholder('organizationId')),
  );
}

/** A part of the list: `take` posts after `offset` others. */
interface Window {
  take: number;
  offset: number;
  ascending: boolean;
}

/** A page in the second half is read from the end backwards, so that the last page costs as much as the first. */
function pageWindow(totalItems: number, { limit, page, sort }: PageSelection): Window & { fromEnd: boolean } {
  const before = (page - 1) * limit;
  const take = Math.max(0, Math.min(limit, totalItems - before));
  const after = totalItems - before - take;
  const fromEnd = after < before;
  return { take, offset: Math.min(before, after), ascending: (sort === 'asc') !== fromEnd, fromEnd };
}

function listStoredPage(
  tx: ReadTx,
  organizationId: string,
  { statuses, contentTypes: types }: PostSelection,
  { take, offset, ascending }: Window,
): PostJson[] {
  const { pages } = statements(tx);
  const key = `${[...statuses].sort()} ${[...types].sort()} ${ascending}`;
  let statement = pages.get(key);
  if (statement === undefined) {
    statement = buildPageStatement(tx, { statuses, contentTypes: types }, ascending);
    pages.set(key, statement);
  }
  return statement.values({ organizationId, take, offset }).map(([json]) => json as PostJson);
}

/**
 * Walks one index to the page's rows, then reads only their JSON, so that skipping to a far page reads no post. All
 * values of a filter are no filter.
 */
function buildPageStatement(
  tx: ReadTx,
  { statuses, contentTypes: types }: PostSelection,
  ascending: boolean,
) {
  const order = ascending ? asc : desc;
  const filters: SQL[] = [eq(posts.organizationId, sql.placeholder('organizationId'))];
  if (statuses.length < postStatuses.length) filters.push(inArray(posts.status, statuses));
  if (types.length < contentTypes.length) filters.push(inArray(posts.contentType, types));
  const window = tx
    .select({ rowid: sql<number>`rowid`.as('window_rowid'), createdAt: posts.createdAt, id: posts.id })
    .from(posts)
    .where(and(...filters))
    .orderBy(order(posts.createdAt), order(posts.id))
    .limit(sql.placeholder('take'))
    .offset(sql.placeholder('offset'))
    .as('window');
  return tx
    .select({ json: posts.json })
    .from(window)
    .innerJoin(posts, eq(sql`${posts}.rowid`, window.rowid))
    .orderBy(order(window.createdAt), order(window.id))
    .prepare();
}

/** The same list while an import is applied: SQLite merges the walks along both tables. */
function listAppliedPage(
  tx: ReadTx,
  organizationId: string,
  { statuses, contentTypes: types }: PostSelection,
  { take, offset, ascending }: Window,
): PostJson[] {
  const order = ascending ? sql`asc` : sql`desc`;
  const matches = and(
    sql`organization_id = ${organizationId}`,
    statuses.length < postStatuses.length ? inArray(sql`status`, statuses) : undefined,
    types.length < contentTypes.length ? inArray(sql`content_type`, types) : undefined,
  );
  const rows = tx.values<[PostJson]>(sql`
    select coalesce(
      (select json from staged_posts where id = page.id),
      (select json from posts where id = page.id)
    ) from (
      select created_at, id from posts
      where ${matches} and not exists (select 1 from staged_posts where staged_posts.id = posts.id)
      union all
      select created_at, id from staged_posts where ${matches}
      order by created_at ${order}, id ${order} limit ${take} offset ${offset}
    ) as page order by created_at ${order}, id ${order}`);
  return rows.map(([json]) => json);
}
