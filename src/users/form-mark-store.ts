import { and, desc, eq, inArray, lte } from 'drizzle-orm';
import type { WriteTx } from '../../db/engine.ts';
import { formMarks } from '../../db/schema/processes.ts';
import { DAY_MS } from '../lib/time.ts';

/** How long a form cannot be sent again, in milliseconds. */
const MARK_MS = DAY_MS;

/** Marks that are remembered. Beyond that, the oldest are forgotten. */
const MAX_MARKS = 10_000;

/** How many too many are removed at once. Each write adds one. */
const SURPLUS = 100;

/** False when the mark is taken. */
export async function claimFormMark(tx: WriteTx, mark: string, now: Date): Promise<boolean> {
  const expiresAt = now.getTime() + MARK_MS;
  const claimed = await tx
    .insert(formMarks)
    .values({ mark, expiresAt })
    .onConflictDoUpdate({
      target: formMarks.mark,
      set: { expiresAt },
      setWhere: lte(formMarks.expiresAt, now.getTime()),
    })
    .returning({ mark: formMarks.mark })
    .all();
  const surplus = tx
    .select({ mark: formMarks.mark })
    .from(formMarks)
    .orderBy(desc(formMarks.expiresAt), desc(formMarks.mark))
    .limit(SURPLUS)
    .offset(MAX_MARKS);
  await tx.delete(formMarks).where(inArray(formMarks.mark, surplus)).run();
  return claimed.length > 0;
}

export async function deleteFormMark(tx: WriteTx, mark: string): Promise<void> {
  await tx.delete(formMarks).where(eq(formMarks.mark, mark)).run();
}

/** Deletes at most `limit` marks that have expired. Returns their number. */
export async function deleteExpiredFormMarks(tx: WriteTx, asOf: Date, limit: number): Promise<number> {
  const isExpired = lte(formMarks.expiresAt, asOf.getTime());
  const expired = tx.select({ mark: formMarks.mark }).from(formMarks).where(isExpired).limit(limit);
  // Look again: another process may have taken the mark again meanwhile.
  const deleted = tx.delete(formMarks).where(and(inArray(formMarks.mark, expired), isExpired));
  return (await deleted.returning({ mark: formMarks.mark }).all()).length;
}
