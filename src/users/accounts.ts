import type { WriteTx } from '../../db/storage.ts';
import type { AuditDeps } from '../audit/store.ts';
import type { Deps } from '../deps.ts';
import { requireValid } from '../lib/validation.ts';
import { getOrganization } from '../organizations/store.ts';
import { joinOrganization } from './members.ts';
import { type Account, Email, type Membership, type Role, type User } from './model.ts';
import { requireGoodPassword } from './passwords.ts';
import { type Guarded, recordAccount } from './sessions.ts';
import {
  deleteInvitations,
  deleteLinks,
  deleteSessionsOf,
  deleteUser,
  findCredentials,
  hasOtherOwner,
  insertUser,
  isActive,
  listMemberships,
  listUsers,
  updateUser,
} from './store.ts';
import { failure } from './words.ts';

/** Everybody with an account, or the people of an organization. Throws `AppError` 404. */
export async function listAccounts({ db }: Pick<Deps, 'db'>, organizationId?: string): Promise<Account[]> {
  if (organizationId !== undefined) await getOrganization(db, organizationId);
  return db.read(async (tx) =>
    Promise.all(
      (await listUsers(tx, organizationId)).map(async (user) =>
        toAccount(user, await listMemberships(tx, user.id)),
      ),
    ),
  );
}

/** A user without a password yet; an owner of an organization where one is named. Throws `AppError` 400 and 409. */
export async function createUser(
  deps: AuditDeps & Pick<Deps, 'ids'>,
  input: { email: string; organizationId?: string | undefined; role?: Role },
): Promise<User> {
  const { organizationId, role = 'owner' } = input;
  const createdAt = deps.clock.now().toISOString();
  const user = { id: deps.ids.newId('usr'), email: requireEmail(input.email), createdAt };
  await deps.db.write(async (tx) => {
    if (!(await insertUser(tx, { ...user, passwordHash: null }))) throw failure('user_exists', user);
    await recordAccount(tx, deps, 'user.created', user.id, `created the account ${user.email}`);
    if (organizationId === undefined) return;
    const membership = { userId: user.id, organizationId, role, createdAt };
    await joinOrganization(tx, deps, membership, (email, as) => `added ${email} as ${as}`);
  });
  return user;
}

/** Adds a person to an organization, or makes a member an owner; an owner stays one. Throws `AppError` 404. */
export async function addToOrganization(
  deps: AuditDeps,
  email: string,
  organizationId: string,
  role: Role,
): Promise<Account> {
  const { id: userId } = await getAccount(deps, email);
  await getOrganization(deps.db, organizationId);
  const createdAt = deps.clock.now().toISOString();
  const membership = { userId, organizationId, role, createdAt };
  await deps.db.write((tx) =>
    joinOrganization(tx, deps, membership, (address, as) => `added ${address} as ${as}`),
  );
  return getAccount(deps, email);
}

/**
 * Signs a person out everywhere and refuses further sign-ins. Throws `AppError` 404 and, unless forced, 409 for the last
 * owner of an organization.
 */
export async function disableAccount(
  deps: AuditDeps,
  email: string,
  { force = false }: { force?: boolean } = {},
): Promise<Account> {
  const account = await getAccount(deps, email);
  if (account.disabledAt !== null) return account;
  await deps.db.write(async (tx) => {
    if (!force) await requireOtherOwners(tx, account);
    await updateUser(tx, account.id, { disabledAt: deps.clock.now().toISOString() });
    await deleteSessionsOf(tx, account.id);
    await deleteLinks(tx, 'password', account.id);
    await dropInvitations(tx, account);
    await recordAccount(tx, deps, 'user.disabled', account.id, `disabled the account ${account.email}`);
  });
  return getAccount(deps, email);
}

/** Lets a disabled person sign in again. Throws `AppError` 404. */
export async function enableAccount(deps: AuditDeps, email: string): Promise<Account> {
  const account = await getAccount(deps, email);
  if (account.disabledAt === null) return account;
  await deps.db.write(async (tx) => {
    await updateUser(tx, account.id, { disabledAt: null });
    await recordAccount(tx, deps, 'user.enabled', account.id, `enabled the account ${account.email}`);
  });
  return getAccount(deps, email);
}

/** Deletes an account for good; its person's posts stay. Throws as `disableAccount` does. */
export async function deleteAccount(
  deps: AuditDeps,
  email: string,
  { force = false }: { force?: boolean } = {},
): Promise<Account> {
  const account = await getAccount(deps, email);
  await deps.db.write(async (tx) => {
    if (!force) await requireOtherOwners(tx, account);
    await recordAccount(tx, deps, 'user.deleted', account.id, `deleted the account ${account.email}`);
    await deleteUser(tx, account.id);
    await dropInvitations(tx, account);
  });
  return account;
}

/**
 * Signs out everywhere else, and ends links for choosing a password. Throws `AppError` 400 when the current password is
 * wrong or the new one is bad, and 429 after too many attempts of this session.
 */
export async function changePassword(
  deps: AuditDeps,
  user: User,
  input: { current: string; password: string; keepHash: string } & Guarded,
): Promise<void> {
  const { guard, signal, keepHash } = input;
  const { credentials, facts } = await deps.db.read(async (tx) => ({
    credentials: await findCredentials(tx, user.email),
    facts: passwordFacts(user, await listMemberships(tx, user.id)),
  }));
  guard.count(keepHash);
  const request = { source: user.id, isKnown: true, signal };
  const passwordHash = credentials?.passwordHash;
  const current = input.current.slice(0, 200);
  if (passwordHash == null || !(await guard.passwords.verify(current, passwordHash, request))) {
    throw failure('wrong_current_password');
  }
  await requireGoodPassword(input.password, facts);
  const next = await guard.passwords.hash(input.password, request);
  await deps.db.write(async (tx) => {
    // Another change may have come first.
    if (!(await isActive(tx, user.id, passwordHash))) throw failure('wrong_current_password');
    await updateUser(tx, user.id, { passwordHash: next });
    await deleteLinks(tx, 'password', user.id);
    await deleteSessionsOf(tx, user.id, keepHash);
    await recordAccount(tx, deps, 'password.changed', user.id, 'changed their password');
  });
}

/** The normalized address. Throws `AppError` 400. */
export function requireEmail(text: string): string {
  return requireValid(Email, { email: text.trim().toLowerCase() }).email;
}

/** Texts that a good password is not made of. */
export function passwordFacts({ email }: User, memberships: readonly Membership[]) {
  return { email, organizations: memberships.map(({ organization }) => organization.name) };
}

async function getAccount({ db }: Pick<Deps, 'db'>, email: string): Promise<Account> {
  return db.read(async (tx) => {
    const found = await findCredentials(tx, email.trim().toLowerCase());
    if (found === null) throw failure('user_not_found', { email });
    const { passwordHash: _, ...user } = found;
    return toAccount(user, await listMemberships(tx, user.id));
  });
}

function toAccount(user: Omit<Account, 'organizations'>, memberships: readonly Membership[]): Account {
  const organizations = memberships.map(({ organization: { id, name }, role }) => ({
    organizationId: id,
    organizationName: name,
    role,
  }));
  return { ...user, organizations };
}

/** Throws `AppError` 409 when an organization would be left without an active owner. */
async function requireOtherOwners(
  tx: WriteTx,
  { id, email, disabledAt, organizations }: Account,
): Promise<void> {
  if (disabledAt !== null) return;
  const orphaned: string[] = [];
  for (const { role, organizationId } of organizations) {
    if (role === 'owner' && !(await hasOtherOwner(tx, id, organizationId))) orphaned.push(organizationId);
  }
  if (orphaned.length > 0) throw failure('last_owner', { email, organizations: orphaned });
}

/** Ends the invitations that the person may have kept: a link does not name who made it. */
async function dropInvitations(tx: WriteTx, { organizations }: Account): Promise<void> {
  for (const { organizationId } of organizations) await deleteInvitations(tx, organizationId);
}
