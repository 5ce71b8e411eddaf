/** @jsxRuntime automatic @jsxImportSource preact */
import { AppError } from '../../../lib/app-error.ts';
import { scriptAsset } from '../../../look/assets.ts';
import { addImage } from '../../../media/service.ts';
import { findMedia, listMedia, type Media } from '../../../media/store.ts';
import { tallyPosts } from '../../../posts/store.ts';
import { PUBLIC_POSTS, type Publication } from '../../../public/model.ts';
import { changePublication, readPublication } from '../../../public/service.ts';
import script from '../../client/publishing.client.js' with { type: 'text' };
import { editForm, editState } from '../../edit.ts';
import { get, type MemberVisit, type Page, redirect, upload, view } from '../../page.ts';
import { readFields } from '../../submission.ts';
import { readImageForm } from '../../upload.ts';
import { PublishingHead } from '../../view/document.tsx';
import { counted } from '../../view/elements.tsx';
import { Columns } from '../../view/layout.tsx';
import { Addresses } from './addresses.tsx';
import { changeOf, colorIn, editable, PageForm, pageFormState, pageLabels } from './form.ts';
import { LogoUpload, PageSettings, Summary } from './settings.tsx';

const PATH = '/dashboard/:organizationId/publishing';

/** The newest images, to choose a logo from. */
const MAX_LOGOS = 50;

const publishingScript = scriptAsset('publishing.js', script);

export const routes: readonly Page[] = [
  get(PATH, 'member', (visit) => showPublicPage(visit)),

  editForm(PATH, 'owner', PageForm, showPublicPage, async (visit, values, merge) => {
    const { deps, organization, base } = visit;
    const before = await deps.db.read((tx) => readPublication(tx, organization.id));
    const after = await changePublication(deps, organization.id, (publication) => {
      const stored = editable(publication);
      const isText = !merge.isUntouched('accentColor', colorIn(values), stored.accentColor);
      return merge.changes(changeOf(values, isText), stored);
    });
    return redirect(`${base}/publishing`, resultOf(before, after));
  }),

  upload(`${PATH}/logo`, 'owner', async (visit) => {
    const { deps, organization, base } = visit;
    try {
      const { file } = await readImageForm(visit);
      const bytes = await file.bytes();
      const image = await addImage(deps, { organizationId: organization.id, name: file.name, bytes });
      await changePublication(deps, organization.id, { logoId: image.id });
      return redirect(`${base}/publishing`, 'Uploaded the logo.');
    } catch (error) {
      if (!(error instanceof AppError) || !error.isRefusal) throw error;
      return showPublicPage(visit, undefined, error);
    }
  }),
];

function resultOf(before: Publication, after: Publication): string {
  if (after.isPageOn && !before.isPageOn) return 'Saved. The page is public.';
  if (after.isFeedOn && !before.isFeedOn) return 'Saved. The feeds and the widget are public.';
  if (before.isPageOn && !after.isPageOn) return 'Saved. The page is no longer public.';
  if (before.isFeedOn && !after.isFeedOn) return 'Saved. The feeds and the widget are no longer public.';
  return 'Saved.';
}

async function showPublicPage(visit: MemberVisit, error?: AppError, uploadError?: AppError) {
  const { deps, organization, role, form } = visit;
  const { publication, count, images } = await deps.db.read(async (tx) => {
    const publication = await readPublication(tx, organization.id);
    const { totalItems: count } = await tallyPosts(tx, organization.id, PUBLIC_POSTS);
    const newest = await listMedia(tx, organization.id, { limit: MAX_LOGOS, offset: 0 });
    const logo = publication.logoId === null ? null : await findMedia(tx, publication.logoId);
    return { publication, count, images: withLogo(newest, logo) };
  });
  const posted = error === undefined ? null : readFields(PageForm, form);
  return view(
    'Public page',
    <>
      <PublishingHead title="Public page" visit={visit} current="publishing" />
      <p class="lede">{ledeOf(publication, count)}</p>
      <Columns details={<Addresses visit={visit} publication={publication} />}>
        {role === 'owner' ? (
          <>
            <PageSettings
              visit={visit}
              publication={publication}
              images={images}
              state={pageFormState(publication, posted, error)}
              edit={{
                ...editState(visit, editable(publication), error),
                noun: 'page',
                labels: pageLabels,
                show: (field, value) => shownValue(field, value, images),
              }}
            />
            <LogoUpload visit={visit} error={uploadError} />
          </>
        ) : (
          <Summary publication={publication} images={images} />
        )}
      </Columns>
    </>,
    { section: 'publishing', error: error ?? uploadError, scripts: [publishingScript] },
  );
}

/** What is public now, or would be. */
function ledeOf({ isPageOn, isFeedOn }: Publication, count: number): string {
  const posts = counted(count, 'published changelog post');
  const isPrivate = 'Drafts, scheduled posts and LinkedIn posts stay private.';
  if (isPageOn || isFeedOn) return `Everybody can read your ${posts}. ${isPrivate}`;
  return count === 0
    ? `Nothing is public yet. Switch the page on: each changelog post that you publish appears there. ${isPrivate}`
    : `Nothing is public yet. When you switch the page or the feeds on, ${posts} ${count === 1 ? 'becomes' : 'become'} public. ${isPrivate}`;
}

function shownValue(field: string, value: unknown, images: readonly Media[]): string | null {
  return field === 'logoId' ? (images.find(({ id }) => id === value)?.name ?? '') : null;
}

function withLogo(newest: readonly Media[], logo: Media | null): readonly Media[] {
  return logo === null || newest.some(({ id }) => id === logo.id) ? newest : [logo, ...newest];
}
