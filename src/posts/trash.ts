import { changingPosts, inCommits, repeatStep, type WriteTx } from '../../db/engine.ts';
import { AppError, notFound } from '../lib/app-error.ts';
import { count } from '../lib/text.ts';
import { type AuditContext, type AuditDeps, recordAudit } from '../people/audit.ts';
import type { Post } from './model.ts';
import { recordPost } from './service.ts';
import { deletePostRow, getPost, readPost, writeAbout, writePost } from './store.ts';
import {
  type DeletedPost,
  deleteFromTrash,
  deleteOrphans,
  findDeletedPost,
  takeDeletedPost,
} from './trash-store.ts';

// Posts that people deleted. `deletePost` of `service.ts` moves them to the trash.

/**
 * Takes a post out of the trash, with its text, date and status as they were. Throws `AppError` 404, and 409
 * `post_id_taken` when an import created a post with the id meanwhile.
 */
export function restorePost(deps: AuditDeps, postId: string): Promise<Post> {
  return writeAbout(deps.db, { postId }, async (tx) => {
    const deleted = await findDeletedPost(tx, postId);
    if (deleted === null) throw notInTrash(postId);
    if ((await readPost(tx, postId)) !== null) {
      const message = `A post with the id ${postId} already exists. Delete it before you restore this one`;
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
  await writePost(tx, post);
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

/**
 * Deletes everything for good that was in an organization's trash at `seenAt`. Each commit records how many posts it deleted. Returns the
 * number of posts.
 */
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
