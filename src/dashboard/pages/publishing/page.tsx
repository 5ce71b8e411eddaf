import { type Static, Type } from '@sinclair/typebox';
import { scriptAsset } from '../../../http/look/assets.ts';
import { AppError } from '../../../lib/app-error.ts';
import { addImage } from '../../../posts/media/service.ts';
import { findMedia, listMedia, type Media } from '../../../posts/media/store.ts';
import { PUBLIC_POSTS } from '../../../posts/model.ts';
import { tallyPosts } from '../../../posts/store.ts';
import { MAX_LINKS, type Publication, type PublicationChange } from '../../../readers/public/model.ts';
import { changePublication, readPublication } from '../../../readers/public/service.ts';
import script from '../../client/publishing.client.js' with { type: 'text' };
import { editState } from '../../edit.ts';
import { formState, labelsOf, readFields } from '../../fields.ts';
import { get, type MemberVisit, type Page, redirect, upload, view } from '../../page.ts';
import { editForm, readImageForm } from '../../submission.ts';
import { Columns, counted } from '../../view/elements.tsx';
import { Addresses, LogoUpload, PageSettings, Summary } from './settings.tsx';

/** The settings of the public page, as its form sends them. */
const PageForm = Type.Object({
  isPageOn: Type.Boolean({ label: 'Public page' }),
  isFeedOn: Type.Boolean({ label: 'Feeds and widget' }),
  slug: Type.String({ label: 'Address' }),
  title: Type.String({ label: 'Title' }),
  description: Type.String({ label: 'Description', hint: 'One or two sentences below the title. Optional.' }),
  accentColor: Type.String({ label: 'Accent color' }),
  /** The browser's own control, for the same color. */
  accentPicker: Type.String(),
  logoId: Type.String({ label: 'Logo', problem: 'Choose one of your images.' }),
  linkLabel: Type.Array(Type.String()),
  linkUrl: Type.Array(Type.String()),
  address: Type.String({ label: 'Custom domain' }),
});
type PageForm = Static<typeof PageForm>;

/** Empty rows for more links, below those that there are. */
const SPARE_LINKS = 2;

/** The rows of links that a person filled in, at least in part. */
function linksOf({ linkLabel, linkUrl }: Pick<PageForm, 'linkLabel' | 'linkUrl'>) {
  return linkLabel
    .map((label, row) => ({ label: label.trim(), url: linkUrl[row]?.trim() ?? '' }))
    .filter(({ label, url }) => label !== '' || url !== '');
}

const colorIn = ({ accentColor }: PageForm) => accentColor.trim().toLowerCase();

/** `isColorTyped`: in the text field. Without the script only one of the two fields of the color changes. */
function changeOf(values: PageForm, isColorTyped: boolean) {
  const { accentPicker, linkLabel, linkUrl, logoId, ...rest } = values;
  const typed = colorIn(values);
  return {
    ...rest,
    slug: values.slug.trim(),
    title: values.title.trim(),
    description: values.description.trim(),
    accentColor: isColorTyped ? typed : accentPicker.toLowerCase() || typed,
    logoId: logoId || null,
    links: linksOf({ linkLabel, linkUrl }),
    address: values.address.trim() || null,
  } satisfies PublicationChange;
}

/** What the form edits. */
const editable = ({ organizationId: _, isMcpOn, version, updatedAt, ...rest }: Publication) => rest;

const pageLabels = { ...labelsOf(PageForm), links: 'Footer links' };

/** How to show the form: as stored or, with an error, as it was sent. */
export function pageFormState(publication: Publication, posted: PageForm | null, error?: AppError) {
  const shown = posted ?? publication;
  const links = posted === null ? publication.links : linksOf(posted);
  const { slug, title, description, accentColor, logoId, address } = shown;
  const texts = { slug, title, description, accentColor, logoId: logoId ?? '', address: address ?? '' };
  const { fields, problem } = formState(PageForm, texts, error);
  const rowOf = (row: number, part: 'label' | 'url', noun: string, placeholder: string) => {
    const name = part === 'url' ? 'linkUrl' : 'linkLabel';
    const wrong = error?.fields?.[`links.${row}.${part}`];
    return {
      id: `field-${name}-${row + 1}`,
      name,
      label: `${noun} of link ${row + 1}`,
      value: links[row]?.[part] ?? '',
      error: wrong === undefined ? null : `The ${part === 'url' ? noun : part} of link ${row + 1} ${wrong}.`,
      placeholder,
    };
  };
  const rows = Array.from({ length: Math.min(MAX_LINKS, links.length + SPARE_LINKS) }, (_, row) => [
    rowOf(row, 'label', 'Label', 'Documentation'),
    rowOf(row, 'url', 'URL', 'https://example.com/docs'),
  ]);
  const ofLinks = rows.flat().flatMap(({ id, error }) => (error === null ? [] : [{ id, error }]));
  const { isPageOn, isFeedOn } = shown;
  return { fields, rows, problem: ofLinks.length > 0 ? ofLinks : problem, isPageOn, isFeedOn };
}

const PATH = '/dashboard/:organizationId/publishing';

/** The newest images, to choose a logo from. */
const MAX_LOGOS = 50;

const publishingScript = scriptAsset('publishing.js', script);

export const routes: readonly Page[] = [
  get(PATH, 'member', (visit) => showPublicPage(visit)),

  editForm(PATH, 'owner', PageForm, showPublicPage, async (visit, values, merge) => {
    const { deps, organization } = visit;
    const before = await deps.db.read((tx) => readPublication(tx, organization.id));
    const after = await changePublication(deps, organization.id, (publication) => {
      const stored = editable(publication);
      const isText = !merge.isUntouched('accentColor', colorIn(values), stored.accentColor);
      return merge.changes(changeOf(values, isText), stored);
    });
    return redirect('publishing', resultOf(before, after));
  }),

  upload(`${PATH}/logo`, 'owner', async (visit) => {
    const { deps, organization } = visit;
    try {
      const { file } = await readImageForm(visit);
      const bytes = await file.bytes();
      const image = await addImage(deps, { organizationId: organization.id, name: file.name, bytes });
      await changePublication(deps, organization.id, { logoId: image.id });
      return redirect('publishing', 'Uploaded the logo.');
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
    { title: 'Public page', tab: 'publishing', error: error ?? uploadError, scripts: [publishingScript] },
    <p class="lede">{ledeOf(publication, count)}</p>,
    <Columns details={<Addresses publication={publication} />}>
      {role === 'owner' ? (
        <>
          <PageSettings
            publication={publication}
            images={images}
            state={pageFormState(publication, posted, error)}
            edit={{
              ...editState(visit, editable(publication), error),
              noun: 'page',
              labels: pageLabels,
              show: (field, value) =>
                field === 'logoId' ? (images.find(({ id }) => id === value)?.name ?? '') : null,
            }}
          />
          <LogoUpload error={uploadError} />
        </>
      ) : (
        <Summary publication={publication} images={images} />
      )}
    </Columns>,
  );
}

/** What is public now, or would be. */
function ledeOf({ isPageOn, isFeedOn }: Publication, count: number): string {
  const posts = counted(count, 'published changelog post');
  const isPrivate = 'Drafts, scheduled posts, and posts of other types stay private.';
  if (isPageOn || isFeedOn) return `Everybody can read your ${posts}. ${isPrivate}`;
  return count === 0
    ? `Nothing is public yet. Switch the page on: each changelog post that you publish appears there. ${isPrivate}`
    : `Nothing is public yet. When you switch the page or the feeds on, ${posts} ${count === 1 ? 'becomes' : 'become'} public. ${isPrivate}`;
}

function withLogo(newest: readonly Media[], logo: Media | null): readonly Media[] {
  return logo === null || newest.some(({ id }) => id === logo.id) ? newest : [logo, ...newest];
}
