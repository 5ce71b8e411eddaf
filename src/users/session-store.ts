import { and, eq, gt, lte, ne, sql } from 'drizzle-orm';
import { type Database, prepared } from '../../db/client.ts';
import { commitTogether } from '../../db/group-commit.ts';
import { oneTimeLinks, sessions, users } from '../../db/schema/index.ts';
import type { User } from './model.ts';

/** Synchronous, for a transaction of the caller's. */
export function insertSession(
  db: Database,
  session: { hash: string; userId: string; createdAt: string; expiresAt: number },
): void {
  db.insert(sessions).values(session).run();
}

/** Whose session it is, while it lasts. */
export async function findSession(
  db: Database,
  hash: string,
  now: Date,
): Promise<{ user: User; expiresAt: number } | null> {
  const row = statements(db).session.get({ hash, now: now.getTime() });
  return row ?? null;
}

export function extendSession(db: Database, hash: string, expiresAt: number): Promise<void> {
  return commitTogether(db, () => {
    db.update(sessions).set({ expiresAt }).where(eq(sessions.hash, hash)).run();
  });
}

export function deleteSession(db: Database, hash: string): Promise<void> {
  return commitTogether(db, () => {
    db.delete(sessions).where(eq(sessions.hash, hash)).run();
  });
}

/** Signs a person out everywhere, or everywhere but here. Synchronous, for a transaction of the caller's. */
export function deleteSessionsOf(db: Database, userId: string, exceptHash = ''): void {
  db.delete(sessions)
    .where(and(eq(sessions.userId, userId), ne(sessions.hash, exceptHash)))
    .run();
}

/** How many sign-ins and links are past their time. */
export async function countExpiredSessions(db: Database, asOf: Date): Promise<number> {
  return db.$count(sessions, lte(sessions.expiresAt, asOf.getTime()));
}

/** Deletes expired sign-ins and links. Returns how many sign-ins there were. */
export function deleteExpiredSessions(db: Database, asOf: Date): Promise<number> {
  return commitTogether(db, () => {
    db.delete(oneTimeLinks).where(lte(oneTimeLinks.expiresAt, asOf.getTime())).run();
    const deleted = db.delete(sessions).where(lte(sessions.expiresAt, asOf.getTime()));
    return deleted.returning({ hash: sessions.hash }).all().length;
  });
}

const statements = prepared((db) => ({
  session: db
    .select({
      user: { id: users.id, email: users.email, createdAt: users.createdAt },
      expiresAt: sessions.expiresAt,
    })
    .from(sessions)
    .innerJoin(users, eq(users.id, sessions.userId))
    .where(and(eq(sessions.hash, sql.placeholder('hash')), gt(sessions.expiresAt, sql.placeholder('now'))))
    .prepare(),
}));
