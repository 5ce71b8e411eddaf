import { and, count, eq, sql } from 'drizzle-orm';
import { type Database, prepared } from '../../db/client.ts';
import { triggerEvents, triggers } from '../../db/schema/index.ts';
import type { ReadTx } from '../../db/storage.ts';
import type { Arrival, EventSource, ShippedEvent } from '../events/model.ts';
import type { TriggerFilters } from './model.ts';

// The events that a trigger may make posts of. Synchronous, all of it: rows change in the transaction of the delivery,
// or of the change to the trigger.

/** The trigger, and where it looks for events. */
export interface ArrivalSource extends Pick<EventSource, 'repositoryId'> {
  triggerId: string;
}

type EventId = Pick<ShippedEvent, 'type' | 'key'>;

/** Records that the event arrived while the trigger was enabled. A match of an earlier arrival stays. */
export function recordArrival(db: ReadTx, source: ArrivalSource, event: EventId, isMatch: boolean): void {
  statements(db).record.run({ ...rowOf(source, event), isMatch, draftOnly: false });
}

/** Records that a person asked for a draft of the event. */
export function recordRequest(db: Database, source: ArrivalSource, event: EventId): void {
  statements(db).record.run({ ...rowOf(source, event), isMatch: true, draftOnly: true });
}

/** Records that an edit made the event match the filters. Does nothing for an event that never arrived. */
export function recordMatch(db: ReadTx, source: ArrivalSource, event: EventId): void {
  statements(db).match.run(rowOf(source, event));
}

/** Null for an event that neither arrived while the trigger was enabled nor was asked for, matching or not. */
export function findArrival(
  db: Database,
  source: ArrivalSource,
  event: EventId,
): (Arrival & { isMatch: boolean }) | null {
  return statements(db).find.get(rowOf(source, event)) ?? null;
}

/** Null for an event that the trigger may not make a post of. */
export function findMatch(db: Database, source: ArrivalSource, event: EventId): Arrival | null {
  const arrival = findArrival(db, source, event);
  return arrival?.isMatch === true ? arrival : null;
}

/** How many drafts a person asked for when the trigger was created. */
export function countRequests(db: Database, triggerId: string): number {
  const isRequest = and(eq(triggerEvents.triggerId, triggerId), eq(triggerEvents.draftOnly, true));
  return db.select({ rows: count() }).from(triggerEvents).where(isRequest).get()?.rows ?? 0;
}

/**
 * Forgets the events that the filters left out, if `filters` are others: otherwise the next edit could turn them into
 * posts. Call this before the trigger takes the new filters.
 */
export function forgetUnmatched(db: Database, triggerId: string, filters: TriggerFilters): void {
  statements(db).forget.run({ triggerId, filters: JSON.stringify(filters) });
}

function rowOf({ triggerId, repositoryId }: ArrivalSource, { type, key }: EventId) {
  return { triggerId, repositoryId: repositoryId ?? '', type, key };
}

const statements = prepared((db) => {
  const id = {
    triggerId: sql.placeholder('triggerId'),
    repositoryId: sql.placeholder('repositoryId'),
    type: sql.placeholder('type'),
    key: sql.placeholder('key'),
  };
  const isRow = and(
    eq(triggerEvents.triggerId, id.triggerId),
    eq(triggerEvents.repositoryId, id.repositoryId),
    eq(triggerEvents.type, id.type),
    eq(triggerEvents.key, id.key),
  );
  return {
    record: db
      .insert(triggerEvents)
      .values({ ...id, isMatch: sql.placeholder('isMatch'), draftOnly: sql.placeholder('draftOnly') })
      .onConflictDoUpdate({
        target: [triggerEvents.triggerId, triggerEvents.repositoryId, triggerEvents.type, triggerEvents.key],
        set: {
          isMatch: sql`${triggerEvents.isMatch} or excluded.is_match`,
          draftOnly: sql`excluded.draft_only`,
        },
      })
      .prepare(),
    match: db.update(triggerEvents).set({ isMatch: true }).where(isRow).prepare(),
    find: db
      .select({ isMatch: triggerEvents.isMatch, draftOnly: triggerEvents.draftOnly })
      .from(triggerEvents)
      .where(isRow)
      .prepare(),
    forget: db
      .delete(triggerEvents)
      .where(
        and(
          eq(triggerEvents.triggerId, id.triggerId),
          eq(triggerEvents.isMatch, false),
          sql`${sql.placeholder('filters')} <> (select ${triggers.filters} from ${triggers} where ${triggers.id} = ${id.triggerId})`,
        ),
      )
      .prepare(),
  };
});
