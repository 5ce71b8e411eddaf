import { type Static, Type } from '@sinclair/typebox';
import type { AppError } from '../../../lib/app-error.ts';
import { MAX_LINKS, type Publication, type PublicationChange } from '../../../public/model.ts';
import { formState } from '../../submission.ts';

/** The settings of the public page, as its form sends them. */
export const PageForm = Type.Object({
  isPageOn: Type.Boolean(),
  isFeedOn: Type.Boolean(),
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
export type PageForm = Static<typeof PageForm>;

/** Empty rows for more links, below those that there are. */
const SPARE_LINKS = 2;

interface Link {
  label: string;
  url: string;
}

/** The rows of links that a person filled in, at least in part. */
function linksOf({ linkLabel, linkUrl }: Pick<PageForm, 'linkLabel' | 'linkUrl'>): Link[] {
  return linkLabel
    .map((label, row) => ({ label: label.trim(), url: linkUrl[row]?.trim() ?? '' }))
    .filter(({ label, url }) => label !== '' || url !== '');
}

export const colorIn = ({ accentColor }: PageForm) => accentColor.trim().toLowerCase();

/** `isColorTyped`: in the text field. Without the script only one of the two fields of the color changes. */
export function changeOf(values: PageForm, isColorTyped: boolean) {
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
export const editable = ({ organizationId: _, isMcpOn, version, updatedAt, ...rest }: Publication) => rest;

export const pageLabels: Readonly<Record<string, string>> = {
  isPageOn: 'Public page',
  isFeedOn: 'Feeds and widget',
  slug: 'Address',
  title: 'Title',
  description: 'Description',
  accentColor: 'Accent color',
  logoId: 'Logo',
  links: 'Footer links',
  address: 'Custom domain',
};

/** One row of links. `name` ends the ids of its fields. */
export interface LinkRow extends Link {
  number: number;
  labelError: string | null;
  urlError: string | null;
}

/** How to show the form: as stored or, with an error, as it was sent. */
export function pageFormState(
  publication: Publication,
  posted: PageForm | null,
  error: AppError | undefined,
) {
  const links = posted === null ? publication.links : linksOf(posted);
  const { slug, title, description, accentColor, logoId, address } = posted ?? publication;
  const texts = {
    slug,
    title,
    description,
    accentColor,
    logoId: logoId ?? '',
    address: address ?? '',
  };
  const { fields, problem } = formState(PageForm, texts, error);
  const errorOf = (row: number, part: 'label' | 'url') => {
    const text = error?.fields?.[`links.${row}.${part}`];
    return text === undefined ? null : `The ${part === 'url' ? 'URL' : 'label'} of link ${row + 1} ${text}.`;
  };
  const shown = Math.min(MAX_LINKS, links.length + SPARE_LINKS);
  const rows = Array.from(
    { length: shown },
    (_, row): LinkRow => ({
      ...(links[row] ?? { label: '', url: '' }),
      number: row + 1,
      labelError: errorOf(row, 'label'),
      urlError: errorOf(row, 'url'),
    }),
  );
  const ofLinks = rows.flatMap(({ number, labelError, urlError }) => [
    ...(labelError === null ? [] : [{ id: `field-linkLabel-${number}`, error: labelError }]),
    ...(urlError === null ? [] : [{ id: `field-linkUrl-${number}`, error: urlError }]),
  ]);
  return {
    fields,
    rows,
    problem: ofLinks.length > 0 ? ofLinks : problem,
    isPageOn: (posted ?? publication).isPageOn,
    isFeedOn: (posted ?? publication).isFeedOn,
  };
}
