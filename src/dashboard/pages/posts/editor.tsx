import { type Static, Type } from '@sinclair/typebox';
import type { VNode } from 'preact';
import { listContents } from '../../../drafting/roundups/make.ts';
import { findRoundupOfPost, MAX_READ } from '../../../drafting/roundups/store.ts';
import { findDraftOfPost } from '../../../drafting/store.ts';
import { findRangeProblem } from '../../../drafting/triggers/range-store.ts';
import { listDeliveries } from '../../../integrations/deliveries/log-store.ts';
import { AppError } from '../../../lib/app-error.ts';
import { askApproval } from '../../../posts/approval-requests.ts';
import { hashOfSeen } from '../../../posts/approval-rule.ts';
import { contentFor } from '../../../posts/content.ts';
import {
  ContentType,
  contentTypeRules,
  DEFAULT_CONTENT_TYPE,
  isPublic,
  type Post,
  PostStatus,
} from '../../../posts/model.ts';
import { createPost, editPost } from '../../../posts/service.ts';
import { findPublication, postAddress } from '../../../readers/public/model.ts';
import { type EditState, editState, openedWith } from '../../edit.ts';
import { EDIT_CONFLICT, type FieldState, formState, type Problem, readFields } from '../../fields.ts';
import { fragment, get, type MemberVisit, type Page, post, redirect, view } from '../../page.ts';
import { editForm, postForm } from '../../submission.ts';
import { EditConflict } from '../../view/difference.tsx';
import { Columns, counted, type Fact, Facts, Link, proseOf, When } from '../../view/elements.tsx';
import { Field, FormError, Select, TextArea } from '../../view/form.tsx';
import { copyProblems, InsertImage, imageScript } from '../media/list.tsx';
import { readApproval } from './approval.tsx';
import { askingPath, isOfButton, isOfPanel, mustAsk, publishPages, publishPanel } from './publish.tsx';
import {
  findSuggestion,
  findSuggestions,
  heldNotice,
  requirePost,
  type Shown,
  SuggestedChanges,
  SuggestionNote,
} from './suggestion.tsx';
import { editorScripts, Toolbar } from './toolbar.tsx';
import { changedSince } from './versions.tsx';
import { wordingPanel } from './wording.tsx';
import { ChangeList, describeOrigin, editable, editWords, originOf, shown, typeOptions } from './words.tsx';

// Paths beside the posts are below `~`, which is in no id: an imported post may be called `new`.
const NEW = '/dashboard/:organizationId/posts/~/new';
const POST = '/dashboard/:organizationId/posts/:postId';

/** The preview renders no more than a post can hold. */
const MAX_PREVIEW_LENGTH = 200_000;

const title = Type.String({ label: 'Title', subject: 'Title' });
const markdown = Type.String({ label: 'Text, in Markdown', subject: 'Markdown' });
const contentType = Type.Union(ContentType.anyOf, { label: 'Type' });
const NewPostForm = Type.Object({
  title,
  markdown,
  contentType: Type.Union(ContentType.anyOf, { label: 'Type', default: DEFAULT_CONTENT_TYPE }),
});
const PreviewForm = Type.Object({
  markdown,
  contentType: Type.Union(ContentType.anyOf, { default: DEFAULT_CONTENT_TYPE }),
});
const EditForm = Type.Object({
  title: Type.Optional(title),
  markdown: Type.Optional(markdown),
  contentType: Type.Optional(contentType),
  /** `asked`: for its approval. */
  status: Type.Optional(Type.Union([...PostStatus.anyOf, Type.Literal('asked')])),
});

export const routes: readonly Page[] = [
  get(NEW, 'member', (visit) => showNew(visit)),

  postForm(NEW, 'member', NewPostForm, showNew, async ({ deps, organization }, values) => {
    const { id } = await createPost(deps, organization.id, values);
    return redirect(`posts/${id}`, 'Saved as a draft. It is not public until you publish it.');
  }),

  post('/dashboard/:organizationId/posts/~/preview', 'member', async ({ deps, form }) => {
    const values = readFields(PreviewForm, form);
    return fragment(await previewOf(deps, values));
  }),

  get(POST, 'member', (visit) => showEditor(visit)),

  editForm(POST, 'member', EditForm, showEditor, async (visit, { status: wanted, ...values }, merge) => {
    const { post, path } = await requirePost(visit);
    const given = { ...values, title: values.title?.trim() };
    const typed = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
    const hasText = Object.keys(typed).length > 0;
    const isPublishing = wanted === 'published' && post.status === 'draft';
    const isAsked = isPublishing && (await mustAsk(visit, { ...post, ...typed }));
    const saved = await editPost(visit.deps, post.id, {
      status: isAsked || wanted === 'asked' ? undefined : wanted,
      ...(hasText && {
        merge: (stored) => {
          // Nobody publishes a text that they have not seen.
          const isWhole = wanted === 'published' || wanted === 'asked';
          const changes = merge.changes(typed, shown(stored), { isWhole });
          // Nor one that they meant to save in a draft.
          const isDraft = wanted === 'draft' || stored.status === 'draft';
          if (!isDraft && Object.keys(changes).length > 0) merge.requireSeen({ status: stored.status });
          return changes;
        },
      }),
    });
    // A reload shows the question again, and sends nothing.
    if (isAsked) return redirect(askingPath(path));
    if (wanted === 'asked') {
      await askApproval(visit.deps, post.id, (stored) => {
        if (hashOfSeen(stored) !== hashOfSeen({ ...stored, ...editable(saved) })) throw changedMeanwhile();
      });
      return redirect(path, 'Asked for approval. Publishers and owners find it under Attention.');
    }
    const held = saved.status === 'published' && hasText ? await heldNotice(visit, post.id) : null;
    return redirect(
      path,
      held ?? resultOf(post.status, saved.status, values.contentType ?? post.contentType),
    );
  }),

  ...publishPages(showEditor),
];

function changedMeanwhile(): AppError {
  return new AppError(409, 'Somebody changed the post in the meantime. Read it, then ask again');
}

function resultOf(before: PostStatus, after: PostStatus, type: ContentType): string {
  if (before === after) return after === 'published' ? 'Saved. The API returns the new text.' : 'Saved.';
  const { pastedInto } = contentTypeRules[type];
  if (after === 'published' && pastedInto !== null)
    return `Published to the API. To post it on ${pastedInto.name}, select “Copy for ${pastedInto.name}” and paste it there.`;
  return after === 'published'
    ? 'Published. The API returns it from now on.'
    : 'Unpublished. The API no longer returns it.';
}

async function showNew(visit: MemberVisit, error?: AppError) {
  const values = readFields(NewPostForm, visit.form);
  return editorPage(visit, {
    about: { title: 'New post', error },
    button: { label: 'Save draft', kind: 'go' },
    to: `${visit.base}/posts/~/new`,
    autosave: `${visit.base}/posts/~/autosave`,
    status: 'new',
    state: formState(NewPostForm, values, error),
    isUnsaved: error !== undefined,
    preview: await previewOf(visit.deps, values),
    type: <p class="hint">The post is a draft until you publish it.</p>,
  });
}

/** Shows the post or, with an error, the posted text. */
async function showEditor(visit: MemberVisit, error?: AppError) {
  const { deps, form } = visit;
  const { post, path } = await requirePost(visit);
  const posted = readFields(EditForm, form);
  const approval = await readApproval(visit, post);
  const { askedById = null, change = null } = approval?.approval ?? {};
  // A person goes on with a change of their own that readers do not see yet.
  const own = change !== null && askedById === visit.user.id ? { ...post, ...change } : post;
  const { title = own.title, markdown = own.markdown, contentType = own.contentType } = posted;
  const text = { title, markdown, contentType };
  const isPanel = isOfPanel(visit);
  const ofText = isPanel ? undefined : error;
  const isConflict = error?.code === EDIT_CONFLICT && !isPanel;
  const stored = shown(post);
  const suggestion = isConflict ? null : await findSuggestion(deps, post);
  const changes = isConflict ? [] : await findSuggestions(deps, post);
  const isStored = markdown === post.markdown && contentType === post.contentType;
  const waiting = changes.length + (suggestion ? 1 : 0);
  return editorPage(visit, {
    about: {
      title: post.title,
      heading: 'Edit post',
      // The text stays in its place, whatever waits below it.
      tag: waiting > 0 && (
        <a class="tag suggested" href={suggestion ? '#suggestion' : '#suggestions'}>
          {counted(waiting, 'suggestion')}
        </a>
      ),
      error,
    },
    button: { label: 'Save', kind: post.status === 'draft' ? '' : 'go' },
    to: path,
    autosave: `${path}/autosave`,
    status: post.status,
    state: formState(EditForm, text, ofText),
    edit: isPanel ? openedWith(stored) : editState(visit, stored, ofText),
    changed: error && isOfButton(error) ? await changedSince(visit, post.id, error) : null,
    isUnsaved: error !== undefined && !isPanel,
    preview: await previewOf(deps, isStored ? post : text),
    above: <>{await copyProblems(deps, post)}</>,
    below: (
      <>
        {suggestion && <SuggestionNote {...{ post, path, suggestion }} />}
        <SuggestedChanges {...{ post, path, changes }} />
      </>
    ),
    beside: (
      <>
        {await publishPanel(visit, { post, path, approval }, error)}
        {await wordingPanel(visit, { post, path })}
        <Facts facts={await readFacts(visit, { post, path })} />
      </>
    ),
  });
}

interface EditorProps {
  about: Parameters<typeof view>[0];
  button: { label: string; kind: '' | 'go' };
  to: string;
  autosave: string;
  status: PostStatus | 'new';
  state: {
    fields: Record<'title' | 'markdown' | 'contentType', FieldState>;
    problem: Problem | null;
  };
  edit?: EditState;
  /** Changes of somebody else, if it is not the text that is in conflict. */
  changed?: VNode | null;
  /** The fields hold a text that was refused. */
  isUnsaved: boolean;
  preview: VNode;
  above?: VNode;
  below?: VNode;
  type?: VNode;
  beside?: VNode;
}

/** The page with the form of a post. The attributes of the form are for the script that saves while a person types. */
function editorPage(visit: MemberVisit, given: EditorProps) {
  const { about, button, to, autosave, status, state, isUnsaved, preview, above, below, type, beside } =
    given;
  const { edit = { seen: '', base: '', conflicts: [] }, changed = null } = given;
  const { fields, problem } = state;
  return view(
    {
      ...about,
      crumbs: [{ to: 'posts', label: 'Posts' }],
      actions: (
        // The button belongs to the form below. Enter presses it, because it comes before those of the panel.
        <button type="submit" form="post" class={`button ${button.kind}`.trim()}>
          {button.label}
        </button>
      ),
      class: 'post-page',
      scripts: [...editorScripts, imageScript],
    },
    <Columns
      details={
        <>
          {/* Part of the form `post`. `data-stays`: a new post that becomes a draft keeps it in its place. */}
          <div class="card pad type-of-post" data-stays>
            <Select {...fields.contentType} options={typeOptions} form="post" />
            {type}
          </div>
          {beside}
        </>
      }
    >
      {above}
      {edit.conflicts.length === 0 && changed}
      <div id="conflict">
        {edit.conflicts.length > 0 &&
          (changed ?? <EditConflict conflicts={edit.conflicts} to={to} words={editWords} />)}
      </div>
      <form
        method="post"
        action={to}
        id="post"
        class="post"
        data-autosave={autosave}
        data-status={status}
        data-unsaved={isUnsaved ? '' : undefined}
      >
        <FormError error={problem} />
        <input type="hidden" name="seen" value={edit.seen} data-base={edit.base} autoComplete="off" />
        <input type="hidden" name="mark" value="" autoComplete="off" />
        <Field {...fields.title} kind="title-field" placeholder="Title" autoFocus={status === 'new'} />
        <Toolbar textArea="field-markdown" />
        <div class="editor">
          <TextArea {...fields.markdown} more={{ 'data-preview': `${visit.base}/posts/~/preview` }} />
          <section aria-labelledby="preview-label" class="preview-pane">
            <h2 class="label" id="preview-label">
              Preview
            </h2>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keys */}
            <div class="card preview" id="preview" dir="auto" tabIndex={0}>
              {preview}
            </div>
          </section>
        </div>
        <p class="hint" id="text-count" data-script hidden />
        <InsertImage />
      </form>
      {below}
    </Columns>,
  );
}

/** A post as readers see it: rendered, or as the plain text to paste. `content`: the stored plain text. */
async function previewOf(
  deps: MemberVisit['deps'],
  { contentType, content, ...given }: Static<typeof PreviewForm> & { content?: string },
): Promise<VNode> {
  const markdown = given.markdown.slice(0, MAX_PREVIEW_LENGTH).toWellFormed();
  if (markdown.trim() === '') return <p class="dim">The preview of your text appears here.</p>;
  const { pastedInto } = contentTypeRules[contentType];
  if (pastedInto === null) return proseOf(deps, markdown);
  const text = content ?? (await contentFor(contentType, markdown));
  const { name, maxLength } = pastedInto;
  const isTooLong = text.length > maxLength;
  const length = `${text.length.toLocaleString('en')} of ${maxLength.toLocaleString('en')} characters`;
  return (
    <>
      <div id="plain-text" class="prose plain">
        {text}
      </div>
      <p class={isTooLong ? 'error' : 'hint'} data-count>
        {isTooLong ? `${length}: too long for ${name}.` : `${length}, as plain text.`}
      </p>
    </>
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

async function readFacts(visit: MemberVisit, { post, path }: Shown): Promise<Fact[]> {
  const { db, publicUrl } = visit.deps;
  const source = await findSource(visit, post);
  const { rangeProblem, draft, roundup, publicly } = await db.read(async (tx) => {
    const draft = await findDraftOfPost(tx, post.id);
    const roundup = await findRoundupOfPost(tx, post.id);
    return {
      draft,
      roundup: roundup && { ...roundup, contents: await listContents(tx, roundup.changes) },
      rangeProblem: await findRangeProblem(tx, draft),
      publicly: isPublic(post) ? await findPublication(tx, post.organizationId) : null,
    };
  });
  const { leftOut = [] } = draft ?? roundup ?? {};
  const { url, author } = originOf(post);
  const words = describeOrigin(post);
  const link = url && (
    <a href={url} rel="noopener nofollow">
      {words ?? 'Open source'}
    </a>
  );
  return [
    [
      'Readers',
      publicly?.isPageOn && <a href={postAddress(publicly, publicUrl(), post.id)}>View on the public page</a>,
    ],
    [
      'Source',
      roundup ? (
        <Link to={`triggers/roundups/${roundup.roundup.id}`}>{roundup.roundup.name}</Link>
      ) : (
        (link ?? words ?? 'Written or imported by hand')
      ),
    ],
    [
      'Holds',
      roundup && (
        <ChangeList changes={roundup.contents} says={roundup.changes.length < MAX_READ ? '' : ' and more'} />
      ),
    ],
    ['Author', author],
    ['Changes', rangeProblem],
    ['Left out', leftOut.length > 0 && <ChangeList changes={leftOut} says="" />],
    ['Delivery', source && <a href={source}>Open delivery</a>],
    ['Changed', post.updatedAt === post.createdAt ? null : <When at={post.updatedAt} />],
    ['Versions', <a href={`${path}/versions`}>Version history</a>],
  ];
}
