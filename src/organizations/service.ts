import type { Deps } from '../deps.ts';
import { requireValid } from '../lib/validation.ts';
import { NewOrganization, type Organization } from './model.ts';
import { insertOrganization } from './store.ts';

/** Throws `AppError` 400 for a bad field and 409 for an id that is taken. */
export async function createOrganization(
  deps: Pick<Deps, 'db' | 'clock' | 'ids'>,
  input: NewOrganization,
): Promise<Organization> {
  const { id, name, plan } = requireValid(NewOrganization, input);
  const organization: Organization = {
    id: id ?? deps.ids.newId('org'),
    name: name.trim(),
    plan,
    createdAt: deps.clock.now().toISOString(),
  };
  await insertOrganization(deps.db, organization);
  return organization;
}
