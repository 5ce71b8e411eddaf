/** @jsxRuntime automatic @jsxImportSource preact */
import { AppError } from '../../../lib/app-error.ts';
import { imageMarkdown } from '../../../markdown/media.ts';
import { fileNameOf, imageTypes } from '../../../media/model.ts';
import { addImage } from '../../../media/service.ts';
import { listMedia, type Media, measureMedia } from '../../../media/store.ts';
import { data, get, type MemberVisit, type Page, redirect, upload, view } from '../../page.ts';
import { readImageForm } from '../../upload.ts';
import { counted, Empty, Pager, ToCopy, When } from '../../view/elements.tsx';
import { Field, Form } from '../../view/form.tsx';
import { PageHead } from '../../view/layout.tsx';

const PATH = '/dashboard/:organizationId/media';
const PER_PAGE = 24;

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
      return redirect(`${visit.base}/media/${image.id}`, 'Image uploaded.');
    } catch (error) {
      if (!(error instanceof AppError) || !error.isRefusal) throw error;
      if (isScript) return refusal(error);
      return showImages(visit, error);
    }
  }),
];

/** The address of an image on our own pages, and its Markdown, which holds the absolute one. */
export function usesOf({ deps }: Pick<MemberVisit, 'deps'>, image: Media) {
  const path = `/media/${fileNameOf(image)}`;
  return { path, markdown: imageMarkdown(image.alt, deps.publicUrl() + path) };
}

export function asksForJson({ request }: Pick<MemberVisit, 'request'>): boolean {
  return request.headers.get('accept')?.includes('application/json') === true;
}

/** For the script, which shows the sentence. */
export const refusal = (error: AppError) => data({ error: sentenceOf(error) }, error.status);

const sentences: Readonly<Record<string, string>> = {
  not_an_image: 'The file is not a PNG, JPEG, GIF, WebP or AVIF image. Choose another one.',
};

export function sentenceOf({ code = '', message }: AppError): string {
  return sentences[code] ?? `${message}${/[.?]$/.test(message) ? '' : '.'}`;
}

async function showImages(visit: MemberVisit, error?: AppError) {
  const { deps, organization, base, url } = visit;
  const text = url.searchParams.get('page') ?? '';
  const page = /^[1-9]\d{0,5}$/.test(text) ? Number(text) : 1;
  const { images, total } = await deps.db.read(async (tx) => ({
    images: await listMedia(tx, organization.id, { limit: PER_PAGE, offset: (page - 1) * PER_PAGE }),
    total: await measureMedia(tx, organization.id),
  }));
  const pages = Math.max(1, Math.ceil(total.images / PER_PAGE));
  const to = (target: number) => `${base}/media?page=${target}`;
  return view(
    'Images',
    <>
      <PageHead
        title="Images"
        crumbs={[{ to: `${base}/posts`, label: 'Posts' }]}
        facts={
          total.images === 0
            ? 'Images of your posts. Anyone with the URL of an image can see it.'
            : `${counted(total.images, 'image')}, ${megabytesOf(total.bytes)} of ${megabytesOf(deps.media.quotaBytes)}.`
        }
      />
      {deps.media.files === null ? (
        <p class="note">{deps.media.whyOff}.</p>
      ) : (
        <UploadForm to={`${base}/media`} problem={error === undefined ? null : sentenceOf(error)} />
      )}
      {total.images === 0 ? (
        <Empty drawing="images">
          <p>No images yet. Upload one here, or paste one into the text of a post.</p>
        </Empty>
      ) : (
        <ul class="images">
          {images.map((image) => (
            <ImageCard image={image} visit={visit} />
          ))}
        </ul>
      )}
      {pages > 1 ? (
        <Pager
          back={page > 1 ? { to: to(Math.min(page - 1, pages)), label: 'Newer' } : null}
          next={page < pages ? { to: to(page + 1), label: 'Older' } : null}
        >
          {`Page ${page} of ${pages}`}
        </Pager>
      ) : null}
    </>,
    { section: 'posts', error },
  );
}

function UploadForm({ to, problem }: { to: string; problem: string | null }) {
  return (
    <Form to={to} problem={problem} button="Upload image" layout="card pad stack upload" isUpload>
      <Field
        label="Image"
        name="file"
        type="file"
        accept={imageTypes.join(',')}
        hint="PNG, JPEG, GIF, WebP or AVIF, at most 10 MB. Tidings removes the place, the camera and other metadata."
      />
      <Field
        label="Description"
        name="alt"
        required={false}
        hint="For people who can't see the image. If empty, Tidings uses the file name."
      />
    </Form>
  );
}

function ImageCard({ image, visit }: { image: Media; visit: MemberVisit }) {
  const { path, markdown } = usesOf(visit, image);
  return (
    <li class="card">
      <a href={`${visit.base}/media/${image.id}`}>
        <img src={path} alt={image.alt} width={image.width} height={image.height} loading="lazy" />
        <span class="image-name">{image.name}</span>
      </a>
      <p class="hint">
        {describeImage(image)}, <When at={image.createdAt} now={visit.deps.clock.now()} />
      </p>
      <ToCopy text={markdown} label="Copy Markdown" />
    </li>
  );
}

export function describeImage({ width, height, bytes }: Media): string {
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
