import { Type } from '@sinclair/typebox';
import { AppError } from '../../../lib/app-error.ts';
import { ContentType, DEFAULT_CONTENT_TYPE, type OwnedPost, type Post } from '../../../posts/model.ts';
import { createPost, editPost } from '../../../posts/service.ts';
import { type EditState, mergeOf, seenOf } from '../../edit.ts';
import { EDIT_CONFLICT, formState, readFields } from '../../fields.ts';
import { type Fragment, fragment, type MemberVisit, type Page, post } from '../../page.ts';
import { EditConflict } from '../../view/difference.tsx';
import { heldNotice, requirePost } from './suggestion.tsx';
import { editable, editWords, shown } from './words.tsx';

// Saves what the script of the editor sends while a person types. Each response is an element with `data-outcome`.

const AutosaveForm = Type.Object({
  title: Type.String({ label: 'Title', subject: 'Title' }),
  markdown: Type.String({ label: 'Text', subject: 'Markdown' }),
  contentType: Type.Optional(Type.Union(ContentType.anyOf)),
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
      const { title: typed, markdown, contentType = DEFAULT_CONTENT_TYPE, mark, explicit } = values;
      if (mark === '') throw new AppError(400, 'The form is incomplete. Reload the page.');
      const title = typed.trim() === '' ? UNTITLED : typed;
      const created = await createPost(deps, organization.id, { title, markdown, contentType }, { mark });
      const text = { title: title.trim(), markdown, contentType };
      const merge = (post: OwnedPost) => {
        // An earlier request with this mark may have sent an older text, but nobody may have changed it.
        if (post.updatedAt === created.createdAt || Bun.deepEquals(editable(post), text)) return text;
        throw new AppError(409, 'Somebody else changed this draft. Open it in the list of posts');
      };
      const post = await editPost(deps, created.id, { merge, isAutosave: !explicit }, organization.id);
      return { post, seen: seenOf(shown(post)), held: null };
    }),
  ),

  post('/dashboard/:organizationId/posts/:postId/autosave', 'member', (visit) =>
    answered(visit, async () => {
      const { deps, organization, params, form } = visit;
      const { title, explicit, markdown, contentType } = readFields(AutosaveForm, form);
      const isBlank = title.trim() === '' && !explicit;
      const typed = {
        markdown,
        ...(!isBlank && { title: title.trim() }),
        ...(contentType !== undefined && { contentType }),
      };
      const merge = mergeOf(visit);
      const edit = {
        merge: (stored: OwnedPost) => merge.changes(typed, shown(stored)),
        isAutosave: !explicit,
      };
      const post = await editPost(deps, params.postId ?? '', edit, organization.id);
      const after: Partial<Record<string, string>> = shown(post);
      const isOther = Object.entries(typed).some(([name, value]) => after[name] !== value);
      const held = post.status === 'published' && isOther ? await heldNotice(visit, post.id) : null;
      return { post, seen: merge.seenAfter(typed, shown(post)), held };
    }),
  ),
];

async function answered(
  visit: MemberVisit,
  save: () => Promise<{ post: Post; seen: string; held: string | null }>,
): Promise<Fragment> {
  try {
    const { post, seen, held } = await save();
    const { id, updatedAt, status } = post;
    const path = `${visit.base}/posts/${id}`;
    return fragment(
      <p
        data-outcome="saved"
        data-seen={seen}
        data-updated-at={updatedAt}
        data-path={path}
        data-status={status}
      >
        {held === null ? 'Saved' : `Saved. ${held}`}
      </p>,
    );
  } catch (error) {
    if (!(error instanceof AppError) || ![400, 409].includes(error.status)) throw error;
    return error.code === EDIT_CONFLICT ? showConflict(visit, error) : refused(visit, error);
  }
}

function refused({ form }: MemberVisit, error: AppError): Fragment {
  const { fields, problem } = formState(AutosaveForm, form, error);
  const outcome = error.code === 'post_published' ? 'published' : 'invalid';
  return fragment(<p data-outcome={outcome}>{fields.title.error ?? fields.markdown.error ?? problem}</p>);
}

async function showConflict(visit: MemberVisit, error: AppError): Promise<Fragment> {
  const { post, path } = await requirePost(visit);
  const { seen, conflicts } = error.details as unknown as EditState;
  return fragment(
    <div data-outcome="conflict" data-seen={seen} data-updated-at={post.updatedAt}>
      <EditConflict conflicts={conflicts} to={path} words={editWords} />
    </div>,
  );
}
