/** @jsxRuntime automatic @jsxImportSource preact */
import { Type } from '@sinclair/typebox';
import { AppError } from '../../../lib/app-error.ts';
import { ContentType, type Post } from '../../../posts/model.ts';
import { createPost, editPost } from '../../../posts/service.ts';
import { type Fragment, fragment, type MemberVisit, type Page, post } from '../../page.ts';
import { formState, readFields } from '../../submission.ts';
import { Conflict, requirePost } from './suggestion.tsx';

// Saves what the script of the editor sends while a person types. Each response is an element with `data-outcome`.

const AutosaveForm = Type.Object({
  title: Type.String({ label: 'Title', subject: 'Title' }),
  markdown: Type.String({ label: 'Text', subject: 'Markdown' }),
  contentType: Type.Optional(Type.Union(ContentType.anyOf)),
  /** The `updatedAt` of the version that the text is based on. */
  seen: Type.String(),
  /** Made by the script, so that a lost response does not make a second draft. */
  mark: Type.String(),
  /** The person pressed the keys to save, which may change a published post. */
  explicit: Type.Boolean(),
});

/** A draft needs a title, and a person may begin with the text. */
const UNTITLED = 'Untitled';

export const routes: readonly Page[] = [
  post('/dashboard/:organizationId/posts/~/autosave', 'member', (visit) =>
    answered(visit, async () => {
      const { deps, organization, form } = visit;
      const values = readFields(AutosaveForm, form);
      const { title: typed, markdown, contentType = 'changelog', mark, explicit } = values;
      if (mark === '') throw new AppError(400, 'The form is incomplete. Reload the page.');
      const title = typed.trim() === '' ? UNTITLED : typed;
      const created = await createPost(deps, organization.id, { title, markdown, contentType }, mark);
      // An earlier request with this mark may have sent an older text.
      const edit = { title, markdown, contentType, seen: created.createdAt };
      return editPost(deps, created.id, { ...edit, isAutosave: !explicit }, organization.id);
    }),
  ),

  post('/dashboard/:organizationId/posts/:postId/autosave', 'member', (visit) =>
    answered(visit, async () => {
      const { deps, organization, params, form } = visit;
      const { title, explicit, mark: _, ...rest } = readFields(AutosaveForm, form);
      const isBlank = title.trim() === '' && !explicit;
      const edit = { ...rest, ...(!isBlank && { title }), isAutosave: !explicit };
      return editPost(deps, params.postId ?? '', edit, organization.id);
    }),
  ),
];

async function answered(visit: MemberVisit, save: () => Promise<Post>): Promise<Fragment> {
  try {
    const { id, updatedAt, status } = await save();
    const path = `${visit.base}/posts/${id}`;
    return fragment(
      <p data-outcome="saved" data-seen={updatedAt} data-path={path} data-status={status}>
        Saved
      </p>,
    );
  } catch (error) {
    if (!(error instanceof AppError) || ![400, 409].includes(error.status)) throw error;
    const isConflict = error.code === 'post_changed' && visit.params.postId !== undefined;
    return isConflict ? showConflict(visit) : refused(visit, error);
  }
}

function refused({ form }: MemberVisit, error: AppError): Fragment {
  const { fields, problem } = formState(AutosaveForm, form, error);
  const outcome = error.code === 'post_published' ? 'published' : 'invalid';
  return fragment(<p data-outcome={outcome}>{fields.title.error ?? fields.markdown.error ?? problem}</p>);
}

async function showConflict(visit: MemberVisit): Promise<Fragment> {
  const { title, markdown } = readFields(AutosaveForm, visit.form);
  const { post, path } = await requirePost(visit);
  return fragment(
    <div data-outcome="conflict" data-seen={post.updatedAt}>
      <Conflict post={post} path={path} typed={{ title, markdown }} />
    </div>,
  );
}
