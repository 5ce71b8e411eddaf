import { type Static, Type } from '@sinclair/typebox';
import { and, asc, desc, eq, getTableColumns, gte, inArray, lt, type SQL, sql } from 'drizzle-orm';
import { deleteExpired, dialectOf, type ReadTx, type WriteTx } from '../../../db/engine.ts';
import { posts } from '../../../db/schema/posts.ts';
import { formerSlugs, publications } from '../../../db/schema/public.ts';
import { isOfLive } from '../../people/organization-store.ts';
import { type Post, PUBLIC_POSTS } from '../../posts/model.ts';

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

export async function findPublication(tx: ReadTx, organizationId: string): Promise<Publication | null> {
  return findLive(tx, eq(publications.organizationId, organizationId));
}

/** `isKept`: in `write`, where it stays so until the commit. */
export async function isMcpOn(tx: ReadTx, organizationId: string, isKept: boolean): Promise<boolean> {
  const { isMcpOn, organizationId: id } = publications;
  const isIt = and(eq(id, organizationId), isOfLive(id));
  const found = tx
    .select({ isMcpOn })
    .from(publications)
    .where(sql`${isIt} ${isKept ? dialectOf(tx).keepRows : sql``}`);
  return (await found.get())?.isMcpOn === true;
}

export async function findPublicationBySlug(tx: ReadTx, slug: string): Promise<Publication | null> {
  return findLive(tx, eq(publications.slug, slug));
}

async function findLive(tx: ReadTx, isIt: SQL): Promise<Publication | null> {
  const isWanted = and(isIt, isOfLive(publications.organizationId));
  return (await tx.select().from(publications).where(isWanted).get()) ?? null;
}

/** The id of the organization that has a slug, also in the trash. */
export async function findSlugOwner(tx: ReadTx, slug: string): Promise<string | null> {
  const { organizationId } = publications;
  const found = tx.select({ organizationId }).from(publications).where(eq(publications.slug, slug));
  return (await found.get())?.organizationId ?? null;
}

/** Inserts or replaces it. The caller must have checked that no other organization has the slug. */
export async function savePublication(tx: WriteTx, publication: Publication): Promise<void> {
  const { organizationId, ...changeable } = publication;
  await tx
    .insert(publications)
    .values(publication)
    .onConflictDoUpdate({ target: publications.organizationId, set: changeable })
    .run();
}

/** The publication that had a slug before. The caller must have checked that none has it now. */
export async function findPublicationByFormerSlug(tx: ReadTx, slug: string): Promise<Publication | null> {
  const found = tx
    .select(getTableColumns(publications))
    .from(formerSlugs)
    .innerJoin(publications, eq(publications.organizationId, formerSlugs.organizationId))
    .where(and(eq(formerSlugs.slug, slug), isOfLive(formerSlugs.organizationId)));
  return (await found.get()) ?? null;
}

export async function saveFormerSlug(tx: WriteTx, row: typeof formerSlugs.$inferInsert): Promise<void> {
  await tx.insert(formerSlugs).values(row).onConflictDoUpdate({ target: formerSlugs.slug, set: row }).run();
}

export async function deleteFormerSlug(tx: WriteTx, slug: string): Promise<void> {
  await tx.delete(formerSlugs).where(eq(formerSlugs.slug, slug)).run();
}

export const deleteExpiredSlugs = (tx: WriteTx, asOf: Date, limit: number) =>
  deleteExpired(
    tx,
    { table: formerSlugs, key: formerSlugs.slug, expiresAt: formerSlugs.expiresAt },
    asOf,
    limit,
  );

export type PostLine = Pick<Post, 'id' | 'title' | 'createdAt'>;

const line = { id: posts.id, title: posts.title, createdAt: posts.createdAt };

/** The posts that the page shows. The index `posts_by_status_and_type` finds them in their order. */
const isPublicOf = (organizationId: string) =>
  and(
    eq(posts.organizationId, organizationId),
    eq(posts.status, 'published'),
    inArray(posts.contentType, PUBLIC_POSTS.contentTypes),
  );

export async function findNeighbors(
  tx: ReadTx,
  organizationId: string,
  { id, createdAt }: Pick<Post, 'id' | 'createdAt'>,
): Promise<{ newer: PostLine | undefined; older: PostLine | undefined }> {
  const place = sql`(${posts.createdAt}, ${posts.id})`;
  const next = (isBeyond: SQL, order: typeof asc) =>
    tx
      .select(line)
      .from(posts)
      .where(and(isPublicOf(organizationId), isBeyond))
      .orderBy(order(posts.createdAt), order(posts.id))
      .limit(1)
      .get();
  const [newer, older] = await Promise.all([
    next(sql`${place} > (${createdAt}, ${id})`, asc),
    next(sql`${place} < (${createdAt}, ${id})`, desc),
  ]);
  return { newer, older };
}

/** The months that have posts, such as `2026-11`, newest first. Jumps from month to month along the index. */
export async function listMonths(tx: ReadTx, organizationId: string, limit: number): Promise<string[]> {
  const newest = (isBefore?: SQL) => sql`(
    select created_at from posts where ${isPublicOf(organizationId)} ${isBefore === undefined ? sql`` : sql`and ${isBefore}`}
    order by created_at desc limit 1)`;
  const rows = await tx.values<[month: string]>(sql`
    with recursive months(at, number) as (
      select ${newest()}, 1
      union all
      select ${newest(sql`created_at < substr(months.at, 1, 7)`)}, number + 1 from months
      where months.at is not null and number < ${limit}
    ) select substr(at, 1, 7) from months where at is not null`);
  return rows.map(([month]) => month);
}

/** Posts newest first, of one month in UTC or of all. Reads no texts. */
export async function listLines(
  tx: ReadTx,
  organizationId: string,
  { month = '', limit, offset = 0 }: { month?: string; limit: number; offset?: number },
): Promise<(PostLine & Pick<Post, 'updatedAt'>)[]> {
  return tx
    .select({ ...line, updatedAt: posts.updatedAt })
    .from(posts)
    .where(isIn(organizationId, month))
    .orderBy(desc(posts.createdAt), desc(posts.id))
    .limit(limit)
    .offset(offset)
    .all();
}

export async function countMonth(tx: ReadTx, organizationId: string, month: string): Promise<number> {
  return tx.$count(posts, isIn(organizationId, month));
}

/** Times are text, and `~` comes after every character of them. */
function isIn(organizationId: string, month: string) {
  return and(isPublicOf(organizationId), gte(posts.createdAt, month), lt(posts.createdAt, `${month}~`));
}
