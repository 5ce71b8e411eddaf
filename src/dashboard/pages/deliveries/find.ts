import { findDelivery } from '../../../deliveries/log-store.ts';
import type { Delivery } from '../../../deliveries/model.ts';
import { AppError } from '../../../lib/app-error.ts';
import type { MemberVisit } from '../../page.ts';

/** The longest id that a provider gives. */
const MAX_ID_LENGTH = 200;

/** By the entry's id or the provider's; null when the organization has none. */
export async function findEntry({ deps, organization }: MemberVisit, id: string): Promise<Delivery | null> {
  return id.length > MAX_ID_LENGTH ? null : findDelivery(deps.db, organization.id, id);
}

/** The entry of the path, by its id or the provider's. Throws `AppError` 404, also for another organization's. */
export async function requireDelivery(visit: MemberVisit): Promise<Delivery> {
  const found = await findEntry(visit, visit.params.deliveryId ?? '');
  if (found === null) {
    throw new AppError(404, 'There is no such delivery in the log. It may be older than the log goes back.');
  }
  return found;
}
