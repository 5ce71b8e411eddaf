import { Type } from '@sinclair/typebox';
import type { VNode } from 'preact';
import { scriptAsset } from '../../../http/look/assets.ts';
import { AppError } from '../../../lib/app-error.ts';
import { imageMarkdown, imagesIn } from '../../../lib/markdown/media.ts';
import { cutLine } from '../../../lib/text.ts';
import {
  addImage,
  getImage,
  removeImage,
  describeImage as saveDescription,
} from '../../../posts/media/service.ts';
import {
  fileNameOf,
  imageTypes,
  listFailedCopies,
  listMedia,
  listPostsWith,
  MAX_ALT,
  type Media,
  measureMedia,
} from '../../../posts/media/store.ts';
import imagesScript from '../../client/images.client.js' with { type: 'text' };
import { withPeriod } from '../../fields.ts';
import { data, get, type MemberVisit, type Page, post, redirect, upload, view } from '../../page.ts';
import { editForm, readImageForm } from '../../submission.ts';
import { Columns, counted, Facts, Link, ToCopy, useVisit, When } from '../../view/elements.tsx';
import { Danger, FormOf } from '../../view/form.tsx';
import { Empty, NumberedPager, pageIn } from '../../view/list.tsx';

const PATH = '/dashboard/:organizationId/media';
const PER_PAGE = 24;

/** The address of an image on our own pages, and its Markdown, which holds the absolute one. */
function usesOf({ deps }: Pick<MemberVisit, 'deps'>, image: Media) {
  const path = `/media/${fileNameOf(image)}`;
  return { path, markdown: imageMarkdown(image.alt, deps.publicUrl() + path) };
}

function asksForJson({ request }: Pick<MemberVisit, 'request'>): boolean {
  return request.headers.get('accept')?.includes('application/json') === true;
}

/** For the script, which shows the sentence. */
const refusal = (error: AppError) => data({ error: sentenceOf(error) }, error.status);

const sentences: Readonly<Record<string, string>> = {
  not_an_image: 'The file is not a PNG, JPEG, GIF, WebP or AVIF image. Choose another one.',
};

export function sentenceOf({ code = '', message }: AppError): string {
  return sentences[code] ?? withPeriod(message);
}

const UploadForm = Type.Object({
  file: Type.String({
    label: 'Image',
    inputType: 'file',
    accept: imageTypes.join(','),
    hint: 'PNG, JPEG, GIF, WebP or AVIF, at most 10 MB. Tidings removes the location and other metadata.',
  }),
  alt: Type.String({
    label: 'Description',
    isOptional: true,
    hint: "For people who can't see the image. If empty, Tidings uses the file name.",
  }),
});

async function showImages(visit: MemberVisit, error?: AppError) {
  const { deps, organization, url } = visit;
  const page = pageIn(url.searchParams);
  const { images, total } = await deps.db.read(async (tx) => ({
    images: await listMedia(tx, organization.id, { limit: PER_PAGE, offset: (page - 1) * PER_PAGE }),
    total: await measureMedia(tx, organization.id),
  }));
  const pages = Math.max(1, Math.ceil(total.images / PER_PAGE));
  return view(
    {
      title: 'Images',
      crumbs: [{ to: 'posts', label: 'Posts' }],
      facts:
        total.images === 0
          ? 'Images of your posts. Anyone with the URL of an image can see it.'
          : `${counted(total.images, 'image')}, ${megabytesOf(total.bytes)} of ${megabytesOf(deps.media.quotaBytes)}.`,
      error,
    },
    deps.media.files === null ? (
      <p class="note">{deps.media.whyOff}.</p>
    ) : (
      <FormOf
        schema={UploadForm}
        error={null}
        problem={error && sentenceOf(error)}
        {...{ to: 'media', button: 'Upload image', layout: 'card pad stack upload', isUpload: true }}
      />
    ),
    total.images === 0 ? (
      <Empty drawing="images">
        <p>No images yet. Upload one here, or paste one into the text of a post.</p>
      </Empty>
    ) : (
      <ul class="images">
        {images.map((image) => (
          <ImageCard image={image} />
        ))}
      </ul>
    ),
    <NumberedPager page={Math.min(page, pages + 1)} hasMore={page < pages} path="media">
      {`Page ${page} of ${pages}`}
    </NumberedPager>,
  );
}

function ImageCard({ image }: { image: Media }) {
  const visit = useVisit();
  const { path, markdown } = usesOf(visit, image);
  return (
    <li class="card">
      <Link to={`media/${image.id}`}>
        <img src={path} alt={image.alt} width={image.width} height={image.height} loading="lazy" />
        <span class="image-name">{image.name}</span>
      </Link>
      <p class="hint">
        {describeImage(image)}, <When at={image.createdAt} />
      </p>
      <ToCopy text={markdown} label="Copy Markdown" />
    </li>
  );
}

function describeImage({ width, height, bytes }: Media): string {
  return `${width} × ${height}, ${megabytesOf(bytes)}`;
}

/** `340 KB`, `1.2 MB`, `1 GB`. */
function megabytesOf(bytes: number): string {
  const [unit, size] = [
    ['GB', 1024 ** 3],
    ['MB', 1024 ** 2],
    ['KB', 1024],
  ].find(([, least]) => bytes >= Number(least)) ?? ['KB', 1024];
  const amount = Math.max(bytes / Number(size), 1);
  return `${Number(amount.toFixed(unit === 'KB' ? 0 : 1))} ${unit}`;
}

const MAX_IMAGES = 100;

/** For `scripts` of a page with `InsertImage`. */
export const imageScript = scriptAsset('images.js', imagesScript);

/** Images of a post that Tidings could not copy: their links may stop working. */
export async function copyProblems(
  { db }: Pick<MemberVisit['deps'], 'db'>,
  { organizationId, markdown }: { organizationId: string; markdown: string },
): Promise<VNode | null> {
  const urls = /!\[|<img/i.test(markdown) ? imagesIn(markdown, MAX_IMAGES) : [];
  const failed = urls.length === 0 ? [] : await db.read((tx) => listFailedCopies(tx, organizationId, urls));
  if (failed.length === 0) return null;
  return (
    <div class="problem">
      <p>
        {counted(failed.length, 'image')} could not be copied. The text still links to the original, which may
        stop working. Upload the image here instead.
      </p>
      <ul>
        {failed.map(({ url, error }) => (
          <li>
            <a href={url} rel="noopener nofollow">
              {cutLine(url, 80)}
            </a>
            : {error ?? 'unknown cause'}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Into the text of a post: by this button, by pasting, by dropping. Without the script, a link to the images. */
export function InsertImage() {
  const { base, deps } = useVisit();
  if (deps.media.files === null) return null;
  return (
    <div class="insert-image" data-images={`${base}/media`} data-for="field-markdown">
      <button type="button" class="button" data-images-choose hidden>
        Insert image
      </button>
      <input
        type="file"
        accept={imageTypes.join(',')}
        multiple
        hidden
        aria-label="Image files"
        data-images-file
      />
      <Link to="media">Images</Link>
      <span class="hint" data-images-hint hidden>
        Or paste or drop one into the text.
      </span>
      <ul class="image-problems" role="alert" data-images-problems />
      <ul class="image-alts" data-images-alts />
      <template data-images-template>
        <li class="card">
          <img alt="" width="56" height="56" />
          <label class="field">
            <span>Describe the image</span>
            <input type="text" maxlength={MAX_ALT} autocomplete="off" />
          </label>
          <button type="button" class="button" data-save>
            Save description
          </button>
          <button type="button" class="button" title="Skip (Esc)" data-skip>
            Skip
          </button>
          <p class="hint">For people who cannot see it. Press Esc to skip.</p>
        </li>
      </template>
      <span class="hidden" role="status" data-images-status />
    </div>
  );
}

const IMAGE_PATH = '/dashboard/:organizationId/media/:mediaId';

/** Posts that are named; more are counted. */
const MAX_POSTS = 20;

const AltForm = Type.Object({
  alt: Type.String({
    label: 'Description',
    isOptional: true,
    hint: "For people who can't see the image. Existing posts keep their description.",
  }),
});

async function requireImage({ deps, organization, params }: MemberVisit) {
  try {
    return await getImage(deps, organization.id, params.mediaId ?? '');
  } catch (error) {
    if (!(error instanceof AppError) || error.status !== 404) throw error;
    throw new AppError(404, 'Image not found. It may have been deleted.');
  }
}

async function showImage(visit: MemberVisit, error?: AppError) {
  const { deps, organization } = visit;
  const image = await requireImage(visit);
  const { id, name, alt, width, height, createdAt, actorName } = image;
  const posts = await deps.db.read((tx) =>
    listPostsWith(tx, organization.id, fileNameOf(image), MAX_POSTS + 1),
  );
  const { path, markdown } = usesOf(visit, image);
  return view(
    {
      title: name,
      crumbs: [
        { to: 'posts', label: 'Posts' },
        { to: 'media', label: 'Images' },
      ],
      error,
    },
    <Columns
      details={
        <Facts
          facts={[
            ['Size', describeImage(image)],
            ['Uploaded', <When at={createdAt} />],
            ['By', actorName],
            ['Used in', <UsedIn posts={posts} />],
          ]}
        />
      }
    >
      <p class="card image-large">
        <img src={path} alt={alt} width={width} height={height} />
      </p>
      <h2 class="label">Markdown</h2>
      <ToCopy text={markdown} label="Copy Markdown" />
      <FormOf
        schema={AltForm}
        edits={{ noun: 'image', stored: { alt } }}
        {...{ error, to: `media/${id}`, button: 'Save description' }}
      />
      <Danger to={`media/${id}/delete`} label="Delete image" button="Delete image">
        {posts.length === 0
          ? 'No post uses it. Other pages that show it will have a gap.'
          : `${many(posts.length)} will show a gap in its place. You can't undo this.`}
      </Danger>
    </Columns>,
  );
}

function many(posts: number): string {
  return posts > MAX_POSTS ? `More than ${MAX_POSTS} posts` : counted(posts, 'post');
}

function UsedIn({ posts }: { posts: readonly { id: string; title: string }[] }) {
  if (posts.length === 0) return 'No post';
  return (
    <ul class="plain-list">
      {posts.slice(0, MAX_POSTS).map(({ id, title }) => (
        <li>
          <Link to={`posts/${id}`}>{title}</Link>
        </li>
      ))}
      {posts.length > MAX_POSTS && <li class="dim">and more</li>}
    </ul>
  );
}

export const routes: readonly Page[] = [
  get(PATH, 'member', (visit) => showImages(visit)),

  /** For the form of this page, and for the editor's script, which asks for JSON. */
  upload(PATH, 'member', async (visit) => {
    const isScript = asksForJson(visit);
    try {
      const { file, alt } = await readImageForm(visit);
      const bytes = await file.bytes();
      const { id: organizationId } = visit.organization;
      const image = await addImage(visit.deps, { organizationId, name: file.name, alt, bytes });
      if (isScript) return data({ id: image.id, alt: image.alt, ...usesOf(visit, image) });
      return redirect(`media/${image.id}`, 'Image uploaded.');
    } catch (error) {
      if (!(error instanceof AppError) || !error.isRefusal) throw error;
      if (isScript) return refusal(error);
      return showImages(visit, error);
    }
  }),
  get(IMAGE_PATH, 'member', (visit) => showImage(visit)),
  /** For the form of this page, and for the editor's script, which asks for JSON. */
  editForm(
    IMAGE_PATH,
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
      return redirect(`media/${id}`, 'Saved.');
    },
  ),
  post(`${IMAGE_PATH}/delete`, 'publisher', async (visit) => {
    const { id } = await requireImage(visit);
    const { name } = await removeImage(visit.deps, visit.organization.id, id);
    return redirect('media', `Deleted the image “${name.slice(0, 80).toWellFormed()}”.`);
  }),
];
