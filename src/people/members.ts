import { account, changing, organization as organizationKey, type WriteTx } from '../../db/engine.ts';
import { type AuditAction, type AuditDeps, recordAudit } from './audit.ts';
import type { Deps } from './deps.ts';
import {
  addOrganization,
  newOrganization,
  type Organization,
  type OrganizationCreation,
} from './organizations.ts';
import { failure, type Member, type Role, type User } from './permission.ts';
import { mayCreateOrganization } from './sessions.ts';
import * as store from './store.ts';

/** A person can create no more organizations once they are in this many. */
const MAX_ORGANIZATIONS = 100;

/** Throws `AppError` 400 for an invalid name or one too many, and 403 when the person may not create one. */
export async function createOwnOrganization(
  deps: AuditDeps & Pick<Deps, 'ids'>,
  user: User,
  name: string,
  policy?: OrganizationCreation,
): Promise<Organization> {
  return deps.db.write(
    async (tx) => {
      if (!(await store.isActive(tx, user.id))) throw failure('account_disabled');
      const memberships = await store.listRoles(tx, user.id);
      if (!mayCreateOrganization(policy, memberships)) throw failure('may_not_create_organization');
      if (memberships.length >= MAX_ORGANIZATIONS) {
        throw failure('too_many_organizations', { limit: MAX_ORGANIZATIONS });
      }
      const organization = newOrganization(deps, { name, plan: 'free' });
      await addOrganization(tx, deps, organization);
      const { id: organizationId, createdAt } = organization;
      await store.insertMembership(tx, { userId: user.id, organizationId, role: 'owner', createdAt });
      return organization;
    },
    changing(account(user.id)),
  );
}

export function readMembers(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  organizationId: string,
): Promise<{ people: Member[]; invitations: number }> {
  return db.read(async (tx) => ({
    people: await store.listMembers(tx, organizationId),
    invitations: await store.countInvitations(tx, organizationId, clock.now()),
  }));
}

/** Adds a member, or gives one a role that may do more. `describe` completes the actor's sentence: `added ann@… as an owner`. */
export async function joinOrganization(
  tx: WriteTx,
  deps: AuditDeps,
  membership: store.NewMembership,
  describe: (email: string, role: string) => string,
): Promise<void> {
  const before = await store.findMember(tx, membership);
  await store.insertMembership(tx, membership);
  const { role, email } = await requireMember(tx, membership);
  if (before?.role === role) return;
  const action = before === null ? 'member.joined' : 'member.role_changed';
  await recordMember(tx, deps, action, membership, describe(email, roleNoun(role)));
}

/** Ends the links of owners too: the person may have kept one. Throws `AppError` 404, and 409 for the last owner. */
export function removeMember(deps: AuditDeps, userId: string, organizationId: string): Promise<void> {
  const key = { userId, organizationId };
  return deps.db.write(
    async (tx) => {
      const member = await requireMember(tx, key);
      if (member.role === 'owner') await requireOtherOwner(tx, key, member);
      await store.deleteMembership(tx, key);
      await store.deleteLinksOfOwners(tx, organizationId);
      const summary = deps.actor.id === userId ? 'left the organization' : `removed ${member.email}`;
      await recordMember(tx, deps, 'member.removed', key, summary);
    },
    changing(account(userId), organizationKey(organizationId)),
  );
}

/** The links of owners end with an owner's role, which one would bring back. Throws `AppError` 404, 409 for the last owner. */
export function setRole(deps: AuditDeps, userId: string, organizationId: string, role: Role): Promise<void> {
  const key = { userId, organizationId };
  return deps.db.write(
    async (tx) => {
      const member = await requireMember(tx, key);
      if (member.role === role) return;
      const wasOwner = member.role === 'owner';
      if (wasOwner) await requireOtherOwner(tx, key, member);
      // A person decided, so rules of the identity provider leave it.
      await store.updateRole(tx, key, role, false);
      // Last: it waits for an invitation that the owner is creating.
      if (wasOwner) await store.deleteLinksOfOwners(tx, organizationId);
      await recordMember(tx, deps, 'member.role_changed', key, `made ${member.email} ${roleNoun(role)}`);
    },
    changing(account(userId), organizationKey(organizationId)),
  );
}

export function withdrawInvitations(deps: AuditDeps, organizationId: string): Promise<void> {
  return deps.db.write(
    async (tx) => {
      const count = await store.deleteInvitations(tx, organizationId);
      if (count === 0) return;
      await recordAudit(tx, deps, {
        organizationId,
        action: 'member.invitations_withdrawn',
        target: { type: 'organization', id: organizationId },
        summary: count === 1 ? 'withdrew 1 invitation link' : `withdrew ${count} invitation links`,
        count,
      });
    },
    changing(organizationKey(organizationId)),
  );
}

export const roleNames: Readonly<Record<Role, string>> = {
  writer: 'Writer',
  member: 'Publisher',
  owner: 'Owner',
};

export function roleNoun(role: Role): string {
  return role === 'owner' ? 'an owner' : `a ${roleNames[role].toLowerCase()}`;
}

async function requireMember(tx: WriteTx, key: store.MemberKey): Promise<Member> {
  const member = await store.findMember(tx, key);
  if (member === null) throw failure('member_not_found');
  return member;
}

async function requireOtherOwner(tx: WriteTx, key: store.MemberKey, { email }: Member): Promise<void> {
  if (await store.hasOtherOwner(tx, key)) return;
  throw failure('last_owner', { email, organizations: [key.organizationId] });
}

export async function recordMember(
  tx: WriteTx,
  deps: AuditDeps,
  action: AuditAction,
  { organizationId, userId }: store.MemberKey,
  summary: string,
): Promise<void> {
  await recordAudit(tx, deps, { organizationId, action, target: { type: 'user', id: userId }, summary });
}
