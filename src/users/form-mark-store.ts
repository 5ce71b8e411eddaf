import { eq, lte } from 'drizzle-orm';
import type { WriteTx } from '../../db/engine.ts';
import { formMarks } from '../../db/schema/processes.ts';
import { deleteExpired, deleteSurplus } from '../http/bounded-store.ts';
import { DAY_MS } from '../lib/time.ts';

/** How long a form cannot be sent again, in milliseconds. */
const MARK_MS = DAY_MS;

/** Marks that are remembered. Beyond that, the oldest are forgotten. */
const MAX_MARKS = 10_000;

const bounded = { table: formMarks, key: formMarks.mark, expiresAt: formMarks.expiresAt };

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
  await deleteSurplus(tx, bounded, MAX_MARKS);
  return claimed.length > 0;
}

export async function deleteFormMark(tx: WriteTx, mark: string): Promise<void> {
  await tx.delete(formMarks).where(eq(formMarks.mark, mark)).run();
}

/** Deletes at most `limit` expired marks. Returns their number. */
export const deleteExpiredFormMarks = (tx: WriteTx, asOf: Date, limit: number) =>
  deleteExpired(tx, bounded, asOf, limit);
