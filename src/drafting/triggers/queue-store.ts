import { and, asc, count, desc, eq, getTableColumns, gt, inArray, lte, or, type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';
import { matching, placeholdersFor, prepared, type ReadTx, type WriteTx } from '../../../db/engine.ts';
import { integrations } from '../../../db/schema/integrations.ts';
import { triggerEvents, triggerRuns, triggers } from '../../../db/schema/triggers.ts';
import { isOfLive } from '../../people/organization-store.ts';
import type { Arrival, Event } from '../../providers/events.ts';
import { backOffMs, isOwnedBy, type Trigger, type TriggerFilters, type TriggerOwner } from './model.ts';

// Arrivals are the events that a trigger may make posts of. Runs are its work on the scopes that they affect.

interface ArrivalKey extends Pick<Event, 'type' | 'key'> {
  triggerId: string;
  repositoryId: string | null;
}

/** The enabled triggers that listen to this place, by id. */
export async function listEnabledTriggers(
  tx: ReadTx,
  integrationId: string,
  repositoryId: string | null,
): Promise<Pick<Trigger, 'id' | 'event' | 'filters'>[]> {
  const rows = await statements(tx).enabled.all({ integrationId });
  const listening = rows.filter((row) => row.repositoryId === null || row.repositoryId === repositoryId);
  return listening.map(({ id, event, filters }) => ({ id, event, filters: filters as TriggerFilters }));
}

/** Records that the event arrived, or that a person requested a draft of it. An earlier match and request stay. */
export async function recordArrival(
  tx: WriteTx,
  { repositoryId, ...arrival }: ArrivalKey & Arrival & { isMatch: boolean },
): Promise<void> {
  await statements(tx).record.run({ ...arrival, repositoryId: repositoryId ?? '' });
}

/** Records that an edit made the event match the filters. Does nothing for an event that never arrived. */
export async function recordMatch(
  tx: WriteTx,
  { repositoryId, triggerId, type, key }: ArrivalKey,
): Promise<void> {
  const isArrival = matching(triggerEvents, { triggerId, type, key, repositoryId: repositoryId ?? '' });
  await tx.update(triggerEvents).set({ isMatch: true }).where(isArrival);
}

/** True if the event has arrived at one of these triggers. */
export async function hasArrived(
  tx: ReadTx,
  triggerIds: readonly string[],
  { repositoryId, type, key }: Omit<ArrivalKey, 'triggerId'>,
): Promise<boolean> {
  const isEvent = matching(triggerEvents, { repositoryId: repositoryId ?? '', type, key });
  return (
    (await tx.$count(triggerEvents, and(inArray(triggerEvents.triggerId, [...triggerIds]), isEvent))) > 0
  );
}

/** All arrivals of a place by event, as `type key`. */
export async function listArrivals(tx: ReadTx, triggerId: string, repositoryId: string | null) {
  const isOfPlace = matching(triggerEvents, { triggerId, repositoryId: repositoryId ?? '' });
  const rows = await tx.select().from(triggerEvents).where(isOfPlace);
  return new Map(rows.map((row) => [`${row.type} ${row.key}`, row]));
}

/** How many drafts a person requested when the trigger was created. */
export async function countRequests(tx: ReadTx, triggerId: string): Promise<number> {
  return tx.$count(triggerEvents, matching(triggerEvents, { triggerId, draftOnly: true }));
}

/**
 * Forgets the events that the filters left out, so that an edit under new filters makes no posts of them. A person asked
 * for the others, which wait for their pull requests.
 */
export async function forgetUnmatched(tx: WriteTx, triggerId: string): Promise<void> {
  const isUnmatched = matching(triggerEvents, {
    triggerId,
    isMatch: false,
    draftOnly: false,
    publish: false,
  });
  await tx.delete(triggerEvents).where(isUnmatched);
}

export async function forgetArrival(
  tx: WriteTx,
  { repositoryId, triggerId, type, key }: ArrivalKey,
): Promise<void> {
  const isArrival = matching(triggerEvents, { triggerId, type, key, repositoryId: repositoryId ?? '' });
  await tx.delete(triggerEvents).where(isArrival);
}

/** Queues a run. A run that is queued already looks once more. */
export async function queueRun(
  tx: WriteTx,
  run: { triggerId: string; scope: string; since: string; deliveryId: string },
  now: Date,
): Promise<void> {
  await statements(tx).queue.run({ ...run, dueAt: now.getTime(), queuedAt: now.toISOString() });
}

/** Repeats the runs of an integration's organization that are under way. Does not change runs that wait. */
export async function repeatRuns(tx: WriteTx, integrationId: string): Promise<void> {
  const own = tx
    .select({ id: integrations.organizationId })
    .from(integrations)
    .where(eq(integrations.id, integrationId));
  const ofOrganization = tx
    .select({ id: triggers.id })
    .from(triggers)
    .innerJoin(integrations, eq(integrations.id, triggers.integrationId))
    .where(inArray(integrations.organizationId, own));
  await tx
    .update(triggerRuns)
    .set({ revision: sql`${triggerRuns.revision} + 1` })
    .where(and(eq(triggerRuns.status, 'queued'), inArray(triggerRuns.triggerId, ofOrganization)));
}

/** A run as the worker takes it, with the event, the integration and the organization of its trigger. */
export type DueRun = typeof triggerRuns.$inferSelect &
  Pick<Trigger, 'event' | 'integrationId' | 'organizationId'>;

/**
 * At most `limit` due runs, without those under way. The newest of those that never failed come first, so that an event
 * does not wait for a backlog; then the oldest, and last those that failed. A run that waits longer than any backoff dates
 * from a clock set ahead.
 */
export async function listDueRuns(
  tx: ReadTx,
  now: Date,
  underWay: readonly Pick<DueRun, 'triggerId' | 'scope'>[],
  limit: number,
): Promise<DueRun[]> {
  const { due, newest } = statements(tx);
  const given = { ...dueAt(now), limit: underWay.length + limit };
  const [first, rest] = await Promise.all([newest.all(given), due.all(given)]);
  const nameOf = ({ triggerId, scope }: Pick<DueRun, 'triggerId' | 'scope'>) => `${triggerId} ${scope}`;
  const taken = new Set(underWay.map(nameOf));
  const listOf = (rows: typeof rest, most: number) => {
    const runs = rows.map(({ run, ...owner }) => ({ ...run, ...owner }));
    const free = runs.filter((run) => !taken.has(nameOf(run))).slice(0, most);
    for (const run of free) taken.add(nameOf(run));
    return free;
  };
  const fresh = listOf(first, Math.ceil(limit / 4));
  return [...fresh, ...listOf(rest, limit - fresh.length)];
}

/** The run as it is now, while it is due. */
export async function findDueRun(
  tx: ReadTx,
  { triggerId, scope }: Pick<DueRun, 'triggerId' | 'scope'>,
  now: Date,
): Promise<DueRun | null> {
  const row = await statements(tx).dueRun.get({ ...dueAt(now), triggerId, scope });
  if (row === undefined) return null;
  const { run, ...owner } = row;
  return { ...run, ...owner };
}

const dueAt = (now: Date) => ({
  now: now.getTime(),
  latestDue: now.getTime() + Math.max(...backOffMs),
});

/** No event has queued it again since it was read. */
export async function isCurrent(tx: ReadTx, run: DueRun): Promise<boolean> {
  const { triggerId, scope, revision } = run;
  return (await statements(tx).current.get({ triggerId, scope, revision })) !== undefined;
}

/** Removes the run. False when an event queued it again since, or its trigger was deleted. */
export async function finishRun(tx: WriteTx, run: DueRun): Promise<boolean> {
  const { triggerId, scope, revision } = run;
  return (await statements(tx).finish.all({ triggerId, scope, revision })).length > 0;
}

/**
 * Lets the run wait for a time. It looks again before, as any run does after the longest backoff. False when an event
 * queued it again since, or its trigger was deleted.
 */
export async function waitWithRun(tx: WriteTx, run: DueRun, until: Date, now: Date): Promise<boolean> {
  const dueAt = Math.min(until.getTime(), now.getTime() + Math.max(...backOffMs));
  const waiting = tx
    .update(triggerRuns)
    .set({ dueAt, queuedAt: until.toISOString(), attempts: 0, error: null })
    .where(and(isRun(run), eq(triggerRuns.revision, run.revision)))
    .returning({ scope: triggerRuns.scope });
  return (await waiting.all()).length > 0;
}

/** Counts a failed attempt, and retries the run at `dueAt`. */
export async function postponeRun(tx: WriteTx, run: DueRun, error: string, dueAt: Date): Promise<void> {
  const changes = { error, attempts: run.attempts + 1, dueAt: dueAt.getTime() };
  await tx.update(triggerRuns).set(changes).where(isRun(run));
}

/** Ends the attempts. A run that an event queued again since is retried at once instead. */
export async function giveUpRun(tx: WriteTx, run: DueRun, error: string): Promise<void> {
  const isCurrent = eq(triggerRuns.revision, run.revision);
  const status = sql`case when ${isCurrent} then 'failed' else 'queued' end`;
  const attempts = sql`case when ${isCurrent} then ${run.attempts + 1} else 0 end`;
  await tx.update(triggerRuns).set({ error, status, attempts }).where(isRun(run));
}

/** Delays a run that is not ready. */
export async function holdRun(tx: WriteTx, run: DueRun, dueAt: Date): Promise<void> {
  await tx.update(triggerRuns).set({ dueAt: dueAt.getTime() }).where(isRun(run));
}

/** Delays the run after a failure of the system, which does not count as an attempt. */
export async function delayRun(tx: WriteTx, run: DueRun, error: string, dueAt: Date): Promise<void> {
  await tx.update(triggerRuns).set({ error, dueAt: dueAt.getTime() }).where(isRun(run));
}

const MAX_RUNS = 1_000;

/** Work that a trigger still has to do, or that failed. `nextAttemptAt` is null after it was given up. */
export type TriggerRun = Awaited<ReturnType<typeof listRuns>>[number];

/** Oldest first. */
export async function listRuns(
  tx: ReadTx,
  { status, ...owner }: TriggerOwner & { status?: DueRun['status'] | undefined },
) {
  const rows = await tx
    .select({ run: triggerRuns, organizationId: integrations.organizationId })
    .from(triggerRuns)
    .innerJoin(triggers, eq(triggers.id, triggerRuns.triggerId))
    .innerJoin(integrations, eq(integrations.id, triggers.integrationId))
    .where(and(isOwnedBy(owner), matching(triggerRuns, { status })))
    .orderBy(asc(triggerRuns.queuedAt), asc(triggerRuns.triggerId), asc(triggerRuns.scope))
    .limit(MAX_RUNS);
  return rows.map(({ run: { since: _, revision: __, dueAt, ...run }, organizationId }) => ({
    ...run,
    organizationId,
    nextAttemptAt: run.status === 'failed' ? null : new Date(dueAt).toISOString(),
  }));
}

/** How many runs wait and were given up. `oldest`: since when an enabled trigger has a run queued; null for none. */
export async function measureQueue(tx: ReadTx) {
  // The runs of a disabled trigger wait for a person, which is no delay.
  const oldest = sql<string | null>`min(case when ${triggers.enabled} = 1 then ${triggerRuns.queuedAt} end)`;
  const rows = await tx
    .select({ status: triggerRuns.status, runs: count(), oldest })
    .from(triggerRuns)
    .innerJoin(triggers, eq(triggers.id, triggerRuns.triggerId))
    .innerJoin(integrations, eq(integrations.id, triggers.integrationId))
    .where(isOfLive(integrations.organizationId))
    .groupBy(triggerRuns.status);
  const queued = rows.find(({ status }) => status === 'queued');
  const failed = rows.find(({ status }) => status === 'failed');
  return { queued: queued?.runs ?? 0, failed: failed?.runs ?? 0, oldest: queued?.oldest ?? null };
}

/** Makes the failed and delayed runs of one trigger, or of all, due now. Returns how many there were. */
export async function retryRuns(tx: WriteTx, triggerId: string | undefined, now: Date): Promise<number> {
  const dueAt = now.getTime();
  const { status, attempts } = triggerRuns;
  const isWaiting = or(eq(status, 'failed'), gt(attempts, 0), gt(triggerRuns.dueAt, dueAt));
  const isOfTrigger = triggerId === undefined ? undefined : eq(triggerRuns.triggerId, triggerId);
  // A run that is under way must look once more.
  const revision = sql`${triggerRuns.revision} + 1`;
  const retried = tx
    .update(triggerRuns)
    .set({ status: 'queued', attempts: 0, dueAt, revision })
    .where(and(isWaiting, isOfTrigger));
  return (await retried.returning({ scope: triggerRuns.scope })).length;
}

function isRun({ triggerId, scope }: Pick<DueRun, 'triggerId' | 'scope'>) {
  return matching(triggerRuns, { triggerId, scope });
}

/** A delivery requests neither a draft nor a publication. */
const requested = (present: SQLiteColumn, given: SQL) =>
  sql`case when excluded.draft_only = 1 or excluded.publish = 1 then ${given} else ${present} end`;

const statements = prepared((tx) => {
  const { triggerId, repositoryId, type, key } = triggerEvents;
  const { id, event, filters } = triggers;
  const { revision: _, status: __, attempts: ___, error: ____, ...queued } = getTableColumns(triggerRuns);
  const isDue = and(
    eq(triggerRuns.status, 'queued'),
    or(lte(triggerRuns.dueAt, sql.placeholder('now')), gt(triggerRuns.dueAt, sql.placeholder('latestDue'))),
    eq(triggers.enabled, true),
    isOfLive(integrations.organizationId),
  );
  const { integrationId } = triggers;
  const { organizationId } = integrations;
  const listDue = (isWanted: SQL | undefined) =>
    tx
      .select({ run: triggerRuns, event, integrationId, organizationId })
      .from(triggerRuns)
      .innerJoin(triggers, eq(triggers.id, triggerRuns.triggerId))
      .innerJoin(integrations, eq(integrations.id, integrationId))
      .where(isWanted);
  const isRun = { triggerId: sql.placeholder('triggerId'), scope: sql.placeholder('scope') };
  const isSame = matching(triggerRuns, { ...isRun, revision: sql.placeholder('revision') });
  return {
    current: tx.select({ scope: triggerRuns.scope }).from(triggerRuns).where(isSame).prepare(),
    finish: tx.delete(triggerRuns).where(isSame).returning({ scope: triggerRuns.scope }).prepare(),
    enabled: tx
      .select({ id, event, filters, repositoryId: triggers.repositoryId })
      .from(triggers)
      .where(matching(triggers, { integrationId: sql.placeholder('integrationId'), enabled: true }))
      .orderBy(asc(id))
      .prepare(),
    record: tx
      .insert(triggerEvents)
      .values(placeholdersFor(getTableColumns(triggerEvents)))
      .onConflictDoUpdate({
        target: [triggerId, repositoryId, type, key],
        set: {
          isMatch: sql`case when ${triggerEvents.isMatch} = 1 or excluded.is_match = 1 then 1 else 0 end`,
          // A person's request stays until another one.
          draftOnly: requested(triggerEvents.draftOnly, sql`excluded.draft_only`),
          publish: requested(triggerEvents.publish, sql`excluded.publish`),
        },
      })
      .prepare(),
    queue: tx
      .insert(triggerRuns)
      .values({ ...placeholdersFor(queued), revision: 1, status: 'queued', attempts: 0 })
      .onConflictDoUpdate({
        target: [triggerRuns.triggerId, triggerRuns.scope],
        set: {
          since: earlier(triggerRuns.since),
          queuedAt: earlier(triggerRuns.queuedAt),
          revision: sql`${triggerRuns.revision} + 1`,
          // News gives a run that was given up another try; a run that failed keeps its backoff.
          attempts: sql`case when ${triggerRuns.status} = 'failed' then 0 else ${triggerRuns.attempts} end`,
          dueAt: sql`case when ${triggerRuns.status} = 'failed' then excluded.due_at when ${triggerRuns.attempts} = 0 then ${earlier(triggerRuns.dueAt)} else ${triggerRuns.dueAt} end`,
          status: sql`'queued'`,
          deliveryId: sql`excluded.delivery_id`,
        },
      })
      .prepare(),
    due: listDue(isDue)
      .orderBy(
        asc(triggerRuns.attempts),
        asc(triggerRuns.dueAt),
        asc(triggerRuns.triggerId),
        asc(triggerRuns.scope),
      )
      .limit(sql.placeholder('limit'))
      .prepare(),
    newest: listDue(and(isDue, eq(triggerRuns.attempts, 0)))
      .orderBy(desc(triggerRuns.dueAt), asc(triggerRuns.triggerId), asc(triggerRuns.scope))
      .limit(sql.placeholder('limit'))
      .prepare(),
    dueRun: listDue(and(isDue, matching(triggerRuns, isRun))).prepare(),
  };
});

/** The smaller of the stored and the new value of a column, on a conflict. */
function earlier(column: SQLiteColumn) {
  const given = sql`excluded.${sql.identifier(column.name)}`;
  return sql`case when ${given} < ${column} then ${given} else ${column} end`;
}
