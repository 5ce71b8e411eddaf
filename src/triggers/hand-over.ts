import type { Database } from '../../db/client.ts';
import { type ProcessedDelivery, toEvent } from '../events/extract.ts';
import { recordEvent } from '../events/store.ts';
import { kinds } from './kinds/index.ts';
import { listEnabledTriggers, queueRun } from './store.ts';

/**
 * Keeps what a processed delivery tells of, and queues the triggers that it means something to. Synchronous: it
 * belongs into the delivery's own transaction, so that what was acknowledged is sure to become a draft. A delivery
 * that comes again asks for a run again, which then finds everything as it should be. Returns how many it asked for.
 */
export function handOver(db: Database, delivery: ProcessedDelivery, now: Date): number {
  const event = toEvent(delivery);
  if (event === null) return 0;
  const previous = recordEvent(db, delivery, event);
  const told = previous === null ? [event] : [event, previous];
  const since = told.map(({ occurredAt }) => occurredAt).sort()[0] ?? event.occurredAt;
  let queued = 0;
  for (const trigger of listEnabledTriggers(db, delivery.integrationId, delivery.repositoryId)) {
    const { scopesOf } = kinds[trigger.event];
    const scopes = new Set(told.flatMap((each) => scopesOf(trigger, each, delivery)));
    for (const scope of scopes) {
      queueRun(db, { triggerId: trigger.id, scope, since, deliveryId: delivery.deliveryId }, now);
      queued++;
    }
  }
  return queued;
}
