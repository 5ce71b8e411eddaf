import { type Delivery, toProcessed } from '../deliveries/model.ts';
import type { Deps } from '../deps.ts';
import { listPostsOfDelivery, type Telling } from '../drafts/store.ts';
import type { Repository } from '../integrations/model.ts';
import { toEvent } from '../providers/index.ts';
import type { ProcessedDelivery } from '../providers/provider.ts';
import { branchScope } from './kinds/branch.ts';
import { keysOf } from './kinds/kind.ts';

/**
 * The posts that took a processed delivery up: those that name it, and those that name a later one but tell of its
 * event too. `repositories` are those of its integration.
 */
export function listCaused(
  { db }: Pick<Deps, 'db'>,
  delivery: Delivery,
  repositories: readonly Repository[],
) {
  const told = toProcessed(delivery, repositories);
  if (told === null) return [];
  const { organizationId, integrationId } = delivery;
  return listPostsOfDelivery(db, organizationId, integrationId, told.deliveryId, tellingOf(told));
}

function tellingOf(told: ProcessedDelivery): Telling | null {
  const event = toEvent(told);
  const key = event === null ? undefined : keysOf(event)[0];
  if (event === null || key === undefined) return null;
  return {
    key,
    // Repositories number their pull requests alike; what a tracker has is known by ids of its own.
    scope: event.branch === null ? null : branchScope(told.repositoryId, event.branch),
    // A draft of pull requests counts their pushes as told too, but was not made of them.
    event: event.type === 'push' ? 'push' : null,
  };
}
