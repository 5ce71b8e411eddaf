import { commitTogether } from '../../db/group-commit.ts';
import type { AuditDeps } from '../audit/store.ts';
import type { Deps } from '../deps.ts';
import { AppError } from '../lib/app-error.ts';
import type { Organization } from '../organizations/model.ts';
import { addOrganization, newOrganization } from '../organizations/service.ts';
import type { User } from './model.ts';
import { insertMembership, listMemberships } from './store.ts';

/** How many organizations one person can be in before making another: far more than anybody works in. */
const MAX_ORGANIZATIONS = 100;

/** A further organization, whose owner the person becomes. Throws `AppError` 400 for a bad name or one too many. */
export async function foundOrganization(
  deps: AuditDeps & Pick<Deps, 'ids'>,
  user: User,
  name: string,
): Promise<Organization> {
  const { db } = deps;
  if ((await listMemberships(db, user.id)).length >= MAX_ORGANIZATIONS) {
    throw new AppError(
      400,
      `You are in ${MAX_ORGANIZATIONS} organizations already, which is as many as there can be.`,
    );
  }
  const organization = newOrganization(deps, { name, plan: 'free' });
  await commitTogether(db, () => {
    addOrganization(deps, organization);
    const { id: organizationId, createdAt } = organization;
    insertMembership(db, { userId: user.id, organizationId, role: 'owner', createdAt });
  });
  return organization;
}
