import { findDelivery } from '../../../deliveries/log-store.ts';
import type { Delivery } from '../../../deliveries/model.ts';
import { AppError } from '../../../lib/app-error.ts';
import type { MemberVisit } from '../../page.ts';

/** Longest delivery id of any provider. */
const MAX_ID_LENGTH = 200;

/** By the entry's id or the provider's; null when the organization has none. */
export async function findEntry({ deps, organization }: MemberVisit, id: string): Promise<Delivery | null> {
  if (id.length > MAX_ID_LENGTH) return null;
  return deps.db.read((tx) => findDelivery(tx, organization.id, id));
}

/** The entry of the path. Throws `AppError` 404, also for another organization's. */
export async function requireDelivery(visit: MemberVisit): Promise<Delivery> {
  const entry = await findEntry(visit, visit.params.deliveryId ?? '');
  if (entry === null) throw new AppError(404, 'Delivery not found. The log may have deleted it since.');
  return entry;
}
