import { commitTogether } from '../../db/group-commit.ts';
import type { Deps } from '../deps.ts';
import { AppError } from '../lib/app-error.ts';
import { checkRecord } from './import/record.ts';
import type { Post } from './model.ts';
import { toPlainText } from './plain-text.ts';
import { getPost, readPost, writePost } from './store.ts';

/** What a person can change of a post's text; its plain text follows from the Markdown. */
export interface PostEdit {
  title?: string | undefined;
  markdown?: string | undefined;
}

/** Throws `AppError` 400 that names the wrong field, and 404. */
export async function editPost(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  postId: string,
  edit: PostEdit,
): Promise<Post> {
  await getPost(db, postId);
  await commitTogether(db, () => {
    const post = readPost(db, postId);
    if (post === null) return;
    const title = edit.title?.trim() ?? post.title;
    const markdown = edit.markdown?.replaceAll('\r\n', '\n') ?? post.markdown;
    const checked = checkRecord({ title, markdown });
    if ('problem' in checked) {
      throw new AppError(400, `${checked.problem.field} ${checked.problem.message}`);
    }
    if (title === post.title && markdown === post.markdown) return;
    const content = markdown === post.markdown ? post.content : toPlainText(markdown);
    writePost(db, { ...post, title, markdown, content, updatedAt: clock.now().toISOString() });
  });
  return getPost(db, postId);
}
