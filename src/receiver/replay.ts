import type { Delivery } from '../deliveries/model.ts';
import { insertDelivery } from '../deliveries/store.ts';
import { toldBy } from '../deliveries/told.ts';
import type { Deps } from '../deps.ts';
import { getIntegration } from '../integrations/store.ts';
import { AppError } from '../lib/app-error.ts';
import { handOver } from '../triggers/hand-over.ts';

/**
 * Runs a delivery of the log again: what it told is handed to the triggers as if it had just come, and the log gets an
 * entry that names the first one (`replayOf`). Doing so twice makes no second draft. Throws `AppError` 409 for a
 * delivery that holds nothing to run, and 404 when its integration is gone.
 */
export async function replayDelivery(
  deps: Pick<Deps, 'db' | 'clock' | 'ids'>,
  delivery: Delivery,
): Promise<Delivery> {
  const { repositories } = await getIntegration(deps.db, delivery.integrationId);
  const told = toldBy(delivery, repositories);
  if (told === null) {
    throw new AppError(
      409,
      `Delivery ${delivery.id} cannot be run again: it is ${delivery.status}, and holds nothing that was processed. Ask the provider to redeliver it.`,
    );
  }
  const now = deps.clock.now();
  const entry: Delivery = {
    ...delivery,
    id: deps.ids.newId('dlv'),
    replayOf: delivery.replayOf ?? delivery.id,
    sameBodyAs: null,
    durationMs: 0,
    createdAt: now.toISOString(),
  };
  await deps.db.write(async (tx) => {
    await handOver(tx, told, now);
    insertDelivery(deps.db, { ...entry, bodyHash: null }, now);
  });
  return entry;
}
