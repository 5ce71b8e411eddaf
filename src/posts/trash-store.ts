import { and, desc, eq, getTableColumns, inArray, lte, notExists, type SQL } from 'drizzle-orm';
import { dialectOf, type ReadTx, type WriteTx } from '../../db/engine.ts';
import { deletedPosts, postSuggestions, posts, postVersions } from '../../db/schema/posts.ts';

export type DeletedPost = typeof deletedPosts.$inferSelect;

/** Inserts a post into the trash. It replaces an earlier one of this id, which an import had created again. */
export async function insertDeletedPost(tx: WriteTx, row: DeletedPost): Promise<void> {
  await tx.insert(deletedPosts).values(row).onConflictDoUpdate({ target: deletedPosts.id, set: row }).run();
}

/** Removes and returns a post. */
export async function takeDeletedPost(tx: WriteTx, postId: string): Promise<DeletedPost | null> {
  return (await tx.delete(deletedPosts).where(eq(deletedPosts.id, postId)).returning().get()) ?? null;
}

/** A post of any organization. */
export async function findDeletedPost(tx: ReadTx, postId: string): Promise<DeletedPost | null> {
  return (await tx.select().from(deletedPosts).where(eq(deletedPosts.id, postId)).get()) ?? null;
}

const {
  content: _c,
  markdown: _m,
  sourceMetadata: _s,
  isDateSet: _d,
  ...head
} = getTableColumns(deletedPosts);

/** Without their texts. The one that was deleted last comes first. */
export async function listDeletedPosts(
  tx: ReadTx,
  organizationId: string,
  { limit, page }: { limit: number; page: number },
): Promise<Omit<DeletedPost, 'content' | 'markdown' | 'sourceMetadata' | 'isDateSet'>[]> {
  return tx
    .select(head)
    .from(deletedPosts)
    .where(eq(deletedPosts.organizationId, organizationId))
    .orderBy(desc(deletedPosts.deletedAt), desc(deletedPosts.id))
    .limit(limit)
    .offset((page - 1) * limit)
    .all();
}

export async function countDeletedPosts(tx: ReadTx, organizationId: string): Promise<number> {
  return tx.$count(deletedPosts, eq(deletedPosts.organizationId, organizationId));
}

/** Deletes posts for good that were in an organization's trash at `seenAt`, `limit` at most. Returns their number. */
export async function deleteFromTrash(
  tx: WriteTx,
  { organizationId, seenAt }: { organizationId: string; seenAt: string },
  limit: number,
): Promise<number> {
  const isOfOne = eq(deletedPosts.organizationId, organizationId);
  return deleteRows(tx, and(isOfOne, lte(deletedPosts.deletedAt, seenAt)), limit);
}

export async function deleteExpiredTrash(tx: WriteTx, asOf: Date, limit: number): Promise<number> {
  return deleteRows(tx, lte(deletedPosts.expiresAt, asOf.getTime()), limit);
}

async function deleteRows(tx: WriteTx, isGone: SQL | undefined, limit: number): Promise<number> {
  const gone = tx.select({ id: deletedPosts.id }).from(deletedPosts).where(isGone).limit(limit);
  const rows = await tx
    .delete(deletedPosts)
    // Look again: a post with the id of an earlier one may come into the trash in the meantime.
    .where(and(isGone, inArray(deletedPosts.id, gone)))
    .returning({ id: deletedPosts.id })
    .all();
  await deleteOrphans(
    tx,
    rows.map(({ id }) => id),
  );
  return rows.length;
}

/** Deletes the versions and suggestions of these posts, except of those that exist, also in the trash; or those of triggers. */
export async function deleteOrphans(tx: WriteTx, postIds: readonly string[]): Promise<void> {
  if (postIds.length === 0) return;
  for (const table of [postVersions, postSuggestions]) {
    const isListed = inArray(table.postId, dialectOf(tx).listed(postIds));
    const post = tx.select({ id: posts.id }).from(posts).where(eq(posts.id, table.postId));
    const deleted = tx
      .select({ id: deletedPosts.id })
      .from(deletedPosts)
      .where(eq(deletedPosts.id, table.postId));
    await tx
      .delete(table)
      .where(and(isListed, notExists(post), notExists(deleted)))
      .run();
  }
}
