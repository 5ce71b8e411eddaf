import { and, asc, desc, eq, inArray, lte } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { ReadTx, WriteTx } from '../../db/engine.ts';
import { throttles } from '../../db/schema/processes.ts';

// Strangers write rows of these tables, so both the number and the lifetime of the rows are limited.

interface BoundedTable {
  table: SQLiteTable;
  key: SQLiteColumn;
  expiresAt: SQLiteColumn;
}

/** Rows to delete at once. Each write adds fewer. */
const SURPLUS = 100;

/** Deletes the rows that expire first, as far as there are more than `max`. */
export async function deleteSurplus(
  tx: WriteTx,
  { table, key, expiresAt }: BoundedTable,
  max: number,
): Promise<void> {
  const surplus = tx
    .select({ key })
    .from(table)
    .orderBy(desc(expiresAt), desc(key))
    .limit(SURPLUS)
    .offset(max);
  await tx.delete(table).where(inArray(key, surplus)).run();
}

/** Deletes at most `limit` expired rows. Returns their number. */
export async function deleteExpired(
  tx: WriteTx,
  { table, key, expiresAt }: BoundedTable,
  asOf: Date,
  limit: number,
): Promise<number> {
  const isExpired = lte(expiresAt, asOf.getTime());
  const expired = tx.select({ key }).from(table).where(isExpired).orderBy(asc(expiresAt)).limit(limit);
  // Look again: another process may have renewed a row in the meantime.
  const deleted = tx.delete(table).where(and(inArray(key, expired), isExpired));
  return (await deleted.returning({ key }).all()).length;
}

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
