/** @jsxRuntime automatic @jsxImportSource preact */
import { Type } from '@sinclair/typebox';
import { AppError } from '../../../lib/app-error.ts';
import { fileNameOf } from '../../../media/model.ts';
import { getImage, removeImage, describeImage as saveDescription } from '../../../media/service.ts';
import { listPostsWith } from '../../../media/store.ts';
import { editForm, editState } from '../../edit.ts';
import { data, get, type MemberVisit, type Page, post, redirect, view } from '../../page.ts';
import { formState } from '../../submission.ts';
import { counted, ToCopy, When } from '../../view/elements.tsx';
import { Danger, Field, Form } from '../../view/form.tsx';
import { Columns, Facts, PageHead } from '../../view/layout.tsx';
import { asksForJson, describeImage, refusal, usesOf } from './list.tsx';

const PATH = '/dashboard/:organizationId/media/:mediaId';

/** Posts that are named; more are counted. */
const MAX_POSTS = 20;

const AltForm = Type.Object({
  alt: Type.String({
    label: 'Description',
    hint: "For people who can't see the image. Existing posts keep their description.",
  }),
});

export const routes: readonly Page[] = [
  get(PATH, 'member', (visit) => showImage(visit)),
  /** For the form of this page, and for the editor's script, which asks for JSON. */
  editForm(
    PATH,
    'member',
    AltForm,
    (visit, error) => (asksForJson(visit) ? refusal(error) : showImage(visit, error)),
    async (visit, values, merge) => {
      const { id } = await requireImage(visit);
      const alt = values.alt.trim();
      const described = { organizationId: visit.organization.id, id, alt };
      await saveDescription(visit.deps, described, (stored) => {
        merge.changes({ alt }, { alt: stored.alt });
      });
      const image = await requireImage(visit);
      if (asksForJson(visit)) return data({ alt: image.alt, ...usesOf(visit, image) });
      return redirect(`${visit.base}/media/${id}`, 'Saved.');
    },
  ),
  post(`${PATH}/delete`, 'member', async (visit) => {
    const { id } = await requireImage(visit);
    const { name } = await removeImage(visit.deps, visit.organization.id, id);
    return redirect(`${visit.base}/media`, `Deleted the image “${name.slice(0, 80).toWellFormed()}”.`);
  }),
];

async function requireImage({ deps, organization, params }: MemberVisit) {
  try {
    return await getImage(deps, organization.id, params.mediaId ?? '');
  } catch (error) {
    if (!(error instanceof AppError) || error.status !== 404) throw error;
    throw new AppError(404, 'Image not found. It may have been deleted.');
  }
}

async function showImage(visit: MemberVisit, error?: AppError) {
  const { deps, organization, base, form } = visit;
  const image = await requireImage(visit);
  const posts = await deps.db.read((tx) =>
    listPostsWith(tx, organization.id, fileNameOf(image), MAX_POSTS + 1),
  );
  const { path, markdown } = usesOf(visit, image);
  const { fields, problem } = formState(AltForm, { alt: form.get('alt') ?? image.alt }, error);
  const to = `${base}/media/${image.id}`;
  const edit = {
    ...editState(visit, { alt: image.alt }, error),
    noun: 'image',
    labels: { alt: fields.alt.label },
  };
  return view(
    image.name,
    <>
      <PageHead
        title={image.name}
        crumbs={[
          { to: `${base}/posts`, label: 'Posts' },
          { to: `${base}/media`, label: 'Images' },
        ]}
      />
      <Columns
        details={
          <Facts
            facts={[
              ['Size', describeImage(image)],
              ['Uploaded', <When at={image.createdAt} now={deps.clock.now()} />],
              ['By', image.actorName],
              ['Used in', <UsedIn base={base} posts={posts} />],
            ]}
          />
        }
      >
        <p class="card image-large">
          <img src={path} alt={image.alt} width={image.width} height={image.height} />
        </p>
        <h2 class="label">Markdown</h2>
        <ToCopy text={markdown} label="Copy Markdown" />
        <Form to={to} problem={problem} button="Save description" edit={edit}>
          <Field {...fields.alt} required={false} />
        </Form>
        <Danger to={`${to}/delete`} label="Delete image" button="Delete image">
          {posts.length === 0
            ? 'No post uses it. Other pages that show it will have a gap.'
            : `${many(posts.length)} will show a gap in its place. You can't undo this.`}
        </Danger>
      </Columns>
    </>,
    { section: 'posts', error },
  );
}

function many(posts: number): string {
  return posts > MAX_POSTS ? `More than ${MAX_POSTS} posts` : counted(posts, 'post');
}

function UsedIn({ base, posts }: { base: string; posts: readonly { id: string; title: string }[] }) {
  if (posts.length === 0) return 'No post';
  return (
    <ul class="plain-list">
      {posts.slice(0, MAX_POSTS).map(({ id, title }) => (
        <li>
          <a href={`${base}/posts/${id}`}>{title}</a>
        </li>
      ))}
      {posts.length > MAX_POSTS ? <li class="dim">and more</li> : null}
    </ul>
  );
}
