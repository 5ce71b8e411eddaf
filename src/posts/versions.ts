import { notFound } from '../lib/app-error.ts';
import type { Ids } from '../lib/text.ts';
import type { AuditDeps } from '../people/audit.ts';
import { withContent } from './content.ts';
import type { OwnedPost, Post } from './model.ts';
import { writeAbout } from './service.ts';
import { getPost, readPost, writePost } from './store.ts';
import { findVersion, recordVersion } from './version-store.ts';

interface Restored {
  post: Post;
  /** The version with the text before, to undo the restoration. Null when the post had the text already. */
  previousId: string | null;
}

/**
 * Puts the text of an earlier version into the post, as a new version. `check` may throw, in the transaction that writes. Throws
 * `AppError` 404.
 */
export function restoreVersion(
  deps: AuditDeps & { readonly ids: Ids },
  postId: string,
  versionId: string,
  check?: (stored: OwnedPost) => void,
): Promise<Restored> {
  return withContent((contentOf) =>
    writeAbout(deps.db, { postId }, async (tx) => {
      const before = await readPost(tx, postId);
      if (before === null) throw notFound('post', postId);
      check?.(before);
      const version = await findVersion(tx, postId, versionId);
      if (version === null) throw notFound('version', versionId);
      const { title, markdown, contentType } = version;
      const isSameBody = markdown === before.markdown && contentType === before.contentType;
      const content = isSameBody ? before.content : contentOf(contentType, markdown);
      const updatedAt = deps.clock.now().toISOString();
      const after = { ...before, title, markdown, contentType, content, updatedAt };
      const previousId = await recordVersion(tx, deps, { before, after, origin: 'restore' });
      if (previousId !== null) await writePost(tx, after);
      return { post: await getPost(tx, postId), previousId };
    }),
  );
}
