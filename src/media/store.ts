import { and, desc, eq, inArray, sql } from 'drizzle-orm';
import { dialectOf, type ReadTx, type WriteTx } from '../../db/engine.ts';
import { media } from '../../db/schema/media.ts';
import { posts } from '../../db/schema/posts.ts';

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

export async function findMediaByContent(tx: ReadTx, owner: string, sha256: Buffer): Promise<Media | null> {
  const isSame = and(eq(organizationId, owner), eq(media.sha256, sha256));
  return (await tx.select(columns).from(media).where(isSame).get()) ?? null;
}

/** Newest first. */
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

/** How many images an organization has, and their size. */
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

/** Which of these ids exist. */
export async function existingMedia(tx: ReadTx, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await tx
    .select({ id })
    .from(media)
    .where(inArray(id, [...ids]))
    .all();
  return new Set(rows.map((row) => row.id));
}

/** Width and height of each of these images, in pixels. */
export async function listMediaSizes(tx: ReadTx, ids: readonly string[]) {
  const isListed = inArray(id, dialectOf(tx).listed(ids));
  const rows = await tx.select({ id, width, height }).from(media).where(isListed).all();
  return new Map(rows.map((row) => [row.id, row]));
}

/** The files of all images, for checks and copies. */
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
