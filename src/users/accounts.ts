import type { AuditDeps } from '../audit/store.ts';
import type { Deps } from '../deps.ts';
import { AppError } from '../lib/app-error.ts';
import { getOrganization } from '../organizations/store.ts';
import type { Account, Role } from './model.ts';
import { deleteSessionsOf } from './session-store.ts';
import {
  deleteInvitationsNow,
  deleteLinks,
  deleteUser,
  findCredentials,
  hasOtherOwner,
  joinOrganization,
  listMemberships,
  listUsers,
  recordAccount,
  setDisabledAt,
} from './store.ts';

// What an operator does with accounts, on the command line.

/** Everybody with an account, or the people of an organization. Throws `AppError` 404. */
export async function listAccounts({ db }: Pick<Deps, 'db'>, organizationId?: string): Promise<Account[]> {
  if (organizationId !== undefined) await getOrganization(db, organizationId);
  const users = await listUsers(db, organizationId);
  return Promise.all(
    users.map(async (user) => ({ ...user, organizations: await listMemberships(db, user.id) })),
  );
}

/**
 * Adds a person to an organization, or makes a member an owner; an owner stays one. Throws `AppError` 404.
 */
export async function addToOrganization(
  deps: AuditDeps,
  email: string,
  organizationId: string,
  role: Role,
): Promise<Account> {
  const { db, clock } = deps;
  const { id: userId } = await getAccount(db, email);
  await getOrganization(db, organizationId);
  const createdAt = clock.now().toISOString();
  await db.write(() => {
    const membership = { userId, organizationId, role, createdAt };
    joinOrganization(deps, membership, (address, as) => `added ${address} as ${as}`);
  });
  return getAccount(db, email);
}

/** Signs a person out everywhere and refuses further sign-ins. Throws `AppError` 404 and 409: see `requireOwners`. */
export async function disableAccount(
  deps: AuditDeps,
  email: string,
  { force = false }: { force?: boolean } = {},
): Promise<Account> {
  const { db, clock } = deps;
  const account = await getAccount(db, email);
  if (account.disabledAt !== null) return account;
  await db.write(() => {
    if (!force) requireOwners(db, account);
    setDisabledAt(db, account.id, clock.now().toISOString());
    deleteSessionsOf(db, account.id);
    deleteLinks(db, 'password', account.id);
    dropInvitations(db, account);
    recordAccount(deps, 'user.disabled', account.id, `disabled the account ${account.email}`);
  });
  return getAccount(db, email);
}

/** Lets a disabled person sign in again. Throws `AppError` 404. */
export async function enableAccount(deps: AuditDeps, email: string): Promise<Account> {
  const { db } = deps;
  const account = await getAccount(db, email);
  if (account.disabledAt === null) return account;
  await db.write(() => {
    setDisabledAt(db, account.id, null);
    recordAccount(deps, 'user.enabled', account.id, `enabled the account ${account.email}`);
  });
  return getAccount(db, email);
}

/** Deletes an account for good; what the person wrote stays. Throws `AppError` 404 and 409: see `requireOwners`. */
export async function deleteAccount(
  deps: AuditDeps,
  email: string,
  { force = false }: { force?: boolean } = {},
): Promise<Account> {
  const { db } = deps;
  const account = await getAccount(db, email);
  await db.write(() => {
    if (!force) requireOwners(db, account);
    recordAccount(deps, 'user.deleted', account.id, `deleted the account ${account.email}`);
    deleteUser(db, account.id);
    dropInvitations(db, account);
  });
  return account;
}

async function getAccount(db: Deps['db'], email: string): Promise<Account> {
  const found = await findCredentials(db, email.trim().toLowerCase());
  if (found === null) throw new AppError(404, `There is no user ${email}; "user list" shows those there are`);
  const { passwordHash: _, ...user } = found;
  return { ...user, organizations: await listMemberships(db, user.id) };
}

/** Throws `AppError` 409 when an organization would be left without an active owner. */
function requireOwners(db: Deps['db'], { id, email, disabledAt, organizations }: Account): void {
  if (disabledAt !== null) return;
  const orphaned = organizations
    .filter(({ role, organizationId }) => role === 'owner' && !hasOtherOwner(db, id, organizationId))
    .map(({ organizationId }) => organizationId);
  if (orphaned.length === 0) return;
  throw new AppError(
    409,
    `${email} is the last owner of ${orphaned.join(', ')}. Make another owner with "user add", or use --force`,
  );
}

/** Ends the invitations that the person may have kept: a link does not say who made it. */
function dropInvitations(db: Deps['db'], { organizations }: Account): void {
  for (const { organizationId } of organizations) deleteInvitationsNow(db, organizationId);
}
