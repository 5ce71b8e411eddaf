import { and, asc, count, eq, inArray, lte } from 'drizzle-orm';
import { dialectOf, type ReadTx, type WriteTx } from '../../db/engine.ts';
import { postSchedules, posts } from '../../db/schema/posts.ts';

export type Schedule = typeof postSchedules.$inferSelect;

export async function saveSchedule(tx: WriteTx, schedule: Schedule): Promise<void> {
  const { postId: _, ...state } = schedule;
  await tx
    .insert(postSchedules)
    .values(schedule)
    .onConflictDoUpdate({ target: postSchedules.postId, set: state })
    .run();
}

/** Deletes and returns the schedule of a post. `dueAt`: only if it is due by then. */
export async function takeSchedule(tx: WriteTx, postId: string, dueAt?: Date): Promise<Schedule | null> {
  const isDue = dueAt && lte(postSchedules.publishAt, dueAt.getTime());
  const taken = tx
    .delete(postSchedules)
    .where(and(eq(postSchedules.postId, postId), isDue))
    .returning();
  return (await taken.get()) ?? null;
}

export async function findSchedule(tx: ReadTx, postId: string): Promise<Schedule | null> {
  return (await tx.select().from(postSchedules).where(eq(postSchedules.postId, postId)).get()) ?? null;
}

export async function listSchedules(tx: ReadTx, postIds: readonly string[]): Promise<Map<string, Schedule>> {
  if (postIds.length === 0) return new Map();
  const isListed = inArray(postSchedules.postId, dialectOf(tx).listed(postIds));
  const rows = await tx.select().from(postSchedules).where(isListed).all();
  return new Map(rows.map((row) => [row.postId, row]));
}

export async function listDuePosts(
  tx: ReadTx,
  now: Date,
  limit: number,
): Promise<Pick<Schedule, 'postId' | 'organizationId'>[]> {
  const { postId, organizationId, publishAt } = postSchedules;
  return tx
    .select({ postId, organizationId })
    .from(postSchedules)
    .where(lte(publishAt, now.getTime()))
    .orderBy(asc(publishAt), asc(postId))
    .limit(limit)
    .all();
}

/** The number of an organization's drafts that have a schedule. An import may have published the others. */
export async function countScheduled(tx: ReadTx, organizationId: string): Promise<number> {
  const counted = tx
    .select({ drafts: count() })
    .from(postSchedules)
    .innerJoin(posts, eq(posts.id, postSchedules.postId))
    .where(and(eq(postSchedules.organizationId, organizationId), eq(posts.status, 'draft')));
  return (await counted.get())?.drafts ?? 0;
}
