import { and, desc, eq, isNotNull, isNull, lt, lte, or, sql } from 'drizzle-orm';
import { dialectOf, prepared, type ReadTx, type WriteTx } from '../../db/engine.ts';
import { apiKeys } from '../../db/schema/organizations.ts';
import { notFound } from '../lib/app-error.ts';

export type KeyRow = typeof apiKeys.$inferSelect;

/** What a verdict needs of the key, by the SHA-256 of its value. */
export async function findKeyByHash(tx: ReadTx, hash: Buffer) {
  return (await byHash(tx).get({ hash })) ?? null;
}

// Hot path: every request of the content API runs this.
const byHash = prepared((db) =>
  db
    .select({
      id: apiKeys.id,
      name: apiKeys.name,
      organizationId: apiKeys.organizationId,
      permissions: apiKeys.permissions,
      expiresAt: apiKeys.expiresAt,
      revokedAt: apiKeys.revokedAt,
    })
    .from(apiKeys)
    .where(eq(apiKeys.hash, sql.placeholder('hash')))
    .prepare(),
);

/** What a verdict needs of the key. `isKept`: in `write`, where it stays so until the commit. */
export async function findGrant(
  tx: ReadTx,
  id: string,
  isKept: boolean,
): Promise<Pick<KeyRow, 'permissions' | 'expiresAt' | 'revokedAt'> | null> {
  const { permissions, expiresAt, revokedAt } = apiKeys;
  const [row] = await tx.values<[permissions: string, expiresAt: string | null, revokedAt: string | null]>(
    sql`select ${permissions}, ${expiresAt}, ${revokedAt} from ${apiKeys} where ${apiKeys.id} = ${id} ${isKept ? dialectOf(tx).keepRows : sql``}`,
  );
  return row ? { permissions: JSON.parse(row[0]), expiresAt: row[1], revokedAt: row[2] } : null;
}

/** Throws `AppError` 404. */
export async function getKey(tx: ReadTx, id: string): Promise<KeyRow> {
  const key = await tx.select().from(apiKeys).where(eq(apiKeys.id, id)).get();
  if (key === undefined) throw notFound('key', id);
  return key;
}

/** Newest first. */
export async function listKeyRows(tx: ReadTx, organizationId: string): Promise<KeyRow[]> {
  return await tx
    .select()
    .from(apiKeys)
    .where(eq(apiKeys.organizationId, organizationId))
    .orderBy(desc(apiKeys.createdAt), desc(apiKeys.id))
    .all();
}

/** Counts all keys, and those that are revoked or, at `now`, expired. */
export async function countKeys(tx: ReadTx, now: Date): Promise<{ all: number; ended: number }> {
  const isEnded = or(isNotNull(apiKeys.revokedAt), lte(apiKeys.expiresAt, now.toISOString()));
  return { all: await tx.$count(apiKeys), ended: await tx.$count(apiKeys, isEnded) };
}

export async function insertKey(tx: WriteTx, key: KeyRow): Promise<void> {
  await tx.insert(apiKeys).values(key).run();
}

export async function updateKey(
  tx: WriteTx,
  id: string,
  change: Partial<Pick<KeyRow, 'revokedAt'>>,
): Promise<void> {
  await tx.update(apiKeys).set(change).where(eq(apiKeys.id, id)).run();
}

/** Records a use, unless another process has recorded a later one. */
export async function recordKeyUse(tx: WriteTx, id: string, at: Date): Promise<void> {
  const lastUsedAt = at.toISOString();
  const isLatest = or(isNull(apiKeys.lastUsedAt), lt(apiKeys.lastUsedAt, lastUsedAt));
  await tx
    .update(apiKeys)
    .set({ lastUsedAt })
    .where(and(eq(apiKeys.id, id), isLatest))
    .run();
}

export async function deleteKey(tx: WriteTx, id: string): Promise<void> {
  await tx.delete(apiKeys).where(eq(apiKeys.id, id)).run();
}
