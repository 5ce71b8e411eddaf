import { ACCOUNTS, account, changing, organization, type ReadTx, type WriteTx } from '../../db/engine.ts';
import { requireValid } from '../lib/validation.ts';
import type { AuditDeps } from './audit.ts';
import type { Deps } from './deps.ts';
import { joinOrganization } from './members.ts';
import { getOrganization } from './organization-store.ts';
import { requireGoodPassword } from './passwords.ts';
import { type Account, Email, failure, type Role, type User } from './permission.ts';
import { type Guarded, recordAccount } from './sessions.ts';
import * as store from './store.ts';

/** Everybody with an account, or the people of an organization. Throws `AppError` 404. */
export function listAccounts({ db }: Pick<Deps, 'db'>, organizationId?: string): Promise<Account[]> {
  return db.read(async (tx) => {
    if (organizationId !== undefined) await getOrganization(tx, organizationId);
    return Promise.all((await store.listUsers(tx, organizationId)).map((user) => toAccount(tx, user)));
  });
}

/** A user without a password yet; an owner of an organization where one is named. Throws `AppError` 400 and 409. */
export async function createUser(
  deps: AuditDeps & Pick<Deps, 'ids'>,
  input: { email: string; organizationId?: string | undefined; role?: Role },
): Promise<User> {
  const { organizationId, role = 'owner' } = input;
  const createdAt = deps.clock.now().toISOString();
  const user = { id: deps.ids.newId('usr'), email: requireEmail(input.email), createdAt };
  const key = organizationId === undefined ? [] : [organization(organizationId)];
  const order = { key, shares: [ACCOUNTS] };
  await deps.db.write(async (tx) => {
    if (!(await store.insertUser(tx, { ...user, passwordHash: null }))) throw failure('user_exists', user);
    await recordAccount(tx, deps, 'user.created', user.id, `created the account ${user.email}`);
    if (organizationId !== undefined) await addMember(tx, deps, user, organizationId, role);
  }, order);
  return user;
}

/** Adds a person to an organization, or makes a member an owner; an owner stays one. Throws `AppError` 404. */
export function addToOrganization(
  deps: AuditDeps,
  email: string,
  organizationId: string,
  role: Role,
): Promise<Account> {
  return changeAccount(deps, email, async (tx, user) => {
    await getOrganization(tx, organizationId);
    await addMember(tx, deps, user, organizationId, role);
  });
}

async function addMember(tx: WriteTx, deps: AuditDeps, { id }: User, organizationId: string, role: Role) {
  const membership = { userId: id, organizationId, role, createdAt: deps.clock.now().toISOString() };
  await joinOrganization(tx, deps, membership, (email, as) => `added ${email} as ${as}`);
}

/** Signs the person out everywhere. Throws `AppError` 404 and, unless forced, 409 for the last owner. */
export function disableAccount(deps: AuditDeps, email: string, options: Force = {}): Promise<Account> {
  return changeAccount(deps, email, async (tx, account) => {
    if (account.disabledAt !== null) return;
    await requireOtherOwners(tx, account, options);
    await store.updateUser(tx, account.id, { disabledAt: deps.clock.now().toISOString() });
    await store.deleteSessionsOf(tx, account.id);
    await store.deleteLinks(tx, 'password', account.id);
    await dropLinks(tx, account);
    await recordAccount(tx, deps, 'user.disabled', account.id, `disabled the account ${account.email}`);
  });
}

export function enableAccount(deps: AuditDeps, email: string): Promise<Account> {
  return changeAccount(deps, email, async (tx, { id, email: address, disabledAt }) => {
    if (disabledAt === null) return;
    await store.updateUser(tx, id, { disabledAt: null });
    await recordAccount(tx, deps, 'user.enabled', id, `enabled the account ${address}`);
  });
}

/** Deletes an account for good; its person's posts stay. Throws as `disableAccount` does. */
export function deleteAccount(deps: AuditDeps, email: string, options: Force = {}): Promise<Account> {
  return changeAccount(deps, email, async (tx, account) => {
    await requireOtherOwners(tx, account, options);
    await recordAccount(tx, deps, 'user.deleted', account.id, `deleted the account ${account.email}`);
    await dropLinks(tx, account);
    await store.deleteUser(tx, account.id);
  });
}

/** Signs out everywhere else. Throws `AppError` 400 for a wrong or bad password, and 429 after too many attempts. */
export async function changePassword(
  deps: AuditDeps,
  user: User,
  input: { current: string; password: string; keepHash: string } & Guarded,
): Promise<void> {
  const { guard, signal, keepHash } = input;
  const { credentials, facts } = await deps.db.read(async (tx) => ({
    credentials: await store.findCredentials(tx, user.email),
    facts: await passwordFacts(tx, user),
  }));
  await guard.count(keepHash);
  const request = { source: user.id, isKnown: true, signal };
  const passwordHash = credentials?.passwordHash;
  const current = input.current.slice(0, 200);
  if (passwordHash == null || !(await guard.passwords.verify(current, passwordHash, request))) {
    throw failure('wrong_current_password');
  }
  await requireGoodPassword(input.password, facts);
  const next = await guard.passwords.hash(input.password, request);
  await deps.db.write(
    async (tx) => {
      // Another change may have come first.
      if (!(await store.isActive(tx, user.id, passwordHash))) throw failure('wrong_current_password');
      await store.updateUser(tx, user.id, { passwordHash: next });
      await store.deleteLinks(tx, 'password', user.id);
      await store.deleteSessionsOf(tx, user.id, keepHash);
      await recordAccount(tx, deps, 'password.changed', user.id, 'changed their password');
    },
    changing(account(user.id)),
  );
}

export function requireEmail(text: string): string {
  return requireValid(Email, { email: text.trim().toLowerCase() }).email;
}

/** Texts that a good password is not made of. */
export async function passwordFacts(tx: ReadTx, { id, email }: User) {
  const memberships = await store.listMemberships(tx, id);
  return { email, organizations: memberships.map(({ organization }) => organization.name) };
}

function changeAccount(
  { db }: Pick<Deps, 'db'>,
  email: string,
  change: (tx: WriteTx, account: Account) => Promise<void>,
): Promise<Account> {
  return db.write(async (tx) => {
    const find = () => store.findCredentials(tx, email.trim().toLowerCase());
    const found = await find();
    if (found === null) throw failure('user_not_found', { email });
    const account = await toAccount(tx, found);
    await change(tx, account);
    const changed = await find();
    return changed === null ? account : toAccount(tx, changed);
  });
}

async function toAccount(tx: ReadTx, user: Omit<Account, 'organizations'>): Promise<Account> {
  const { id, email, createdAt, disabledAt } = user;
  const organizations = (await store.listMemberships(tx, id)).map(({ organization, role }) => ({
    organizationId: organization.id,
    organizationName: organization.name,
    role,
  }));
  return { id, email, createdAt, disabledAt, organizations };
}

interface Force {
  force?: boolean;
}

/** Throws `AppError` 409 when an organization would be left without an active owner. */
async function requireOtherOwners(tx: WriteTx, account: Account, { force = false }: Force): Promise<void> {
  const { id, email, disabledAt, organizations } = account;
  if (force || disabledAt !== null) return;
  const orphaned: string[] = [];
  for (const { role, organizationId } of organizations) {
    if (role === 'owner' && !(await store.hasOtherOwner(tx, { userId: id, organizationId })))
      orphaned.push(organizationId);
  }
  if (orphaned.length > 0) throw failure('last_owner', { email, organizations: orphaned });
}

/** Ends the links of owners that the person may have kept: a link does not name who made it. */
async function dropLinks(tx: WriteTx, { id }: Account): Promise<void> {
  for (const { organizationId } of await store.listRoles(tx, id))
    await store.deleteLinksOfOwners(tx, organizationId);
}
