import { handOver, readHandOver } from '../../drafting/triggers/hand-over.ts';
import { imageOwner } from '../../drafting/triggers/material.ts';
import { type Delivery, insertDelivery, toProcessed } from '../../integrations/deliveries/store.ts';
import { changeIntegration, getIntegration } from '../../integrations/store.ts';
import { AppError } from '../../lib/app-error.ts';
import type { Deps } from '../../people/deps.ts';
import { toEvent } from '../../providers/index.ts';

/**
 * Hands a logged delivery to the triggers as if it had just arrived, and logs that with `replayOf`. A second replay
 * makes no second draft. Throws `AppError` 404 when its integration is gone, and 409 `delivery_not_replayable` when the
 * log holds no event of it.
 */
export async function replayDelivery(
  deps: Pick<Deps, 'db' | 'clock' | 'ids' | 'media'>,
  delivery: Delivery,
): Promise<Delivery> {
  const now = deps.clock.now();
  const entry: Delivery = {
    ...delivery,
    id: deps.ids.newId('dlv'),
    replayOf: delivery.replayOf ?? delivery.id,
    sameBodyAs: null,
    durationMs: 0,
    createdAt: now.toISOString(),
  };
  await changeIntegration(deps.db, delivery.integrationId, async (tx) => {
    const { repositories } = await getIntegration(tx, delivery.integrationId);
    const processed = toProcessed(delivery, repositories);
    if (processed === null) {
      throw new AppError(
        409,
        `Delivery ${delivery.id} (${delivery.status}) cannot be replayed: it has no processed event.`,
        { code: 'delivery_not_replayable' },
      );
    }
    const event = toEvent(processed);
    if (event !== null) {
      const known = await readHandOver(tx, processed, event);
      await handOver(tx, { ...processed, images: imageOwner(deps, delivery) }, entry, event, known, now);
    }
    await insertDelivery(tx, { ...entry, bodyHash: null }, now);
  });
  return entry;
}
