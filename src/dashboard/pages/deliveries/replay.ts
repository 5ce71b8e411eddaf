import { listIntegrations } from '../../../integrations/store.ts';
import { replayDelivery } from '../../../receiver/replay.ts';
import { type Page, post, redirect } from '../../page.ts';
import { whyNotReplayable } from './actions.tsx';
import { requireDelivery } from './find.ts';
import { showDelivery } from './one.tsx';

/** Replays a delivery and opens the entry of the replay. */
export const replay: Page = post(
  '/dashboard/:organizationId/deliveries/:deliveryId/replay',
  'member',
  async (visit) => {
    const { deps, base, organization } = visit;
    const delivery = await requireDelivery(visit);
    const integrations = await deps.db.read((tx) => listIntegrations(tx, organization.id));
    const integration = integrations.find(({ id }) => id === delivery.integrationId) ?? null;
    const obstacle = whyNotReplayable(delivery, integration);
    if (obstacle !== null) return showDelivery(visit, delivery, obstacle);
    const entry = await replayDelivery(deps, delivery);
    return redirect(
      `${base}/deliveries/${entry.id}`,
      'Delivery replayed. Existing drafts are updated, not duplicated.',
    );
  },
);
