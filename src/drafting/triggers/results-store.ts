import { and, countDistinct, eq, getTableColumns, gte, inArray, ne, sql } from 'drizzle-orm';
import {
  dialectOf,
  matching,
  placeholdersFor,
  prepared,
  type ReadTx,
  type WriteTx,
} from '../../../db/engine.ts';
import { deliveries, integrations } from '../../../db/schema/integrations.ts';
import { posts } from '../../../db/schema/posts.ts';
import { deliveryResults, triggerRuns, triggers } from '../../../db/schema/triggers.ts';
import { countDays, type DayCounts } from '../../integrations/deliveries/count-store.ts';
import type { Delivery } from '../../integrations/deliveries/store.ts';
import { DAY_MS } from '../../lib/time.ts';
import type { Outcome as DraftOutcome } from '../write.ts';
import type { TriggerKind } from './kinds/kind.ts';
import type { DueRun } from './queue-store.ts';

// The result of each delivery for each trigger: queued with the delivery, settled by the run that writes the drafts.

type Row = typeof deliveryResults.$inferSelect;

export type Outcome = Row['outcome'];

/** The log entry that results belong to. */
export type ResultEntry = Pick<Delivery, 'id' | 'retentionDays'>;

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
    .where(matching(deliveries, { referenceId, integrationId, status: 'processed' }))
    .limit(1)
    .get();
  if (entry === undefined) return;
  const state = { postId: null, error: null, updatedAt: now.toISOString(), expiresAt: entry.expiresAt };
  await statements(tx).insert.run({ ...result, ...state, deliveryId: entry.id, outcome: 'queued' });
}

type Scope = Pick<DueRun, 'triggerId' | 'scope'>;

/** The condition of the partial index, exactly: both engines use it only for a query that repeats it. */
const isOpen = sql`${deliveryResults.outcome} in ('queued', 'failed', 'waiting')`;

const ofScope = { triggerId: sql.placeholder('triggerId'), scope: sql.placeholder('scope') };
const isOfScope = and(matching(deliveryResults, ofScope), isOpen);
/** The rows that a run of the scope settles. */
const isUnsettled = and(isOfScope, ne(deliveryResults.outcome, 'waiting'));
const isWaiting = and(isOfScope, eq(deliveryResults.outcome, 'waiting'));

type Open = Pick<Row, 'deliveryId' | 'eventKey' | 'outcome'>;

/** The results that a run of the scope may settle. Those that wait do so for the draft of a release. */
export async function listOpen(tx: ReadTx, { triggerId, scope }: Scope): Promise<Open[]> {
  return statements(tx).open.all({ triggerId, scope });
}

export async function settleResults(
  tx: WriteTx,
  { triggerId, scope }: Scope,
  eventKeys: readonly string[],
  { outcome, postId }: { outcome: Exclude<DraftOutcome, 'closed'>; postId: string | null },
  now: Date,
): Promise<void> {
  const result = { outcome, postId, updatedAt: now.toISOString() };
  await statements(tx).settle.run({ triggerId, scope, eventKeys, ...result });
}

/** Settles results whose events are in no draft. */
export async function settleRest(
  tx: WriteTx,
  { triggerId, scope }: Scope,
  { event, isRolling }: Pick<TriggerKind, 'event' | 'isRolling'>,
  rest: readonly Open[],
  closedKeys: ReadonlySet<string>,
  now: Date,
): Promise<void> {
  const keys = { ...namesOf(rest), closedKeys: [...closedKeys], own: `${event} %` };
  const result = { other: isRolling ? 'unchanged' : 'waiting', updatedAt: now.toISOString() };
  await statements(tx).settleRest.run({ triggerId, scope, ...keys, ...result });
}

/** Deliveries and events. A delivery has one event. */
const namesOf = (results: readonly Open[]) => ({
  deliveryIds: results.map(({ deliveryId }) => deliveryId),
  keys: results.map(({ eventKey }) => eventKey),
});

/** Settles results that waited for a draft. Those that it names get its outcome; a release with notes names none. */
export async function settleWaiting(
  tx: WriteTx,
  { triggerId, scope }: Scope,
  waiting: readonly Open[],
  draft: { eventKeys: readonly string[]; outcome: Outcome; postId: string | null },
  now: Date,
): Promise<void> {
  const result = { ...draft, updatedAt: now.toISOString() };
  await statements(tx).settleWaiting.run({ triggerId, scope, ...namesOf(waiting), ...result });
}

/** Ends the waiting for a trigger that is deleted. */
export async function endWaiting(tx: WriteTx, triggerId: string, now: Date): Promise<void> {
  await tx
    .update(deliveryResults)
    .set({ outcome: 'unchanged', updatedAt: now.toISOString() })
    .where(and(matching(deliveryResults, { triggerId, outcome: 'waiting' }), isOpen));
}

/** Records the error of a run. Its next attempt settles these results again. */
export async function failResults(
  tx: WriteTx,
  { triggerId, scope }: Scope,
  error: string,
  now: Date,
): Promise<void> {
  await statements(tx).fail.run({ triggerId, scope, error, updatedAt: now.toISOString() });
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
    .limit(deliveryIds.length * MAX_RESULTS);
}

/** The open results that a picture looks at. */
const MAX_OPEN = 20_000;

/** The deliveries of each day since `day` whose draft failed, of one integration or all. A run tries each one again. */
async function countFailedDrafts(
  tx: ReadTx,
  { id, organizationId }: { id?: string | undefined; organizationId: string },
  day: string,
): Promise<Map<string, number>> {
  const { deliveryId, triggerId, scope, outcome } = deliveryResults;
  // Runs are few, and the index leads from each to its open results.
  const open = tx
    .select({ deliveryId, outcome })
    .from(triggerRuns)
    .innerJoin(triggers, eq(triggers.id, triggerRuns.triggerId))
    .innerJoin(integrations, eq(integrations.id, triggers.integrationId))
    .innerJoin(
      deliveryResults,
      and(eq(triggerId, triggerRuns.triggerId), eq(scope, triggerRuns.scope), isOpen),
    )
    .where(matching(integrations, { organizationId, id }))
    .limit(MAX_OPEN)
    .as('open');
  const onDay = sql<string>`substr(${deliveries.createdAt}, 1, 10)`;
  const rows = await tx
    .select({ day: onDay, failed: countDistinct(deliveries.id) })
    .from(open)
    .innerJoin(deliveries, eq(deliveries.id, open.deliveryId))
    .where(and(eq(open.outcome, 'failed'), gte(deliveries.createdAt, day)))
    .groupBy(onDay)
    .all();
  return new Map(rows.map(({ day: each, failed }) => [each, failed]));
}

const statements = prepared((db) => {
  const { listed } = dialectOf(db);
  const { deliveryId, eventKey } = deliveryResults;
  const result = placeholdersFor(
    getTableColumns(deliveryResults),
  ) as unknown as typeof deliveryResults.$inferInsert;
  const isInDraft = inArray(eventKey, listed(sql.placeholder('eventKeys')));
  const isClosed = inArray(eventKey, listed(sql.placeholder('closedKeys')));
  const isOwn = sql`${eventKey} like ${sql.placeholder('own')}`;
  const { outcome, postId, error, updatedAt } = result;
  const isGiven = and(
    inArray(deliveryId, listed(sql.placeholder('deliveryIds'))),
    inArray(eventKey, listed(sql.placeholder('keys'))),
  );
  const update = db.update(deliveryResults);
  return {
    insert: db.insert(deliveryResults).values(result).onConflictDoNothing().prepare(),
    open: db
      .select({ deliveryId, eventKey, outcome: deliveryResults.outcome })
      .from(deliveryResults)
      .where(isOfScope)
      .prepare(),
    settle: update
      .set({ outcome, postId, error: null, updatedAt })
      .where(and(isUnsettled, isInDraft))
      .prepare(),
    settleRest: update
      .set({
        outcome: sql`case when ${isClosed} then 'kept' when ${isOwn} then 'unchanged' else cast(${sql.placeholder('other')} as text) end`,
        error: null,
        updatedAt,
      })
      .where(and(isUnsettled, isGiven))
      .prepare(),
    settleWaiting: update
      .set({
        outcome: sql`case when ${isInDraft} then cast(${outcome} as text) else 'unchanged' end`,
        postId: sql`case when ${isInDraft} then cast(${postId} as text) end`,
        updatedAt,
      })
      .where(and(isWaiting, isGiven))
      .prepare(),
    fail: update.set({ outcome: 'failed', error, updatedAt }).where(isUnsettled).prepare(),
  };
});

/** The deliveries of the last days with their results, oldest first; of one integration, or of all without an `id`. */
export async function readDays(
  tx: ReadTx,
  of: { id?: string | undefined; organizationId: string },
  now: Date,
  days: number,
): Promise<DayCounts[]> {
  const counted = await countDays(tx, of, now, days);
  const failed = await countFailedDrafts(tx, of, counted[0]?.day ?? '');
  return counted.map((each) => ({ ...each, failedDrafts: failed.get(each.day) ?? 0 }));
}
