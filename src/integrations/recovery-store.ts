import { and, asc, eq, getTableColumns, isNotNull, isNull, or, sql } from 'drizzle-orm';
import { isDue, matching, type ReadTx, type WriteTx } from '../../db/engine.ts';
import { apps, hooks, integrations } from '../../db/schema/integrations.ts';
import { isOfLive } from '../people/organization-store.ts';
import { DEDUP_WINDOW_MS } from './deliveries/store.ts';
import { type HookKey, isHook, type MadeHook } from './hook-store.ts';

type Row = typeof hooks.$inferSelect;

export type Recovery = NonNullable<Row['recovery']>;

/** A hook, and how far the comparison of its deliveries came. */
export type RecoveringHook = MadeHook & Pick<Row, 'createdAt' | 'knownUntil' | 'recoverAt' | 'recovery'>;

export type RecoveryChanges = Partial<Pick<Row, 'knownUntil' | 'recoverAt' | 'recovery'>>;

/** Hooks of enabled integrations with a token or an App that are due, the longest due first. `now` null: all, as at a start. */
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
 * Changes what is known of a hook's deliveries, and the columns beside it. Does nothing when the hook is gone, or somebody
 * else set where its comparison begins.
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
