import { and, asc, desc, eq, gt, inArray, isNull, lte, ne, type SQL, sql } from 'drizzle-orm';
import { dialectOf, prepared, type ReadTx, type WriteTx } from '../../db/engine.ts';
import { memberships, oneTimeLinks, organizations, sessions, users } from '../../db/schema/organizations.ts';
import { isLive, isOfLive, organizationColumns } from './organization-store.ts';
import type { Member, Membership, Role, User } from './permission.ts';

const userColumns = { id: users.id, email: users.email, createdAt: users.createdAt };

// Accounts

export async function hasUsers(tx: ReadTx): Promise<boolean> {
  return (await tx.select({ id: users.id }).from(users).limit(1).get()) !== undefined;
}

export async function findUser(tx: ReadTx, userId: string): Promise<User | null> {
  return (await tx.select(userColumns).from(users).where(eq(users.id, userId)).get()) ?? null;
}

export type Credentials = typeof users.$inferSelect;

export async function findCredentials(tx: ReadTx, email: string): Promise<Credentials | null> {
  return (await tx.select().from(users).where(eq(users.email, email)).get()) ?? null;
}

export async function findUserById(tx: ReadTx, id: string): Promise<Credentials | null> {
  return (await tx.select().from(users).where(eq(users.id, id)).get()) ?? null;
}

/** False when the address is taken. Deletes the setup link, which is for the first user alone. */
export async function insertUser(tx: WriteTx, user: typeof users.$inferInsert): Promise<boolean> {
  const inserted = await tx
    .insert(users)
    .values(user)
    .onConflictDoNothing()
    .returning({ id: users.id })
    .all();
  await deleteLinks(tx, 'setup');
  return inserted.length > 0;
}

/** False for a disabled account and, where a hash is given, for one whose password has changed. It stays so until the commit. */
export async function isActive(tx: WriteTx, userId: string, passwordHash?: string): Promise<boolean> {
  const hasPassword = passwordHash === undefined ? undefined : eq(users.passwordHash, passwordHash);
  const isIt = and(eq(users.id, userId), isNull(users.disabledAt), hasPassword);
  const { keepRows } = dialectOf(tx);
  return (await tx.values(sql`select 1 from ${users} where ${isIt} ${keepRows}`)).length > 0;
}

export async function updateUser(tx: WriteTx, userId: string, changes: Partial<Credentials>): Promise<void> {
  await tx.update(users).set(changes).where(eq(users.id, userId)).run();
}

export async function listUsers(tx: ReadTx, organizationId?: string): Promise<Credentials[]> {
  const ofOrganization = eq(memberships.organizationId, organizationId ?? '');
  const members = tx.select({ id: memberships.userId }).from(memberships).where(ofOrganization);
  const isListed = organizationId === undefined ? undefined : inArray(users.id, members);
  return await tx.select().from(users).where(isListed).orderBy(asc(users.email)).all();
}

export async function deleteUser(tx: WriteTx, userId: string): Promise<void> {
  await tx.delete(users).where(eq(users.id, userId)).run();
}

// Memberships

export type NewMembership = typeof memberships.$inferInsert;
export type MemberKey = Pick<NewMembership, 'userId' | 'organizationId'>;

const ranks: readonly Role[] = ['writer', 'member', 'owner'];

export const rolesBelow = (role: Role): readonly Role[] => ranks.slice(0, ranks.indexOf(role));

/** Gives a member a role that may do more, but never one that may do less. */
export async function insertMembership(tx: WriteTx, membership: NewMembership): Promise<void> {
  const { userId, organizationId, role } = memberships;
  const target = [userId, organizationId];
  const { role: given, byRule = false } = membership;
  const setWhere = inArray(role, [...rolesBelow(given), ...(given === 'owner' ? [] : [given])]);
  const promotion = { target, set: { role: given, byRule }, setWhere };
  await tx.insert(memberships).values(membership).onConflictDoUpdate(promotion).run();
}

const byName = [asc(sql`lower(${organizations.name})`), asc(organizations.id)];

/** `blocked`: of a session. */
const membershipsIn = (tx: ReadTx, blocked: SQL<number>) =>
  tx
    .select({
      organization: organizationColumns,
      role: memberships.role,
      isBlocked: sql<boolean>`${blocked}`.mapWith(Boolean),
    })
    .from(memberships)
    .innerJoin(organizations, and(eq(organizations.id, memberships.organizationId), isLive));

export async function listMemberships(
  tx: ReadTx,
  person: string | { sessionHash: string },
): Promise<Membership[]> {
  if (typeof person !== 'string') return ofSession(tx).memberships.all({ hash: person.sessionHash });
  return membershipsIn(tx, sql<number>`0`)
    .where(eq(memberships.userId, person))
    .orderBy(...byName)
    .all();
}

export async function listOwnMemberships(tx: ReadTx, userId: string) {
  return await tx.select().from(memberships).where(eq(memberships.userId, userId)).all();
}

/** The roles of a person in all organizations, also in the trash; they stay so until the commit. */
export async function listRoles(
  tx: WriteTx,
  userId: string,
): Promise<{ role: Role; organizationId: string }[]> {
  const { role, organizationId } = memberships;
  const isOwn = sql`${eq(memberships.userId, userId)} ${dialectOf(tx).keepRows}`;
  return await tx.select({ role, organizationId }).from(memberships).where(isOwn).all();
}

export async function listMembers(tx: ReadTx, organizationId: string): Promise<Member[]> {
  return selectMembers(tx, eq(memberships.organizationId, organizationId));
}

export async function findMember(tx: ReadTx, key: MemberKey): Promise<Member | null> {
  const [member] = await selectMembers(tx, isMembership(key));
  return member ?? null;
}

async function selectMembers(tx: ReadTx, isWanted: SQL | undefined): Promise<Member[]> {
  return await tx
    .select({
      ...userColumns,
      role: memberships.role,
      byRule: memberships.byRule,
      disabledAt: users.disabledAt,
    })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.userId))
    .where(isWanted)
    .orderBy(asc(memberships.createdAt), asc(users.id))
    .all();
}

/** `byRule`: a rule about the identity provider gives the role, and no person. */
export async function updateRole(tx: WriteTx, key: MemberKey, role: Role, byRule: boolean): Promise<void> {
  await tx.update(memberships).set({ role, byRule }).where(isMembership(key)).run();
}

export async function deleteMembership(tx: WriteTx, key: MemberKey): Promise<void> {
  await tx.delete(memberships).where(isMembership(key)).run();
}

/** Disabled owners don't count. One who is found stays an owner until the commit. */
export async function hasOtherOwner(tx: WriteTx, { userId, organizationId }: MemberKey): Promise<boolean> {
  const isOther = and(
    eq(memberships.organizationId, organizationId),
    ne(memberships.userId, userId),
    eq(memberships.role, 'owner'),
    isNull(users.disabledAt),
  );
  const { keepRows } = dialectOf(tx);
  const found = await tx.values(
    sql`select 1 from ${memberships} join ${users} on ${users.id} = ${memberships.userId} where ${isOther} limit 1 ${keepRows}`,
  );
  return found.length > 0;
}

function isMembership({ userId, organizationId }: MemberKey) {
  return and(eq(memberships.organizationId, organizationId), eq(memberships.userId, userId));
}

// One-time links

export type OneTimeLink = typeof oneTimeLinks.$inferSelect;

export async function insertLink(tx: WriteTx, link: typeof oneTimeLinks.$inferInsert): Promise<void> {
  await tx.insert(oneTimeLinks).values(link).run();
}

export async function findLink(tx: ReadTx, hash: string, now: Date): Promise<OneTimeLink | null> {
  return (await tx.select().from(oneTimeLinks).where(works(hash, now)).get()) ?? null;
}

/** False when the link is gone or has expired: it was used, or withdrawn, meanwhile. */
export async function useLink(tx: WriteTx, hash: string, now: Date): Promise<boolean> {
  return (await tx.delete(oneTimeLinks).where(works(hash, now)).returning().all()).length > 0;
}

const works = (hash: string, now: Date) =>
  and(
    eq(oneTimeLinks.hash, hash),
    gt(oneTimeLinks.expiresAt, now.getTime()),
    isOfLive(oneTimeLinks.organizationId),
  );

export async function deleteLinks(tx: WriteTx, purpose: OneTimeLink['purpose'], userId?: string) {
  const ofUser = userId === undefined ? undefined : eq(oneTimeLinks.userId, userId);
  const isMeant = and(eq(oneTimeLinks.purpose, purpose), ofUser);
  await tx.delete(oneTimeLinks).where(isMeant).run();
}

export async function countInvitations(tx: ReadTx, organizationId: string, now: Date): Promise<number> {
  const isOpen = gt(oneTimeLinks.expiresAt, now.getTime());
  return tx.$count(oneTimeLinks, and(isInvitationTo(organizationId), isOpen));
}

/** The links that owners of an organization created: invitations, and those for members to choose a password. */
export async function deleteLinksOfOwners(tx: WriteTx, organizationId: string): Promise<void> {
  await tx.delete(oneTimeLinks).where(eq(oneTimeLinks.organizationId, organizationId)).run();
}

export async function deleteInvitations(tx: WriteTx, organizationId: string): Promise<number> {
  const deleted = tx.delete(oneTimeLinks).where(isInvitationTo(organizationId));
  return (await deleted.returning({ hash: oneTimeLinks.hash }).all()).length;
}

function isInvitationTo(organizationId: string) {
  return and(eq(oneTimeLinks.purpose, 'invitation'), eq(oneTimeLinks.organizationId, organizationId));
}

// Sessions

export type Session = typeof sessions.$inferSelect;
/** The client that a session was last used from. Null: unknown. */
export type Client = Pick<Session, 'address' | 'userAgent'>;

export async function insertSession(tx: WriteTx, session: typeof sessions.$inferInsert): Promise<void> {
  await tx.insert(sessions).values(session).run();
}

/** A session of an active account that has not expired. */
export async function findSession(tx: ReadTx, hash: string, now: Date) {
  return (await ofSession(tx).session.get({ hash, now: now.getTime() })) ?? null;
}

/** `blocked`: the organization needs a second factor, which the session has not. */
export type Standing = Role | 'blocked';

const isBlocked = sql<number>`(${organizations.needsSecondFactor} = 1 and ${sessions.confirmedAt} is null)`;

/** Null for no member, and where no organization is asked for. Undefined for a session that `findSession` does not find. */
export async function findStanding(
  tx: ReadTx,
  { sessionHash, organizationId }: { sessionHash: string; organizationId: string | null },
  now: Date,
  isKept: boolean,
): Promise<Standing | null | undefined> {
  const { standing, keptStanding } = ofSession(tx);
  const given = { hash: sessionHash, organizationId, now: now.getTime() };
  return (await (isKept ? keptStanding : standing).get(given))?.role;
}

// Every request of a person asks these.
const ofSession = prepared((tx) => {
  const { hash, createdAt, lastUsedAt, expiresAt, userId, confirmedAt } = sessions;
  const isOpen = and(
    eq(hash, sql.placeholder('hash')),
    gt(expiresAt, sql.placeholder('now')),
    isNull(users.disabledAt),
  );
  // `end`: of both queries, the inner of which may find nothing.
  const standing = (end: SQL) =>
    tx
      .select({
        role: sql<Standing | null>`(select case when ${isBlocked} then 'blocked' else ${memberships.role} end from ${memberships}
          join ${organizations} on ${organizations.id} = ${memberships.organizationId} and ${isLive}
          where ${memberships.userId} = ${users.id}
          and ${memberships.organizationId} = ${sql.placeholder('organizationId')} ${end})`,
      })
      .from(sessions)
      .innerJoin(users, eq(users.id, userId))
      .where(sql`${isOpen} ${end}`)
      .prepare();
  return {
    standing: standing(sql``),
    keptStanding: standing(dialectOf(tx).keepRows),
    session: tx
      .select({ user: userColumns, createdAt, lastUsedAt, confirmedAt })
      .from(sessions)
      .innerJoin(users, eq(users.id, userId))
      .where(isOpen)
      .prepare(),
    memberships: membershipsIn(tx, isBlocked)
      .innerJoin(sessions, eq(userId, memberships.userId))
      .where(eq(hash, sql.placeholder('hash')))
      .orderBy(...byName)
      .prepare(),
  };
});

/** The sessions of a person that have not expired: the current one, then the one used last. */
export async function listSessions(
  tx: ReadTx,
  userId: string,
  currentHash: string,
  now: Date,
  limit: number,
): Promise<Session[]> {
  return await tx
    .select()
    .from(sessions)
    .where(and(eq(sessions.userId, userId), gt(sessions.expiresAt, now.getTime())))
    .orderBy(desc(eq(sessions.hash, currentHash)), desc(sessions.lastUsedAt), asc(sessions.hash))
    .limit(limit)
    .all();
}

export async function updateSession(
  tx: WriteTx,
  hash: string,
  changes: Partial<typeof sessions.$inferInsert>,
): Promise<void> {
  await tx.update(sessions).set(changes).where(eq(sessions.hash, hash)).run();
}

/** False when the person has no such session. */
export async function deleteSession(tx: WriteTx, userId: string, hash: string): Promise<boolean> {
  const isSession = and(eq(sessions.userId, userId), eq(sessions.hash, hash));
  return (await tx.delete(sessions).where(isSession).returning({ hash: sessions.hash }).all()).length > 0;
}

export async function deleteSessionsOf(tx: WriteTx, userId: string, exceptHash = ''): Promise<void> {
  const isEnded = and(eq(sessions.userId, userId), ne(sessions.hash, exceptHash));
  await tx.delete(sessions).where(isEnded).run();
}

export async function countExpiredSessions(tx: ReadTx, asOf: Date): Promise<number> {
  return tx.$count(sessions, lte(sessions.expiresAt, asOf.getTime()));
}

/** Deletes expired links too. Returns how many sessions there were. */
export async function deleteExpiredSessions(tx: WriteTx, asOf: Date): Promise<number> {
  await tx.delete(oneTimeLinks).where(lte(oneTimeLinks.expiresAt, asOf.getTime())).run();
  const deleted = tx.delete(sessions).where(lte(sessions.expiresAt, asOf.getTime()));
  return (await deleted.returning({ hash: sessions.hash }).all()).length;
}
