import { and, asc, eq, gt, inArray, isNull, ne, sql } from 'drizzle-orm';
import { type Database, prepared } from '../../db/client.ts';
import { memberships, oneTimeLinks, organizations, users } from '../../db/schema/index.ts';
import type { AuditAction } from '../audit/model.ts';
import { type AuditDeps, recordAudit } from '../audit/store.ts';
import type { Member, Membership, OneTimeLink, Role, User } from './model.ts';

const userColumns = { id: users.id, email: users.email, createdAt: users.createdAt };

/** Whether anybody has an account. Synchronous, for a transaction of the caller's too. */
export function hasUsers(db: Database): boolean {
  return db.select({ id: users.id }).from(users).limit(1).get() !== undefined;
}

export async function findUser(db: Database, userId: string): Promise<User | null> {
  const row = db.select(userColumns).from(users).where(eq(users.id, userId)).get();
  return row ?? null;
}

/** With the hash of the password, for signing in. */
export async function findCredentials(
  db: Database,
  email: string,
): Promise<(User & { passwordHash: string | null; disabledAt: string | null }) | null> {
  const row = db.select().from(users).where(eq(users.email, email)).get();
  return row ?? null;
}

/**
 * False when the address is taken. Deletes the set-up link, which is for the first user alone. Synchronous, for a
 * transaction of the caller's.
 */
export function insertUser(db: Database, user: User & { passwordHash: string | null }): boolean {
  const inserted = db.insert(users).values(user).onConflictDoNothing().returning({ id: users.id }).all();
  deleteLinks(db, 'setup');
  return inserted.length > 0;
}

/**
 * Whether an account is active and, where a hash is given, still has this password. Synchronous, for a transaction of
 * the caller's.
 */
export function isActive(db: Database, userId: string, passwordHash?: string): boolean {
  const hasPassword = passwordHash === undefined ? undefined : eq(users.passwordHash, passwordHash);
  const found = db.select({ id: users.id }).from(users);
  return found.where(and(eq(users.id, userId), isNull(users.disabledAt), hasPassword)).get() !== undefined;
}

/** Synchronous, for a transaction of the caller's. */
export function replacePassword(db: Database, userId: string, passwordHash: string): void {
  db.update(users).set({ passwordHash }).where(eq(users.id, userId)).run();
}

/** Everybody with an account, or the people of an organization, by e-mail address. */
export async function listUsers(
  db: Database,
  organizationId?: string,
): Promise<(User & { disabledAt: string | null })[]> {
  const isMember =
    organizationId === undefined
      ? undefined
      : inArray(
          users.id,
          db
            .select({ id: memberships.userId })
            .from(memberships)
            .where(eq(memberships.organizationId, organizationId)),
        );
  return db
    .select({ ...userColumns, disabledAt: users.disabledAt })
    .from(users)
    .where(isMember)
    .orderBy(asc(users.email))
    .all();
}

/** Null makes the account active again. Synchronous, for a transaction of the caller's. */
export function setDisabledAt(db: Database, userId: string, disabledAt: string | null): void {
  db.update(users).set({ disabledAt }).where(eq(users.id, userId)).run();
}

/** Deletes sessions, memberships and links of the person too. Synchronous, for a transaction of the caller's. */
export function deleteUser(db: Database, userId: string): void {
  db.delete(users).where(eq(users.id, userId)).run();
}

/** Who is a member already becomes an owner by this, but never the other way. Synchronous, for a transaction of the caller's. */
export function insertMembership(
  db: Database,
  membership: { userId: string; organizationId: string; role: Role; createdAt: string },
): void {
  const { userId, organizationId, role } = memberships;
  db.insert(memberships)
    .values(membership)
    .onConflictDoUpdate({
      target: [userId, organizationId],
      set: { role: membership.role },
      setWhere: ne(role, 'owner'),
    })
    .run();
}

/** The organizations of a person, by name. */
export async function listMemberships(db: Database, userId: string): Promise<Membership[]> {
  return statements(db).memberships.all({ userId });
}

/** The people of an organization, oldest membership first. */
export async function listMembers(db: Database, organizationId: string): Promise<Member[]> {
  return db
    .select({ ...userColumns, role: memberships.role, disabledAt: users.disabledAt })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.userId))
    .where(eq(memberships.organizationId, organizationId))
    .orderBy(asc(memberships.createdAt), asc(users.id))
    .all();
}

/**
 * False when there is no such member, or it is the last owner. Open invitations end too: whoever leaves may have kept
 * one, and a link does not say who made it.
 */
export function deleteMembership(deps: AuditDeps, userId: string, organizationId: string): Promise<boolean> {
  const { db, actor } = deps;
  return db.write(() => {
    const role = findRole(db, userId, organizationId);
    if (role === null || (role === 'owner' && !hasOtherOwner(db, userId, organizationId))) return false;
    db.delete(memberships).where(isMembership(userId, organizationId)).run();
    deleteInvitationsNow(db, organizationId);
    const describe = (email: string) => (actor.id === userId ? 'left the organization' : `removed ${email}`);
    recordMember(deps, 'member.removed', { organizationId, userId }, describe);
    return true;
  });
}

/** Records a change to an account. Synchronous, for a transaction of the caller's. */
export function recordAccount(
  deps: AuditDeps,
  action: Extract<AuditAction, `user.${string}` | `session.${string}` | `password.${string}`>,
  userId: string,
  summary: string,
): void {
  void recordAudit(deps.db, deps, {
    organizationId: null,
    action,
    target: { type: 'user', id: userId },
    summary,
  });
}

/**
 * Adds a person to an organization and records it: a new member, or a member who becomes an owner. `describe` says what
 * the actor did. Synchronous, for a transaction of the caller's.
 */
export function joinOrganization(
  deps: AuditDeps,
  membership: { userId: string; organizationId: string; role: Role; createdAt: string },
  describe: (email: string, as: string) => string,
): void {
  const before = findRole(deps.db, membership.userId, membership.organizationId);
  insertMembership(deps.db, membership);
  if (before === 'owner' || before === membership.role) return;
  const as = membership.role === 'owner' ? 'an owner' : 'a member';
  const action = before === null ? 'member.joined' : 'member.role_changed';
  recordMember(deps, action, membership, (email) => describe(email, as));
}

/** Records a change to a member. Synchronous, for a transaction of the caller's. */
function recordMember(
  deps: AuditDeps,
  action: Extract<AuditAction, `member.${string}`>,
  { organizationId, userId }: { organizationId: string; userId: string },
  describe: (email: string) => string,
): void {
  const { email = userId } =
    deps.db.select({ email: users.email }).from(users).where(eq(users.id, userId)).get() ?? {};
  void recordAudit(deps.db, deps, {
    organizationId,
    action,
    target: { type: 'user', id: userId },
    summary: describe(email),
  });
}

/**
 * False when there is no such member, or it is the last owner, who stays one. With an owner's role open invitations
 * end, as when somebody leaves: one that was kept would bring the role back.
 */
export function setRole(
  deps: AuditDeps,
  userId: string,
  organizationId: string,
  role: Role,
): Promise<boolean> {
  const { db } = deps;
  return db.write(() => {
    const before = findRole(db, userId, organizationId);
    if (before === null || before === role) return before !== null;
    if (before === 'owner') {
      if (!hasOtherOwner(db, userId, organizationId)) return false;
      deleteInvitationsNow(db, organizationId);
    }
    db.update(memberships).set({ role }).where(isMembership(userId, organizationId)).run();
    const describe = (email: string) => `made ${email} ${role === 'owner' ? 'an owner' : 'a member'}`;
    recordMember(deps, 'member.role_changed', { organizationId, userId }, describe);
    return true;
  });
}

function findRole(db: Database, userId: string, organizationId: string): Role | null {
  const found = db.select({ role: memberships.role }).from(memberships);
  return found.where(isMembership(userId, organizationId)).get()?.role ?? null;
}

/** Disabled owners don't count. Synchronous, for a transaction of the caller's. */
export function hasOtherOwner(db: Database, userId: string, organizationId: string): boolean {
  const others = and(
    eq(memberships.organizationId, organizationId),
    eq(memberships.role, 'owner'),
    ne(memberships.userId, userId),
    isNull(users.disabledAt),
  );
  const owner = db.select({ id: users.id }).from(memberships);
  return owner.innerJoin(users, eq(users.id, memberships.userId)).where(others).get() !== undefined;
}

function isMembership(userId: string, organizationId: string) {
  return and(eq(memberships.organizationId, organizationId), eq(memberships.userId, userId));
}

function isInvitationTo(organizationId: string) {
  return and(eq(oneTimeLinks.purpose, 'invitation'), eq(oneTimeLinks.organizationId, organizationId));
}

/** How many invitations of an organization still work. */
export async function countInvitations(db: Database, organizationId: string, now: Date): Promise<number> {
  return db.$count(
    oneTimeLinks,
    and(isInvitationTo(organizationId), gt(oneTimeLinks.expiresAt, now.getTime())),
  );
}

/** None of the organization's invitations works any more. */
export function deleteInvitations(deps: AuditDeps, organizationId: string): Promise<void> {
  const { db } = deps;
  return db.write(() => {
    const withdrawn = deleteInvitationsNow(db, organizationId);
    if (withdrawn === 0) return;
    void recordAudit(deps.db, deps, {
      organizationId,
      action: 'member.invitations_withdrawn',
      target: { type: 'organization', id: organizationId },
      summary: withdrawn === 1 ? 'withdrew 1 invitation link' : `withdrew ${withdrawn} invitation links`,
      count: withdrawn,
    });
  });
}

/** The same without a record. Returns how many there were. Synchronous, for a transaction of the caller's. */
export function deleteInvitationsNow(db: Database, organizationId: string): number {
  const deleted = db.delete(oneTimeLinks).where(isInvitationTo(organizationId));
  return deleted.returning({ hash: oneTimeLinks.hash }).all().length;
}

/** Synchronous, for a transaction of the caller's. */
export function insertLink(
  db: Database,
  link: OneTimeLink & { hash: string; createdAt: string; expiresAt: number },
): void {
  db.insert(oneTimeLinks).values(link).run();
}

export async function findLink(db: Database, hash: string, now: Date): Promise<OneTimeLink | null> {
  const { purpose, userId, organizationId, role } = oneTimeLinks;
  const row = db
    .select({ purpose, userId, organizationId, role })
    .from(oneTimeLinks)
    .where(and(eq(oneTimeLinks.hash, hash), gt(oneTimeLinks.expiresAt, now.getTime())))
    .get();
  return row ?? null;
}

/** Whether it was there to be used up. Synchronous, for a transaction of the caller's. */
export function useLink(db: Database, hash: string): boolean {
  return db.delete(oneTimeLinks).where(eq(oneTimeLinks.hash, hash)).returning().all().length > 0;
}

/** Synchronous, for a transaction of the caller's. */
export function deleteLinks(db: Database, purpose: OneTimeLink['purpose'], userId?: string): void {
  db.delete(oneTimeLinks)
    .where(
      and(
        eq(oneTimeLinks.purpose, purpose),
        userId === undefined ? undefined : eq(oneTimeLinks.userId, userId),
      ),
    )
    .run();
}

const statements = prepared((db) => ({
  memberships: db
    .select({
      organizationId: organizations.id,
      organizationName: organizations.name,
      role: memberships.role,
    })
    .from(memberships)
    .innerJoin(organizations, eq(organizations.id, memberships.organizationId))
    .where(eq(memberships.userId, sql.placeholder('userId')))
    .orderBy(asc(sql`lower(${organizations.name})`), asc(organizations.id))
    .prepare(),
}));
