import { and, asc, desc, eq, inArray, lte } from 'drizzle-orm';
import type { ReadTx, WriteTx } from '../../db/engine.ts';
import { throttles } from '../../db/schema/processes.ts';

/** Sources that are remembered. Beyond that, those are forgotten whose attempts stop counting first. */
export const MAX_THROTTLES = 10_000;

/** How many too many are removed at once. Each write adds fewer. */
const SURPLUS = 100;

/** When the attempts of each key stop counting, in milliseconds since 1970. A key without attempts is left out. */
export async function findFullAt(tx: ReadTx, keys: readonly string[]): Promise<Map<string, number>> {
  const rows = await tx
    .select()
    .from(throttles)
    .where(inArray(throttles.key, [...keys]))
    .all();
  return new Map(rows.map(({ key, fullAt }) => [key, fullAt]));
}

export async function saveThrottle(tx: WriteTx, key: string, fullAt: number): Promise<void> {
  const set = { fullAt };
  await tx.insert(throttles).values({ key, fullAt }).onConflictDoUpdate({ target: throttles.key, set }).run();
}

export async function deleteThrottle(tx: WriteTx, key: string): Promise<void> {
  await tx.delete(throttles).where(eq(throttles.key, key)).run();
}

/** Strangers cannot fill the disk: forgets what is beyond `MAX_THROTTLES`. */
export async function deleteSurplusThrottles(tx: WriteTx): Promise<void> {
  const surplus = tx
    .select({ key: throttles.key })
    .from(throttles)
    .orderBy(desc(throttles.fullAt), desc(throttles.key))
    .limit(SURPLUS)
    .offset(MAX_THROTTLES);
  await tx.delete(throttles).where(inArray(throttles.key, surplus)).run();
}

/** Deletes at most `limit` keys whose attempts no longer count. Returns their number. */
export async function deleteExpiredThrottles(tx: WriteTx, asOf: Date, limit: number): Promise<number> {
  const isExpired = lte(throttles.fullAt, asOf.getTime());
  const expired = tx
    .select({ key: throttles.key })
    .from(throttles)
    .where(isExpired)
    .orderBy(asc(throttles.fullAt))
    .limit(limit);
  // Look again: another process may have counted an attempt meanwhile.
  const deleted = tx.delete(throttles).where(and(inArray(throttles.key, expired), isExpired));
  return (await deleted.returning({ key: throttles.key }).all()).length;
}
