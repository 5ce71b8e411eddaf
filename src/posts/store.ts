import { and, asc, desc, eq, inArray, type SQL, sql } from 'drizzle-orm';
import { type Database, prepared } from '../../db/client.ts';
import { postCounts, posts, stagedPosts } from '../../db/schema/index.ts';
import type { ReadTx, WriteTx } from '../../db/storage.ts';
import { type AuditAction, quote } from '../audit/model.ts';
import { type AuditDeps, recordAudit } from '../audit/store.ts';
import { AppError } from '../lib/app-error.ts';
import {
  contentTypes,
  type PageSelection,
  type Post,
  type PostSelection,
  type PostStatus,
  postStatuses,
} from './model.ts';
import {
  findImport,
  isApplied,
  isApplying,
  listAppliedPage,
  takePiece,
  takeStagedPost,
} from './staged-store.ts';

/** A post as the API sends it: JSON in UTF-8. */
export type PostJson = Uint8Array;

/** How many posts a selection holds, and a text that changes whenever any of them does. */
export interface Tally {
  totalItems: number;
  version: string;
}

/** The posts of an organization that a selection means, counted without looking at them. */
export async function tallyPosts(
  db: Database,
  organizationId: string,
  selection: PostSelection,
): Promise<Tally> {
  return tally(db, organizationId, selection);
}

/** How many drafts an organization has, of whatever type. */
export async function countDrafts(db: Database, organizationId: string): Promise<number> {
  return tally(db, organizationId, { statuses: ['draft'], contentTypes: [...contentTypes] }).totalItems;
}

/** One page in list order, with the tally that held when it was read. A page past the end is empty. */
export async function listPostPage(
  db: Database,
  organizationId: string,
  selection: PageSelection,
): Promise<Tally & { posts: PostJson[] }> {
  return db.transaction(() => {
    const tallied = tally(db, organizationId, selection);
    const { fromEnd, ...window } = pageWindow(tallied.totalItems, selection);
    if (window.take === 0) return { ...tallied, posts: [] };
    const page = isApplying(db, organizationId)
      ? listAppliedPage(db, organizationId, selection, window)
      : listStoredPage(db, organizationId, selection, window);
    return { ...tallied, posts: fromEnd ? page.reverse() : page };
  });
}

/** The post, when it is in the organization and matches the selection. */
export async function findPostJson(
  db: Database,
  organizationId: string,
  postId: string,
  selection: PostSelection,
): Promise<PostJson | null> {
  const row = statements(db).byId.get({ organizationId, postId });
  if (row === undefined) return null;
  const matches = selection.statuses.includes(row.status) && selection.contentTypes.includes(row.contentType);
  return matches ? row.json : null;
}

/** Any organization's post. Throws `AppError` 404. */
export async function getPost(db: ReadTx, postId: string): Promise<Post> {
  const row = readPost(db, postId);
  if (row === null) throw postNotFound(postId);
  const { organizationId: _, ...post } = row;
  return post;
}

/** A post and the organization that it belongs to. */
export type OwnedPost = Post & { organizationId: string };

/** The posts with these ids that exist, of any organization. Synchronous, for a transaction of the caller's. */
export function readPosts(db: ReadTx, postIds: readonly string[]): OwnedPost[] {
  const found: OwnedPost[] = [];
  for (let start = 0; start < postIds.length; start += MAX_VARIABLES) {
    const some = postIds.slice(start, start + MAX_VARIABLES);
    const staged = db
      .select({ id: stagedPosts.id, organizationId: stagedPosts.organizationId, json: stagedPosts.json })
      .from(stagedPosts)
      .where(and(inArray(stagedPosts.id, some), isApplied))
      .all();
    const isStaged = new Set(staged.map(({ id }) => id));
    const stored = db
      .select({ id: posts.id, organizationId: posts.organizationId, json: posts.json })
      .from(posts)
      .where(inArray(posts.id, some))
      .all();
    for (const row of [...staged, ...stored.filter(({ id }) => !isStaged.has(id))]) {
      found.push({ ...parsePost(row.json), organizationId: row.organizationId });
    }
  }
  return found;
}

/** The organization of each of these ids that a post has, one of an import in progress included. */
export function findOwners(db: Database, postIds: readonly string[]): Map<string, string> {
  const owners = new Map<string, string>();
  for (let start = 0; start < postIds.length; start += MAX_VARIABLES) {
    const some = postIds.slice(start, start + MAX_VARIABLES);
    for (const table of [posts, stagedPosts]) {
      const rows = db
        .select({ id: table.id, organizationId: table.organizationId })
        .from(table)
        .where(inArray(table.id, some))
        .all();
      for (const { id, organizationId } of rows) owners.set(id, organizationId);
    }
  }
  return owners;
}

/** Writes new posts and new versions of old ones, all or none. Throws for an id of another organization. */
export async function savePosts(db: Database, saved: readonly OwnedPost[]): Promise<void> {
  await db.write(() => {
    for (const post of saved) writePost(db, post);
  });
}

/**
 * A new post, or a new version of one; an import in progress does not overwrite it any more. Throws for an id of
 * another organization. Synchronous, for a transaction of the caller's.
 */
export function writePost(db: ReadTx, post: OwnedPost): void {
  const staged = takeStagedPost(db, post.id);
  const isTheirs = staged !== undefined && staged.organizationId !== post.organizationId;
  if (isTheirs || statements(db).save.all({ ...post }).length === 0) {
    throw new Error(`post ${post.id} belongs to another organization`);
  }
}

/** Moves one piece of the applied import into `posts`. Returns how many posts that were. Synchronous, as above. */
export function movePiece(db: Database): number {
  const piece = takePiece(db);
  for (const post of piece) statements(db).save.all({ ...post });
  return piece.length;
}

/** Synchronous, for a transaction of the caller's. */
export function readPost(db: ReadTx, postId: string): OwnedPost | null {
  const row = statements(db).read.get({ postId });
  return row === undefined ? null : { ...parsePost(row.json), organizationId: row.organizationId };
}

/** Whether there was one. Synchronous, for a transaction of the caller's. */
export function removePost(tx: WriteTx, deps: AuditDeps, postId: string): boolean {
  settleStagedPost(tx, postId);
  const removed = tx.delete(posts).where(eq(posts.id, postId)).returning(auditColumns).get();
  if (removed !== undefined) recordPost(tx, deps, 'post.deleted', removed);
  return removed !== undefined;
}

const auditColumns = { id: posts.id, organizationId: posts.organizationId, title: posts.title };

/** Synchronous, for a transaction of the caller's. */
export function recordPost(
  tx: WriteTx,
  deps: AuditDeps,
  action: Extract<AuditAction, 'post.published' | 'post.unpublished' | 'post.deleted'>,
  { id, organizationId, title }: Pick<OwnedPost, 'id' | 'organizationId' | 'title'>,
): void {
  const summary = {
    'post.published': `published the post ${quote(title)}`,
    'post.unpublished': `turned the post ${quote(title)} back into a draft`,
    'post.deleted': `deleted the post ${quote(title)}`,
  }[action];
  recordAudit(tx, deps, { organizationId, action, target: { type: 'post', id }, summary });
}

/** Before a write in place: an import that is applied has its version in `posts`, any other one has it no more. */
function settleStagedPost(db: ReadTx, postId: string): void {
  const staged = takeStagedPost(db, postId);
  if (staged !== undefined && findImport(db)?.state === 'applying') statements(db).save.all({ ...staged });
}

/** Throws `AppError` 404. A post that has the status already keeps its `updatedAt`. */
export async function setPostStatus(deps: AuditDeps, postId: string, status: PostStatus): Promise<Post> {
  const { db, clock } = deps;
  await db.write((tx) => {
    settleStagedPost(db, postId);
    const changed = db
      .update(posts)
      .set({ status, updatedAt: clock.now().toISOString() })
      .where(and(eq(posts.id, postId), sql`${posts.status} <> ${status}`))
      .returning(auditColumns)
      .get();
    if (changed === undefined) return;
    recordPost(tx, deps, status === 'published' ? 'post.published' : 'post.unpublished', changed);
  });
  return getPost(db, postId);
}

/** Throws `AppError` 404. */
export async function deletePost(deps: AuditDeps, postId: string): Promise<void> {
  const wasThere = await deps.db.write((tx) => removePost(tx, deps, postId));
  if (!wasThere) throw postNotFound(postId);
}

/**
 * The ids of posts that a query of SQLite's full-text search (FTS5) finds, newest first. When there are more than
 * `limit`, it is those which were added last: the walk along the index ends there.
 */
export async function findPostIds(db: Database, match: string, limit: number): Promise<string[]> {
  const rows = db.all<{ id: string }>(sql`
    with found as materialized (
      select rowid as number from post_search where post_search match ${match} order by rowid desc limit ${limit}
    )
    select ${posts.id} from found
    join post_numbers on post_numbers.number = found.number
    join ${posts} on ${posts.id} = post_numbers.post_id
    order by ${posts.createdAt} desc, ${posts.id} desc`);
  return rows.map(({ id }) => id);
}

export function parsePost(json: PostJson): Post {
  return JSON.parse(new TextDecoder().decode(json)) as Post;
}

/** SQLite's own bound on `?` in one statement is 32,766; a smaller batch costs nothing. */
const MAX_VARIABLES = 1_000;

const statements = prepared((db) => ({
  tally: db
    .select({
      status: postCounts.status,
      contentType: postCounts.contentType,
      count: postCounts.count,
      version: postCounts.version,
    })
    .from(postCounts)
    .where(eq(postCounts.organizationId, sql.placeholder('organizationId')))
    .prepare(),
  // Of the two versions that a post may have while an import is applied, the staged one comes first.
  read: db
    .select({ json: stagedPosts.json, organizationId: stagedPosts.organizationId })
    .from(stagedPosts)
    .where(and(eq(stagedPosts.id, sql.placeholder('postId')), isApplied))
    .unionAll(
      db
        .select({ json: posts.json, organizationId: posts.organizationId })
        .from(posts)
        .where(eq(posts.id, sql.placeholder('postId'))),
    )
    .prepare(),
  byId: db
    .select({ json: stagedPosts.json, status: stagedPosts.status, contentType: stagedPosts.contentType })
    .from(stagedPosts)
    .where(and(isOneOf(stagedPosts), isApplied))
    .unionAll(
      db
        .select({ json: posts.json, status: posts.status, contentType: posts.contentType })
        .from(posts)
        .where(isOneOf(posts)),
    )
    .prepare(),
  save: db
    .insert(posts)
    .values({
      id: sql.placeholder('id'),
      organizationId: sql.placeholder('organizationId'),
      status: sql.placeholder('status'),
      contentType: sql.placeholder('contentType'),
      createdAt: sql.placeholder('createdAt'),
      updatedAt: sql.placeholder('updatedAt'),
      title: sql.placeholder('title'),
      content: sql.placeholder('content'),
      markdown: sql.placeholder('markdown'),
      sourceMetadata: sql.placeholder('sourceMetadata'),
    })
    .onConflictDoUpdate({
      target: posts.id,
      set: {
        status: sql`excluded.status`,
        contentType: sql`excluded.content_type`,
        createdAt: sql`excluded.created_at`,
        updatedAt: sql`excluded.updated_at`,
        title: sql`excluded.title`,
        content: sql`excluded.content`,
        markdown: sql`excluded.markdown`,
        sourceMetadata: sql`excluded.source_metadata`,
      },
      setWhere: sql`${posts.organizationId} = excluded.organization_id`,
    })
    .returning({ id: posts.id })
    .prepare(),
  pages: new Map<string, ReturnType<typeof buildPageStatement>>(),
}));

function isOneOf(table: typeof posts | typeof stagedPosts) {
  return and(
    eq(table.id, sql.placeholder('postId')),
    eq(table.organizationId, sql.placeholder('organizationId')),
  );
}

/** Keyed by the version of every group that the selection draws on, so that a change in another is no change. */
function tally(
  db: Database,
  organizationId: string,
  { statuses, contentTypes: types }: PostSelection,
): Tally {
  let totalItems = 0;
  let version = '';
  for (const group of statements(db).tally.all({ organizationId })) {
    if (!statuses.includes(group.status) || !types.includes(group.contentType)) continue;
    totalItems += group.count;
    version += group.version;
  }
  return { totalItems, version };
}

/**
 * Where a page lies in the index. A page in the second half is read from the end backwards, so that the last
 * page costs what the first does.
 */
function pageWindow(totalItems: number, { limit, page, sort }: PageSelection) {
  const before = (page - 1) * limit;
  const take = Math.max(0, Math.min(limit, totalItems - before));
  const after = totalItems - before - take;
  const fromEnd = after < before;
  return { take, offset: Math.min(before, after), ascending: (sort === 'asc') !== fromEnd, fromEnd };
}

function listStoredPage(
  db: Database,
  organizationId: string,
  selection: PostSelection,
  { take, offset, ascending }: { take: number; offset: number; ascending: boolean },
): PostJson[] {
  const rows = pageStatement(db, selection, ascending).values({ organizationId, take, offset });
  return rows.map(([json]) => json as PostJson);
}

function pageStatement(db: Database, { statuses, contentTypes: types }: PostSelection, ascending: boolean) {
  const { pages } = statements(db);
  const key = `${[...statuses].sort()} ${[...types].sort()} ${ascending}`;
  let statement = pages.get(key);
  if (statement === undefined) {
    statement = buildPageStatement(db, { statuses, contentTypes: types }, ascending);
    pages.set(key, statement);
  }
  return statement;
}

/**
 * A walk along one index finds the page's rows (all of a filter's values is no filter), and only those rows are
 * then looked up for their bytes: skipping to a far page never touches a post.
 */
function buildPageStatement(
  db: Database,
  { statuses, contentTypes: types }: PostSelection,
  ascending: boolean,
) {
  const order = ascending ? asc : desc;
  const filters: SQL[] = [eq(posts.organizationId, sql.placeholder('organizationId'))];
  if (statuses.length < postStatuses.length) filters.push(inArray(posts.status, statuses));
  if (types.length < contentTypes.length) filters.push(inArray(posts.contentType, types));
  const window = db
    .select({ rowid: sql<number>`rowid`.as('window_rowid'), createdAt: posts.createdAt, id: posts.id })
    .from(posts)
    .where(and(...filters))
    .orderBy(order(posts.createdAt), order(posts.id))
    .limit(sql.placeholder('take'))
    .offset(sql.placeholder('offset'))
    .as('window');
  return db
    .select({ json: posts.json })
    .from(window)
    .innerJoin(posts, eq(sql`${posts}.rowid`, window.rowid))
    .orderBy(order(window.createdAt), order(window.id))
    .prepare();
}

function postNotFound(postId: string): AppError {
  return new AppError(404, `Post ${postId} not found; "post list" shows those there are`);
}
