import { AppError } from '../../../lib/app-error.ts';
import type { Delivery } from '../../../webhooks/model.ts';
import { findDelivery } from '../../../webhooks/store.ts';
import type { MemberVisit } from '../../page.ts';

/** The longest id that a provider gives. */
const MAX_ID_LENGTH = 200;

/** The entry of the path, by its id or the provider's. Throws `AppError` 404, also for another organization's. */
export async function requireDelivery({ deps, organization, params }: MemberVisit): Promise<Delivery> {
  const id = params.deliveryId ?? '';
  const found = id.length > MAX_ID_LENGTH ? null : await findDelivery(deps.db, organization.id, id);
  if (found === null) {
    throw new AppError(404, 'There is no such delivery in the log. It may be older than the log goes back.');
  }
  return found;
}
