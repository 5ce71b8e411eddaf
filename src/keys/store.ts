import { count, desc, eq, isNotNull, lte, or, sql } from 'drizzle-orm';
import { type Database, prepared } from '../../db/client.ts';
import { apiKeys } from '../../db/schema/index.ts';
import { type AuditAction, quote } from '../audit/model.ts';
import { type AuditDeps, recordAudit } from '../audit/store.ts';

export type KeyRow = typeof apiKeys.$inferSelect;

export function insertKey(deps: AuditDeps, key: KeyRow): Promise<void> {
  return deps.db.write(() => {
    deps.db.insert(apiKeys).values(key).run();
    recordKey(deps, 'key.created', key);
  });
}

const keyVerbs = { 'key.created': 'created', 'key.revoked': 'revoked', 'key.deleted': 'deleted' } as const;

/** Synchronous, for a transaction of the caller's. */
export function recordKey(
  deps: AuditDeps,
  action: Extract<AuditAction, `key.${string}`>,
  { id, organizationId, name }: Pick<KeyRow, 'id' | 'organizationId' | 'name'>,
): void {
  const summary = `${keyVerbs[action]} the API key ${quote(name)}`;
  recordAudit(deps.db, deps, { organizationId, action, target: { type: 'key', id }, summary });
}

/** How many keys there are, and how many of them are refused for good: revoked, or expired at `now`. */
export function countKeys(db: Database, now: Date): { all: number; ended: number } {
  const isEnded = or(isNotNull(apiKeys.revokedAt), lte(apiKeys.expiresAt, now.toISOString()));
  const all = db.select({ keys: count() }).from(apiKeys).get()?.keys ?? 0;
  return { all, ended: db.select({ keys: count() }).from(apiKeys).where(isEnded).get()?.keys ?? 0 };
}

/** What a verdict on a key needs. */
type VerifiableKey = Pick<KeyRow, 'id' | 'organizationId' | 'permissions' | 'expiresAt' | 'revokedAt'>;

/** By the SHA-256 of the key's value. */
export async function findKeyByHash(db: Database, hash: Buffer): Promise<VerifiableKey | null> {
  return byHash(db).get({ hash }) ?? null;
}

/** Newest first. */
export async function listKeyRows(db: Database, organizationId: string): Promise<KeyRow[]> {
  return db
    .select()
    .from(apiKeys)
    .where(eq(apiKeys.organizationId, organizationId))
    .orderBy(desc(apiKeys.createdAt), desc(apiKeys.id))
    .all();
}

/** The first revocation counts. Null when there is no such key. */
export function revokeKeyRow(deps: AuditDeps, keyId: string, at: Date): Promise<KeyRow | null> {
  const { db } = deps;
  return db.write(() => {
    const row = db.select().from(apiKeys).where(eq(apiKeys.id, keyId)).get();
    if (row === undefined || row.revokedAt !== null) return row ?? null;
    const revokedAt = at.toISOString();
    db.update(apiKeys).set({ revokedAt }).where(eq(apiKeys.id, keyId)).run();
    recordKey(deps, 'key.revoked', row);
    return { ...row, revokedAt };
  });
}

/** Whether there was such a key. */
export function deleteKeyRow(deps: AuditDeps, keyId: string): Promise<boolean> {
  return deps.db.write(() => {
    const deleted = deps.db.delete(apiKeys).where(eq(apiKeys.id, keyId)).returning().get();
    if (deleted !== undefined) recordKey(deps, 'key.deleted', deleted);
    return deleted !== undefined;
  });
}

/** All in one commit. Keys that are gone by now are passed over. */
export function recordKeyUse(
  db: Database,
  uses: ReadonlyMap<string, Date>,
  giveUpMs?: number,
): Promise<void> {
  const record = () => {
    for (const [keyId, at] of uses) {
      db.update(apiKeys).set({ lastUsedAt: at.toISOString() }).where(eq(apiKeys.id, keyId)).run();
    }
  };
  return db.write(record, { giveUpMs });
}

// What a verdict needs and nothing more: this runs on every request.
const byHash = prepared((db) =>
  db
    .select({
      id: apiKeys.id,
      organizationId: apiKeys.organizationId,
      permissions: apiKeys.permissions,
      expiresAt: apiKeys.expiresAt,
      revokedAt: apiKeys.revokedAt,
    })
    .from(apiKeys)
    .where(eq(apiKeys.hash, sql.placeholder('hash')))
    .prepare(),
);
