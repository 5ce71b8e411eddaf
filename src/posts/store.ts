import { and, eq, inArray, notInArray, or, type SQL, sql } from 'drizzle-orm';
import { dialectOf, type PostSearch, prepared, type ReadTx } from '../../db/engine.ts';
import { deletedPosts, imports, postCounts, posts, stagedPosts } from '../../db/schema/posts.ts';
import { notFound } from '../lib/app-error.ts';
import {
  type ContentType,
  contentTypes,
  type OwnedPost,
  type PageSelection,
  type Post,
  type PostJson,
  type PostSelection,
  type PostStatus,
} from './model.ts';
import { listAppliedPage, listStoredPage, matches, pageWindow } from './page-store.ts';

// Posts as readers see them. While an import is applied (see `write-store.ts`), a post may have two versions, and the
// staged one counts.

/** The number of posts in a selection, and a text that changes whenever one of them does. */
interface Tally {
  totalItems: number;
  version: string;
}

export async function tallyPosts(
  tx: ReadTx,
  organizationId: string,
  { statuses, contentTypes: types }: PostSelection,
): Promise<Tally> {
  let totalItems = 0;
  let version = '';
  const groups = (await statements(tx).tally.values({ organizationId })) as TallyRow[];
  for (const [status, contentType, count, groupVersion] of groups) {
    if (!statuses.includes(status) || !types.includes(contentType)) continue;
    totalItems += count;
    version += groupVersion;
  }
  return { totalItems, version };
}

export async function countDrafts(tx: ReadTx, organizationId: string): Promise<number> {
  const drafts = { statuses: ['draft' as const], contentTypes: [...contentTypes] };
  return (await tallyPosts(tx, organizationId, drafts)).totalItems;
}

/**
 * One page in list order, with the tally of the same snapshot. A page past the end is empty. When the number of posts is
 * `expected`, all statements are sent at once.
 */
export async function listPostPage(
  tx: ReadTx,
  organizationId: string,
  selection: PageSelection,
  expected?: number,
): Promise<Tally & { posts: PostJson[] }> {
  const early = expected === undefined ? null : pageWindow(expected, selection);
  const [tally, current, earlyPage] = await Promise.all([
    tallyPosts(tx, organizationId, selection),
    statements(tx).currentImport.get(),
    early && listStoredPage(tx, organizationId, selection, early),
  ]);
  const window = pageWindow(tally.totalItems, selection);
  const isApplying = current?.state === 'applying' && current.organizationId === organizationId;
  if (window.take === 0) return { ...tally, posts: [] };
  if (isApplying) return { ...tally, posts: await listAppliedPage(tx, organizationId, selection, window) };
  if (earlyPage !== null && tally.totalItems === expected) return { ...tally, posts: earlyPage };
  return { ...tally, posts: await listStoredPage(tx, organizationId, selection, window) };
}

/** The post, when it is in the organization and matches the selection. */
export async function findPostJson(
  tx: ReadTx,
  organizationId: string,
  postId: string,
  { statuses, contentTypes: types }: PostSelection,
): Promise<PostJson | null> {
  const [row] = (await statements(tx).byId.values({ postId })) as VersionRow[];
  if (row === undefined) return null;
  const [, owner, status, contentType, json] = row;
  const matches = owner === organizationId && statuses.includes(status) && types.includes(contentType);
  return matches ? json : null;
}

/** A post of any organization. */
export async function readPost(tx: ReadTx, postId: string): Promise<OwnedPost | null> {
  const row = await statements(tx).ownedById.get({ postId });
  return row === undefined ? null : toOwnedPost(row);
}

/** A post of any organization. Throws `AppError` 404. */
export async function getPost(tx: ReadTx, postId: string): Promise<Post> {
  const row = await statements(tx).byId.get({ postId });
  if (row === undefined) throw notFound('post', postId);
  return parsePost(row.json);
}

export function parsePost(json: PostJson): Post {
  return JSON.parse(new TextDecoder().decode(json)) as Post;
}

function toOwnedPost({
  json,
  organizationId,
  isDateSet,
}: Pick<OwnedPost, 'organizationId' | 'isDateSet'> & { json: PostJson }): OwnedPost {
  return { ...parsePost(json), organizationId, isDateSet };
}

/** The existing posts with these ids, of any organization, by id. */
export async function readPosts(tx: ReadTx, ids: readonly string[]): Promise<Map<string, OwnedPost>> {
  // To build one statement for all of them takes longer than to run a prepared one for each.
  const found = await Promise.all(ids.map((id) => readPost(tx, id)));
  return new Map(found.filter((post) => post !== null).map((post) => [post.id, post]));
}

/** The organization of each of these post ids that is in use, also by an import in progress and in the trash. */
export async function findOwners(tx: ReadTx, ids: readonly string[]): Promise<Map<string, string>> {
  const owners = new Map<string, string>();
  for (const table of [deletedPosts, posts, stagedPosts]) {
    const rows = await tx
      .select({ id: table.id, organizationId: table.organizationId })
      .from(table)
      .where(inArray(table.id, dialectOf(tx).listed(ids)))
      .all();
    for (const { id, organizationId } of rows) owners.set(id, organizationId);
  }
  return owners;
}

/** The organization of a post, also of one that an import has not published yet or that is in the trash. */
export async function findOwner(tx: ReadTx, postId: string): Promise<string | null> {
  return (await statements(tx).owner.get({ postId }))?.organizationId ?? null;
}

/** The posts that match, newest first. Of more than `limit`, those that were added last. */
export async function findPostIds(tx: ReadTx, search: PostSearch): Promise<string[]> {
  const rows = await tx.values<[id: string]>(dialectOf(tx).searchPosts(search));
  return rows.map(([id]) => id);
}

/** The rows of `posts` that no import is replacing by a version outside of the selection. */
export function staysIn({ statuses, contentTypes: types }: PostSelection): SQL {
  const leaves = or(notInArray(stagedPosts.status, statuses), notInArray(stagedPosts.contentType, types));
  return sql`not (${isApplied} and exists (
    select 1 from ${stagedPosts} where ${stagedPosts.id} = ${posts.id} and ${leaves}))`;
}

type PostTable = typeof posts | typeof stagedPosts;

// A scalar subquery, because `exists` becomes a join, which made the read of one post ten times as slow.
const isApplied = sql`(select ${imports.state} from ${imports}) = 'applying'`;

/** The posts that meet a condition. Of a post that has two versions, the staged one comes first. */
function versions(tx: ReadTx, isWanted: (table: PostTable) => SQL) {
  const staged = tx
    .select(columnsOf(stagedPosts))
    .from(stagedPosts)
    .where(and(isWanted(stagedPosts), isApplied));
  return staged.unionAll(tx.select(columnsOf(posts)).from(posts).where(isWanted(posts)));
}

/** The same with `isDateSet`. It is stored after the long texts, so the content API leaves it alone. */
function ownedVersions(tx: ReadTx, isWanted: (table: PostTable) => SQL) {
  const ownedColumnsOf = (table: PostTable) => ({ ...columnsOf(table), isDateSet: table.isDateSet });
  const staged = tx
    .select(ownedColumnsOf(stagedPosts))
    .from(stagedPosts)
    .where(and(isWanted(stagedPosts), isApplied));
  return staged.unionAll(tx.select(ownedColumnsOf(posts)).from(posts).where(isWanted(posts)));
}

function columnsOf({ id, organizationId, status, contentType, json }: PostTable) {
  return { id, organizationId, status, contentType, json };
}

// The rows of `values`, which every request of the content API reads: mapping them to objects took a tenth of its time.
type TallyRow = [status: PostStatus, contentType: ContentType, count: number, version: string];
type VersionRow = [id: string, owner: string, status: PostStatus, contentType: ContentType, json: PostJson];

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
  owner: tx
    .select({ organizationId: posts.organizationId })
    .from(posts)
    .where(eq(posts.id, sql.placeholder('postId')))
    .unionAll(
      tx
        .select({ organizationId: stagedPosts.organizationId })
        .from(stagedPosts)
        .where(eq(stagedPosts.id, sql.placeholder('postId'))),
    )
    .unionAll(
      tx
        .select({ organizationId: deletedPosts.organizationId })
        .from(deletedPosts)
        .where(eq(deletedPosts.id, sql.placeholder('postId'))),
    )
    .prepare(),
  byId: versions(tx, ({ id }) => eq(id, sql.placeholder('postId'))).prepare(),
  ownedById: ownedVersions(tx, ({ id }) => eq(id, sql.placeholder('postId'))).prepare(),
}));

/** The ids of all posts in a selection, in list order: of one moment, without their texts. */
export async function listPostIds(
  tx: ReadTx,
  organizationId: string,
  { sort, ...selection }: PostSelection & Pick<PageSelection, 'sort'>,
): Promise<string[]> {
  const order = sort === 'asc' ? sql`asc` : sql`desc`;
  const isListed = matches(organizationId, selection);
  const current = await statements(tx).currentImport.get();
  // A union would be sorted; without it, the ids are a walk along an index.
  const listed =
    current?.state === 'applying'
      ? sql`(
          select created_at, id from posts
          where ${isListed} and not exists (select 1 from staged_posts where staged_posts.id = posts.id)
          union all
          select created_at, id from staged_posts where ${isListed}
        ) as listed`
      : sql`posts where ${isListed}`;
  const rows = await tx.values<[string]>(
    sql`select id from ${listed} order by created_at ${order}, id ${order}`,
  );
  return rows.map(([id]) => id);
}
