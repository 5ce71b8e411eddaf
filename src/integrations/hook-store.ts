import { and, asc, count, eq, gt, inArray, isNotNull, isNull, lte, or, sql } from 'drizzle-orm';
import { hooks, integrations } from '../../db/schema/integrations.ts';
import { triggers } from '../../db/schema/triggers.ts';
import { prepared, type ReadTx, type WriteTx } from '../../db/storage.ts';
import { DAY_MS } from '../lib/time.ts';
import type { EnabledTrigger, Hook, Integration, IntegrationType } from './model.ts';
import { getIntegration } from './store.ts';

const columns = {
  integrationId: hooks.integrationId,
  placeId: hooks.placeId,
  placeName: hooks.placeName,
  repositoryId: hooks.repositoryId,
  remoteId: hooks.remoteId,
  events: hooks.events,
  hasPresentSecret: hooks.hasPresentSecret,
  problem: hooks.problem,
  retryAt: hooks.retryAt,
  attempts: hooks.attempts,
};

type HookKey = Pick<Hook, 'integrationId' | 'placeId'>;

const isHook = ({ integrationId, placeId }: HookKey) =>
  and(eq(hooks.integrationId, integrationId), eq(hooks.placeId, placeId));

/** Skips places that have a hook. Returns whether it inserted all. */
export async function insertHooks(tx: WriteTx, rows: readonly Hook[], createdAt: string): Promise<boolean> {
  const inserted = rows.map((row) =>
    tx
      .insert(hooks)
      .values({ ...row, events: [...row.events], createdAt })
      .onConflictDoNothing()
      .returning({ placeId: hooks.placeId })
      .all(),
  );
  return inserted.every(({ length }) => length === 1);
}

/** Of one integration, by the names of their places. */
export async function listHooks(tx: ReadTx, integrationId: string): Promise<Hook[]> {
  return tx
    .select(columns)
    .from(hooks)
    .where(eq(hooks.integrationId, integrationId))
    .orderBy(asc(hooks.placeName), asc(hooks.placeId))
    .all();
}

/** Throws `IntegrationProblem` `integration_not_found`. */
export async function getWithHooks(
  tx: ReadTx,
  id: string,
): Promise<{ integration: Integration; hooks: Hook[] }> {
  return { integration: await getIntegration(tx, id), hooks: await listHooks(tx, id) };
}

/** The columns that decide whether a hook needs work. */
export type DueHook = Pick<
  Hook,
  'integrationId' | 'placeId' | 'repositoryId' | 'remoteId' | 'events' | 'hasPresentSecret'
> & { type: IntegrationType };

/** The longest wait before a retry, in milliseconds. A longer one was computed by a clock that was ahead. */
export const MAX_WAIT_MS = DAY_MS;

/** Hooks of integrations with a token that may be tried now, those with the fewest attempts first. */
export async function listDueHooks(tx: ReadTx, now: Date): Promise<DueHook[]> {
  return statements(tx).due.all({ now: now.getTime(), latestRetry: now.getTime() + MAX_WAIT_MS });
}

/** The hook, if it may be tried now. */
export async function findDueHook(tx: ReadTx, key: HookKey, now: Date): Promise<Hook | null> {
  const hook = tx.select(columns).from(hooks).where(isHook(key)).get();
  if (hook === undefined) return null;
  const waitMs = (hook.retryAt ?? 0) - now.getTime();
  return waitMs <= 0 || waitMs > MAX_WAIT_MS ? hook : null;
}

/** Of one integration, or of all. */
export async function listEnabledTriggers(tx: ReadTx, integrationId?: string): Promise<EnabledTrigger[]> {
  const isOfOne = integrationId === undefined ? undefined : eq(triggers.integrationId, integrationId);
  return tx
    .select({
      integrationId: triggers.integrationId,
      repositoryId: triggers.repositoryId,
      event: triggers.event,
    })
    .from(triggers)
    .where(and(eq(triggers.enabled, true), isOfOne))
    .all();
}

const statements = prepared((db) => ({
  due: db
    .select({
      integrationId: hooks.integrationId,
      placeId: hooks.placeId,
      repositoryId: hooks.repositoryId,
      remoteId: hooks.remoteId,
      events: hooks.events,
      hasPresentSecret: hooks.hasPresentSecret,
      type: integrations.type,
    })
    .from(hooks)
    .innerJoin(integrations, eq(integrations.id, hooks.integrationId))
    .where(
      and(
        isNotNull(integrations.token),
        or(
          isNull(hooks.retryAt),
          lte(hooks.retryAt, sql.placeholder('now')),
          gt(hooks.retryAt, sql.placeholder('latestRetry')),
        ),
      ),
    )
    .orderBy(asc(hooks.attempts), asc(hooks.integrationId), asc(hooks.placeId))
    .prepare(),
}));

/** Does nothing if the hook is gone. */
export async function updateHook(
  tx: WriteTx,
  key: HookKey,
  changes: Partial<Pick<Hook, 'remoteId' | 'hasPresentSecret' | 'problem' | 'retryAt' | 'attempts'>>,
): Promise<void> {
  tx.update(hooks).set(changes).where(isHook(key)).run();
}

/** Restores `hasPresentSecret` and the time of the next attempt. */
export async function restoreHook(
  tx: WriteTx,
  { hasPresentSecret, retryAt, attempts, ...key }: Hook,
): Promise<void> {
  await updateHook(tx, key, { hasPresentSecret, retryAt, attempts });
}

/**
 * Marks all hooks of the integration as not having its current secret. The job skips them until `retryAt`, in
 * milliseconds since 1970.
 */
export async function markSecretChanged(tx: WriteTx, integrationId: string, retryAt: number): Promise<void> {
  tx.update(hooks)
    .set({ hasPresentSecret: false, retryAt, attempts: 0 })
    .where(eq(hooks.integrationId, integrationId))
    .run();
}

/**
 * Records the state that was set at the provider with the encrypted `secret`. Another process may have rotated it, so
 * the statement compares it with the current one. Returns null if the hook was deleted meanwhile.
 */
export async function recordMade(
  tx: WriteTx,
  hook: Hook,
  { remoteId, events, secret }: { remoteId: string; events: readonly string[]; secret: Buffer },
): Promise<Hook | null> {
  const { integrationId, repositoryId } = hook;
  const isPresent = sql<boolean>`(SELECT ${integrations.secret} = ${secret} FROM ${integrations} WHERE ${integrations.id} = ${integrationId})`;
  const [row] = tx
    .update(hooks)
    .set({
      remoteId,
      events: [...events],
      hasPresentSecret: isPresent,
      problem: null,
      retryAt: null,
      attempts: 0,
    })
    // The place may have been removed and added again, which gives it another URL.
    .where(and(isHook(hook), sql`${hooks.repositoryId} IS ${repositoryId}`))
    .returning(columns)
    .all();
  return row ?? null;
}

/** True if a rotation is in progress, so that the provider may still sign with the previous secret. */
export async function isBeingRotated(tx: ReadTx, integrationId: string, now: Date): Promise<boolean> {
  const row = tx
    .select({ placeId: hooks.placeId })
    .from(hooks)
    .where(
      and(
        eq(hooks.integrationId, integrationId),
        isNotNull(hooks.remoteId),
        eq(hooks.hasPresentSecret, false),
        isNull(hooks.problem),
        gt(hooks.retryAt, now.getTime()),
      ),
    )
    .get();
  return row !== undefined;
}

/** Deletes hooks of an integration, at these places or at all. Returns them as they were. */
export async function deleteHooks(
  tx: WriteTx,
  integrationId: string,
  placeIds?: readonly string[],
): Promise<Hook[]> {
  const isAtPlace = placeIds === undefined ? undefined : inArray(hooks.placeId, [...placeIds]);
  return tx
    .delete(hooks)
    .where(and(eq(hooks.integrationId, integrationId), isAtPlace))
    .returning(columns)
    .all();
}

/** Hooks that differ from the desired state because the provider refused or failed. */
export function countProblems(tx: ReadTx): number {
  return tx.select({ problems: count() }).from(hooks).where(isNotNull(hooks.problem)).get()?.problems ?? 0;
}
