import { and, asc, desc, eq, gt, isNull, lte, ne, sql } from 'drizzle-orm';
import { type Database, prepared } from '../../db/client.ts';
import { oneTimeLinks, sessions, users } from '../../db/schema/index.ts';
import type { Client, Session, User } from './model.ts';

/** Synchronous, for a transaction of the caller's. */
export function insertSession(
  db: Database,
  session: { hash: string; userId: string; createdAt: string; expiresAt: number; lastUsedAt: number },
): void {
  db.insert(sessions).values(session).run();
}

/** A session of an active account that has not expired. */
export async function findSession(
  db: Database,
  hash: string,
  now: Date,
): Promise<{ user: User; createdAt: string; lastUsedAt: number } | null> {
  const row = statements(db).session.get({ hash, now: now.getTime() });
  return row ?? null;
}

/** The sessions of a person that have not expired: the current one, then the one used last. */
export async function listSessions(
  db: Database,
  userId: string,
  currentHash: string,
  now: Date,
  limit: number,
): Promise<Session[]> {
  const { hash, createdAt, lastUsedAt, address, userAgent } = sessions;
  return db
    .select({ hash, createdAt, lastUsedAt, address, userAgent })
    .from(sessions)
    .where(and(eq(sessions.userId, userId), gt(sessions.expiresAt, now.getTime())))
    .orderBy(desc(eq(hash, currentHash)), desc(lastUsedAt), asc(hash))
    .limit(limit)
    .all();
}

/** Writes where a session is used and, when it is extended, its new expiry. */
export function updateSession(
  db: Database,
  hash: string,
  changes: Client & { lastUsedAt?: number; expiresAt?: number },
): Promise<void> {
  return db.write(() => {
    db.update(sessions).set(changes).where(eq(sessions.hash, hash)).run();
  });
}

/** Whether the person had this session. Synchronous, for a transaction of the caller's. */
export function deleteSession(db: Database, userId: string, hash: string): boolean {
  const isSession = and(eq(sessions.userId, userId), eq(sessions.hash, hash));
  return db.delete(sessions).where(isSession).returning({ hash: sessions.hash }).all().length > 0;
}

/**
 * Signs a person out everywhere, or everywhere but here. Returns how many sessions ended. Synchronous, for a
 * transaction of the caller's.
 */
export function deleteSessionsOf(db: Database, userId: string, exceptHash = ''): number {
  const isOther = and(eq(sessions.userId, userId), ne(sessions.hash, exceptHash));
  return db.delete(sessions).where(isOther).returning({ hash: sessions.hash }).all().length;
}

/** How many sign-ins and links are past their time. */
export async function countExpiredSessions(db: Database, asOf: Date): Promise<number> {
  return db.$count(sessions, lte(sessions.expiresAt, asOf.getTime()));
}

/** Deletes expired sign-ins and links. Returns how many sign-ins there were. */
export function deleteExpiredSessions(db: Database, asOf: Date): Promise<number> {
  return db.write(() => {
    db.delete(oneTimeLinks).where(lte(oneTimeLinks.expiresAt, asOf.getTime())).run();
    const deleted = db.delete(sessions).where(lte(sessions.expiresAt, asOf.getTime()));
    return deleted.returning({ hash: sessions.hash }).all().length;
  });
}

const statements = prepared((db) => ({
  session: db
    .select({
      user: { id: users.id, email: users.email, createdAt: users.createdAt },
      createdAt: sessions.createdAt,
      lastUsedAt: sessions.lastUsedAt,
    })
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
