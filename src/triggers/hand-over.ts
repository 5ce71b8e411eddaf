import type { ReadTx } from '../../db/storage.ts';
import { recordEvent } from '../events/store.ts';
import { toEvent } from '../providers/index.ts';
import type { ProcessedDelivery } from '../providers/provider.ts';
import { recordArrival, recordMatch } from './arrival-store.ts';
import { isEdit, kinds } from './kinds/index.ts';
import { listEnabledTriggers, queueRun } from './store.ts';

/**
 * Keeps what a processed delivery tells of, records that it reached the enabled triggers, and queues those that it
 * means something to. Synchronous: it belongs into the delivery's own transaction, so that what was acknowledged is
 * sure to become a draft. A delivery that comes again asks for a run again, which then finds everything as it should
 * be. Returns how many it asked for.
 */
export function handOver(db: ReadTx, delivery: ProcessedDelivery, now: Date): number {
  const event = toEvent(delivery);
  if (event === null) return 0;
  const { newest, previous } = recordEvent(db, delivery, event);
  const { repositoryId } = delivery;
  const told = previous === null ? [event] : [event, previous];
  const since = told.map(({ occurredAt }) => occurredAt).sort()[0] ?? event.occurredAt;
  let queued = 0;
  for (const trigger of listEnabledTriggers(db, delivery.integrationId, repositoryId)) {
    const kind = kinds[trigger.event];
    if (kind.tells.includes(event.type)) {
      const isMatch = kind.matches(trigger.filters, newest);
      const source = { triggerId: trigger.id, repositoryId };
      // An edit makes no post, but it may make one match that arrived before.
      if (!isEdit(delivery, event)) recordArrival(db, source, event, isMatch);
      else if (isMatch) recordMatch(db, source, event);
    }
    const scopes = new Set(told.flatMap((each) => kind.scopesOf(trigger, each, delivery)));
    for (const scope of scopes) {
      queueRun(db, { triggerId: trigger.id, scope, since, deliveryId: delivery.deliveryId }, now);
      queued++;
    }
  }
  return queued;
}
