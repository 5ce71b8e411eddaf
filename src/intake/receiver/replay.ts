import { handOver, readHandOver } from '../../drafting/triggers/hand-over.ts';
import { imageOwner } from '../../drafting/triggers/material.ts';
import { type Delivery, insertDelivery, toProcessed } from '../../integrations/deliveries/store.ts';
import { changeIntegration, getIntegration } from '../../integrations/store.ts';
import { AppError } from '../../lib/app-error.ts';
import { capitalized } from '../../lib/text.ts';
import type { Deps } from '../../people/deps.ts';
import { providerOf, toEvent } from '../../providers/index.ts';

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
      throw new AppError(409, whyNotReplayable(delivery), { code: 'delivery_not_replayable' });
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

/** The reason why the log holds no event to replay, and what to do instead. */
export function whyNotReplayable({
  status,
  integrationType,
}: Pick<Delivery, 'status' | 'integrationType'>): string {
  if (status === 'duplicate') return "Duplicate deliveries can't be replayed. Replay the first one instead.";
  if (status === 'processed') return "This delivery can't be replayed. Its event creates no drafts.";
  const { name, api, words } = providerOf(integrationType);
  const retry = api?.redelivery == null ? words.redelivery : undefined;
  return `${capitalized(status)} deliveries can't be replayed. ${retry ?? `Redeliver from ${name}.`}`;
}
