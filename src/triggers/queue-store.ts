import { and, asc, count, eq, gt, lte, or, sql } from 'drizzle-orm';
import { integrations } from '../../db/schema/integrations.ts';
import { triggerEvents, triggerRuns, triggers } from '../../db/schema/triggers.ts';
import { prepared, type ReadTx, type WriteTx } from '../../db/storage.ts';
import type { Arrival, Event } from '../events/model.ts';
import {
  backOffMs,
  type RunStatus,
  type Trigger,
  type TriggerFilters,
  type TriggerOwner,
  type TriggerRun,
} from './model.ts';
import { isOwnedBy } from './store.ts';

// Arrivals are the events that a trigger may make posts of. Runs are its work on the scopes that they affect.

/** An event for a trigger. */
interface ArrivalKey extends Pick<Event, 'type' | 'key'> {
  triggerId: string;
  repositoryId: string | null;
}

/** The enabled triggers that listen to this place. */
export async function listEnabledTriggers(
  tx: ReadTx,
  integrationId: string,
  repositoryId: string | null,
): Promise<Pick<Trigger, 'id' | 'event' | 'filters'>[]> {
  const rows = statements(tx).enabled.all({ integrationId });
  return rows
    .filter((row) => row.repositoryId === null || row.repositoryId === repositoryId)
    .map(({ id, event, filters }) => ({ id, event, filters: filters as TriggerFilters }));
}

/**
 * Records that the event arrived while the trigger was enabled or, `draftOnly`, that a person requested a draft of it.
 * A match of an earlier arrival stays.
 */
export async function recordArrival(
  tx: WriteTx,
  { repositoryId, ...arrival }: ArrivalKey & { isMatch: boolean; draftOnly: boolean },
): Promise<void> {
  statements(tx).record.run({ ...arrival, repositoryId: repositoryId ?? '' });
}

/** Records that an edit made the event match the filters. Does nothing for an event that never arrived. */
export async function recordMatch(tx: WriteTx, { repositoryId, ...key }: ArrivalKey): Promise<void> {
  statements(tx).match.run({ ...key, repositoryId: repositoryId ?? '' });
}

/** All arrivals of a place by event, as `type key`. */
export async function listArrivals(
  tx: ReadTx,
  { triggerId, repositoryId }: Pick<ArrivalKey, 'triggerId' | 'repositoryId'>,
): Promise<Map<string, Arrival & { isMatch: boolean }>> {
  const { type, key, isMatch, draftOnly } = triggerEvents;
  const rows = tx
    .select({ type, key, isMatch, draftOnly })
    .from(triggerEvents)
    .where(and(eq(triggerEvents.triggerId, triggerId), eq(triggerEvents.repositoryId, repositoryId ?? '')))
    .all();
  return new Map(rows.map((row) => [`${row.type} ${row.key}`, row]));
}

/** How many drafts a person requested when the trigger was created. */
export async function countRequests(tx: ReadTx, triggerId: string): Promise<number> {
  const isRequest = and(eq(triggerEvents.triggerId, triggerId), eq(triggerEvents.draftOnly, true));
  return tx.select({ rows: count() }).from(triggerEvents).where(isRequest).get()?.rows ?? 0;
}

/** Forgets the events that the filters left out, so that an edit under new filters makes no posts of them. */
export async function forgetUnmatched(tx: WriteTx, triggerId: string): Promise<void> {
  const isUnmatched = and(eq(triggerEvents.triggerId, triggerId), eq(triggerEvents.isMatch, false));
  tx.delete(triggerEvents).where(isUnmatched).run();
}

/** Queues a run. A run that is queued already looks once more. */
export async function queueRun(
  tx: WriteTx,
  run: { triggerId: string; scope: string; since: string; deliveryId: string },
  now: Date,
): Promise<void> {
  statements(tx).queue.run({ ...run, dueAt: now.getTime(), queuedAt: now.toISOString() });
}

/** A run as the worker takes it. */
export type DueRun = typeof triggerRuns.$inferSelect;

/**
 * The next due run of an enabled trigger, except those `underWay`; runs that never failed come first. A run that waits
 * longer than any backoff was queued while the clock was ahead, so it is due too.
 */
export async function findDueRun(
  tx: ReadTx,
  now: Date,
  underWay: readonly Pick<DueRun, 'triggerId' | 'scope'>[],
): Promise<DueRun | null> {
  const isUnderWay = ({ triggerId, scope }: DueRun) =>
    underWay.some((each) => each.triggerId === triggerId && each.scope === scope);
  const rows = statements(tx).due.all({
    now: now.getTime(),
    latestDue: now.getTime() + Math.max(...backOffMs),
    limit: underWay.length + 1,
  });
  return rows.map(({ run }) => run).find((run) => !isUnderWay(run)) ?? null;
}

/** Removes the run, unless an event queued it again since. */
export async function finishRun(tx: WriteTx, { triggerId, scope, revision }: DueRun): Promise<void> {
  tx.delete(triggerRuns)
    .where(and(isRun(triggerId, scope), eq(triggerRuns.revision, revision)))
    .run();
}

/**
 * Retries the run at `dueAt`, or gives it up when that is null. When an event queued it again
 * since, retries it at once instead.
 */
export async function postponeRun(
  tx: WriteTx,
  { triggerId, scope, attempts, revision }: DueRun,
  error: string,
  dueAt: Date | null,
): Promise<void> {
  const isCurrent = eq(triggerRuns.revision, revision);
  tx.update(triggerRuns)
    .set(
      dueAt === null
        ? {
            error,
            status: sql`iif(${isCurrent}, 'failed', 'queued')`,
            attempts: sql`iif(${isCurrent}, ${attempts + 1}, 0)`,
          }
        : { error, attempts: attempts + 1, dueAt: dueAt.getTime() },
    )
    .where(isRun(triggerId, scope))
    .run();
}

/** Delays the run after a failure of the system, which does not count as an attempt. */
export async function delayRun(
  tx: WriteTx,
  { triggerId, scope }: DueRun,
  error: string,
  dueAt: Date,
): Promise<void> {
  tx.update(triggerRuns).set({ error, dueAt: dueAt.getTime() }).where(isRun(triggerId, scope)).run();
}

const MAX_RUNS = 1_000;

/** Oldest first. */
export async function listRuns(
  tx: ReadTx,
  { status, ...owner }: TriggerOwner & { status?: RunStatus | undefined },
): Promise<TriggerRun[]> {
  const rows = tx
    .select({ run: triggerRuns, organizationId: integrations.organizationId })
    .from(triggerRuns)
    .innerJoin(triggers, eq(triggers.id, triggerRuns.triggerId))
    .innerJoin(integrations, eq(integrations.id, triggers.integrationId))
    .where(and(isOwnedBy(owner), status === undefined ? undefined : eq(triggerRuns.status, status)))
    .orderBy(asc(triggerRuns.queuedAt), asc(triggerRuns.triggerId), asc(triggerRuns.scope))
    .limit(MAX_RUNS)
    .all();
  return rows.map(({ run: { since: _, revision: __, dueAt, ...run }, organizationId }) => ({
    ...run,
    organizationId,
    nextAttemptAt: run.status === 'failed' ? null : new Date(dueAt).toISOString(),
  }));
}

/** How many runs wait and were given up. `oldest`: since when an enabled trigger has a run queued; null for none. */
export async function measureQueue(
  tx: ReadTx,
): Promise<{ queued: number; failed: number; oldest: string | null }> {
  const rows = statements(tx).measure.all();
  const queued = rows.find(({ status }) => status === 'queued');
  const failed = rows.find(({ status }) => status === 'failed');
  return { queued: queued?.runs ?? 0, failed: failed?.runs ?? 0, oldest: queued?.oldest ?? null };
}

/** Makes the failed and delayed runs of one trigger, or of all, due now. Returns how many there were. */
export async function retryRuns(tx: WriteTx, triggerId: string | undefined, now: Date): Promise<number> {
  const isWaiting = or(
    eq(triggerRuns.status, 'failed'),
    gt(triggerRuns.attempts, 0),
    gt(triggerRuns.dueAt, now.getTime()),
  );
  const retried = tx
    .update(triggerRuns)
    .set({
      status: 'queued',
      attempts: 0,
      dueAt: now.getTime(),
      // A run that is under way must look once more.
      revision: sql`${triggerRuns.revision} + 1`,
    })
    .where(and(isWaiting, triggerId === undefined ? undefined : eq(triggerRuns.triggerId, triggerId)))
    .returning({ scope: triggerRuns.scope })
    .all();
  return retried.length;
}

function isRun(triggerId: string, scope: string) {
  return and(eq(triggerRuns.triggerId, triggerId), eq(triggerRuns.scope, scope));
}

const statements = prepared((db) => {
  const event = {
    triggerId: sql.placeholder('triggerId'),
    repositoryId: sql.placeholder('repositoryId'),
    type: sql.placeholder('type'),
    key: sql.placeholder('key'),
  };
  return {
    enabled: db
      .select({
        id: triggers.id,
        repositoryId: triggers.repositoryId,
        event: triggers.event,
        filters: triggers.filters,
      })
      .from(triggers)
      .where(and(eq(triggers.integrationId, sql.placeholder('integrationId')), eq(triggers.enabled, true)))
      .prepare(),
    record: db
      .insert(triggerEvents)
      .values({ ...event, isMatch: sql.placeholder('isMatch'), draftOnly: sql.placeholder('draftOnly') })
      .onConflictDoUpdate({
        target: [triggerEvents.triggerId, triggerEvents.repositoryId, triggerEvents.type, triggerEvents.key],
        set: {
          isMatch: sql`${triggerEvents.isMatch} or excluded.is_match`,
          draftOnly: sql`excluded.draft_only`,
        },
      })
      .prepare(),
    match: db
      .update(triggerEvents)
      .set({ isMatch: true })
      .where(
        and(
          eq(triggerEvents.triggerId, event.triggerId),
          eq(triggerEvents.repositoryId, event.repositoryId),
          eq(triggerEvents.type, event.type),
          eq(triggerEvents.key, event.key),
        ),
      )
      .prepare(),
    queue: db
      .insert(triggerRuns)
      .values({
        triggerId: sql.placeholder('triggerId'),
        scope: sql.placeholder('scope'),
        since: sql.placeholder('since'),
        revision: 1,
        status: 'queued',
        attempts: 0,
        dueAt: sql.placeholder('dueAt'),
        deliveryId: sql.placeholder('deliveryId'),
        queuedAt: sql.placeholder('queuedAt'),
      })
      .onConflictDoUpdate({
        target: [triggerRuns.triggerId, triggerRuns.scope],
        set: {
          since: sql`min(${triggerRuns.since}, excluded.since)`,
          revision: sql`${triggerRuns.revision} + 1`,
          // News gives a run that was given up another try; a run that failed keeps its backoff.
          attempts: sql`iif(${triggerRuns.status} = 'failed', 0, ${triggerRuns.attempts})`,
          dueAt: sql`case when ${triggerRuns.status} = 'failed' then excluded.due_at when ${triggerRuns.attempts} = 0 then min(${triggerRuns.dueAt}, excluded.due_at) else ${triggerRuns.dueAt} end`,
          status: sql`'queued'`,
          deliveryId: sql`excluded.delivery_id`,
        },
      })
      .prepare(),
    due: db
      .select({ run: triggerRuns })
      .from(triggerRuns)
      .innerJoin(triggers, eq(triggers.id, triggerRuns.triggerId))
      .where(
        and(
          eq(triggerRuns.status, 'queued'),
          or(
            lte(triggerRuns.dueAt, sql.placeholder('now')),
            gt(triggerRuns.dueAt, sql.placeholder('latestDue')),
          ),
          eq(triggers.enabled, true),
        ),
      )
      .orderBy(asc(triggerRuns.attempts), asc(triggerRuns.dueAt))
      .limit(sql.placeholder('limit'))
      .prepare(),
    // The runs of a disabled trigger wait for a person, which is no delay.
    measure: db
      .select({
        status: triggerRuns.status,
        runs: count(),
        oldest: sql<string | null>`min(iif(${triggers.enabled}, ${triggerRuns.queuedAt}, null))`,
      })
      .from(triggerRuns)
      .innerJoin(triggers, eq(triggers.id, triggerRuns.triggerId))
      .groupBy(triggerRuns.status)
      .prepare(),
  };
});
