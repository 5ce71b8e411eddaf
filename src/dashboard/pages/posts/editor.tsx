/** @jsxRuntime automatic @jsxImportSource preact */
import { type Static, Type } from '@sinclair/typebox';
import type { ComponentChildren, VNode } from 'preact';
import { listDeliveries } from '../../../deliveries/log-store.ts';
import type { AppError } from '../../../lib/app-error.ts';
import { ContentType, MAX_LINKEDIN_LENGTH, type Post, PostStatus } from '../../../posts/model.ts';
import { createPost, editPost, plainTextFor } from '../../../posts/service.ts';
import { fragment, get, type MemberVisit, type Page, post, redirect, view } from '../../page.ts';
import { type FieldState, formState, readFields, submit } from '../../submission.ts';
import { Copy, Select, When } from '../../view/elements.tsx';
import { Field, Form, FormError, TextArea } from '../../view/form.tsx';
import { Columns } from '../../view/layout.tsx';
import { proseOf } from '../../view/prose.tsx';
import { describeOrigin, originOf, typeNames, typeOptions } from './origin.ts';
import { isOfPanel, publishPages, publishPanel, publishScript } from './publish.tsx';
import { Conflict, findSuggestion, requirePost, SuggestionNote } from './suggestion.tsx';

// Paths beside the posts are below `~`, which is in no id: an imported post may be called `new`.
const NEW = '/dashboard/:organizationId/posts/~/new';
const POST = '/dashboard/:organizationId/posts/:postId';

/** The preview renders no more than a post can hold. */
const MAX_PREVIEW_LENGTH = 200_000;

const title = Type.String({ label: 'Title', subject: 'Title' });
const markdown = Type.String({ label: 'Text, in Markdown', subject: 'Markdown' });
const contentType = Type.Union(ContentType.anyOf, { label: 'Type', default: 'changelog' });
const NewPostForm = Type.Object({ title, markdown, contentType });
const PreviewForm = Type.Object({ markdown, contentType });
/** `seen`: the `updatedAt` of the post when the person opened it. */
const EditForm = Type.Object({
  title: Type.Optional(title),
  markdown: Type.Optional(markdown),
  status: Type.Optional(Type.Union(PostStatus.anyOf)),
  seen: Type.Optional(Type.String()),
});

export const editorPages: readonly Page[] = [
  get(NEW, 'member', (visit) => showNew(visit)),

  post(NEW, 'member', (visit) =>
    submit(
      visit,
      NewPostForm,
      async (values) => {
        const { id } = await createPost(visit.deps, visit.organization.id, values);
        return redirect(
          `${visit.base}/posts/${id}`,
          'Saved as a draft. It is not public until you publish it.',
        );
      },
      (error) => showNew(visit, error),
    ),
  ),

  post('/dashboard/:organizationId/posts/~/preview', 'member', async ({ deps, form }) => {
    const values = readFields(PreviewForm, form);
    const shown = values.markdown.slice(0, MAX_PREVIEW_LENGTH).toWellFormed();
    return fragment(await previewOf(deps, { ...values, markdown: shown }));
  }),

  get(POST, 'member', (visit) => showEditor(visit)),

  post(POST, 'member', (visit) =>
    submit(
      visit,
      EditForm,
      async (values) => {
        const { post, path } = await requirePost(visit);
        const { status } = await editPost(visit.deps, post.id, values);
        return redirect(path, resultOf(post.status, status));
      },
      (error) => showEditor(visit, error),
    ),
  ),

  ...publishPages(showEditor),
];

function resultOf(before: PostStatus, after: PostStatus): string {
  if (before === after) return after === 'published' ? 'Saved. The API returns the new text.' : 'Saved.';
  return after === 'published'
    ? 'Published. The API returns it from now on.'
    : 'Back to a draft. The API no longer returns it.';
}

async function showNew(visit: MemberVisit, error?: AppError) {
  const { base, form, deps } = visit;
  const values = readFields(NewPostForm, form);
  const { fields, problem } = formState(NewPostForm, values, error);
  return view(
    'New post',
    <>
      <h1>New post</h1>
      <p class="lede">It becomes a draft. Publish it when you are ready.</p>
      <Form to={`${base}/posts/~/new`} problem={problem} layout="post" button="Save draft">
        <TextFields base={base} fields={fields} preview={await previewOf(deps, values)} autoFocus>
          <Select {...fields.contentType} options={typeOptions} />
        </TextFields>
      </Form>
    </>,
    { section: 'posts', error },
  );
}

/** Shows the post or, with an error, the posted text. */
async function showEditor(visit: MemberVisit, error?: AppError) {
  const { base, deps, form } = visit;
  const { post, path } = await requirePost(visit);
  const now = deps.clock.now();
  const posted = readFields(EditForm, form);
  const text = { title: posted.title ?? post.title, markdown: posted.markdown ?? post.markdown };
  const ofText = isOfPanel(visit) ? undefined : error;
  const { fields, problem } = formState(EditForm, text, ofText);
  const isConflict = error?.code === 'post_changed';
  const suggestion = isConflict ? null : await findSuggestion(deps, post);
  const isStored = text.markdown === post.markdown;
  const preview = await previewOf(deps, isStored ? post : { ...text, contentType: post.contentType });
  return view(
    post.title,
    <>
      <h1 class="hidden">{`Edit ${post.title}`}</h1>
      <EditorBar post={post} />
      <OriginLine post={post} source={await findSource(visit, post)} now={now} />
      {suggestion && <SuggestionNote post={post} path={path} suggestion={suggestion} now={now} />}
      {isConflict ? <Conflict post={post} path={path} typed={text} /> : null}
      <Columns details={await publishPanel(visit, { post, path }, error)}>
        <form method="post" action={path} id="post" class="post">
          <FormError error={isConflict ? null : problem} />
          <input type="hidden" name="seen" value={post.updatedAt} />
          <input type="hidden" name="contentType" value={post.contentType} />
          <TextFields base={base} fields={fields} preview={preview} />
        </form>
      </Columns>
    </>,
    { section: 'posts', error, scripts: [publishScript] },
  );
}

/** The title and the Markdown beside the preview, which the script keeps up to date. */
function TextFields({
  base,
  fields,
  preview,
  autoFocus = false,
  children,
}: {
  base: string;
  fields: Record<'title' | 'markdown', FieldState>;
  preview: VNode;
  autoFocus?: boolean;
  children?: ComponentChildren;
}) {
  return (
    <>
      <Field {...fields.title} kind="title-field" autoFocus={autoFocus} />
      {children}
      <div class="editor">
        <TextArea {...fields.markdown} more={{ 'data-preview': `${base}/posts/~/preview` }} />
        <section aria-labelledby="preview-label">
          <h2 class="label" id="preview-label">
            Preview
          </h2>
          <div class="card preview" id="preview">
            {preview}
          </div>
        </section>
      </div>
    </>
  );
}

/** A post as readers see it: rendered, or for LinkedIn as plain text. `content`: the stored plain text. */
async function previewOf(
  deps: MemberVisit['deps'],
  { contentType, markdown, content }: Static<typeof PreviewForm> & { content?: string },
): Promise<VNode> {
  if (markdown.trim() === '') return <p class="dim">The preview of your text appears here.</p>;
  if (contentType !== 'linkedin_post') return proseOf(deps, markdown);
  const text = content ?? plainTextFor(contentType, markdown);
  const isTooLong = text.length > MAX_LINKEDIN_LENGTH;
  const length = `${text.length.toLocaleString('en')} of ${MAX_LINKEDIN_LENGTH.toLocaleString('en')} characters`;
  return (
    <>
      <div id="plain-text" class="prose plain">
        {text}
      </div>
      <p class={isTooLong ? 'error' : 'hint'}>
        {isTooLong ? `${length}: too long for LinkedIn.` : `${length}, as plain text.`}
      </p>
    </>
  );
}

/** The button belongs to the form below. Enter presses it, because it comes before those of the panel. */
function EditorBar({ post: { status, contentType } }: { post: Post }) {
  return (
    <div class="bar editor-bar">
      <span class="grow" />
      {contentType === 'linkedin_post' ? <Copy text="plain-text" label="Copy the text" /> : null}
      <button type="submit" form="post" class={status === 'draft' ? 'button' : 'button go'}>
        Save
      </button>
    </div>
  );
}

/** The path of the newest arrival of a post's delivery, while the log has it. */
async function findSource({ deps, organization, base }: MemberVisit, post: Post) {
  const { deliveryId: referenceId } = originOf(post);
  if (referenceId === null) return undefined;
  const filter = { anyId: referenceId, status: 'processed' } as const;
  const [source] = await deps.db.read((tx) => listDeliveries(tx, organization.id, filter, { limit: 1 }));
  return source && `${base}/deliveries/${source.id}`;
}

function OriginLine({ post, source, now }: { post: Post; source: string | undefined; now: Date }) {
  const { url, author } = originOf(post);
  const words = describeOrigin(post);
  const parts = [
    typeNames[post.contentType],
    url === null ? (
      (words ?? 'written or imported by hand')
    ) : (
      <a href={url} rel="noopener nofollow">
        {words ?? 'the source'}
      </a>
    ),
    author && `by ${author}`,
    source && <a href={source}>the delivery</a>,
    <When at={post.createdAt} now={now} />,
    post.updatedAt !== post.createdAt && (
      <>
        changed <When at={post.updatedAt} now={now} />
      </>
    ),
  ];
  return <p class="dim origin">{parts.map((part) => part && <span>{part}</span>)}</p>;
}
