import { and, asc, eq, gt, inArray, lte, notInArray, or, sql } from 'drizzle-orm';
import { dialectOf, type ReadTx, type WriteTx } from '../../db/engine.ts';
import { media, mediaCopies } from '../../db/schema/media.ts';

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

/**
 * The next copies to make, those that wait longest first, without those of the organizations in `except`. One that waits
 * longer than `maxWaitMs` dates from a clock set ahead.
 */
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
        notInArray(mediaCopies.organizationId, dialectOf(tx).listed([...except])),
        or(lte(mediaCopies.dueAt, now.getTime()), gt(mediaCopies.dueAt, now.getTime() + maxWaitMs)),
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

/** Why images of a text could not be copied. */
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
