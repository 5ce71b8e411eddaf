import type { WriteTx } from '../../../db/engine.ts';
import { type AuditDeps, asServer } from '../audit.ts';
import { joinOrganization, recordMember, roleNoun } from '../members.ts';
import { findOrganization } from '../organization-store.ts';
import type { Role, User } from '../permission.ts';
import * as people from '../store.ts';
import type { Claims, Rule } from './rules.ts';

// Roles that OIDC_RULES gives a person.

export interface Grant {
  organizationId: string;
  role: Role;
}

/** The organizations that these rules open for a person. The highest role wins. */
export function grantsOf(rules: readonly Rule[], claims: Claims): Grant[] {
  const grants = new Map<string, Role>();
  for (const { organization, role, ...condition } of rules) {
    const given = grants.get(organization);
    const isHigher = given === undefined || people.rolesBelow(role).includes(given);
    if (isHigher && matches(condition, claims)) grants.set(organization, role);
  }
  return Array.from(grants, ([organizationId, role]) => ({ organizationId, role }));
}

function matches(
  { domain, claim, value }: Omit<Rule, 'organization' | 'role'>,
  { email, isVerified, all }: Claims,
): boolean {
  const verified = isVerified ? email : null;
  if (domain !== undefined && verified?.slice(verified.lastIndexOf('@') + 1) !== domain) return false;
  if (claim === undefined) return true;
  // People may enter any address at the provider before it verifies one.
  if (claim === 'email') return verified !== null && verified === value?.toLowerCase();
  const found = Object.hasOwn(all, claim) ? all[claim] : undefined;
  return [found].flat().includes(value);
}

/** Those of organizations that exist. */
export async function openGrants(
  tx: WriteTx,
  { log }: Pick<AuditDeps, 'log'>,
  grants: readonly Grant[],
): Promise<Grant[]> {
  const open: Grant[] = [];
  for (const grant of grants) {
    const { organizationId } = grant;
    if ((await findOrganization(tx, organizationId)) !== null) open.push(grant);
    else log.warn({ organizationId }, 'a rule of OIDC_RULES names an organization that does not exist');
  }
  return open;
}

/**
 * Brings the memberships that rules gave up to date. What a person decided stays: rules change no other membership. The last
 * owner of an organization stays one.
 */
export async function applyGrants(
  tx: WriteTx,
  deps: AuditDeps,
  user: User,
  grants: readonly Grant[],
): Promise<void> {
  const has = await people.listOwnMemberships(tx, user.id);
  const asRule = asServer(deps);
  for (const { organizationId, role, byRule } of has) {
    const granted = grants.find((grant) => grant.organizationId === organizationId)?.role;
    if (!byRule || granted === role) continue;
    const key = { userId: user.id, organizationId };
    if (role === 'owner' && !(await people.hasOtherOwner(tx, key))) continue;
    if (granted === undefined) await people.deleteMembership(tx, key);
    else await people.updateRole(tx, key, granted, true);
    // As for every owner whose role ends: a link that they kept would bring it back.
    if (role === 'owner' || granted === undefined) await people.deleteLinksOfOwners(tx, organizationId);
    const summary =
      granted === undefined
        ? `removed ${user.email}, whom no rule of the identity provider lets in any more`
        : `made ${user.email} ${roleNoun(granted)} by a rule of the identity provider`;
    const action = granted === undefined ? 'member.removed' : 'member.role_changed';
    await recordMember(tx, asRule, action, key, summary);
  }
  for (const { organizationId, role } of await openGrants(tx, deps, grants)) {
    if (has.some((each) => each.organizationId === organizationId)) continue;
    const createdAt = deps.clock.now().toISOString();
    const membership = { userId: user.id, organizationId, role, createdAt, byRule: true };
    const describe = (email: string, as: string) =>
      `added ${email} as ${as} by a rule of the identity provider`;
    await joinOrganization(tx, asRule, membership, describe);
  }
}
