import { and, asc, count, eq } from 'drizzle-orm';
import type { ReadTx, WriteTx } from '../../db/engine.ts';
import { type hookMessages, rebuildHooks } from '../../db/schema/public.ts';
import { notFound } from '../lib/app-error.ts';

type Row = typeof rebuildHooks.$inferSelect;

/** A hook without its URL and its secret. */
export type Hook = Omit<Row, 'url' | 'secret'>;
export type SealedHook = Row;
export type HookMessage = typeof hookMessages.$inferSelect;

const { id, organizationId, name, kind, host, isEnabled, createdAt } = rebuildHooks;
const open = { id, organizationId, name, kind, host, isEnabled, createdAt };

export async function insertHook(tx: WriteTx, hook: SealedHook): Promise<void> {
  await tx.insert(rebuildHooks).values(hook).run();
}

/** Oldest first; of one organization, or of all. */
export async function listHooks(tx: ReadTx, ofOrganization?: string): Promise<Hook[]> {
  const isWanted = ofOrganization === undefined ? undefined : eq(organizationId, ofOrganization);
  return tx.select(open).from(rebuildHooks).where(isWanted).orderBy(asc(createdAt), asc(id)).all();
}

export async function countHooks(tx: ReadTx, ofOrganization: string): Promise<number> {
  const row = await tx
    .select({ total: count() })
    .from(rebuildHooks)
    .where(eq(organizationId, ofOrganization))
    .get();
  return row?.total ?? 0;
}

/** Throws `AppError` 404 `hook_not_found`, also for another organization's. */
export async function getHook(tx: ReadTx, hookId: string, ofOrganization?: string): Promise<Hook> {
  const { url: _url, secret: _secret, ...hook } = await getSealedHook(tx, hookId, ofOrganization);
  return hook;
}

/** Throws `AppError` 404 `hook_not_found`, also for another organization's. */
export async function getSealedHook(
  tx: ReadTx,
  hookId: string,
  ofOrganization?: string,
): Promise<SealedHook> {
  const isOwn = ofOrganization === undefined ? undefined : eq(organizationId, ofOrganization);
  const hook = await tx
    .select()
    .from(rebuildHooks)
    .where(and(eq(id, hookId), isOwn))
    .get();
  if (hook === undefined) throw notFound('hook', hookId);
  return hook;
}

export async function findSealedHook(tx: ReadTx, hookId: string): Promise<SealedHook | null> {
  return (await tx.select().from(rebuildHooks).where(eq(id, hookId)).get()) ?? null;
}

export async function updateHook(
  tx: WriteTx,
  hookId: string,
  changes: Partial<Pick<Row, 'isEnabled' | 'secret'>>,
): Promise<void> {
  await tx.update(rebuildHooks).set(changes).where(eq(id, hookId)).run();
}

/** Deletes its messages too. */
export async function deleteHookRow(tx: WriteTx, hookId: string): Promise<void> {
  await tx.delete(rebuildHooks).where(eq(id, hookId)).run();
}
