import { type Static, Type } from '@sinclair/typebox';
import type { ComponentChildren } from 'preact';
import { scriptAsset } from '../../../http/look/assets.ts';
import { AppError } from '../../../lib/app-error.ts';
import { addImage } from '../../../posts/media/service.ts';
import { fileNameOf, findMedia, imageTypes, listMedia, type Media } from '../../../posts/media/store.ts';
import { PUBLIC_POSTS } from '../../../posts/model.ts';
import { tallyPosts } from '../../../posts/store.ts';
import {
  MAX_LINKS,
  type Publication,
  type PublicationChange,
  publicAddresses,
} from '../../../readers/public/model.ts';
import { changePublication, readPublication } from '../../../readers/public/service.ts';
import script from '../../client/publishing.client.js' with { type: 'text' };
import { editState } from '../../edit.ts';
import { formState, labelsOf, readFields } from '../../fields.ts';
import { get, type MemberVisit, type Page, redirect, upload, view } from '../../page.ts';
import { editForm, readImageForm } from '../../submission.ts';
import { Columns, counted, Facts, LinkButton, More, Status, ToCopy, useVisit } from '../../view/elements.tsx';
import { Field, Form, Select, Switch, TextArea } from '../../view/form.tsx';
import { sentenceOf } from '../media/list.tsx';

const PATH = '/dashboard/:organizationId/publishing';

const MAX_LOGOS = 50;

const SPARE_LINKS = 2;

const publishingScript = scriptAsset('publishing.js', script);

const PageForm = Type.Object({
  isPageOn: Type.Boolean({
    label: 'Public page',
    hint: 'Everybody can read your published changelog posts. No key, no account.',
  }),
  isFeedOn: Type.Boolean({
    label: 'Feeds and widget',
    hint: 'For feed readers, automations and a “What’s new” link on your own site.',
  }),
  slug: Type.String({ label: 'Address' }),
  title: Type.String({ label: 'Title' }),
  description: Type.String({ label: 'Description', hint: 'One or two sentences below the title. Optional.' }),
  accentColor: Type.String({
    label: 'Accent color',
    hint: 'For links and buttons of the page, such as #2563eb.',
  }),
  /** The browser's own control, for the same color. */
  accentPicker: Type.String(),
  logoId: Type.String({ label: 'Logo', problem: 'Choose one of your images.' }),
  linkLabel: Type.Array(Type.String()),
  linkUrl: Type.Array(Type.String()),
  address: Type.String({
    label: 'Custom domain',
    isOptional: true,
    placeholder: 'https://changelog.example.com',
    hint: 'The URL where your proxy serves the page. Links, feeds and previews then use it. Optional.',
  }),
});
type PageForm = Static<typeof PageForm>;

export const routes: readonly Page[] = [
  get(PATH, 'member', (visit) => showPublicPage(visit)),

  editForm(PATH, 'owner', PageForm, showPublicPage, async ({ deps, organization }, values, merge) => {
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

const editable = ({ organizationId: _, isMcpOn, version, updatedAt, ...rest }: Publication) => rest;

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

function resultOf(before: Publication, after: Publication): string {
  if (after.isPageOn && !before.isPageOn) return 'Saved. The page is public.';
  if (after.isFeedOn && !before.isFeedOn) return 'Saved. The feeds and the widget are public.';
  if (before.isPageOn && !after.isPageOn) return 'Saved. The page is no longer public.';
  if (before.isFeedOn && !after.isFeedOn) return 'Saved. The feeds and the widget are no longer public.';
  return 'Saved.';
}

async function showPublicPage(visit: MemberVisit, error?: AppError, uploadError?: AppError) {
  const { deps, organization, isOwner } = visit;
  const { publication, count, images } = await deps.db.read(async (tx) => {
    const publication = await readPublication(tx, organization.id);
    const { totalItems: count } = await tallyPosts(tx, organization.id, PUBLIC_POSTS);
    const newest = await listMedia(tx, organization.id, { limit: MAX_LOGOS, offset: 0 });
    const logo = publication.logoId === null ? null : await findMedia(tx, publication.logoId);
    const isListed = logo === null || newest.some(({ id }) => id === logo.id);
    return { publication, count, images: isListed ? newest : [logo, ...newest] };
  });
  return view(
    { title: 'Public page', tab: 'publishing', error: error ?? uploadError, scripts: [publishingScript] },
    <p class="lede">{ledeOf(publication, count)}</p>,
    <Columns details={<Addresses publication={publication} />}>
      {isOwner ? (
        <>
          {settingsForm(visit, publication, images, error)}
          <LogoUpload error={uploadError} />
        </>
      ) : (
        <Summary publication={publication} images={images} />
      )}
    </Columns>,
  );
}

function ledeOf({ isPageOn, isFeedOn }: Publication, count: number): string {
  const posts = counted(count, 'published changelog post');
  const isPrivate = 'Drafts, scheduled posts, and posts of other types stay private.';
  if (isPageOn || isFeedOn) return `Everybody can read your ${posts}. ${isPrivate}`;
  return count === 0
    ? `Nothing is public yet. Switch the page on: each changelog post that you publish appears there. ${isPrivate}`
    : `Nothing is public yet. When you switch the page or the feeds on, ${posts} ${count === 1 ? 'becomes' : 'become'} public. ${isPrivate}`;
}

function settingsForm(
  visit: MemberVisit,
  publication: Publication,
  images: readonly Media[],
  error: AppError | undefined,
) {
  const posted = error === undefined ? null : readFields(PageForm, visit.form);
  const links = posted === null ? publication.links : linksOf(posted);
  const { isPageOn, isFeedOn, slug, title, description, accentColor, logoId, address } =
    posted ?? publication;
  const texts = { slug, title, description, accentColor, logoId: logoId ?? '', address: address ?? '' };
  const switches = { ...(isPageOn && { isPageOn: 'on' }), ...(isFeedOn && { isFeedOn: 'on' }) };
  const { fields, problem } = formState(PageForm, { ...texts, ...switches }, error);
  const logo = images.find(({ id }) => id === fields.logoId.value);
  const partOf = (row: number, part: 'label' | 'url', noun: string, placeholder: string) => {
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
    partOf(row, 'label', 'Label', 'Documentation'),
    partOf(row, 'url', 'URL', 'https://example.com/docs'),
  ]);
  const ofLinks = rows.flat().flatMap(({ id, error }) => (error === null ? [] : [{ id, error }]));
  const edit = {
    ...editState(visit, editable(publication), error),
    noun: 'page',
    labels: { ...labelsOf(PageForm), links: 'Footer links' },
    show: (field: string, value: unknown) =>
      field === 'logoId' ? (images.find(({ id }) => id === value)?.name ?? '') : null,
  };
  return (
    <Form to="publishing" problem={ofLinks.length > 0 ? ofLinks : problem} button="Save settings" edit={edit}>
      <Switch {...fields.isPageOn} />
      <Switch {...fields.isFeedOn} />
      <Field
        {...fields.slug}
        hint={
          <>
            {`${visit.deps.publicUrl()}/changelog/`}
            <strong data-slug>{slug}</strong>
            {publication.version !== '' &&
              '. An old address redirects for a year, unless another organization takes it.'}
          </>
        }
      />
      <Field {...fields.title} />
      <TextArea {...fields.description} more={{ rows: 2, class: 'short-text' }} />
      <div class="color">
        <Field {...fields.accentColor} />
        <input
          type="color"
          id="field-accentPicker"
          name="accentPicker"
          // The control accepts no other color.
          value={/^#[0-9a-f]{6}$/i.test(accentColor) ? accentColor.toLowerCase() : publication.accentColor}
          aria-label="Pick accent color"
        />
      </div>
      <div>
        <Select
          {...fields.logoId}
          all="No logo"
          options={images.map(({ id, name }) => ({ value: id, label: name }))}
        />
        {logo && <LogoPicture logo={logo} />}
      </div>
      <fieldset>
        <legend class="label">Footer links</legend>
        {rows.map((row) => (
          <div class="link-row">
            {row.map((field) => (
              <Field {...field} required={false} />
            ))}
          </div>
        ))}
        <p class="hint">{`Up to ${MAX_LINKS}. Clear a row to remove its link; save to get more rows.`}</p>
      </fieldset>
      <Field {...fields.address} />
    </Form>
  );
}

function LogoPicture({ logo }: { logo: Media }) {
  const { width, height, alt } = logo;
  return <img class="logo" src={`/media/${fileNameOf(logo)}`} alt={alt} width={width} height={height} />;
}

/** A form of its own: it stores an image and makes it the logo at once. */
function LogoUpload({ error }: { error: AppError | undefined }) {
  const { media } = useVisit().deps;
  if (media.files === null) return <p class="hint">{media.whyOff}.</p>;
  return (
    <More label="Upload logo…" kind="folded" isOpen={error !== undefined}>
      <Form to="publishing/logo" problem={error && sentenceOf(error)} button="Upload logo" kind="" isUpload>
        <Field
          label="Image"
          name="file"
          type="file"
          accept={imageTypes.join(',')}
          hint="PNG, JPEG, GIF, WebP or AVIF. Save other changes first."
        />
      </Form>
    </More>
  );
}

function Summary({ publication, images }: { publication: Publication; images: readonly Media[] }) {
  const { title, description, accentColor, logoId, links, address, slug } = publication;
  const logo = images.find(({ id }) => id === logoId);
  return (
    <Facts
      facts={[
        ['Title', title],
        ['Description', description || 'None'],
        ['Address', `/changelog/${slug}`],
        ['Custom domain', address ?? 'None'],
        ['Accent color', <code>{accentColor}</code>],
        ['Logo', logo === undefined ? 'None' : <LogoPicture logo={logo} />],
        ['Footer links', links.map(({ label }) => label).join(', ') || 'None'],
        ['Changes', 'Only owners can change these settings.'],
      ]}
    />
  );
}

function Addresses({ publication }: { publication: Publication }) {
  const { page, feeds, widget } = publicAddresses(publication, useVisit().deps.publicUrl());
  const address = (label: string, text: string) => (
    <>
      <h3 class="label">{label}</h3>
      <ToCopy text={text} label="Copy" />
    </>
  );
  return (
    <>
      <Part id="page" title="Public page" isOn={page !== null}>
        {page === null ? (
          <p class="hint">A web page with your published changelog posts, newest first.</p>
        ) : (
          [address('Address', page), <LinkButton to={page} label="Open page" />]
        )}
      </Part>
      <Part id="feeds" title="Feeds and widget" isOn={feeds !== null}>
        {feeds === null || widget === null ? (
          <p class="hint">Atom, RSS and JSON feeds, and “What’s new” for your own site.</p>
        ) : (
          <>
            {address('Atom', feeds.atom)}
            {address('RSS', feeds.rss)}
            {address('JSON Feed', feeds.json)}
            {address('Widget (HTML)', widget)}
            {page === null && (
              <p class="hint">
                The public page is off, so the link in this code is dead without the script. Switch the page
                on, or change <code>href</code> to your own changelog.
              </p>
            )}
          </>
        )}
      </Part>
    </>
  );
}

function Part(props: { id: string; title: string; isOn: boolean; children: ComponentChildren }) {
  return (
    <section class="card pad publish" aria-labelledby={`part-${props.id}`}>
      <div class="head">
        <h2 id={`part-${props.id}`}>{props.title}</h2>
        <Status status={props.isOn ? 'active' : 'disabled'} />
      </div>
      {props.children}
    </section>
  );
}
