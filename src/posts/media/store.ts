import { and, asc, desc, eq, gt, inArray, notInArray, type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';
import { dialectOf, isDue, prepared, type ReadTx, type WriteTx } from '../../../db/engine.ts';
import { deletedPosts, media, mediaCopies, posts, postVersions } from '../../../db/schema/posts.ts';
import { drafts } from '../../../db/schema/triggers.ts';
import { isOfLive } from '../../people/organization-store.ts';

/** An image of an organization. Its file is under `fileNameOf`. */
export type Media = Omit<typeof media.$inferSelect, 'sha256'>;

const { id, organizationId, type, bytes, width, height, name, alt, actorName, createdAt } = media;
const columns = { id, organizationId, type, bytes, width, height, name, alt, actorName, createdAt };

/** False when the organization has an image of the same content. */
export async function insertMedia(tx: WriteTx, row: typeof media.$inferInsert): Promise<boolean> {
  const inserted = tx.insert(media).values(row).onConflictDoNothing().returning({ id });
  return (await inserted.all()).length > 0;
}

export async function findMedia(tx: ReadTx, mediaId: string): Promise<Media | null> {
  return (await tx.select(columns).from(media).where(eq(id, mediaId)).get()) ?? null;
}

/** The image exists, and its organization is not in the trash. */
export async function isPublished(tx: ReadTx, mediaId: string): Promise<boolean> {
  return (await statements(tx).published.get({ mediaId })) !== undefined;
}

// Every request for an image asks this.
const statements = prepared((tx) => ({
  published: tx
    .select({ id })
    .from(media)
    .where(and(eq(id, sql.placeholder('mediaId')), isOfLive(organizationId)))
    .prepare(),
}));

export async function findMediaByContent(tx: ReadTx, owner: string, sha256: Buffer): Promise<Media | null> {
  const isSame = and(eq(organizationId, owner), eq(media.sha256, sha256));
  return (await tx.select(columns).from(media).where(isSame).get()) ?? null;
}

export async function listMedia(
  tx: ReadTx,
  owner: string,
  { limit, offset }: { limit: number; offset: number },
): Promise<Media[]> {
  return tx
    .select(columns)
    .from(media)
    .where(eq(organizationId, owner))
    .orderBy(desc(createdAt), desc(id))
    .limit(limit)
    .offset(offset)
    .all();
}

export async function measureMedia(tx: ReadTx, owner: string): Promise<{ images: number; bytes: number }> {
  const measured = await tx
    .select({
      images: sql<number>`count(*)`.mapWith(Number),
      bytes: sql<number>`coalesce(sum(${bytes}), 0)`.mapWith(Number),
    })
    .from(media)
    .where(eq(organizationId, owner))
    .get();
  return measured ?? { images: 0, bytes: 0 };
}

export async function updateMedia(tx: WriteTx, mediaId: string, changes: { alt: string }): Promise<void> {
  await tx.update(media).set(changes).where(eq(id, mediaId)).run();
}

export async function deleteMedia(tx: WriteTx, mediaId: string): Promise<void> {
  await tx.delete(media).where(eq(id, mediaId)).run();
}

export async function existingMedia(tx: ReadTx, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await tx
    .select({ id })
    .from(media)
    .where(inArray(id, [...ids]))
    .all();
  return new Set(rows.map((row) => row.id));
}

export async function listMediaSizes(tx: ReadTx, ids: readonly string[]) {
  const isListed = inArray(id, dialectOf(tx).listed(ids));
  const rows = await tx.select({ id, width, height }).from(media).where(isListed).all();
  return new Map(rows.map((row) => [row.id, row]));
}

export async function listMediaFiles(tx: ReadTx): Promise<Pick<Media, 'id' | 'type' | 'bytes'>[]> {
  return tx.select({ id, type, bytes }).from(media).orderBy(id).all();
}

/** The posts of an organization whose text names the file, newest first. */
export async function listPostsWith(tx: ReadTx, owner: string, file: string, limit: number) {
  const pattern = `%/media/${file.replaceAll('_', '!_')}%`;
  return tx
    .select({ id: posts.id, title: posts.title })
    .from(posts)
    .where(and(eq(posts.organizationId, owner), sql`${posts.markdown} like ${pattern} escape '!'`))
    .orderBy(desc(posts.createdAt))
    .limit(limit)
    .all();
}

/** Texts that hold addresses of images, each with its key. Posts of an import follow when it is done. */
const places: readonly { table: SQLiteTable; key: SQLiteColumn; texts: Record<string, SQLiteColumn> }[] = [
  { table: posts, key: posts.id, texts: { markdown: posts.markdown, content: posts.content } },
  {
    table: deletedPosts,
    key: deletedPosts.id,
    texts: { markdown: deletedPosts.markdown, content: deletedPosts.content },
  },
  { table: postVersions, key: postVersions.id, texts: { markdown: postVersions.markdown } },
  { table: drafts, key: drafts.postId, texts: { suggestion: drafts.suggestion } },
];

export interface AddressPosition {
  place: number;
  after: string;
}

export const FIRST_POSITION: AddressPosition = { place: 0, after: '' };

/** In the next `limit` texts; times stay. Returns how many it changed and the next position, null at the end. */
export async function replaceAddresses(
  tx: WriteTx,
  from: string,
  to: string,
  { place, after }: AddressPosition,
  limit: number,
): Promise<{ changed: number; next: AddressPosition | null }> {
  const current = places[place];
  if (current === undefined) return { changed: 0, next: null };
  const { table, key, texts } = current;
  const rows = (await tx
    .selectDistinct({ key })
    .from(table)
    .where(gt(key, after))
    .orderBy(asc(key))
    .limit(limit)
    .all()) as { key: string }[];
  const last = rows.at(-1);
  if (last === undefined) return { changed: 0, next: { place: place + 1, after: '' } };
  const pattern = `%${from.replaceAll(/[!%_]/g, '!$&')}%`;
  // SQLite's `like` ignores case, and `replace` does not.
  const holds = sql.join(
    Object.values(texts).map(
      (column) =>
        sql`(${column} like ${pattern} escape '!' and replace(${column}, ${from}, ${to}) <> ${column})`,
    ),
    sql` or `,
  );
  const changes: Record<string, SQL> = {};
  for (const [name, column] of Object.entries(texts)) changes[name] = sql`replace(${column}, ${from}, ${to})`;
  const isListed = inArray(key, dialectOf(tx).listed(rows.map((row) => row.key)));
  const changed = await tx
    .update(table)
    .set(changes)
    .where(and(isListed, sql`(${holds})`))
    .returning({ key })
    .all();
  return { changed: changed.length, next: { place, after: last.key } };
}

export type Copy = typeof mediaCopies.$inferSelect;
type CopyKey = Pick<Copy, 'integrationId' | 'url'>;

const isCopy = ({ integrationId, url }: CopyKey) =>
  and(eq(mediaCopies.integrationId, integrationId), eq(mediaCopies.url, url));

/** Queues the images of an event. One that failed gets another try; one that was copied stays. */
export async function queueCopies(
  tx: WriteTx,
  source: Pick<Copy, 'integrationId' | 'organizationId'>,
  urls: readonly string[],
  now: Date,
): Promise<void> {
  if (urls.length === 0) return;
  const fresh = {
    status: 'queued',
    attempts: 0,
    dueAt: now.getTime(),
    createdAt: now.toISOString(),
  } as const;
  // In one order: deliveries that name the same images at a time must not wait for each other.
  const sorted = [...urls].sort();
  await tx
    .insert(mediaCopies)
    .values(sorted.map((url) => ({ ...source, ...fresh, url, mediaId: null, error: null })))
    .onConflictDoUpdate({
      target: [mediaCopies.integrationId, mediaCopies.url],
      set: { ...fresh, error: null },
      setWhere: sql`${mediaCopies.status} = 'failed' or (${mediaCopies.status} = 'done' and ${mediaCopies.mediaId} is null)`,
    })
    .run();
}

/** Those that wait longest first. One that waits longer than `maxWaitMs` dates from a clock set ahead. */
export async function listDueCopies(
  tx: ReadTx,
  now: Date,
  { except, limit, maxWaitMs }: { except: Iterable<string>; limit: number; maxWaitMs: number },
): Promise<Copy[]> {
  return tx
    .select()
    .from(mediaCopies)
    .where(
      and(
        eq(mediaCopies.status, 'queued'),
        isOfLive(mediaCopies.organizationId),
        notInArray(mediaCopies.organizationId, dialectOf(tx).listed([...except])),
        isDue(mediaCopies.dueAt, now.getTime(), maxWaitMs),
      ),
    )
    .orderBy(asc(mediaCopies.dueAt))
    .limit(limit)
    .all();
}

export async function updateCopy(
  tx: WriteTx,
  key: CopyKey,
  changes: Partial<Pick<Copy, 'status' | 'mediaId' | 'attempts' | 'dueAt' | 'error'>>,
): Promise<void> {
  await tx.update(mediaCopies).set(changes).where(isCopy(key)).run();
}

/** The copies of these images, each with the type of the stored one. */
export async function findCopies(tx: ReadTx, integrationId: string, urls: readonly string[]) {
  if (urls.length === 0) return [];
  const { url, status, attempts, createdAt, mediaId } = mediaCopies;
  return tx
    .select({ url, status, attempts, createdAt, mediaId, type: media.type })
    .from(mediaCopies)
    .leftJoin(media, eq(media.id, mediaId))
    .where(and(eq(mediaCopies.integrationId, integrationId), inArray(url, dialectOf(tx).listed(urls))))
    .all();
}

export async function listFailedCopies(
  tx: ReadTx,
  organizationId: string,
  urls: readonly string[],
): Promise<{ url: string; error: string | null }[]> {
  if (urls.length === 0) return [];
  return tx
    .select({ url: mediaCopies.url, error: mediaCopies.error })
    .from(mediaCopies)
    .where(
      and(
        eq(mediaCopies.organizationId, organizationId),
        eq(mediaCopies.status, 'failed'),
        inArray(mediaCopies.url, [...urls]),
      ),
    )
    .all();
}

const extensions = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
  'image/avif': 'avif',
} as const;

export type ImageType = keyof typeof extensions;

export const imageTypes = Object.keys(extensions) as ImageType[];

export const MAX_IMAGE_BYTES = 10 * 1024 * 1024;

/** A photo of a good phone has 48 megapixels. */
export const MAX_PIXELS = 50_000_000;
export const MAX_SIDE = 16_384;

/** In characters. */
export const MAX_ALT = 500;
export const MAX_NAME = 200;

/** The name of an image's file: in the folder or the bucket, and in its address. */
export function fileNameOf({ id, type }: { id: string; type: ImageType }): string {
  return `${id}.${extensions[type]}`;
}

/** With the prefix: a bucket may hold other images, which are not ours to serve or to remove. */
const FILE_NAME = /^(img_[A-Za-z0-9_-]{1,60})\.(png|jpg|gif|webp|avif)$/;

/** The id and type of a file name; null for any other name. */
export function parseFileName(name: string): { id: string; type: ImageType } | null {
  const [, id = '', extension] = FILE_NAME.exec(name) ?? [];
  const type = imageTypes.find((each) => extensions[each] === extension);
  return type === undefined ? null : { id, type };
}
