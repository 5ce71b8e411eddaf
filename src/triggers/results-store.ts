import { and, eq, getTableColumns, gt, inArray, lte, ne, sql } from 'drizzle-orm';
import { dialectOf, placeholdersFor, prepared, type ReadTx, type WriteTx } from '../../db/engine.ts';
import { deliveries, events } from '../../db/schema/integrations.ts';
import { posts } from '../../db/schema/posts.ts';
import { deliveryResults, triggerRuns, triggers } from '../../db/schema/triggers.ts';
import type { Delivery } from '../deliveries/model.ts';
import type { Outcome as DraftOutcome } from '../drafts/write.ts';
import type { EventSource } from '../events/model.ts';
import { DAY_MS } from '../lib/time.ts';
import type { TriggerKind } from './kinds/kind.ts';
import type { DueRun } from './queue-store.ts';

// The result of each delivery for each trigger: queued with the delivery, settled by the run that writes the drafts.

type Row = typeof deliveryResults.$inferSelect;

export type Outcome = Row['outcome'];

/** The log entry that results belong to. */
export type ResultEntry = Pick<Delivery, 'id' | 'retentionDays'>;

/** Writes the first result of an entry for a trigger. */
export async function insertResult(
  tx: WriteTx,
  { id, retentionDays }: ResultEntry,
  result: Pick<Row, 'triggerId' | 'scope' | 'eventKey' | 'outcome'>,
  now: Date,
): Promise<void> {
  await statements(tx).insert.run({
    ...result,
    deliveryId: id,
    postId: null,
    error: null,
    updatedAt: now.toISOString(),
    expiresAt: now.getTime() + retentionDays * DAY_MS,
  });
}

/** Queues a result for the log entry of a past delivery, by the provider's delivery id. Does nothing without an entry. */
export async function queuePastResult(
  tx: WriteTx,
  { integrationId, referenceId }: { integrationId: string; referenceId: string },
  result: Pick<Row, 'triggerId' | 'scope' | 'eventKey'>,
  now: Date,
): Promise<void> {
  const entry = await tx
    .select({ id: deliveries.id, expiresAt: deliveries.expiresAt })
    .from(deliveries)
    .where(
      and(
        eq(deliveries.referenceId, referenceId),
        eq(deliveries.integrationId, integrationId),
        eq(deliveries.status, 'processed'),
      ),
    )
    .limit(1)
    .get();
  if (entry === undefined) return;
  const state = { postId: null, error: null, updatedAt: now.toISOString(), expiresAt: entry.expiresAt };
  await statements(tx).insert.run({ ...result, ...state, deliveryId: entry.id, outcome: 'queued' });
}

type Scope = Pick<DueRun, 'triggerId' | 'scope'>;

/** The condition of the partial index, exactly: both engines use it only for a query that repeats it. */
const isOpen = sql`${deliveryResults.outcome} in ('queued', 'failed', 'waiting')`;

/** The rows that a run of the scope settles. */
function isUnsettled({ triggerId, scope }: Scope) {
  return and(
    eq(deliveryResults.triggerId, triggerId),
    eq(deliveryResults.scope, scope),
    isOpen,
    ne(deliveryResults.outcome, 'waiting'),
  );
}

/** The keys of the events whose results a run of the scope settles. */
export async function listUnsettled(tx: ReadTx, scope: Scope): Promise<ReadonlySet<string>> {
  const { eventKey } = deliveryResults;
  const rows = await tx.select({ eventKey }).from(deliveryResults).where(isUnsettled(scope)).all();
  return new Set(rows.map((row) => row.eventKey));
}

/** Settles the results of the events in a draft that was written. */
export async function settleResults(
  tx: WriteTx,
  scope: Scope,
  eventKeys: readonly string[],
  { outcome, postId }: { outcome: Exclude<DraftOutcome, 'closed'>; postId: string | null },
  now: Date,
): Promise<void> {
  const isInDraft = inArray(deliveryResults.eventKey, dialectOf(tx).listed(eventKeys));
  await tx
    .update(deliveryResults)
    .set({ outcome, postId, error: null, updatedAt: now.toISOString() })
    .where(and(isUnsettled(scope), isInDraft))
    .run();
}

/** Settles the results of the events that are in no draft, at the end of a run. */
export async function settleRest(
  tx: WriteTx,
  scope: Scope,
  { event, isRolling }: Pick<TriggerKind, 'event' | 'isRolling'>,
  closedKeys: ReadonlySet<string>,
  now: Date,
): Promise<void> {
  const { eventKey } = deliveryResults;
  const isClosed = inArray(eventKey, dialectOf(tx).listed([...closedKeys]));
  const isOwn = sql`${eventKey} like ${`${event} %`}`;
  const outcome = sql`case when ${isClosed} then 'kept' when ${isOwn} then 'unchanged' else ${sql.raw(
    isRolling ? "'unchanged'" : "'waiting'",
  )} end`;
  await tx
    .update(deliveryResults)
    .set({ outcome, error: null, updatedAt: now.toISOString() })
    .where(isUnsettled(scope))
    .run();
}

/** The log entries whose results wait in a scope. Reads the whole table, which has no index for them. */
export async function listWaiting(tx: ReadTx, { triggerId, scope }: Scope): Promise<string[]> {
  const { deliveryId } = deliveryResults;
  const rows = await tx
    .select({ deliveryId })
    .from(deliveryResults)
    .where(and(isWaiting(triggerId), eq(deliveryResults.scope, scope)))
    .all();
  return rows.map((row) => row.deliveryId);
}

/**
 * Settles the results of the events in a window, which waited for its draft. `waiting`: those of `listWaiting`. Those
 * that the draft names get its outcome; a release with notes names none.
 */
export async function settleWaiting(
  tx: WriteTx,
  { triggerId, scope }: Scope,
  window: EventSource & { branch: string; after: string | undefined; until: string },
  draft: { eventKeys: readonly string[]; outcome: Outcome; postId: string | null },
  waiting: readonly string[],
  now: Date,
): Promise<void> {
  const { integrationId, repositoryId, branch, after, until } = window;
  const inWindow = tx
    .select({ key: sql`${events.type} || ' ' || ${events.key}` })
    .from(events)
    .where(
      and(
        eq(events.integrationId, integrationId),
        eq(events.repositoryId, repositoryId ?? ''),
        eq(events.branch, branch),
        after === undefined ? undefined : gt(events.occurredAt, after),
        lte(events.occurredAt, until),
      ),
    );
  const { eventKey } = deliveryResults;
  const isInDraft = inArray(eventKey, dialectOf(tx).listed(draft.eventKeys));
  await tx
    .update(deliveryResults)
    .set({
      outcome: sql`case when ${isInDraft} then ${draft.outcome} else 'unchanged' end`,
      postId: sql`case when ${isInDraft} then ${draft.postId} end`,
      updatedAt: now.toISOString(),
    })
    .where(
      and(
        inArray(deliveryResults.deliveryId, dialectOf(tx).listed(waiting)),
        isWaiting(triggerId),
        eq(deliveryResults.scope, scope),
        inArray(eventKey, inWindow),
      ),
    )
    .run();
}

/** Ends the waiting for a trigger that is deleted. */
export async function endWaiting(tx: WriteTx, triggerId: string, now: Date): Promise<void> {
  await tx
    .update(deliveryResults)
    .set({ outcome: 'unchanged', updatedAt: now.toISOString() })
    .where(isWaiting(triggerId))
    .run();
}

const isWaiting = (triggerId: string) =>
  and(eq(deliveryResults.triggerId, triggerId), isOpen, eq(deliveryResults.outcome, 'waiting'));

/** Records the error of a run. Its next attempt settles these results again. */
export async function failResults(tx: WriteTx, scope: Scope, error: string, now: Date): Promise<void> {
  await tx
    .update(deliveryResults)
    .set({ outcome: 'failed', error, updatedAt: now.toISOString() })
    .where(isUnsettled(scope))
    .run();
}

/** The triggers of one entry that a page shows at most. */
const MAX_RESULTS = 20;

/** A result with its trigger, its post and its run as they are now; null for what was deleted or has finished. */
export type Result = Awaited<ReturnType<typeof listResults>>[number];

/** The results of log entries of one organization, at most `MAX_RESULTS` for each on average. */
export async function listResults(tx: ReadTx, organizationId: string, deliveryIds: readonly string[]) {
  const { title, status } = posts;
  const { deliveryId, triggerId, scope, eventKey, outcome, error } = deliveryResults;
  return tx
    .select({
      deliveryId,
      triggerId,
      scope,
      eventKey,
      outcome,
      error,
      trigger: { id: triggers.id, event: triggers.event, enabled: triggers.enabled },
      post: { id: posts.id, title, status },
      run: { status: triggerRuns.status, attempts: triggerRuns.attempts, dueAt: triggerRuns.dueAt },
    })
    .from(deliveryResults)
    .leftJoin(triggers, eq(triggers.id, triggerId))
    .leftJoin(posts, and(eq(posts.id, deliveryResults.postId), eq(posts.organizationId, organizationId)))
    .leftJoin(triggerRuns, and(eq(triggerRuns.triggerId, triggerId), eq(triggerRuns.scope, scope)))
    .where(inArray(deliveryId, dialectOf(tx).listed(deliveryIds)))
    .orderBy(deliveryId, triggerId)
    .limit(deliveryIds.length * MAX_RESULTS)
    .all();
}

const statements = prepared((db) => ({
  insert: db
    .insert(deliveryResults)
    .values(placeholdersFor(getTableColumns(deliveryResults)))
    .onConflictDoNothing()
    .prepare(),
}));
