import { eq, inArray } from 'drizzle-orm';
import type { ReadTx, WriteTx } from '../../db/engine.ts';
import { throttles } from '../../db/schema/processes.ts';
import { deleteExpired, deleteSurplus } from './bounded-store.ts';

/** Sources that are remembered. Beyond that, those are forgotten whose attempts stop counting first. */
export const MAX_THROTTLES = 10_000;

const bounded = { table: throttles, key: throttles.key, expiresAt: throttles.fullAt };

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

/** Strangers cannot fill the disk: deletes rows beyond `MAX_THROTTLES`. */
export const deleteSurplusThrottles = (tx: WriteTx) => deleteSurplus(tx, bounded, MAX_THROTTLES);

/** Deletes at most `limit` keys whose attempts no longer count. Returns their number. */
export const deleteExpiredThrottles = (tx: WriteTx, asOf: Date, limit: number) =>
  deleteExpired(tx, bounded, asOf, limit);
