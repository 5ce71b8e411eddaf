import { and, asc, desc, eq, getTableColumns, gt, inArray, isNull, lte, ne, sql } from 'drizzle-orm';
import { memberships, oneTimeLinks, organizations, sessions, users } from '../../db/schema/organizations.ts';
import { prepared, type ReadTx, type WriteTx } from '../../db/storage.ts';
import type { Client, Member, Membership, OneTimeLink, Role, Session, User } from './model.ts';

const userColumns = { id: users.id, email: users.email, createdAt: users.createdAt };

// Accounts

export async function hasUsers(tx: ReadTx): Promise<boolean> {
  return tx.select({ id: users.id }).from(users).limit(1).get() !== undefined;
}

export async function findUser(tx: ReadTx, userId: string): Promise<User | null> {
  return tx.select(userColumns).from(users).where(eq(users.id, userId)).get() ?? null;
}

export type Credentials = User & { passwordHash: string | null; disabledAt: string | null };

export async function findCredentials(tx: ReadTx, email: string): Promise<Credentials | null> {
  return tx.select().from(users).where(eq(users.email, email)).get() ?? null;
}

/** False when the address is taken. Deletes the setup link, which is for the first user alone. */
export async function insertUser(
  tx: WriteTx,
  user: User & { passwordHash: string | null },
): Promise<boolean> {
  const inserted = tx.insert(users).values(user).onConflictDoNothing().returning({ id: users.id }).all();
  await deleteLinks(tx, 'setup');
  return inserted.length > 0;
}

/** False for a disabled account and, where a hash is given, for one whose password has changed. */
export async function isActive(tx: ReadTx, userId: string, passwordHash?: string): Promise<boolean> {
  const hasPassword = passwordHash === undefined ? undefined : eq(users.passwordHash, passwordHash);
  const found = tx.select({ id: users.id }).from(users);
  return found.where(and(eq(users.id, userId), isNull(users.disabledAt), hasPassword)).get() !== undefined;
}

/** `disabledAt`: null makes the account active again. */
export async function updateUser(
  tx: WriteTx,
  userId: string,
  changes: { passwordHash?: string; disabledAt?: string | null },
): Promise<void> {
  tx.update(users).set(changes).where(eq(users.id, userId)).run();
}

/** Everybody with an account, or the people of an organization, by e-mail address. */
export async function listUsers(
  tx: ReadTx,
  organizationId?: string,
): Promise<(User & { disabledAt: string | null })[]> {
  const members = tx
    .select({ id: memberships.userId })
    .from(memberships)
    .where(eq(memberships.organizationId, organizationId ?? ''));
  return tx
    .select({ ...userColumns, disabledAt: users.disabledAt })
    .from(users)
    .where(organizationId === undefined ? undefined : inArray(users.id, members))
    .orderBy(asc(users.email))
    .all();
}

/** Deletes the person's sessions, memberships and links too. */
export async function deleteUser(tx: WriteTx, userId: string): Promise<void> {
  tx.delete(users).where(eq(users.id, userId)).run();
}

// Memberships

export interface NewMembership {
  userId: string;
  organizationId: string;
  role: Role;
  createdAt: string;
}

/** Makes a member an owner, but never an owner a member. */
export async function insertMembership(tx: WriteTx, membership: NewMembership): Promise<void> {
  const { userId, organizationId, role } = memberships;
  tx.insert(memberships)
    .values(membership)
    .onConflictDoUpdate({
      target: [userId, organizationId],
      set: { role: membership.role },
      setWhere: ne(role, 'owner'),
    })
    .run();
}

/** The organizations of a person, by name. */
export async function listMemberships(tx: ReadTx, userId: string): Promise<Membership[]> {
  return statements(tx).memberships.all({ userId });
}

/** The people of an organization, oldest membership first. */
export async function listMembers(tx: ReadTx, organizationId: string): Promise<Member[]> {
  return tx
    .select({ ...userColumns, role: memberships.role, disabledAt: users.disabledAt })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.userId))
    .where(eq(memberships.organizationId, organizationId))
    .orderBy(asc(memberships.createdAt), asc(users.id))
    .all();
}

export async function findRole(tx: ReadTx, userId: string, organizationId: string): Promise<Role | null> {
  const found = tx.select({ role: memberships.role }).from(memberships);
  return found.where(isMembership(userId, organizationId)).get()?.role ?? null;
}

export async function updateRole(
  tx: WriteTx,
  userId: string,
  organizationId: string,
  role: Role,
): Promise<void> {
  tx.update(memberships).set({ role }).where(isMembership(userId, organizationId)).run();
}

export async function deleteMembership(tx: WriteTx, userId: string, organizationId: string): Promise<void> {
  tx.delete(memberships).where(isMembership(userId, organizationId)).run();
}

/** Disabled owners don't count. */
export async function hasOtherOwner(tx: ReadTx, userId: string, organizationId: string): Promise<boolean> {
  const others = and(
    eq(memberships.organizationId, organizationId),
    eq(memberships.role, 'owner'),
    ne(memberships.userId, userId),
    isNull(users.disabledAt),
  );
  const owner = tx.select({ id: users.id }).from(memberships);
  return owner.innerJoin(users, eq(users.id, memberships.userId)).where(others).get() !== undefined;
}

function isMembership(userId: string, organizationId: string) {
  return and(eq(memberships.organizationId, organizationId), eq(memberships.userId, userId));
}

// One-time links

export async function insertLink(
  tx: WriteTx,
  link: OneTimeLink & { hash: string; createdAt: string; expiresAt: number },
): Promise<void> {
  tx.insert(oneTimeLinks).values(link).run();
}

export async function findLink(tx: ReadTx, hash: string, now: Date): Promise<OneTimeLink | null> {
  const { purpose, userId, organizationId, role } = oneTimeLinks;
  const row = tx
    .select({ purpose, userId, organizationId, role })
    .from(oneTimeLinks)
    .where(and(eq(oneTimeLinks.hash, hash), gt(oneTimeLinks.expiresAt, now.getTime())))
    .get();
  return row ?? null;
}

/** False when the link is gone: it was used meanwhile. */
export async function useLink(tx: WriteTx, hash: string): Promise<boolean> {
  return tx.delete(oneTimeLinks).where(eq(oneTimeLinks.hash, hash)).returning().all().length > 0;
}

export async function deleteLinks(
  tx: WriteTx,
  purpose: OneTimeLink['purpose'],
  userId?: string,
): Promise<void> {
  const ofUser = userId === undefined ? undefined : eq(oneTimeLinks.userId, userId);
  tx.delete(oneTimeLinks)
    .where(and(eq(oneTimeLinks.purpose, purpose), ofUser))
    .run();
}

/** The invitations of an organization that still work. */
export async function countInvitations(tx: ReadTx, organizationId: string, now: Date): Promise<number> {
  const isOpen = gt(oneTimeLinks.expiresAt, now.getTime());
  return tx.$count(oneTimeLinks, and(isInvitationTo(organizationId), isOpen));
}

/** Returns how many there were. */
export async function deleteInvitations(tx: WriteTx, organizationId: string): Promise<number> {
  const deleted = tx.delete(oneTimeLinks).where(isInvitationTo(organizationId));
  return deleted.returning({ hash: oneTimeLinks.hash }).all().length;
}

function isInvitationTo(organizationId: string) {
  return and(eq(oneTimeLinks.purpose, 'invitation'), eq(oneTimeLinks.organizationId, organizationId));
}

// Sessions

export async function insertSession(
  tx: WriteTx,
  session: { hash: string; userId: string; createdAt: string; expiresAt: number; lastUsedAt: number },
): Promise<void> {
  tx.insert(sessions).values(session).run();
}

/** A session of an active account that has not expired. */
export async function findSession(
  tx: ReadTx,
  hash: string,
  now: Date,
): Promise<{ user: User; createdAt: string; lastUsedAt: number } | null> {
  return statements(tx).session.get({ hash, now: now.getTime() }) ?? null;
}

/** The sessions of a person that have not expired: the current one, then the one used last. */
export async function listSessions(
  tx: ReadTx,
  userId: string,
  currentHash: string,
  now: Date,
  limit: number,
): Promise<Session[]> {
  const { hash, createdAt, lastUsedAt, address, userAgent } = sessions;
  return tx
    .select({ hash, createdAt, lastUsedAt, address, userAgent })
    .from(sessions)
    .where(and(eq(sessions.userId, userId), gt(sessions.expiresAt, now.getTime())))
    .orderBy(desc(eq(hash, currentHash)), desc(lastUsedAt), asc(hash))
    .limit(limit)
    .all();
}

/** Writes the client of a session and, when the session is extended, its new expiry. */
export async function updateSession(
  tx: WriteTx,
  hash: string,
  changes: Client & { lastUsedAt?: number; expiresAt?: number },
): Promise<void> {
  tx.update(sessions).set(changes).where(eq(sessions.hash, hash)).run();
}

/** False when the person has no such session. */
export async function deleteSession(tx: WriteTx, userId: string, hash: string): Promise<boolean> {
  const isSession = and(eq(sessions.userId, userId), eq(sessions.hash, hash));
  return tx.delete(sessions).where(isSession).returning({ hash: sessions.hash }).all().length > 0;
}

/** Ends the person's sessions, except the one with `exceptHash`. */
export async function deleteSessionsOf(tx: WriteTx, userId: string, exceptHash = ''): Promise<void> {
  tx.delete(sessions)
    .where(and(eq(sessions.userId, userId), ne(sessions.hash, exceptHash)))
    .run();
}

export async function countExpiredSessions(tx: ReadTx, asOf: Date): Promise<number> {
  return tx.$count(sessions, lte(sessions.expiresAt, asOf.getTime()));
}

/** Deletes expired links too. Returns how many sessions there were. */
export async function deleteExpiredSessions(tx: WriteTx, asOf: Date): Promise<number> {
  tx.delete(oneTimeLinks).where(lte(oneTimeLinks.expiresAt, asOf.getTime())).run();
  const deleted = tx.delete(sessions).where(lte(sessions.expiresAt, asOf.getTime()));
  return deleted.returning({ hash: sessions.hash }).all().length;
}

const statements = prepared((db) => ({
  memberships: db
    .select({ organization: getTableColumns(organizations), role: memberships.role })
    .from(memberships)
    .innerJoin(organizations, eq(organizations.id, memberships.organizationId))
    .where(eq(memberships.userId, sql.placeholder('userId')))
    .orderBy(asc(sql`lower(${organizations.name})`), asc(organizations.id))
    .prepare(),
  session: db
    .select({ user: userColumns, createdAt: sessions.createdAt, lastUsedAt: sessions.lastUsedAt })
    .from(sessions)
    .innerJoin(users, eq(users.id, sessions.userId))
    .where(
      and(
        eq(sessions.hash, sql.placeholder('hash')),
        gt(sessions.expiresAt, sql.placeholder('now')),
        isNull(users.disabledAt),
      ),
    )
    .prepare(),
}));
