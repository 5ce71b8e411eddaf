import type { AuditDeps } from '../audit/store.ts';
import type { Deps } from '../deps.ts';
import { AppError } from '../lib/app-error.ts';
import { invalidField } from '../lib/validation.ts';
import { plainTextFor } from '../markdown/plain-text.ts';
import { checkRecord } from './import/record.ts';
import type { ContentType, Post, PostStatus } from './model.ts';
import { getPost, readPost, recordPost, writePost } from './store.ts';

/** What a person can change of a post; its plain text follows from the Markdown. */
export interface PostEdit {
  title?: string | undefined;
  markdown?: string | undefined;
  status?: PostStatus | undefined;
  /** The `updatedAt` of the post that the person saw: somebody else's change since then is not written over. */
  seen?: string | undefined;
}

/** Throws `AppError` 400 that names the wrong field, 404, and 409 when the post was changed since it was `seen`. */
export async function editPost(deps: AuditDeps, postId: string, edit: PostEdit): Promise<Post> {
  const { db, clock } = deps;
  await getPost(db, postId);
  await db.write(() => {
    const post = readPost(db, postId);
    if (post === null) return;
    const { title, markdown } = checkText({
      title: edit.title ?? post.title,
      markdown: edit.markdown ?? post.markdown,
    });
    const status = edit.status ?? post.status;
    const isSameText = title === post.title && markdown === post.markdown;
    if (!isSameText && edit.seen !== undefined && edit.seen !== post.updatedAt) {
      throw new AppError(409, 'The post was changed meanwhile', { code: 'post_changed' });
    }
    if (isSameText && status === post.status) return;
    const content = markdown === post.markdown ? post.content : plainTextFor(post.contentType, markdown);
    writePost(db, { ...post, title, markdown, content, status, updatedAt: clock.now().toISOString() });
    if (status === post.status) return;
    recordPost(deps, status === 'published' ? 'post.published' : 'post.unpublished', { ...post, title });
  });
  return getPost(db, postId);
}

/** A draft that a person writes. Throws `AppError` 400 that names the wrong field. */
export async function createPost(
  { db, clock, ids }: Pick<Deps, 'db' | 'clock' | 'ids'>,
  organizationId: string,
  given: { title: string; markdown: string; contentType: ContentType },
): Promise<Post> {
  const { title, markdown } = checkText(given);
  const { contentType } = given;
  const id = ids.newId('post');
  const now = clock.now().toISOString();
  const content = plainTextFor(contentType, markdown);
  const text = { title, markdown, content, contentType, sourceMetadata: null };
  await db.write(() =>
    writePost(db, { ...text, id, organizationId, status: 'draft', createdAt: now, updatedAt: now }),
  );
  return getPost(db, id);
}

/** The text as it is kept. A browser's form ends lines its own way. */
function checkText(given: { title: string; markdown: string }) {
  const text = { title: given.title.trim(), markdown: given.markdown.replaceAll('\r\n', '\n') };
  const checked = checkRecord(text);
  if ('problem' in checked) throw invalidField(checked.problem.field, checked.problem.message);
  return text;
}
