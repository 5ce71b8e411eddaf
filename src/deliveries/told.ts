import type { Repository } from '../integrations/model.ts';
import type { ProcessedDelivery } from '../providers/provider.ts';
import type { Delivery } from './model.ts';

/**
 * What an entry of the log told when it was processed, to be read again; null for one that holds nothing to read: a
 * ping, and whatever was refused, ignored or failed. `repositories` are those of its integration.
 */
export function toldBy(delivery: Delivery, repositories: readonly Repository[]): ProcessedDelivery | null {
  const { status, referenceId, repositoryId, integrationId, integrationType, payload, createdAt } = delivery;
  const { event, action, data } = payload;
  if (status !== 'processed' || data === null || event === null || action === null) return null;
  return {
    integrationId,
    integrationType,
    repositoryId,
    repository: repositories.find(({ id }) => id === repositoryId)?.fullName ?? null,
    deliveryId: referenceId ?? delivery.id,
    receivedAt: createdAt,
    event,
    action,
    data,
  };
}
