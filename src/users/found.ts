import type { AuditDeps } from '../audit/store.ts';
import type { Deps } from '../deps.ts';
import { AppError } from '../lib/app-error.ts';
import type { Organization, OrganizationCreation } from '../organizations/model.ts';
import { addOrganization, newOrganization } from '../organizations/service.ts';
import type { Membership, User } from './model.ts';
import { insertMembership, isActive, listMemberships } from './store.ts';

/** How many organizations one person can be in before making another: far more than anybody works in. */
const MAX_ORGANIZATIONS = 100;

/** Whether a person in these organizations may create another. */
export function mayFound(
  policy: OrganizationCreation = 'owners',
  memberships: readonly Membership[],
): boolean {
  return policy === 'anyone' || (policy === 'owners' && memberships.some(({ role }) => role === 'owner'));
}

/**
 * A further organization, whose owner the person becomes. Throws `AppError` 400 for a bad name or one too many, and 403
 * when the person may not create one.
 */
export async function foundOrganization(
  deps: AuditDeps & Pick<Deps, 'ids'>,
  user: User,
  name: string,
  policy?: OrganizationCreation,
): Promise<Organization> {
  const { db } = deps;
  const memberships = await listMemberships(db, user.id);
  if (!mayFound(policy, memberships)) {
    throw new AppError(403, 'You may not create an organization. Ask the administrator of this service.');
  }
  if (memberships.length >= MAX_ORGANIZATIONS) {
    throw new AppError(
      400,
      `You are in ${MAX_ORGANIZATIONS} organizations already, which is as many as there can be.`,
    );
  }
  const organization = newOrganization(deps, { name, plan: 'free' });
  await db.write(async (tx) => {
    if (!isActive(db, user.id)) throw new AppError(403, 'This account is disabled.');
    await addOrganization(tx, deps, organization);
    const { id: organizationId, createdAt } = organization;
    insertMembership(db, { userId: user.id, organizationId, role: 'owner', createdAt });
  });
  return organization;
}
