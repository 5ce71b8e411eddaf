import { quote } from '../audit/model.ts';
import { type AuditDeps, recordAudit } from '../audit/store.ts';
import type { Deps } from '../deps.ts';
import { requireValid } from '../lib/validation.ts';
import { NewOrganization, type Organization, OrganizationChange } from './model.ts';
import { insertOrganizationNow, updateOrganization } from './store.ts';

/** Throws `AppError` 400 for a bad field and 409 for an id that is taken. */
export async function createOrganization(
  deps: AuditDeps & Pick<Deps, 'ids'>,
  input: NewOrganization,
): Promise<Organization> {
  const organization = newOrganization(deps, input);
  await deps.db.write(() => addOrganization(deps, organization));
  return organization;
}

/** Stores and records it. Synchronous, for a transaction of the caller's. Throws `AppError` 409. */
export function addOrganization(deps: AuditDeps, organization: Organization): void {
  insertOrganizationNow(deps.db, organization);
  const { id, name } = organization;
  const summary = `created the organization ${quote(name)}`;
  const target = { type: 'organization', id };
  recordAudit(deps.db, deps, { organizationId: id, action: 'organization.created', target, summary });
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
  deps: AuditDeps,
  id: string,
  input: { name: string; plan: string },
): Promise<Organization> {
  const { name, plan } = requireValid(OrganizationChange, { ...input, name: input.name.trim() });
  return updateOrganization(deps, id, { name, plan });
}
