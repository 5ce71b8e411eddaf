/** @jsxRuntime automatic @jsxImportSource preact */
import type { AppError } from '../../../lib/app-error.ts';
import { fileNameOf, imageTypes } from '../../../media/model.ts';
import type { Media } from '../../../media/store.ts';
import { MAX_LINKS, type Publication } from '../../../public/model.ts';
import type { EditState } from '../../edit.ts';
import type { MemberVisit } from '../../page.ts';
import type { EditWords } from '../../view/difference.tsx';
import { Select } from '../../view/elements.tsx';
import { Field, Form, TextArea, Toggle } from '../../view/form.tsx';
import { sentenceOf } from '../media/list.tsx';
import type { LinkRow, pageFormState } from './form.ts';

export function PageSettings({
  visit: { base, deps },
  publication,
  images,
  state: { fields, rows, problem, isPageOn, isFeedOn },
  edit,
}: {
  visit: MemberVisit;
  publication: Publication;
  images: readonly Media[];
  state: ReturnType<typeof pageFormState>;
  edit: EditState & EditWords;
}) {
  const logo = images.find(({ id }) => id === fields.logoId.value);
  return (
    <Form to={`${base}/publishing`} problem={problem} button="Save settings" edit={edit}>
      <Toggle
        label="Public page"
        name="isPageOn"
        isOn={isPageOn}
        hint="Everybody can read your published changelog posts. No key, no account."
      />
      <Toggle
        label="Feeds and widget"
        name="isFeedOn"
        isOn={isFeedOn}
        hint="For feed readers, automations and a “What’s new” link on your own site."
      />
      <Field
        {...fields.slug}
        hint={
          <>
            {`${deps.publicUrl()}/changelog/`}
            <strong data-slug>{fields.slug.value}</strong>
            {publication.version === ''
              ? null
              : '. An old address redirects for a year, unless another organization takes it.'}
          </>
        }
      />
      <Field {...fields.title} />
      <TextArea {...fields.description} more={{ rows: 2, class: 'short-text' }} />
      <div class="color">
        <Field {...fields.accentColor} hint="For links and buttons of the page, such as #2563eb." />
        <input
          type="color"
          id="field-accentPicker"
          name="accentPicker"
          value={colorOf(fields.accentColor.value, publication.accentColor)}
          aria-label="Pick accent color"
        />
      </div>
      <div>
        <Select
          {...fields.logoId}
          all="No logo"
          options={images.map(({ id, name }) => ({ value: id, label: name }))}
        />
        {logo === undefined ? null : <LogoPicture logo={logo} />}
      </div>
      <fieldset>
        <legend class="label">Footer links</legend>
        {rows.map((row) => (
          <LinkFields row={row} />
        ))}
        <p class="hint">{`Up to ${MAX_LINKS}. Clear a row to remove its link; save to get more rows.`}</p>
      </fieldset>
      <Field
        {...fields.address}
        required={false}
        placeholder="https://changelog.example.com"
        hint="The URL where your proxy serves the page. Links, feeds and previews then use it. Optional."
      />
    </Form>
  );
}

/** A color that the browser's control accepts. */
function colorOf(typed: string | undefined, stored: string): string {
  return typed !== undefined && /^#[0-9a-f]{6}$/i.test(typed) ? typed.toLowerCase() : stored;
}

function LinkFields({ row: { number, label, url, labelError, urlError } }: { row: LinkRow }) {
  return (
    <div class="link-row">
      <Field
        id={`field-linkLabel-${number}`}
        name="linkLabel"
        label={`Label of link ${number}`}
        value={label}
        error={labelError}
        required={false}
        placeholder="Documentation"
      />
      <Field
        id={`field-linkUrl-${number}`}
        name="linkUrl"
        label={`URL of link ${number}`}
        value={url}
        error={urlError}
        required={false}
        placeholder="https://example.com/docs"
      />
    </div>
  );
}

function LogoPicture({ logo }: { logo: Media }) {
  const { width, height, alt } = logo;
  return <img class="logo" src={`/media/${fileNameOf(logo)}`} alt={alt} width={width} height={height} />;
}

/** A form of its own: it stores an image and makes it the logo at once. */
export function LogoUpload({
  visit: { base, deps },
  error,
}: {
  visit: MemberVisit;
  error: AppError | undefined;
}) {
  if (deps.media.files === null) return <p class="hint">{deps.media.whyOff}.</p>;
  const problem = error === undefined ? null : sentenceOf(error);
  return (
    <details class="folded" open={error !== undefined}>
      <summary>Upload logo…</summary>
      <Form to={`${base}/publishing/logo`} problem={problem} button="Upload logo" kind="" isUpload>
        <Field
          label="Image"
          name="file"
          type="file"
          accept={imageTypes.join(',')}
          hint="PNG, JPEG, GIF, WebP or AVIF. Save other changes first."
        />
      </Form>
    </details>
  );
}

/** The settings for members, who can't change them. */
export function Summary({ publication, images }: { publication: Publication; images: readonly Media[] }) {
  const { title, description, accentColor, logoId, links, address, slug } = publication;
  const logo = images.find(({ id }) => id === logoId);
  return (
    <dl class="card facts">
      <dt>Title</dt>
      <dd>{title}</dd>
      <dt>Description</dt>
      <dd>{description || 'None'}</dd>
      <dt>Address</dt>
      <dd>{`/changelog/${slug}`}</dd>
      <dt>Custom domain</dt>
      <dd>{address ?? 'None'}</dd>
      <dt>Accent color</dt>
      <dd>
        <code>{accentColor}</code>
      </dd>
      <dt>Logo</dt>
      <dd>{logo === undefined ? 'None' : <LogoPicture logo={logo} />}</dd>
      <dt>Footer links</dt>
      <dd>{links.length === 0 ? 'None' : links.map(({ label }) => label).join(', ')}</dd>
      <dt>Changes</dt>
      <dd>Only owners can change these settings.</dd>
    </dl>
  );
}
