import { and, desc, eq, getTableColumns, inArray, lte, notExists, type SQL } from 'drizzle-orm';
import {
  changingPosts,
  dialectOf,
  inCommits,
  type ReadTx,
  repeatStep,
  type WriteTx,
} from '../../db/engine.ts';
import { deletedPosts, postApprovals, postSuggestions, posts, postVersions } from '../../db/schema/posts.ts';
import { AppError, notFound } from '../lib/app-error.ts';
import { count } from '../lib/text.ts';
import { type AuditContext, type AuditDeps, recordAudit } from '../people/audit.ts';
import { isOfLive } from '../people/organization-store.ts';
import { isApproved, rulesOf } from './approval-rule.ts';
import type { Post } from './model.ts';
import { deletePostRow, getPost, readPost, recordPost, writeAbout, writePost } from './store.ts';

// Posts that people deleted. `deletePost` of `service.ts` moves them to the trash.

/** A draft where it may not be public. Throws `AppError` 404, and 409 `post_id_taken` when an import took the id. */
export function restorePost(deps: AuditDeps, postId: string): Promise<Post> {
  return writeAbout(deps.db, { postId }, async (tx) => {
    const deleted = await findDeletedPost(tx, postId);
    if (deleted === null) throw notInTrash(postId);
    if ((await readPost(tx, postId)) !== null) {
      const message = `A post with the ID ${postId} already exists. Delete it before you restore this one`;
      throw new AppError(409, message, { code: 'post_id_taken', details: { id: postId } });
    }
    if (!(await restore(tx, deps, deleted))) throw notInTrash(postId);
    return getPost(tx, postId);
  });
}

/** Later than any post came into a trash. */
const AT_ANY_TIME = '9999-12-31T23:59:59.999Z';

export interface Restored {
  restored: number;
  /** Their ids are in use. */
  taken: number;
  /** They are not in the organization's trash, or came there after `seenAt`. */
  missing: number;
}

/** The same for several posts of an organization. `seenAt`: as the trash was then. */
export function restorePosts(
  deps: AuditDeps,
  organizationId: string,
  postIds: readonly string[],
  seenAt = AT_ANY_TIME,
): Promise<Restored> {
  return deps.db.write(async (tx) => {
    const result = { restored: 0, taken: 0, missing: 0 };
    for (const postId of postIds) {
      const deleted = await findDeletedPost(tx, postId);
      if (deleted?.organizationId !== organizationId || deleted.deletedAt > seenAt) result.missing++;
      else if ((await readPost(tx, postId)) !== null) result.taken++;
      else if (await restore(tx, deps, deleted)) result.restored++;
      else result.missing++;
    }
    return result;
  }, changingPosts(organizationId));
}

/** False when a sweep has removed it in the meantime. */
async function restore(tx: WriteTx, deps: AuditContext, deleted: DeletedPost): Promise<boolean> {
  const { deletedAt, actorName, expiresAt, ...post } = deleted;
  if ((await takeDeletedPost(tx, post.id)) === null) return false;
  const { needsApproval, isWriter } = await rulesOf(tx, deps, post);
  const mayBePublic = !isWriter && (!needsApproval || (await isApproved(tx, post)));
  await writePost(tx, mayBePublic ? post : { ...post, status: 'draft' });
  await recordPost(tx, deps, 'post.restored', post);
  return true;
}

/** Deletes a post for good: the existing one, or else the one in the trash. Throws `AppError` 404. */
export async function erasePost(deps: AuditDeps, postId: string): Promise<void> {
  await writeAbout(deps.db, { postId }, async (tx) => {
    const erased = (await deletePostRow(tx, postId)) ?? (await takeDeletedPost(tx, postId));
    if (erased === null) throw notFound('post', postId);
    await deleteOrphans(tx, [postId]);
    await recordPost(tx, deps, 'post.erased', erased);
  });
}

/** Deletes a post of the organization's trash for good, if it was there at `seenAt`. Throws `AppError` 404. */
export async function eraseDeletedPost(
  deps: AuditDeps,
  organizationId: string,
  postId: string,
  seenAt = AT_ANY_TIME,
): Promise<string> {
  return deps.db.write(async (tx) => {
    const deleted = await findDeletedPost(tx, postId);
    if (deleted?.organizationId !== organizationId || deleted.deletedAt > seenAt) throw notInTrash(postId);
    await takeDeletedPost(tx, postId);
    await deleteOrphans(tx, [postId]);
    await recordPost(tx, deps, 'post.erased', deleted);
    return deleted.title;
  }, changingPosts(organizationId));
}

/** Posts of a step. Their versions go with them. */
const STEP_POSTS = 10;

/** Each commit records how many posts it deleted. Returns the number of posts. */
export async function emptyTrash(
  deps: AuditDeps,
  organizationId: string,
  seenAt = AT_ANY_TIME,
): Promise<number> {
  async function deleteSome(tx: WriteTx, hasTime: () => boolean) {
    const part = await repeatStep(hasTime, () => deleteFromTrash(tx, { organizationId, seenAt }, STEP_POSTS));
    const number = part.result;
    const summary = `deleted ${count(number, 'post')} in the trash for good`;
    if (number > 0) {
      const action = 'post.erased';
      await recordAudit(tx, deps, { organizationId, action, target: null, summary, count: number });
    }
    return part;
  }
  let total = 0;
  for await (const deleted of inCommits(deps.db, deleteSome, changingPosts(organizationId))) total += deleted;
  return total;
}

function notInTrash(postId: string): AppError {
  return new AppError(404, `Post ${postId} is not in the trash`, {
    code: 'not_in_trash',
    details: { id: postId },
  });
}

export type DeletedPost = typeof deletedPosts.$inferSelect;

/** Inserts a post into the trash. It replaces an earlier one of this id, which an import had created again. */
export async function insertDeletedPost(tx: WriteTx, row: DeletedPost): Promise<void> {
  await tx.insert(deletedPosts).values(row).onConflictDoUpdate({ target: deletedPosts.id, set: row }).run();
}

async function takeDeletedPost(tx: WriteTx, postId: string): Promise<DeletedPost | null> {
  return (await tx.delete(deletedPosts).where(eq(deletedPosts.id, postId)).returning().get()) ?? null;
}

export async function findDeletedPost(tx: ReadTx, postId: string): Promise<DeletedPost | null> {
  const isIt = and(eq(deletedPosts.id, postId), isOfLive(deletedPosts.organizationId));
  return (await tx.select().from(deletedPosts).where(isIt).get()) ?? null;
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
async function deleteFromTrash(
  tx: WriteTx,
  { organizationId, seenAt }: { organizationId: string; seenAt: string },
  limit: number,
): Promise<number> {
  const isOfOne = eq(deletedPosts.organizationId, organizationId);
  return deleteRows(tx, and(isOfOne, lte(deletedPosts.deletedAt, seenAt)), limit);
}

/** Deletes at most `limit` posts whose time in the trash is over. Returns their number. */
export async function deleteExpiredTrash(tx: WriteTx, asOf: Date, limit: number): Promise<number> {
  return deleteRows(tx, lte(deletedPosts.expiresAt, asOf.getTime()), limit);
}

/** Deletes posts of an organization for good, also those in the trash, `limit` at most. Returns their number. */
export async function deleteOrganizationPosts(
  tx: WriteTx,
  organizationId: string,
  limit: number,
): Promise<number> {
  const trashed = await deleteRows(tx, eq(deletedPosts.organizationId, organizationId), limit);
  if (trashed > 0) return trashed;
  const isOwn = eq(posts.organizationId, organizationId);
  const rows = await tx.select({ id: posts.id }).from(posts).where(isOwn).limit(limit).all();
  for (const { id } of rows) await deletePostRow(tx, id);
  await deleteOrphans(
    tx,
    rows.map(({ id }) => id),
  );
  return rows.length;
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

/** Deletes the versions, suggestions and approvals of these posts, except of those that exist, also in the trash; or those of triggers. */
export async function deleteOrphans(tx: WriteTx, postIds: readonly string[]): Promise<void> {
  if (postIds.length === 0) return;
  for (const table of [postVersions, postSuggestions, postApprovals]) {
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
