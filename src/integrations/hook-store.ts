import { and, asc, count, eq, getTableColumns, gt, isNotNull, isNull, or, sql } from 'drizzle-orm';
import { isDue, matching, type ReadTx, type WriteTx } from '../../db/engine.ts';
import { apps, hooks, integrations } from '../../db/schema/integrations.ts';
import { roundupSources, triggers } from '../../db/schema/triggers.ts';
import { DAY_MS } from '../lib/time.ts';
import { isOfLive } from '../people/organization-store.ts';
import { ROUNDUP_EVENTS } from '../providers/events.ts';
import { DEDUP_WINDOW_MS } from './deliveries/store.ts';
import { getIntegration } from './store.ts';

const { createdAt: _, knownUntil: __, recoverAt: ___, recovery: ____, ...columns } = getTableColumns(hooks);

type Row = typeof hooks.$inferSelect;

/** A webhook that Tidings manages at a provider, as stored. */
export type Hook = Omit<Row, 'createdAt' | 'knownUntil' | 'recoverAt' | 'recovery'>;

/** A hook that exists at the provider. */
export type MadeHook = Hook & { remoteId: string };

export type HookKey = Pick<Hook, 'integrationId' | 'placeId'>;

const isHook = ({ integrationId, placeId }: HookKey) => matching(hooks, { integrationId, placeId });

/** Skips places that have a hook. Returns whether it inserted all. */
export async function insertHooks(tx: WriteTx, rows: readonly Hook[], createdAt: string): Promise<boolean> {
  let inserted = 0;
  for (const row of rows) {
    const added = tx
      .insert(hooks)
      .values({ ...row, createdAt })
      .onConflictDoNothing();
    inserted += (await added.returning({ placeId: hooks.placeId })).length;
  }
  return inserted === rows.length;
}

/** Of one integration, by the names of their places. */
export async function listHooks(tx: ReadTx, integrationId: string): Promise<Hook[]> {
  return await tx
    .select(columns)
    .from(hooks)
    .where(eq(hooks.integrationId, integrationId))
    .orderBy(asc(hooks.placeName), asc(hooks.placeId));
}

/** Throws `IntegrationProblem` `integration_not_found`. */
export async function getWithHooks(tx: ReadTx, id: string) {
  return { integration: await getIntegration(tx, id), hooks: await listHooks(tx, id) };
}

/** The longest wait before a retry, in milliseconds. */
export const MAX_WAIT_MS = DAY_MS;

/** Hooks of integrations with a token or an App that may be tried now, those with the fewest attempts first; `key`: only this. */
export async function listDueHooks(tx: ReadTx, now: Date, key?: HookKey) {
  const { retryAt } = hooks;
  return await tx
    .select({ ...columns, type: integrations.type })
    .from(hooks)
    .innerJoin(integrations, eq(integrations.id, hooks.integrationId))
    .leftJoin(apps, eq(apps.integrationId, hooks.integrationId))
    .where(
      and(
        or(isNotNull(integrations.token), isNotNull(apps.integrationId)),
        isOfLive(integrations.organizationId),
        isDue(retryAt, now.getTime()),
        key && isHook(key),
      ),
    )
    .orderBy(asc(hooks.attempts), asc(hooks.integrationId), asc(hooks.placeId));
}

/** Those of one integration, or of all, and what roundups need likewise. `repositoryId` null: it listens to every repository. */
export async function listEnabledTriggers(tx: ReadTx, id?: string) {
  const { integrationId, repositoryId, event } = triggers;
  const listening = await tx
    .select({ integrationId, repositoryId, event })
    .from(triggers)
    .where(matching(triggers, { enabled: true, integrationId: id }));
  const sources = await tx
    .select({ integrationId: roundupSources.integrationId, repositoryId: roundupSources.repositoryId })
    .from(roundupSources)
    .where(matching(roundupSources, { integrationId: id }));
  return [
    ...listening,
    ...sources.flatMap((source) => ROUNDUP_EVENTS.map((each) => ({ ...source, event: each }))),
  ];
}

/** Does nothing if the hook is gone. */
export async function updateHook(tx: WriteTx, key: HookKey, changes: Partial<Hook>): Promise<void> {
  await tx.update(hooks).set(changes).where(isHook(key));
}

/** Restores `hasPresentSecret` and the time of the next attempt. */
export function restoreHook(tx: WriteTx, hook: Hook): Promise<void> {
  const { hasPresentSecret, retryAt, attempts } = hook;
  return updateHook(tx, hook, { hasPresentSecret, retryAt, attempts });
}

/** Marks all hooks as not having the current secret. The job skips them until `retryAt`, in milliseconds since 1970. */
export async function markSecretChanged(tx: WriteTx, integrationId: string, retryAt: number): Promise<void> {
  await tx
    .update(hooks)
    .set({ hasPresentSecret: false, retryAt, attempts: 0 })
    .where(eq(hooks.integrationId, integrationId));
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
  const hasPresentSecret = sql<boolean>`(SELECT CASE WHEN ${integrations.secret} = ${secret} THEN 1 ELSE 0 END FROM ${integrations} WHERE ${integrations.id} = ${hook.integrationId})`;
  const [row] = await tx
    .update(hooks)
    .set({ remoteId, events: [...events], hasPresentSecret, problem: null, retryAt: null, attempts: 0 })
    // The place may have been removed and added again, which gives it another URL.
    .where(and(isHook(hook), sql`${hooks.repositoryId} IS NOT DISTINCT FROM ${hook.repositoryId}`))
    .returning(columns);
  return row ?? null;
}

/** True if a rotation is in progress, so that the provider may still sign with the previous secret. */
export async function isBeingRotated(tx: ReadTx, integrationId: string, now: Date): Promise<boolean> {
  const { remoteId, problem, retryAt } = hooks;
  const isWaiting = and(isNotNull(remoteId), isNull(problem), gt(retryAt, now.getTime()));
  const isPending = and(matching(hooks, { integrationId, hasPresentSecret: false }), isWaiting);
  return (await tx.select().from(hooks).where(isPending).get()) !== undefined;
}

/** Deletes hooks of an integration, at one place or at all. Returns them as they were. */
export async function deleteHooks(tx: WriteTx, integrationId: string, placeId?: string): Promise<Hook[]> {
  return await tx.delete(hooks).where(matching(hooks, { integrationId, placeId })).returning(columns);
}

/** Hooks that differ from the desired state because the provider refused or failed. */
export async function countProblems(tx: ReadTx): Promise<number> {
  const row = await tx
    .select({ problems: count() })
    .from(hooks)
    .innerJoin(integrations, eq(integrations.id, hooks.integrationId))
    .where(and(isNotNull(hooks.problem), isOfLive(integrations.organizationId)))
    .get();
  return row?.problems ?? 0;
}

export type Recovery = NonNullable<Row['recovery']>;

/** A hook, and how far the comparison of its deliveries came. */
export type RecoveringHook = MadeHook & Pick<Row, 'createdAt' | 'knownUntil' | 'recoverAt' | 'recovery'>;

export type RecoveryChanges = Partial<Pick<Row, 'knownUntil' | 'recoverAt' | 'recovery'>>;

/**
 * Hooks of enabled integrations with a token or an App that are due, the longest due first. `now` null: all, as at a
 * start.
 */
export async function listRecovering(tx: ReadTx, now: Date | null, key?: HookKey): Promise<RecoveringHook[]> {
  const { recoverAt } = hooks;
  const hasAccess = or(isNotNull(integrations.token), isNotNull(apps.integrationId));
  const rows = await tx
    .select(getTableColumns(hooks))
    .from(hooks)
    .innerJoin(integrations, eq(integrations.id, hooks.integrationId))
    .leftJoin(apps, eq(apps.integrationId, hooks.integrationId))
    .where(
      and(
        isNotNull(hooks.remoteId),
        matching(integrations, { enabled: true, isPolled: false }),
        isOfLive(integrations.organizationId),
        hasAccess,
        now === null ? undefined : isDue(recoverAt, now.getTime()),
        key && isHook(key),
      ),
    )
    .orderBy(asc(recoverAt), asc(hooks.integrationId), asc(hooks.placeId));
  return rows.flatMap((row) => (row.remoteId === null ? [] : { ...row, remoteId: row.remoteId }));
}

/** Of one integration, by the names of their places. */
export async function listRecoveries(tx: ReadTx, integrationId: string) {
  const { placeName, recovery } = hooks;
  return tx
    .select({ placeName, recovery })
    .from(hooks)
    .where(eq(hooks.integrationId, integrationId))
    .orderBy(asc(placeName));
}

/**
 * Changes what is known of a hook's deliveries, and the columns beside it. Does nothing when the hook is gone, or
 * somebody else set where its comparison begins.
 */
export async function updateRecovery(
  tx: WriteTx,
  hook: HookKey & Pick<Row, 'knownUntil'>,
  { recovery, ...columns }: RecoveryChanges,
): Promise<void> {
  const isSame = and(isHook(hook), sql`${hooks.knownUntil} IS NOT DISTINCT FROM ${hook.knownUntil}`);
  const row = await tx.select({ recovery: hooks.recovery }).from(hooks).where(isSame).get();
  if (row === undefined) return;
  const changed = { ...columns, recovery: { ...row.recovery, ...recovery } };
  await tx.update(hooks).set(changed).where(isSame);
}

/** True for a delivery that a heartbeat requested again, as long as its id is remembered. */
export async function isHeartbeat(
  tx: ReadTx,
  { integrationId, referenceId }: { integrationId: string; referenceId: string | null },
  now: Date,
): Promise<boolean> {
  const rows = await tx
    .select({ recovery: hooks.recovery })
    .from(hooks)
    .where(and(eq(hooks.integrationId, integrationId), isNull(hooks.repositoryId)));
  return rows.some(({ recovery }) => {
    const { deliveryId, requestedAt = '' } = recovery?.heartbeat?.redelivered ?? {};
    return deliveryId === referenceId && now.getTime() - Date.parse(requestedAt) < DEDUP_WINDOW_MS;
  });
}

/** How many readings are kept. */
export const MAX_READS = 20;

/** The id of the changes of a gap that cannot be read, among lost deliveries. */
const UNREAD = 'changes';

/** Records that the changes of a repository were read, beside its webhook or that of the App, or why they were not. */
export async function recordReading(
  tx: WriteTx,
  { integrationId, repositoryId }: { integrationId: string; repositoryId: string },
  { news, problem }: { news: number; problem?: undefined } | { news?: undefined; problem: string },
  now: Date,
): Promise<void> {
  const isItsHook = or(eq(hooks.repositoryId, repositoryId), isNull(hooks.repositoryId));
  const row = await tx
    .select({ placeId: hooks.placeId, knownUntil: hooks.knownUntil, recovery: hooks.recovery })
    .from(hooks)
    .where(and(eq(hooks.integrationId, integrationId), isItsHook))
    .get();
  if (row === undefined) return;
  const at = now.toISOString();
  const { reads = [], lost = [], gap, readAt = '' } = row.recovery ?? {};
  const others = lost.filter(({ deliveryId }) => deliveryId !== UNREAD);
  let recovery: Recovery = { readAt: at, reads, lost: others };
  if (problem !== undefined) {
    if (gap == null || gap.at <= readAt) return;
    recovery = { lost: [{ deliveryId: UNREAD, deliveredAt: gap.at, reason: problem }, ...others] };
  } else if (news > 0) recovery.reads = [{ at, news }, ...reads].slice(0, MAX_READS);
  await updateRecovery(tx, { integrationId, ...row }, { recovery });
}

/** Postpones all hooks of an integration, whose provider would refuse them too. */
export async function postponeRecoveries(tx: WriteTx, integrationId: string, until: number): Promise<void> {
  const isEarlier = or(isNull(hooks.recoverAt), sql`${hooks.recoverAt} < ${until}`);
  await tx
    .update(hooks)
    .set({ recoverAt: until })
    .where(and(eq(hooks.integrationId, integrationId), isEarlier));
}

/** Deliveries from before now are not missing any more. */
export async function restartRecoveries(tx: WriteTx, integrationId: string, now: Date): Promise<void> {
  const fresh = { knownUntil: now.toISOString(), recovery: null, recoverAt: null };
  await tx.update(hooks).set(fresh).where(eq(hooks.integrationId, integrationId));
}
