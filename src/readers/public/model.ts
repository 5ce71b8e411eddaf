import { type Static, Type } from '@sinclair/typebox';

export const MAX_LINKS = 8;

const WEB_ADDRESS = '^https?://[^\\s/?#@]+(?:[/?#]\\S*)?$';

export const ADDRESS_PROBLEM =
  'must be an http or https URL without a trailing slash, such as https://changelog.example.com';

const Link = Type.Object({
  label: Type.String({ minLength: 1, maxLength: 60, pattern: '\\S' }),
  url: Type.String({
    maxLength: 2048,
    pattern: WEB_ADDRESS,
    errorMessage: 'must be an http or https URL, such as https://example.com',
  }),
});

export const Publication = Type.Object({
  organizationId: Type.String(),
  slug: Type.String({
    pattern: '^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$',
    errorMessage: 'must be 1 to 63 lowercase letters, digits and hyphens, such as acme',
  }),
  isPageOn: Type.Boolean(),
  isFeedOn: Type.Boolean({ description: 'Feeds, and the widget, which reads one.' }),
  isMcpOn: Type.Boolean({ description: 'The endpoint for agents, which also need an API key.' }),
  title: Type.String({ minLength: 1, maxLength: 100, pattern: '\\S' }),
  description: Type.String({ maxLength: 300 }),
  accentColor: Type.String({
    pattern: '^#[0-9a-f]{6}$',
    errorMessage: 'must be a color such as #2f6f4f',
  }),
  logoId: Type.Union([Type.String(), Type.Null()], { description: 'An image of the organization.' }),
  links: Type.Array(Link, { maxItems: MAX_LINKS }),
  address: Type.Union(
    [
      Type.String({ maxLength: 2048, pattern: '^https?://[^\\s/?#@]+(?:/[^\\s?#]*[^\\s?#/])?$' }),
      Type.Null(),
    ],
    {
      description: "Where a proxy serves the page under the team's own domain.",
      errorMessage: ADDRESS_PROBLEM,
    },
  ),
  version: Type.String({ description: 'Changes with each change.' }),
  updatedAt: Type.String(),
});
export type Publication = Static<typeof Publication>;

/** A switch of `Publication`, one for each public surface. */
export type Surface = 'isPageOn' | 'isFeedOn' | 'isMcpOn';

export const PublicationChange = Type.Partial(
  Type.Omit(Publication, ['organizationId', 'version', 'updatedAt']),
);
export type PublicationChange = Static<typeof PublicationChange>;

/** The absolute address of the page, without a trailing slash. Other public addresses begin with it. */
export function pageAddress(
  { slug, address }: Pick<Publication, 'slug' | 'address'>,
  publicUrl: string,
): string {
  return address ?? `${publicUrl}/changelog/${slug}`;
}

export function postAddress(
  publication: Pick<Publication, 'slug' | 'address'>,
  publicUrl: string,
  postId: string,
): string {
  return `${pageAddress(publication, publicUrl)}/${postId}`;
}

// An accent color that people can read, whatever color was chosen.

/** The least contrast of text (WCAG 2.2 AA), with room for rounding. */
const LEAST = 4.6;

type Rgb = readonly [red: number, green: number, blue: number];

function parse(hex: string): Rgb {
  const at = (start: number) => Number.parseInt(hex.slice(start, start + 2), 16);
  return [at(1), at(3), at(5)];
}

function luminance(color: Rgb): number {
  const [red = 0, green = 0, blue = 0] = color.map((each) => {
    const part = each / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** From 1 to 21. Both colors are `#rrggbb`. */
export function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(parse(one)), luminance(parse(other))].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

/** The color itself, or the nearest mixture with black or white that is readable as text on `ground`. */
export function readableOn(ground: string, color: string): string {
  const end = luminance(parse(ground)) > 0.18 ? 0 : 255;
  for (let share = 0; share <= 100; share++) {
    const mixed = parse(color).map((part) => Math.round(part + ((end - part) * share) / 100));
    const hex = `#${mixed.map((part) => part.toString(16).padStart(2, '0')).join('')}`;
    if (contrast(hex, ground) >= LEAST) return hex;
  }
  return end === 0 ? '#000000' : '#ffffff';
}

export interface PublicAddresses {
  page: string | null;
  feeds: { atom: string; rss: string; json: string } | null;
  /** HTML for another site, which shows the newest posts. It reads a feed. */
  widget: string | null;
  mcp: string | null;
}

type Needs = Pick<Publication, 'slug' | 'address' | 'isPageOn' | 'isFeedOn' | 'isMcpOn'>;

export function publicAddresses(publication: Needs, publicUrl: string): PublicAddresses {
  const page = pageAddress(publication, publicUrl);
  const { isPageOn, isFeedOn, isMcpOn } = publication;
  const feed = (ending: string) => `${page}/feed.${ending}`;
  return {
    page: isPageOn ? page : null,
    feeds: isFeedOn ? { atom: feed('atom'), rss: feed('rss'), json: feed('json') } : null,
    widget: isFeedOn ? widgetSnippet(page) : null,
    mcp: isMcpOn ? `${publicUrl}/mcp` : null,
  };
}

/** Without scripts it is a plain link. */
function widgetSnippet(page: string): string {
  const address = Bun.escapeHTML(page);
  return `<a href="${address}" data-tidings>What's new</a> <script src="${address}/widget.js" async></script>`;
}
