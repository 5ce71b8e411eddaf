/** @jsxRuntime automatic @jsxImportSource preact */
import { AppError } from '../../../lib/app-error.ts';
import { type OwnedPost, type PostStatus, postStatuses } from '../../../posts/model.ts';
import { deletePost, editPost } from '../../../posts/service.ts';
import { readPost } from '../../../posts/store.ts';
import { get, type MemberVisit, type Page, post, redirect } from '../../page.ts';
import { showEditor } from './editor.tsx';
import { shortTitle } from './words.tsx';

const PATH = '/dashboard/:organizationId/posts/:postId';

export const editing: readonly Page[] = [
  get(PATH, 'member', async (visit) => showEditor(visit, await requirePost(visit))),

  post(PATH, 'member', async (visit) => {
    const { deps, form, base } = visit;
    const before = await requirePost(visit);
    const typed = {
      title: form.get('title') ?? before.title,
      markdown: (form.get('markdown') ?? before.markdown).replaceAll('\r\n', '\n'),
    };
    const status = postStatuses.find((each) => each === form.get('status'));
    try {
      await editPost(deps, before.id, { ...typed, status, seen: form.get('seen') ?? undefined });
    } catch (error) {
      if (!(error instanceof AppError) || (error.status !== 400 && error.status !== 409)) throw error;
      return showEditor(visit, await requirePost(visit), { typed, error });
    }
    return redirect(`${base}/posts/${before.id}`, wordsFor(before.status, status ?? before.status));
  }),

  post(`${PATH}/delete`, 'member', async (visit) => {
    const { id, title } = await requirePost(visit);
    await deletePost(visit.deps, id);
    return redirect(`${visit.base}/posts`, `Deleted ${shortTitle(title)}.`);
  }),
];

/** The post that the path names. Throws `AppError` 404: another organization's is not there. */
export async function requirePost({ deps, organization, params }: MemberVisit): Promise<OwnedPost> {
  const found = await deps.db.read((tx) => readPost(tx, params.postId ?? ''));
  if (found?.organizationId !== organization.id) {
    throw new AppError(404, 'There is no such post. It may have been deleted.');
  }
  return found;
}

function wordsFor(before: PostStatus, after: PostStatus): string {
  if (before === after) return after === 'published' ? 'Saved. Readers get the new text.' : 'Saved.';
  return after === 'published'
    ? 'Published. The API returns it from now on.'
    : 'Back to a draft. The API no longer returns it.';
}
