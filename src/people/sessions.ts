import { account, changing, NONE, type ReadTx, THROTTLES, type WriteTx } from '../../db/engine.ts';
import { WrongSecretKey } from '../lib/secret-box.ts';
import { randomToken } from '../lib/text.ts';
import { DAY_MS } from '../lib/time.ts';
import { type AuditAction, type AuditDeps, recordAudit } from './audit.ts';
import type { Deps } from './deps.ts';
import type { Guard } from './guard.ts';
import type { OrganizationCreation } from './organizations.ts';
import { listPasskeys } from './passkeys/store.ts';
import { hashOf, NOBODYS_HASH, newSecret } from './passwords.ts';
import { failure, type Membership, type User } from './permission.ts';
import * as store from './store.ts';

/** How long a proof of the person, such as a sign-in, is enough to change how they sign in, in milliseconds. */
const FRESH_MS = 600_000;

/** How long an unused session lasts, and how long a session lasts at most, in milliseconds. */
export const SESSION_MS = 30 * DAY_MS;
const MAX_SESSION_MS = 90 * DAY_MS;

/** How often the use of a session is written, in milliseconds. */
const SESSION_WRITE_MS = 3_600_000;

export const BROWSER_MS = 365 * DAY_MS;

/** The limits on guessing, and the request's signal: aborted when the client closes the connection. */
export interface Guarded {
  guard: Guard;
  signal: AbortSignal;
}

export type PasswordAttempt = {
  email: string;
  password: string;
  source: string;
  browser: string | null;
} & Guarded;

/** A person who has passed the first factor and has passkeys. `proof`: changes with the password. */
export interface Pending {
  userId: string;
  email: string;
  proof: string;
}

/** The token of a new session, or who has to pass a second factor first. */
export type FirstFactor = { session: string } | { pending: Pending };

/** `source`: the client's address group. Throws `AppError` 401, which does not tell what is wrong, 403, and 429. */
export function signIn(
  deps: AuditDeps & Pick<Deps, 'secrets'>,
  input: PasswordAttempt,
): Promise<FirstFactor> {
  return withPassword(deps, input, (tx, user) => passFirstFactor(tx, deps, user));
}

export async function passFirstFactor(
  tx: WriteTx,
  deps: AuditDeps,
  user: Pick<User, 'id' | 'email'>,
  how?: string,
): Promise<FirstFactor> {
  const { id: userId, email } = user;
  if ((await listPasskeys(tx, userId)).length === 0)
    return { session: await beginSession(tx, deps, user, how) };
  return { pending: { userId, email, proof: await proofOf(tx, userId) } };
}

/** Ends with the password and with the account. */
export async function proofOf(tx: ReadTx, userId: string): Promise<string> {
  const user = await store.findUserById(tx, userId);
  return hashOf(`${user?.passwordHash} ${user?.disabledAt}`);
}

/** Verifies a password, and then writes. Throws as `signIn` does. */
export async function withPassword<Result>(
  deps: AuditDeps & Pick<Deps, 'secrets'>,
  input: PasswordAttempt,
  work: (tx: WriteTx, user: User) => Promise<Result>,
  alone = false,
): Promise<Result> {
  const { guard, signal } = input;
  const email = input.email.trim().toLowerCase().slice(0, 254);
  const user = await deps.db.read((tx) => store.findCredentials(tx, email));
  const browser = findKnownBrowser(deps, input.browser, user);
  const isKnown = browser !== null;
  const source = browser ?? input.source;
  const attempt = guard.signIn(email, source, isKnown);
  await attempt.requireAllowed();
  const hash = user?.passwordHash ?? NOBODYS_HASH;
  const password = input.password.slice(0, 200);
  // Counted right before the slow hash: parallel attempts don't all get through, and the queue bounds the writes.
  const request = { source, isKnown, signal, begin: attempt.count };
  const isRight = await guard.passwords.verify(password, hash, request);
  if (user === null || !isRight) throw failure('wrong_credentials');
  if (user.disabledAt !== null) throw failure('account_disabled');
  return deps.db.write(
    async (tx) => {
      // The account may have changed while the password was verified.
      if (!(await store.isActive(tx, user.id, hash))) throw failure('wrong_credentials');
      await attempt.succeed(tx);
      return work(tx, user);
    },
    alone ? {} : changing(account(user.id), THROTTLES),
  );
}

export async function beginSession(
  tx: WriteTx,
  deps: AuditDeps,
  user: Pick<User, 'id' | 'email'>,
  how = 'signed in',
  confirmedAt: number | null = null,
): Promise<string> {
  const { token, hash } = newSecret();
  const now = deps.clock.now();
  const createdAt = now.toISOString();
  const lastUsedAt = now.getTime();
  const expiresAt = lastUsedAt + SESSION_MS;
  await store.insertSession(tx, { hash, userId: user.id, createdAt, lastUsedAt, expiresAt, confirmedAt });
  await recordAccount(tx, actingAs(deps, user), 'session.created', user.id, how);
  return token;
}

/**
 * Somebody at an open browser must not change how its person signs in. Throws `AppError` 403 unless they signed in, or used a
 * passkey or a recovery code, a moment ago.
 */
export async function requireFresh(
  tx: WriteTx,
  { clock }: Pick<Deps, 'clock'>,
  sessionHash: string,
): Promise<void> {
  const now = clock.now();
  const session = await store.findSession(tx, sessionHash, now);
  const provedAt = Math.max(Date.parse(session?.createdAt ?? ''), session?.confirmedAt ?? 0);
  if (!(now.getTime() - provedAt < FRESH_MS)) throw failure('sign_in_again');
}

/** For audit events of a person who has just proved who they are. */
export function actingAs<Given extends AuditDeps>(
  deps: Given,
  { id, email }: Pick<User, 'id' | 'email'>,
): Given {
  return { ...deps, actor: { type: 'user', id, name: email, address: deps.actor.address } };
}

export async function recordAccount(
  tx: WriteTx,
  deps: AuditDeps,
  action: AuditAction,
  id: string,
  summary: string,
): Promise<void> {
  await recordAudit(tx, deps, { organizationId: null, action, target: { type: 'user', id }, summary });
}

/** The person of a session's token. `extendedMs`: use extended the session, so the cookie lasts this much longer. */
export async function findSignedIn(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  token: string,
  client: store.Client,
): Promise<{ user: User; memberships: Membership[]; extendedMs: number | null } | null> {
  const hash = hashOf(token);
  const now = clock.now();
  const [found, memberships] = await db.read((tx) =>
    Promise.all([store.findSession(tx, hash, now), store.listMemberships(tx, { sessionHash: hash })]),
  );
  if (found === null) return null;
  const { user } = found;
  const lastUsedAt = now.getTime();
  const remainingMs = Date.parse(found.createdAt) + MAX_SESSION_MS - lastUsedAt;
  if (remainingMs <= 0) return null;
  if (lastUsedAt - found.lastUsedAt < SESSION_WRITE_MS) return { user, memberships, extendedMs: null };
  const extendedMs = Math.min(SESSION_MS, remainingMs);
  await db.write(
    (tx) => store.updateSession(tx, hash, { ...client, lastUsedAt, expiresAt: lastUsedAt + extendedMs }),
    NONE,
  );
  return { user, memberships, extendedMs };
}

/** The organization policy decides whether a person in these organizations may create another. */
export function mayCreateOrganization(
  policy: OrganizationCreation = 'owners',
  memberships: readonly Pick<Membership, 'role'>[],
): boolean {
  return policy === 'anyone' || (policy === 'owners' && memberships.some(({ role }) => role === 'owner'));
}

/**
 * Stores the client of a new session, and ends the one that its browser had, whose token is `replaced` (ASVS 5.0, 7.2.4). Returns
 * the token that makes the browser known.
 */
export async function completeSignIn(
  deps: BrowserDeps & AuditDeps,
  token: string,
  client: store.Client,
  replaced: string | null,
) {
  const hash = hashOf(token);
  const user = await deps.db.write(
    async (tx) => {
      await store.updateSession(tx, hash, client);
      const previous = replaced && (await store.findSession(tx, hashOf(replaced), deps.clock.now()))?.user;
      if (previous && (await store.deleteSession(tx, previous.id, hashOf(replaced))))
        await recordAccount(tx, actingAs(deps, previous), 'session.ended', previous.id, 'signed in again');
      return (await store.findSession(tx, hash, deps.clock.now()))?.user ?? null;
    },
    replaced === null ? NONE : {},
  );
  return user && rememberBrowser(deps, user);
}

/** Signs out of one session. Does nothing for a session of somebody else. */
export async function endSession(deps: AuditDeps, { id }: User, hash: string): Promise<void> {
  await deps.db.write(
    async (tx) => {
      if (await store.deleteSession(tx, id, hash))
        await recordAccount(tx, deps, 'session.ended', id, 'signed out');
    },
    changing(account(id)),
  );
}

export async function endAllSessions(deps: AuditDeps, { id }: User): Promise<void> {
  await deps.db.write(
    async (tx) => {
      await store.deleteSessionsOf(tx, id);
      await recordAccount(tx, deps, 'session.ended', id, 'signed out everywhere');
    },
    changing(account(id)),
  );
}

// So that others who guess at the account don't lock its browser out. The token ends with the password.

type BrowserDeps = Pick<Deps, 'db' | 'clock' | 'secrets'>;

/** A token for the browser that this person has just signed in with; null without a password. */
export async function rememberBrowser({ db, clock, secrets }: BrowserDeps, { email }: User) {
  const user = await db.read((tx) => store.findCredentials(tx, email));
  if (user?.passwordHash == null) return null;
  const expiresAt = clock.now().getTime() + BROWSER_MS;
  const context = contextOf(user.id, user.passwordHash);
  return secrets.seal(`${randomToken(16)} ${expiresAt}`, context).toString('base64url');
}

/** The id of the browser with this token; null when it is not known for this person and their current password. */
export function findKnownBrowser(
  { clock, secrets }: Omit<BrowserDeps, 'db'>,
  token: string | null,
  user: Pick<store.Credentials, 'id' | 'passwordHash'> | null,
): string | null {
  if (token === null || user?.passwordHash == null) return null;
  try {
    const sealed = Buffer.from(token.slice(0, 512), 'base64url');
    const [id = '', expiresAt] = secrets.open(sealed, contextOf(user.id, user.passwordHash)).split(' ');
    return Number(expiresAt) > clock.now().getTime() ? id : null;
  } catch (error) {
    if (error instanceof WrongSecretKey) return null;
    throw error;
  }
}

function contextOf(userId: string, passwordHash: string): string {
  return `known browser of ${userId} with ${passwordHash}`;
}
