/** @jsxRuntime automatic @jsxImportSource preact */
import { AppError } from '../../../lib/app-error.ts';
import { contentTypes } from '../../../posts/model.ts';
import { createPost } from '../../../posts/service.ts';
import { get, type MemberVisit, type Page, post, redirect, view } from '../../page.ts';
import { FormError } from '../../view/form.tsx';
import { contentTypeOf, previewOf } from './preview.tsx';
import { TextFields } from './text-fields.tsx';
import { asSentence, typeNames } from './words.tsx';

const PATH = '/dashboard/:organizationId/posts/~/new';

export const writing: readonly Page[] = [
  get(PATH, 'member', async (visit) => showNew(visit)),
  post(PATH, 'member', async (visit) => {
    const { deps, organization, base } = visit;
    try {
      const { id } = await createPost(deps, organization.id, givenIn(visit));
      return redirect(`${base}/posts/${id}`, 'Kept as a draft. Nobody reads it until you publish it.');
    } catch (error) {
      if (!(error instanceof AppError) || error.status !== 400) throw error;
      return showNew(visit, error.message);
    }
  }),
];

async function showNew(visit: MemberVisit, error: string | null = null) {
  const { base } = visit;
  const { title, markdown, contentType } = givenIn(visit);
  const isAbove = error !== null && !/^(?:title|markdown) /.test(error);
  const preview = await previewOf(visit.deps, { contentType, markdown });
  return view(
    'New post',
    <>
      <h1>New post</h1>
      <p class="lede">It becomes a draft. You publish it when you like.</p>
      <form method="post" action={`${base}/posts/~/new`} class="post">
        <FormError error={isAbove ? asSentence(error) : null} />
        <TextFields base={base} title={title} markdown={markdown} error={error} autoFocus preview={preview}>
          <div class="field">
            <label for="field-contentType">Type</label>
            <select id="field-contentType" name="contentType">
              {contentTypes.map((type) => (
                <option value={type} selected={type === contentType}>
                  {typeNames[type]}
                </option>
              ))}
            </select>
          </div>
        </TextFields>
        <div class="bar">
          <button type="submit" class="button go">
            Keep as a draft
          </button>
          <a href={`${base}/posts`}>Back to the posts</a>
        </div>
      </form>
    </>,
    { section: 'posts', ...(error === null ? {} : { status: 400 }) },
  );
}

function givenIn({ form }: MemberVisit) {
  return {
    title: form.get('title') ?? '',
    markdown: (form.get('markdown') ?? '').replaceAll('\r\n', '\n'),
    contentType: contentTypeOf(form),
  };
}
