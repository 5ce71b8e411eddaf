import { and, asc, eq, inArray, ne, notInArray } from 'drizzle-orm';
import type { ReadTx, WriteTx } from '../../../db/engine.ts';
import { identities, providerSessions, sessions } from '../../../db/schema/organizations.ts';

export type Identity = typeof identities.$inferSelect;
type IdentityKey = Pick<Identity, 'issuer' | 'subject'>;

const isIdentity = ({ issuer, subject }: IdentityKey) =>
  and(eq(identities.issuer, issuer), eq(identities.subject, subject));

export async function findIdentity(tx: ReadTx, key: IdentityKey): Promise<Identity | null> {
  return (await tx.select().from(identities).where(isIdentity(key)).get()) ?? null;
}

export async function listIdentities(tx: ReadTx, userId: string): Promise<Identity[]> {
  const isOfUser = eq(identities.userId, userId);
  return await tx.select().from(identities).where(isOfUser).orderBy(asc(identities.createdAt)).all();
}

/** False when the identity is somebody's. */
export async function insertIdentity(tx: WriteTx, identity: Identity): Promise<boolean> {
  const inserted = tx.insert(identities).values(identity).onConflictDoNothing();
  return (await inserted.returning({ subject: identities.subject }).all()).length > 0;
}

export async function renameIdentity(tx: WriteTx, key: IdentityKey, name: string): Promise<void> {
  await tx.update(identities).set({ name }).where(isIdentity(key)).run();
}

/** False when it is not this person's. */
export async function deleteIdentity(tx: WriteTx, userId: string, key: IdentityKey): Promise<boolean> {
  const deleted = tx.delete(identities).where(and(isIdentity(key), eq(identities.userId, userId)));
  return (await deleted.returning({ subject: identities.subject }).all()).length > 0;
}

export type ProviderSession = typeof providerSessions.$inferSelect;

export async function insertProviderSession(tx: WriteTx, session: ProviderSession): Promise<void> {
  await tx.insert(providerSessions).values(session).run();
}

export async function findProviderSession(tx: ReadTx, hash: string): Promise<ProviderSession | null> {
  return (await tx.select().from(providerSessions).where(eq(providerSessions.hash, hash)).get()) ?? null;
}

/** Ends the sessions that did not begin at the provider. Returns whose they were. */
export async function deleteOtherSessions(tx: WriteTx, issuer: string): Promise<string[]> {
  const ofProvider = tx
    .select({ hash: providerSessions.hash })
    .from(providerSessions)
    .where(eq(providerSessions.issuer, issuer));
  const deleted = tx.delete(sessions).where(notInArray(sessions.hash, ofProvider));
  const rows = await deleted.returning({ userId: sessions.userId }).all();
  return [...new Set(rows.map(({ userId }) => userId))];
}

/** Ends the sessions that began with an identity, or in one session at the provider. Returns whose they were. */
export async function deleteProviderSessions(
  tx: WriteTx,
  { issuer, subject, sid }: { issuer: string; subject?: string | undefined; sid?: string | undefined },
  exceptHash = '',
): Promise<string[]> {
  const ended = tx
    .select({ hash: providerSessions.hash })
    .from(providerSessions)
    .where(
      and(
        eq(providerSessions.issuer, issuer),
        ne(providerSessions.hash, exceptHash),
        subject === undefined ? undefined : eq(providerSessions.subject, subject),
        sid === undefined ? undefined : eq(providerSessions.sid, sid),
      ),
    );
  const deleted = tx.delete(sessions).where(inArray(sessions.hash, ended));
  const rows = await deleted.returning({ userId: sessions.userId }).all();
  return [...new Set(rows.map(({ userId }) => userId))];
}
