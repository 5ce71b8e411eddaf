import { and, asc, desc, eq, getTableColumns, gte, inArray, lt, type SQL, sql } from 'drizzle-orm';
import { deleteExpired, dialectOf, type ReadTx, type WriteTx } from '../../../db/engine.ts';
import { posts } from '../../../db/schema/posts.ts';
import { formerSlugs, publications } from '../../../db/schema/public.ts';
import { isOfLive } from '../../people/organization-store.ts';
import { type Post, PUBLIC_POSTS } from '../../posts/model.ts';
import type { Publication } from './model.ts';

export async function findPublication(tx: ReadTx, organizationId: string): Promise<Publication | null> {
  return findLive(tx, eq(publications.organizationId, organizationId));
}

/** `isKept`: in `write`, where it stays so until the commit. */
export async function isMcpOn(tx: ReadTx, organizationId: string, isKept: boolean): Promise<boolean> {
  const { isMcpOn, organizationId: id } = publications;
  const isIt = and(eq(id, organizationId), isOfLive(id));
  const found = tx
    .select({ isMcpOn })
    .from(publications)
    .where(sql`${isIt} ${isKept ? dialectOf(tx).keepRows : sql``}`);
  return (await found.get())?.isMcpOn === true;
}

export async function findPublicationBySlug(tx: ReadTx, slug: string): Promise<Publication | null> {
  return findLive(tx, eq(publications.slug, slug));
}

async function findLive(tx: ReadTx, isIt: SQL): Promise<Publication | null> {
  const isWanted = and(isIt, isOfLive(publications.organizationId));
  return (await tx.select().from(publications).where(isWanted).get()) ?? null;
}

/** The id of the organization that has a slug, also in the trash. */
export async function findSlugOwner(tx: ReadTx, slug: string): Promise<string | null> {
  const { organizationId } = publications;
  const found = tx.select({ organizationId }).from(publications).where(eq(publications.slug, slug));
  return (await found.get())?.organizationId ?? null;
}

/** Inserts or replaces it. The caller must have checked that no other organization has the slug. */
export async function savePublication(tx: WriteTx, publication: Publication): Promise<void> {
  const { organizationId, ...changeable } = publication;
  await tx
    .insert(publications)
    .values(publication)
    .onConflictDoUpdate({ target: publications.organizationId, set: changeable })
    .run();
}

/** The publication that had a slug before. The caller must have checked that none has it now. */
export async function findPublicationByFormerSlug(tx: ReadTx, slug: string): Promise<Publication | null> {
  const found = tx
    .select(getTableColumns(publications))
    .from(formerSlugs)
    .innerJoin(publications, eq(publications.organizationId, formerSlugs.organizationId))
    .where(and(eq(formerSlugs.slug, slug), isOfLive(formerSlugs.organizationId)));
  return (await found.get()) ?? null;
}

export async function saveFormerSlug(tx: WriteTx, row: typeof formerSlugs.$inferInsert): Promise<void> {
  await tx.insert(formerSlugs).values(row).onConflictDoUpdate({ target: formerSlugs.slug, set: row }).run();
}

export async function deleteFormerSlug(tx: WriteTx, slug: string): Promise<void> {
  await tx.delete(formerSlugs).where(eq(formerSlugs.slug, slug)).run();
}

export const deleteExpiredSlugs = (tx: WriteTx, asOf: Date, limit: number) =>
  deleteExpired(
    tx,
    { table: formerSlugs, key: formerSlugs.slug, expiresAt: formerSlugs.expiresAt },
    asOf,
    limit,
  );

// Walks along `posts_by_status_and_type` for the page.

export type PostLine = Pick<Post, 'id' | 'title' | 'createdAt'>;

const line = { id: posts.id, title: posts.title, createdAt: posts.createdAt };

const isPublicOf = (organizationId: string) =>
  and(
    eq(posts.organizationId, organizationId),
    eq(posts.status, 'published'),
    inArray(posts.contentType, PUBLIC_POSTS.contentTypes),
  );

export async function findNeighbors(
  tx: ReadTx,
  organizationId: string,
  { id, createdAt }: Pick<Post, 'id' | 'createdAt'>,
): Promise<{ newer: PostLine | undefined; older: PostLine | undefined }> {
  const place = sql`(${posts.createdAt}, ${posts.id})`;
  const next = (isBeyond: SQL, order: typeof asc) =>
    tx
      .select(line)
      .from(posts)
      .where(and(isPublicOf(organizationId), isBeyond))
      .orderBy(order(posts.createdAt), order(posts.id))
      .limit(1)
      .get();
  const [newer, older] = await Promise.all([
    next(sql`${place} > (${createdAt}, ${id})`, asc),
    next(sql`${place} < (${createdAt}, ${id})`, desc),
  ]);
  return { newer, older };
}

/** The months that have posts, such as `2026-11`, newest first. Jumps from month to month along the index. */
export async function listMonths(tx: ReadTx, organizationId: string, limit: number): Promise<string[]> {
  const newest = (isBefore?: SQL) => sql`(
    select created_at from posts where ${isPublicOf(organizationId)} ${isBefore === undefined ? sql`` : sql`and ${isBefore}`}
    order by created_at desc limit 1)`;
  const rows = await tx.values<[month: string]>(sql`
    with recursive months(at, number) as (
      select ${newest()}, 1
      union all
      select ${newest(sql`created_at < substr(months.at, 1, 7)`)}, number + 1 from months
      where months.at is not null and number < ${limit}
    ) select substr(at, 1, 7) from months where at is not null`);
  return rows.map(([month]) => month);
}

/** Posts newest first, of one month in UTC or of all. Reads no texts. */
export async function listLines(
  tx: ReadTx,
  organizationId: string,
  { month = '', limit, offset = 0 }: { month?: string; limit: number; offset?: number },
): Promise<(PostLine & Pick<Post, 'updatedAt'>)[]> {
  return tx
    .select({ ...line, updatedAt: posts.updatedAt })
    .from(posts)
    .where(isIn(organizationId, month))
    .orderBy(desc(posts.createdAt), desc(posts.id))
    .limit(limit)
    .offset(offset)
    .all();
}

export async function countMonth(tx: ReadTx, organizationId: string, month: string): Promise<number> {
  return tx.$count(posts, isIn(organizationId, month));
}

/** Times are text, and `~` comes after every character of them. */
function isIn(organizationId: string, month: string) {
  return and(isPublicOf(organizationId), gte(posts.createdAt, month), lt(posts.createdAt, `${month}~`));
}
