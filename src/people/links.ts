import { ACCOUNTS, account, changing, organization, type WriteTx } from '../../db/engine.ts';
import { DAY_MS } from '../lib/time.ts';
import { passwordFacts, requireEmail } from './accounts.ts';
import { type AuditDeps, recordAudit } from './audit.ts';
import type { Deps } from './deps.ts';
import { joinOrganization, roleNoun } from './members.ts';
import { getOrganization, listOrganizations } from './organization-store.ts';
import { addOrganization, newOrganization } from './organizations.ts';
import { hashOf, newSecret, requireGoodPassword } from './passwords.ts';
import { failure, type Role, type User } from './permission.ts';
import {
  actingAs,
  beginSession,
  type FirstFactor,
  type Guarded,
  passFirstFactor,
  recordAccount,
} from './sessions.ts';
import * as store from './store.ts';

const LINK_MS = { setup: DAY_MS, invitation: 7 * DAY_MS, password: DAY_MS } as const;

function newLink(
  { clock }: Pick<Deps, 'clock'>,
  purpose: store.OneTimeLink['purpose'],
  link: Partial<store.OneTimeLink> = {},
) {
  const { token, hash } = newSecret();
  const now = clock.now();
  const life = { createdAt: now.toISOString(), expiresAt: now.getTime() + LINK_MS[purpose] };
  return { token, row: { userId: null, organizationId: null, role: null, ...link, purpose, hash, ...life } };
}

/** Null once there is a user. `keepsEarlier`: processes that share a database each print one. */
export function createSetupLink(
  deps: Pick<Deps, 'db' | 'clock'>,
  { keepsEarlier = false } = {},
): Promise<string | null> {
  const { token, row } = newLink(deps, 'setup');
  return deps.db.write(async (tx) => {
    const isSetUp = await store.hasUsers(tx);
    if (isSetUp || !keepsEarlier) await store.deleteLinks(tx, 'setup');
    if (isSetUp) return null;
    await store.insertLink(tx, row);
    return `/setup?token=${token}`;
  }, changing(ACCOUNTS));
}

// One-time links: to set up the service, to choose a password, and to join an organization.

/** Throws `AppError` 404 for a link that is unknown, used or expired, or has another purpose. */
export async function requireLink(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  token: string,
  purpose: store.OneTimeLink['purpose'],
): Promise<store.OneTimeLink> {
  const hash = hashOf(token);
  const link = await db.read((tx) => store.findLink(tx, hash, clock.now()));
  if (link?.purpose !== purpose) throw failure('bad_link');
  return link;
}

/** The hash of a password that the holder of a link chooses. Throws `AppError` 400 and 429. */
async function hashPassword(
  { password, guard, signal }: { password: string } & Guarded,
  linkHash: string,
  about: { email: string; organizations: readonly string[] },
): Promise<string> {
  await guard.count(linkHash);
  await requireGoodPassword(password, about);
  return guard.passwords.hash(password, { source: linkHash, isKnown: true, signal });
}

/** Creates the first user, who owns all organizations, or a new one if there are none. Throws `AppError` 400, 404. */
export async function setUp(
  deps: AuditDeps & Pick<Deps, 'ids'>,
  token: string,
  input: { email: string; password: string; organization: string } & Guarded,
): Promise<{ session: string; organizationId: string }> {
  const link = await requireLink(deps, token, 'setup');
  const email = requireEmail(input.email);
  const existing = await deps.db.read(listOrganizations);
  const created =
    existing.length > 0 ? null : newOrganization(deps, { name: input.organization, plan: 'free' });
  const owned = created === null ? existing : [created];
  const about = { email, organizations: owned.map(({ name }) => name) };
  const passwordHash = await hashPassword(input, link.hash, about);
  const createdAt = deps.clock.now().toISOString();
  const user = { id: deps.ids.newId('usr'), email, createdAt };
  const session = await deps.db.write(
    async (tx) => {
      if (!(await store.useLink(tx, link.hash, deps.clock.now())) || (await store.hasUsers(tx)))
        throw failure('bad_link');
      await store.insertUser(tx, { ...user, passwordHash });
      const asOwner = actingAs(deps, user);
      await recordAccount(tx, asOwner, 'user.created', user.id, 'created the first account');
      if (created !== null) await addOrganization(tx, asOwner, created);
      for (const { id: organizationId } of owned) {
        const membership = { userId: user.id, organizationId, role: 'owner', createdAt } as const;
        await joinOrganization(tx, asOwner, membership, (_, as) => `joined as ${as}`);
      }
      return beginSession(tx, deps, user);
    },
    changing(ACCOUNTS, ...owned.map(({ id }) => organization(id))),
  );
  return { session, organizationId: owned[0]?.id ?? '' };
}

/** The path of a link to choose a password. Throws `AppError` 404, and 409 for a disabled account. */
export async function createPasswordLink(
  deps: AuditDeps,
  email: string,
): Promise<{ user: User; path: string }> {
  const address = requireEmail(email);
  const user = await deps.db.read((tx) => store.findCredentials(tx, address));
  if (user === null) throw failure('user_not_found', { email });
  const { token, row } = newLink(deps, 'password', { userId: user.id });
  await deps.db.write(
    async (tx) => {
      if (!(await store.isActive(tx, user.id))) throw failure('user_disabled', { email: user.email });
      await store.deleteLinks(tx, 'password', user.id);
      await store.insertLink(tx, row);
      const summary = `created a link for ${user.email} to choose a password`;
      await recordAccount(tx, deps, 'password.link_created', user.id, summary);
    },
    changing(account(user.id)),
  );
  return { user, path: `/dashboard/~/password?token=${token}` };
}

/** Refused for somebody in another organization too: its owner would get into that one. Throws `AppError` 404 and 409. */
export async function createMemberPasswordLink(
  deps: AuditDeps,
  organizationId: string,
  userId: string,
): Promise<{ email: string; path: string }> {
  const { token, row } = newLink(deps, 'password', { userId, organizationId });
  return deps.db.write(
    async (tx) => {
      const member = await store.findMember(tx, { userId, organizationId });
      if (member === null) throw failure('member_not_found');
      const { email } = member;
      if (userId === deps.actor.id) throw failure('own_password_link');
      if (member.disabledAt !== null) throw failure('user_disabled', { email });
      if (!(await isInThisAlone(tx, userId, organizationId))) throw failure('shared_account', { email });
      await store.deleteLinks(tx, 'password', userId);
      await store.insertLink(tx, row);
      const summary = `created a link for ${email} to choose a password`;
      await recordAccount(tx, deps, 'password.link_created', userId, summary);
      return { email, path: `/dashboard/~/password?token=${token}` };
    },
    changing(account(userId), organization(organizationId)),
  );
}

/** One in the trash counts, because it may be restored. */
async function isInThisAlone(tx: WriteTx, userId: string, organizationId: string): Promise<boolean> {
  const roles = await store.listRoles(tx, userId);
  return roles.every((each) => each.organizationId === organizationId) && roles.length > 0;
}

/** Sets the password that a link asks for, signs out everywhere, and passes the first factor. Throws `AppError` 400 and 404. */
export async function choosePassword(
  deps: AuditDeps,
  token: string,
  input: { password: string } & Guarded,
): Promise<FirstFactor> {
  const { hash, userId, organizationId } = await requireLink(deps, token, 'password');
  const found = await deps.db.read(async (tx) => {
    const user = await store.findUser(tx, userId ?? '');
    return user && { user, facts: await passwordFacts(tx, user) };
  });
  if (found === null) throw failure('bad_link');
  const { user, facts } = found;
  const passwordHash = await hashPassword(input, hash, facts);
  return deps.db.write(
    async (tx) => {
      const works = await store.useLink(tx, hash, deps.clock.now());
      if (!works || !(await store.isActive(tx, user.id))) throw failure('bad_link');
      // The person may have joined another organization since an owner of this one created the link.
      if (organizationId !== null && !(await isInThisAlone(tx, user.id, organizationId))) {
        throw failure('bad_link');
      }
      await store.deleteLinks(tx, 'password', user.id);
      await store.updateUser(tx, user.id, { passwordHash });
      await store.deleteSessionsOf(tx, user.id);
      await recordAccount(tx, actingAs(deps, user), 'password.changed', user.id, 'chose a password by link');
      return passFirstFactor(tx, deps, user);
    },
    changing(account(user.id)),
  );
}

/** For when the identity provider is away. Takes only links of the command line. Throws `AppError` 404. */
export async function signInByLink(deps: AuditDeps, token: string): Promise<FirstFactor> {
  const { hash, userId, organizationId } = await requireLink(deps, token, 'password');
  if (userId === null || organizationId !== null) throw failure('bad_link');
  return deps.db.write(
    async (tx) => {
      const works = await store.useLink(tx, hash, deps.clock.now());
      const user = await store.findUser(tx, userId);
      if (!works || user === null || !(await store.isActive(tx, userId))) throw failure('bad_link');
      return passFirstFactor(tx, deps, user, 'signed in by a one-time link');
    },
    changing(account(userId)),
  );
}

export async function invite(deps: AuditDeps, organizationId: string, role: Role): Promise<string> {
  const { token, row } = newLink(deps, 'invitation', { organizationId, role });
  await deps.db.write(
    async (tx) => {
      await store.insertLink(tx, row);
      const target = { type: 'organization', id: organizationId };
      const summary = `created an invitation link for ${roleNoun(role)}`;
      await recordAudit(tx, deps, { organizationId, action: 'member.invited', target, summary });
    },
    changing(organization(organizationId)),
  );
  return `/dashboard/~/invitation?token=${token}`;
}

/** Joins as who is signed in, or as a new person. Throws `AppError` 400, 404, and 409 for an address with an account. */
export async function acceptInvitation(
  deps: AuditDeps & Pick<Deps, 'ids'>,
  token: string,
  by: User | ({ email: string; password: string } & Guarded),
): Promise<{ organizationId: string; session: string | null }> {
  const { hash, organizationId, role } = await requireLink(deps, token, 'invitation');
  if (organizationId === null || role === null) throw failure('bad_link');
  const createdAt = deps.clock.now().toISOString();
  const membership = { organizationId, role, createdAt };
  const describe = (_: string, as: string) => `accepted an invitation as ${as}`;
  if ('id' in by) {
    await deps.db.write(
      async (tx) => {
        if (!(await store.useLink(tx, hash, deps.clock.now())) || !(await store.isActive(tx, by.id)))
          throw failure('bad_link');
        await joinOrganization(tx, deps, { ...membership, userId: by.id }, describe);
      },
      changing(account(by.id), organization(organizationId)),
    );
    return { organizationId, session: null };
  }
  const user = { id: deps.ids.newId('usr'), email: requireEmail(by.email), createdAt };
  const { name } = await deps.db.read((tx) => getOrganization(tx, organizationId));
  const passwordHash = await hashPassword(by, hash, { email: user.email, organizations: [name] });
  const session = await deps.db.write(
    async (tx) => {
      if (!(await store.useLink(tx, hash, deps.clock.now()))) throw failure('bad_link');
      if (!(await store.insertUser(tx, { ...user, passwordHash }))) throw failure('address_taken');
      const asMember = actingAs(deps, user);
      await recordAccount(tx, asMember, 'user.created', user.id, 'created an account by invitation');
      await joinOrganization(tx, asMember, { ...membership, userId: user.id }, describe);
      return beginSession(tx, deps, user);
    },
    { key: organization(organizationId), shares: [ACCOUNTS] },
  );
  return { organizationId, session };
}
