import type { Deps } from '../deps.ts';
import { requireValid } from '../lib/validation.ts';
import { NewOrganization, type Organization, OrganizationChange } from './model.ts';
import { insertOrganization, updateOrganization } from './store.ts';

/** Throws `AppError` 400 for a bad field and 409 for an id that is taken. */
export async function createOrganization(
  deps: Pick<Deps, 'db' | 'clock' | 'ids'>,
  input: NewOrganization,
): Promise<Organization> {
  const organization = newOrganization(deps, input);
  await insertOrganization(deps.db, organization);
  return organization;
}

/** An organization that is not stored yet. Throws `AppError` 400 for a bad field. */
export function newOrganization(deps: Pick<Deps, 'clock' | 'ids'>, input: NewOrganization): Organization {
  const { id, name, plan } = requireValid(NewOrganization, input);
  return {
    id: id ?? deps.ids.newId('org'),
    name: name.trim(),
    plan,
    createdAt: deps.clock.now().toISOString(),
  };
}

/** A new name and plan. Throws `AppError` 400 for a bad field and 404 when there is no such organization. */
export async function changeOrganization(
  { db }: Pick<Deps, 'db'>,
  id: string,
  input: { name: string; plan: string },
): Promise<Organization> {
  const { name, plan } = requireValid(OrganizationChange, { ...input, name: input.name.trim() });
  return updateOrganization(db, id, { name, plan });
}
