import { changingPosts } from '../../db/order.ts';
import type { AuditDeps } from '../audit/store.ts';
import { AppError } from '../lib/app-error.ts';
import { isWithoutText } from './content.ts';
import { moveToTrash, setStatus } from './service.ts';
import { readPost } from './store.ts';

export const bulkActions = ['publish', 'unpublish', 'delete'] as const;
export type BulkAction = (typeof bulkActions)[number];

export const MAX_POSTS = 100;

export interface BulkResult {
  /** The ids of the posts that changed. */
  changed: string[];
  /** Posts that were so already. */
  unchanged: number;
  /** Posts that somebody deleted meanwhile. */
  missing: number;
  /** Drafts without text, which stay drafts. */
  withoutText: number;
}

/**
 * Does the same to several posts of an organization, in one transaction. `needsText`: publishes no draft without text.
 * Throws `AppError` 400 for too many.
 */
export function changePosts(
  deps: AuditDeps,
  organizationId: string,
  postIds: readonly string[],
  action: BulkAction,
  { needsText = false }: { needsText?: boolean } = {},
): Promise<BulkResult> {
  const ids = [...new Set(postIds)];
  if (ids.length > MAX_POSTS) throw new AppError(400, `Select at most ${MAX_POSTS} posts`);
  return deps.db.write(async (tx) => {
    const result: BulkResult = { changed: [], unchanged: 0, missing: 0, withoutText: 0 };
    for (const id of ids) {
      const post = await readPost(tx, id);
      if (post?.organizationId !== organizationId) {
        result.missing++;
        continue;
      }
      if (needsText && action === 'publish' && post.status === 'draft' && isWithoutText(post)) {
        result.withoutText++;
        continue;
      }
      let isChanged = true;
      if (action === 'delete') await moveToTrash(tx, deps, post);
      else isChanged = await setStatus(tx, deps, post, action === 'publish' ? 'published' : 'draft');
      if (isChanged) result.changed.push(id);
      else result.unchanged++;
    }
    return result;
  }, changingPosts(organizationId));
}
