import { and, asc, desc, eq, getTableColumns, inArray, type Placeholder, sql } from 'drizzle-orm';
import {
  changingPosts,
  dialectOf,
  excluded,
  type PostSearch,
  placeholdersFor,
  prepared,
  type ReadTx,
  type Storage,
  type WriteTx,
} from '../../db/engine.ts';
import { deletedPosts, postCounts, postSchedules, posts } from '../../db/schema/posts.ts';
import { AppError, notFound } from '../lib/app-error.ts';
import { type AuditAction, type AuditContext, quote, recordAudit } from '../people/audit.ts';
import { isOfLive } from '../people/organization-store.ts';
import {
  type ContentType,
  contentTypes,
  isPublic,
  type OwnedPost,
  type PageSelection,
  type Post,
  type PostSelection,
  type PostStatus,
  postStatuses,
} from './model.ts';

// Search finds words as an index splits a text: at what is no letter and no digit. Two kinds of words need more than that.

/** Chinese, Japanese and Korean have no spaces between words, or endings after them: each character is a word. */
const CHARACTER = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}]/gu;

/** `v1.2.3` is the version `1.2.3`. */
const VERSION_LETTER = /(?<![\p{L}\p{N}])v(?=\d+\.\d)/giu;

const MAY_CHANGE = /[^\0-\x7f]|v\d/i;

/** The index has no more of a text. */
const MAX_LENGTH = 250_000;

/** Splits a text or a query into parts that the index may split further. */
export const partsOf = (text: string): string[] => text.split(/[\s\p{Cc}]+/u);

/** A part as search compares it: every character that is a word stands alone, and a version has no letter before it. */
export function asSearched(part: string): string {
  if (!MAY_CHANGE.test(part)) return part;
  return part
    .normalize('NFKC')
    .replace(VERSION_LETTER, '')
    .replace(CHARACTER, ' $& ')
    .replace(/ {2,}/g, ' ')
    .trim();
}

/** The parts of a post that search compares in another form than the post has them, in that form. Null for none. */
function searchWordsOf({ title, content }: { title: string; content: string }): string | null {
  const text = `${title}\n${content.slice(0, MAX_LENGTH)}`;
  if (!MAY_CHANGE.test(text)) return null;
  const changed = partsOf(text.toWellFormed()).flatMap((part) => {
    const searched = asSearched(part);
    return searched === part ? [] : [searched];
  });
  return changed.length === 0 ? null : changed.join('\n').slice(0, MAX_LENGTH).toWellFormed();
}

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

/** Posts that may be skipped before the number of all posts is known. */
const MAX_SKIPPED = 1_000;

/** One page in list order, with the tally of the same snapshot. A page past the end is empty. */
export async function listPostPage(
  tx: ReadTx,
  organizationId: string,
  selection: PageSelection,
): Promise<Tally & { posts: Post[] }> {
  const { limit, page } = selection;
  const counting = tallyPosts(tx, organizationId, selection);
  // Sent together.
  if ((page - 1) * limit <= MAX_SKIPPED) {
    const [tally, posts] = await Promise.all([counting, readWindow(tx, organizationId, selection, null)]);
    return { ...tally, posts };
  }
  const tally = await counting;
  return { ...tally, posts: await readWindow(tx, organizationId, selection, tally.totalItems) };
}

const pageStatements = prepared(() => new Map<string, ReturnType<typeof buildPageStatement>>());

/** Of a known number of posts, the second half is read from the end backwards: the last page costs as much as the first. */
async function readWindow(
  tx: ReadTx,
  organizationId: string,
  selection: PageSelection,
  totalItems: number | null,
): Promise<Post[]> {
  const { statuses, contentTypes: types, limit, page, sort } = selection;
  const before = (page - 1) * limit;
  const left = totalItems === null ? Number.POSITIVE_INFINITY : Math.max(0, totalItems - before);
  const take = Math.min(limit, left);
  const after = left - take;
  const fromEnd = after < before;
  const ascending = (sort === 'asc') !== fromEnd;
  const pages = pageStatements(tx);
  const key = `${[...statuses].sort()} ${[...types].sort()} ${ascending}`;
  const statement = pages.get(key) ?? buildPageStatement(tx, selection, ascending);
  pages.set(key, statement);
  const found = await statement.all({ organizationId, take, offset: fromEnd ? after : before });
  return fromEnd ? found.reverse() : found;
}

/** Walks one index to the page's rows, then reads only these, so that skipping posts reads none of them. */
function buildPageStatement(tx: ReadTx, selection: PostSelection, ascending: boolean) {
  const order = ascending ? asc : desc;
  const { postKey } = dialectOf(tx);
  const window = tx
    .select({ key: sql`${postKey}`.as('window_key'), at: sql`created_at`.as('at'), post: sql`id`.as('post') })
    .from(posts)
    .where(matches(sql.placeholder('organizationId'), selection))
    .orderBy(order(posts.createdAt), order(posts.id))
    .limit(sql.placeholder('take'))
    .offset(sql.placeholder('offset'))
    .as('window');
  return tx
    .select(post)
    .from(window)
    .innerJoin(posts, eq(sql`${posts}.${postKey}`, window.key))
    .orderBy(order(window.at), order(window.post))
    .prepare();
}

/** All values of a filter are no filter. */
function matches(organizationId: string | Placeholder, { statuses, contentTypes: types }: PostSelection) {
  return and(
    sql`organization_id = ${organizationId}`,
    statuses.length < postStatuses.length ? inArray(posts.status, statuses) : undefined,
    types.length < contentTypes.length ? inArray(posts.contentType, types) : undefined,
  );
}

export async function findPost(
  tx: ReadTx,
  organizationId: string,
  postId: string,
  { statuses, contentTypes: types }: PostSelection,
): Promise<Post | null> {
  const found = await readPost(tx, postId);
  if (found?.organizationId !== organizationId) return null;
  return statuses.includes(found.status) && types.includes(found.contentType) ? toPost(found) : null;
}

export async function readPost(tx: ReadTx, postId: string): Promise<OwnedPost | null> {
  return (await statements(tx).byId.get({ postId })) ?? null;
}

/** A post of any organization, with what the API does not send. Throws `AppError` 404. */
export async function getOwnedPost(tx: ReadTx, postId: string): Promise<OwnedPost> {
  const found = await readPost(tx, postId);
  if (found === null) throw notFound('post', postId);
  return found;
}

/** A post of any organization. Throws `AppError` 404. */
export const getPost = async (tx: ReadTx, postId: string): Promise<Post> =>
  toPost(await getOwnedPost(tx, postId));

/** A post as the API sends it. */
export const toPost = ({ organizationId: _, isDateSet: __, ...post }: OwnedPost): Post => post;

/** The existing posts with these ids, of any organization, by id. */
export async function readPosts(tx: ReadTx, ids: readonly string[]): Promise<Map<string, OwnedPost>> {
  // To build one statement for all of them takes longer than to run a prepared one for each.
  const found = await Promise.all(ids.map((id) => readPost(tx, id)));
  return new Map(found.filter((post) => post !== null).map((post) => [post.id, post]));
}

/** The organization of each of these post ids that is in use, also in the trash. */
export async function findOwners(tx: ReadTx, ids: readonly string[]): Promise<Map<string, string>> {
  const isListed = (table: typeof posts | typeof deletedPosts) =>
    inArray(table.id, dialectOf(tx).listed(ids));
  const rows = await tx
    .select({ id: posts.id, owner: posts.organizationId })
    .from(posts)
    .where(isListed(posts))
    .unionAll(
      tx
        .select({ id: deletedPosts.id, owner: deletedPosts.organizationId })
        .from(deletedPosts)
        .where(isListed(deletedPosts)),
    )
    .all();
  return new Map(rows.map(({ id, owner }) => [id, owner]));
}

/** Runs work about one post in its turn with other work about the organization's posts. */
export async function writeAbout<Result>(
  db: Storage,
  { postId, organizationId }: { postId: string; organizationId?: string | undefined },
  work: (tx: WriteTx) => Promise<Result>,
): Promise<Result> {
  const findOwner = async (tx: ReadTx) => (await findOwners(tx, [postId])).get(postId);
  const owner = organizationId ?? (await db.read(findOwner, { single: true }));
  // Without an owner there is no such post, unless it is created in the meantime: then the work runs alone.
  return db.write(work, owner === undefined ? {} : changingPosts(owner));
}

/** The same for a post that exists. Throws `AppError` 404. */
export const changePost = <Result>(
  db: Storage,
  postId: string,
  work: (tx: WriteTx, post: OwnedPost) => Promise<Result>,
): Promise<Result> => writeAbout(db, { postId }, async (tx) => work(tx, await getOwnedPost(tx, postId)));

const verbs = {
  'post.published': 'published',
  'post.unpublished': 'unpublished',
  'post.scheduled': 'scheduled',
  'post.unscheduled': 'canceled the schedule of',
  'post.changed': 'changed',
  'post.deleted': 'deleted',
  'post.restored': 'restored',
  'post.erased': 'deleted for good',
  'post.approval_requested': 'asked to approve',
  'post.approved': 'approved',
  'post.approval_declined': 'declined',
  'post.approval_withdrawn': 'withdrew the request to approve',
  'post.approval_skipped': 'skipped the approval of',
} as const satisfies Partial<Record<AuditAction, string>>;

/** In the transaction of the change. `more` follows the title. */
export async function recordPost(
  tx: WriteTx,
  deps: AuditContext,
  action: keyof typeof verbs,
  { id, organizationId, title }: Pick<OwnedPost, 'id' | 'organizationId' | 'title'>,
  { verb = verbs[action], more = '' }: { verb?: string; more?: string } = {},
): Promise<void> {
  const summary = `${verb} the post ${quote(title)}${more}`;
  await recordAudit(tx, deps, { organizationId, action, target: { type: 'post', id }, summary });
}

/** The posts that match, newest first. Of more than `limit`, those that were added last. */
export async function findPostIds(tx: ReadTx, search: PostSearch): Promise<string[]> {
  const rows = await tx.values<[id: string]>(dialectOf(tx).searchPosts(search));
  return rows.map(([id]) => id);
}

/** The ids of all posts in a selection, in list order: of one moment, without their texts. */
export async function listPostIds(
  tx: ReadTx,
  organizationId: string,
  { sort, ...selection }: PostSelection & Pick<PageSelection, 'sort'>,
): Promise<string[]> {
  const order = sort === 'asc' ? asc : desc;
  const rows = await tx
    .select({ id: posts.id })
    .from(posts)
    .where(matches(organizationId, selection))
    .orderBy(order(posts.createdAt), order(posts.id))
    .values();
  return rows.map(([id]) => id as string);
}

const rowOf = (post: OwnedPost) => ({ ...post, searchWords: searchWordsOf(post), isPublic: isPublic(post) });

/** Writes a new post or version. Throws `AppError` 409 when another organization has the id. */
export async function writePost(tx: WriteTx, post: OwnedPost): Promise<void> {
  if ((await statements(tx).save.all(rowOf(post))).length > 0) return;
  throw new AppError(409, `The ID ${post.id} was taken in the meantime. Try again.`);
}

/** Writes a post that was read in this transaction, so that there is nothing to wait for. */
export async function rewritePost(tx: WriteTx, post: OwnedPost): Promise<void> {
  await statements(tx).save.run(rowOf(post));
}

/** Deletes a post and its schedule. Null when there is none. */
export async function deletePostRow(tx: WriteTx, postId: string) {
  const { deleteSchedule, deletePost } = statements(tx);
  await deleteSchedule.run({ postId });
  return (await deletePost.get({ postId })) ?? null;
}

/** A row of `values`, which every request of the content API reads: mapping it to an object took a tenth of its time. */
type TallyRow = [status: PostStatus, contentType: ContentType, count: number, version: string];

const columns = getTableColumns(posts);
const { id: _id, organizationId: _organizationId, ...changeable } = columns;

/** A post as the API sends it, in the order of its fields. */
const post = {
  id: posts.id,
  title: posts.title,
  content: posts.content,
  markdown: posts.markdown,
  contentType: posts.contentType,
  sourceMetadata: posts.sourceMetadata,
  status: posts.status,
  createdAt: posts.createdAt,
  updatedAt: posts.updatedAt,
};

const statements = prepared((tx) => {
  const isIt = (table: typeof posts | typeof deletedPosts) => eq(table.id, sql.placeholder('postId'));
  return {
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
    byId: tx
      .select({ ...post, organizationId: posts.organizationId, isDateSet: posts.isDateSet })
      .from(posts)
      .where(and(isIt(posts), isOfLive(posts.organizationId)))
      .prepare(),
    save: tx
      .insert(posts)
      .values(placeholdersFor(columns))
      .onConflictDoUpdate({
        target: posts.id,
        set: excluded(changeable),
        setWhere: sql`${posts.organizationId} = excluded.organization_id`,
      })
      .returning({ id: posts.id })
      .prepare(),
    deleteSchedule: tx
      .delete(postSchedules)
      .where(eq(postSchedules.postId, sql.placeholder('postId')))
      .prepare(),
    deletePost: tx
      .delete(posts)
      .where(isIt(posts))
      .returning({ id: posts.id, organizationId: posts.organizationId, title: posts.title })
      .prepare(),
  };
});
