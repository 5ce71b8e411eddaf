import { and, asc, desc, inArray, lte } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { WriteTx } from '../../db/engine.ts';

// Strangers write rows of these tables, so both the number and the lifetime of the rows are limited.

interface BoundedTable {
  table: SQLiteTable;
  key: SQLiteColumn;
  /** In milliseconds since 1970. */
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
