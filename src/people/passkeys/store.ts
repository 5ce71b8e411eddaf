import { and, asc, eq, or, sql } from 'drizzle-orm';
import type { ReadTx, WriteTx } from '../../../db/engine.ts';
import { passkeys, recoveryCodes } from '../../../db/schema/organizations.ts';

export type Passkey = typeof passkeys.$inferSelect;

/** Oldest first. */
export async function listPasskeys(tx: ReadTx, userId: string): Promise<Passkey[]> {
  const isOfUser = eq(passkeys.userId, userId);
  return await tx.select().from(passkeys).where(isOfUser).orderBy(asc(passkeys.createdAt)).all();
}

export async function findPasskey(tx: ReadTx, id: string): Promise<Passkey | null> {
  return (await tx.select().from(passkeys).where(eq(passkeys.id, id)).get()) ?? null;
}

/** True if anybody has one. */
export async function hasPasskeys(tx: ReadTx): Promise<boolean> {
  return (await tx.select({ id: passkeys.id }).from(passkeys).limit(1).get()) !== undefined;
}

/** False when an authenticator has given this ID before. */
export async function insertPasskey(tx: WriteTx, passkey: Passkey): Promise<boolean> {
  const inserted = tx.insert(passkeys).values(passkey).onConflictDoNothing();
  return (await inserted.returning({ id: passkeys.id }).all()).length > 0;
}

/** False when it is gone, or has counted further: a copy of it may have signed. */
export async function countPasskey(
  tx: WriteTx,
  { id, counter, lastUsedAt }: Pick<Passkey, 'id' | 'counter' | 'lastUsedAt'>,
): Promise<boolean> {
  const counts = or(sql`${passkeys.counter} < ${counter}`, sql`${passkeys.counter} = 0 and ${counter} = 0`);
  const counted = tx
    .update(passkeys)
    .set({ counter, lastUsedAt })
    .where(and(eq(passkeys.id, id), counts));
  return (await counted.returning({ id: passkeys.id }).all()).length > 0;
}

/** The name of the one that was deleted; null when it is not this person's. */
export async function deletePasskey(tx: WriteTx, userId: string, id: string): Promise<string | null> {
  const deleted = tx.delete(passkeys).where(and(eq(passkeys.id, id), eq(passkeys.userId, userId)));
  return (await deleted.returning({ name: passkeys.name }).all())[0]?.name ?? null;
}

export async function deletePasskeysOf(tx: WriteTx, userId: string): Promise<number> {
  await deleteCodes(tx, userId);
  const deleted = tx.delete(passkeys).where(eq(passkeys.userId, userId));
  return (await deleted.returning({ id: passkeys.id }).all()).length;
}

export async function countCodes(tx: ReadTx, userId: string): Promise<number> {
  return tx.$count(recoveryCodes, eq(recoveryCodes.userId, userId));
}

export async function insertCodes(tx: WriteTx, userId: string, hashes: readonly string[]): Promise<void> {
  await tx
    .insert(recoveryCodes)
    .values(hashes.map((hash) => ({ hash, userId })))
    .run();
}

export async function deleteCodes(tx: WriteTx, userId: string): Promise<void> {
  await tx.delete(recoveryCodes).where(eq(recoveryCodes.userId, userId)).run();
}

/** False for a code that is wrong or was used. */
export async function useCode(tx: WriteTx, userId: string, hash: string): Promise<boolean> {
  const used = tx
    .delete(recoveryCodes)
    .where(and(eq(recoveryCodes.hash, hash), eq(recoveryCodes.userId, userId)));
  return (await used.returning({ hash: recoveryCodes.hash }).all()).length > 0;
}
