import { userActor } from '../audit/model.ts';
import { type AuditDeps, recordAudit } from '../audit/store.ts';
import type { Deps } from '../deps.ts';
import { AppError } from '../lib/app-error.ts';
import { randomToken } from '../lib/ids.ts';
import { DAY_MS } from '../lib/time.ts';
import { requireValid } from '../lib/validation.ts';
import { addOrganization, newOrganization } from '../organizations/service.ts';
import { getOrganization, listOrganizations } from '../organizations/store.ts';
import type { Guard } from './guard.ts';
import { findKnownBrowser } from './known-browser.ts';
import { type Client, Email, type OneTimeLink, type Role, type User } from './model.ts';
import { NOBODYS_HASH } from './password-queue.ts';
import { requireGoodPassword } from './password-rules.ts';
import {
  deleteSession,
  deleteSessionsOf,
  findSession,
  insertSession,
  updateSession,
} from './session-store.ts';
import {
  deleteLinks,
  findCredentials,
  findLink,
  findUser,
  hasUsers,
  insertLink,
  insertUser,
  isActive,
  joinOrganization,
  listMemberships,
  recordAccount,
  replacePassword,
  useLink,
} from './store.ts';

/** How much randomness a session or a link carries, in bytes. */
const TOKEN_BYTES = 32;

/** How long a session lasts without being used, and how long at most, in milliseconds. */
export const SESSION_MS = 30 * DAY_MS;
const MAX_SESSION_MS = 90 * DAY_MS;

/** How often the use of a session is written, in milliseconds. */
const SESSION_WRITE_MS = 3_600_000;

/** How long links work, in milliseconds. */
const LINK_MS = { setup: DAY_MS, invitation: 7 * DAY_MS, password: DAY_MS } as const;

type Needs = AuditDeps & Pick<Deps, 'ids'>;

/** The limits on guessing, and the signal of the request: aborted when the client goes away. */
export interface Guarded {
  guard: Guard;
  signal: AbortSignal;
}

/** A session or a link as it goes to its person: what is stored is only its hash. */
export interface Secret {
  token: string;
  hash: string;
}

function newSecret(): Secret {
  const token = randomToken(TOKEN_BYTES);
  return { token, hash: hashOf(token) };
}

export function hashOf(token: string): string {
  return new Bun.CryptoHasher('sha256').update(token).digest('base64url');
}

/** The path of a new set-up link; null once there is a user. Earlier set-up links stop working. */
export function createSetupLink({ db, clock }: Pick<Deps, 'db' | 'clock'>): Promise<string | null> {
  const { token, hash } = newSecret();
  return db.write(() => {
    deleteLinks(db, 'setup');
    if (hasUsers(db)) return null;
    insertLink(db, { ...noOne, hash, purpose: 'setup', ...lifeOf('setup', clock.now()) });
    return `/setup?token=${token}`;
  });
}

/**
 * Makes the first user: the owner of the organizations that there are or, when there are none, of a new one. Signs in.
 * Throws `AppError` 400 for a bad field, and 404 for a link that does not work, as when there is a user already.
 */
export async function setUp(
  deps: Needs,
  token: string,
  input: { email: string; password: string; organization: string } & Guarded,
): Promise<{ session: Secret; organizationId: string }> {
  const { db, clock, ids } = deps;
  const link = await requireLink(deps, token, 'setup');
  const email = requireEmail(input.email);
  const existing = await listOrganizations(db);
  const made = existing.length > 0 ? null : newOrganization(deps, { name: input.organization, plan: 'free' });
  const organizations = (made === null ? existing : [made]).map(({ name }) => name);
  const passwordHash = await hashPassword(input, link.hash, { email, organizations });
  const now = clock.now();
  const createdAt = now.toISOString();
  const user = { id: ids.newId('usr'), email, createdAt };
  const session = newSecret();
  await db.write(async (tx) => {
    if (!useLink(db, link.hash) || hasUsers(db)) throw badLink();
    insertUser(db, { ...user, passwordHash });
    const asOwner = actingAs(deps, user);
    recordAccount(asOwner, 'user.created', user.id, 'created the first account');
    if (made !== null) await addOrganization(tx, asOwner, made);
    for (const { id: organizationId } of made === null ? existing : [made]) {
      const membership = { userId: user.id, organizationId, role: 'owner', createdAt } as const;
      joinOrganization(asOwner, membership, (_, as) => `joined as ${as}`);
    }
    beginSession(deps, session, user);
  });
  return { session, organizationId: (made ?? existing[0])?.id ?? '' };
}

/**
 * Signs in. `source` is the client's address group. Throws `AppError` 401 for a wrong address or a wrong password,
 * without telling which, 403 for a disabled account, and 429 after too many attempts.
 */
export async function signIn(
  deps: Needs & Pick<Deps, 'secrets'>,
  input: { email: string; password: string; source: string; browser: string | null } & Guarded,
): Promise<Secret> {
  const { guard, signal } = input;
  const email = input.email.trim().toLowerCase().slice(0, 254);
  const user = await findCredentials(deps.db, email);
  const browser = findKnownBrowser(deps, input.browser, user);
  const isKnown = browser !== null;
  const source = browser ?? input.source;
  // Counted before the slow part, so that many attempts at once do not all get through.
  const attempt = guard.beginSignIn(email, source, isKnown);
  const hash = user?.passwordHash ?? NOBODYS_HASH;
  let isRight: boolean;
  try {
    isRight = await guard.passwords.verify(input.password.slice(0, 200), hash, { source, isKnown, signal });
  } catch (error) {
    attempt.cancel();
    throw error;
  }
  if (user === null || !isRight) throw wrongSignIn();
  if (user.disabledAt !== null) {
    throw new AppError(403, 'This account is disabled. Ask the administrator of this service.');
  }
  attempt.succeed();
  const session = newSecret();
  await deps.db.write(() => {
    // The account may have changed while the password was verified.
    if (!isActive(deps.db, user.id, hash)) throw wrongSignIn();
    beginSession(deps, session, user);
  });
  return session;
}

/**
 * Who is signed in with this cookie; null for nobody. Use extends the session, up to 90 days after the sign-in:
 * `extendedMs` says how long the cookie lasts from now on.
 */
export async function findSignedIn(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  token: string,
  client: Client,
): Promise<{ user: User; extendedMs: number | null } | null> {
  const hash = hashOf(token);
  const now = clock.now();
  const session = await findSession(db, hash, now);
  if (session === null) return null;
  const lastUsedAt = now.getTime();
  const remainingMs = Date.parse(session.createdAt) + MAX_SESSION_MS - lastUsedAt;
  if (remainingMs <= 0) return null;
  if (lastUsedAt - session.lastUsedAt < SESSION_WRITE_MS) return { user: session.user, extendedMs: null };
  const extendedMs = Math.min(SESSION_MS, remainingMs);
  await updateSession(db, hash, { ...client, lastUsedAt, expiresAt: lastUsedAt + extendedMs });
  return { user: session.user, extendedMs };
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
  const { db } = deps;
  const { guard, signal, keepHash } = input;
  const { passwordHash } = (await findCredentials(db, user.email)) ?? {};
  guard.count(keepHash);
  const request = { source: user.id, isKnown: true, signal };
  const current = input.current.slice(0, 200);
  if (passwordHash == null || !(await guard.passwords.verify(current, passwordHash, request))) {
    throw wrongCurrent();
  }
  await requireGoodPassword(input.password, await factsAbout(db, user));
  const next = await guard.passwords.hash(input.password, request);
  await db.write(() => {
    // Another change may have come first.
    if (!isActive(db, user.id, passwordHash)) throw wrongCurrent();
    replacePassword(db, user.id, next);
    deleteLinks(db, 'password', user.id);
    deleteSessionsOf(db, user.id, keepHash);
    recordAccount(deps, 'password.changed', user.id, 'changed their password');
  });
}

/** The path of a link by which the person chooses a password. Throws `AppError` 404, and 409 for a disabled account. */
export async function createPasswordLink(
  deps: AuditDeps,
  email: string,
): Promise<{ user: User; path: string }> {
  const { db, clock } = deps;
  const user = await findCredentials(db, requireEmail(email));
  if (user === null) throw new AppError(404, `There is no user ${email}; "user create" makes one`);
  if (user.disabledAt !== null) {
    throw new AppError(409, `${user.email} is disabled; "user enable" lets them in again`);
  }
  const { token, hash } = newSecret();
  await db.write(() => {
    deleteLinks(db, 'password', user.id);
    insertLink(db, {
      ...noOne,
      hash,
      purpose: 'password',
      userId: user.id,
      ...lifeOf('password', clock.now()),
    });
    const summary = `created a link for ${user.email} to choose a password`;
    recordAccount(deps, 'password.link_created', user.id, summary);
  });
  return { user, path: `/dashboard/~/password?token=${token}` };
}

/** Sets the password that a link asks for, and signs out everywhere. Throws `AppError` 400 and 404. */
export async function choosePassword(
  deps: Needs,
  token: string,
  input: { password: string } & Guarded,
): Promise<Secret> {
  const { hash, userId } = await requireLink(deps, token, 'password');
  const user = userId === null ? null : await findUser(deps.db, userId);
  if (userId === null || user === null) throw badLink();
  const passwordHash = await hashPassword(input, hash, await factsAbout(deps.db, user));
  const session = newSecret();
  await deps.db.write(() => {
    if (!useLink(deps.db, hash)) throw badLink();
    deleteLinks(deps.db, 'password', userId);
    replacePassword(deps.db, userId, passwordHash);
    deleteSessionsOf(deps.db, userId);
    recordAccount(actingAs(deps, user), 'password.changed', userId, 'chose a password by link');
    beginSession(deps, session, user);
  });
  return session;
}

/** A user without a password yet; in an organization when one is named. Throws `AppError` 400 and 409. */
export async function createUser(
  deps: Needs,
  input: { email: string; organizationId?: string; role?: Role },
): Promise<User> {
  const { db, clock, ids } = deps;
  const createdAt = clock.now().toISOString();
  const user = { id: ids.newId('usr'), email: requireEmail(input.email), createdAt };
  const { organizationId, role = 'owner' } = input;
  await db.write(() => {
    if (!insertUser(db, { ...user, passwordHash: null })) {
      throw new AppError(
        409,
        `There is a user ${user.email} already; "user reset-password" lets them in again`,
      );
    }
    recordAccount(deps, 'user.created', user.id, `created the account ${user.email}`);
    if (organizationId === undefined) return;
    const membership = { userId: user.id, organizationId, role, createdAt };
    joinOrganization(deps, membership, (email, as) => `added ${email} as ${as}`);
  });
  return user;
}

/** Signs a person out of one session; nothing happens when it is not theirs. */
export async function endSession(deps: AuditDeps, user: User, hash: string): Promise<void> {
  await deps.db.write(() => {
    if (deleteSession(deps.db, user.id, hash)) {
      recordAccount(deps, 'session.ended', user.id, 'signed out');
    }
  });
}

/** Signs a person out everywhere. */
export async function endAllSessions(deps: AuditDeps, user: User): Promise<void> {
  await deps.db.write(() => {
    deleteSessionsOf(deps.db, user.id);
    recordAccount(deps, 'session.ended', user.id, 'signed out everywhere');
  });
}

/** Nobody is signed in yet: from here on the person acts. */
function actingAs<Given extends AuditDeps>(deps: Given, user: Pick<User, 'id' | 'email'>): Given {
  return { ...deps, actor: userActor(user, deps.actor.address) };
}

/** Synchronous, for a transaction of the caller's. */
function beginSession(deps: AuditDeps, { hash }: Secret, user: Pick<User, 'id' | 'email'>): void {
  const now = deps.clock.now();
  const expiresAt = now.getTime() + SESSION_MS;
  const session = {
    hash,
    userId: user.id,
    createdAt: now.toISOString(),
    lastUsedAt: now.getTime(),
    expiresAt,
  };
  insertSession(deps.db, session);
  recordAccount(actingAs(deps, user), 'session.created', user.id, 'signed in');
}

/** The path of a link by which somebody joins an organization, for a week. */
export async function invite(deps: AuditDeps, organizationId: string, role: Role): Promise<string> {
  const { db, clock } = deps;
  const { token, hash } = newSecret();
  const life = lifeOf('invitation', clock.now());
  await db.write(() => {
    insertLink(db, { ...noOne, hash, purpose: 'invitation', organizationId, role, ...life });
    const target = { type: 'organization', id: organizationId };
    const summary = `created an invitation link for ${role === 'owner' ? 'an owner' : 'a member'}`;
    void recordAudit(deps.db, deps, { organizationId, action: 'member.invited', target, summary });
  });
  return `/dashboard/~/invitation?token=${token}`;
}

/**
 * Joins the organization of an invitation: as the person who is signed in, or as a new one. Whoever is a member
 * becomes an owner by an owner's invitation. Throws `AppError` 400,
 * 404 for a link that does not work, and 409 for an address that has an account, which has to sign in first.
 */
export async function acceptInvitation(
  deps: Needs,
  token: string,
  by: User | ({ email: string; password: string } & Guarded),
): Promise<{ organizationId: string; session: Secret | null }> {
  const { db, clock, ids } = deps;
  const { hash, organizationId, role } = await requireLink(deps, token, 'invitation');
  if (organizationId === null || role === null) throw badLink();
  const now = clock.now();
  const createdAt = now.toISOString();
  if ('id' in by) {
    await db.write(() => {
      if (!useLink(db, hash) || !isActive(db, by.id)) throw badLink();
      const membership = { userId: by.id, organizationId, role, createdAt };
      joinOrganization(deps, membership, (_, as) => `accepted an invitation as ${as}`);
    });
    return { organizationId, session: null };
  }
  const user = { id: ids.newId('usr'), email: requireEmail(by.email), createdAt };
  const { name } = await getOrganization(db, organizationId);
  const passwordHash = await hashPassword(by, hash, { email: user.email, organizations: [name] });
  const session = newSecret();
  await db.write(() => {
    if (!useLink(db, hash)) throw badLink();
    if (!insertUser(db, { ...user, passwordHash })) {
      throw new AppError(409, 'This address has an account. Sign in first, then open the invitation again.');
    }
    const asMember = actingAs(deps, user);
    recordAccount(asMember, 'user.created', user.id, 'created an account by invitation');
    const membership = { userId: user.id, organizationId, role, createdAt };
    joinOrganization(asMember, membership, (_, as) => `accepted an invitation as ${as}`);
    beginSession(deps, session, user);
  });
  return { organizationId, session };
}

/** Throws `AppError` 404 for a link that is unknown, used or expired, or for something else. */
export async function requireLink(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  token: string,
  purpose: OneTimeLink['purpose'],
): Promise<OneTimeLink & { hash: string }> {
  const hash = hashOf(token);
  const link = await findLink(db, hash, clock.now());
  if (link?.purpose !== purpose) throw badLink();
  return { ...link, hash };
}

const noOne = { userId: null, organizationId: null, role: null };

function lifeOf(purpose: OneTimeLink['purpose'], now: Date) {
  return { createdAt: now.toISOString(), expiresAt: now.getTime() + LINK_MS[purpose] };
}

function requireEmail(text: string): string {
  return requireValid(Email, { email: text.trim().toLowerCase() }).email;
}

/** The hash of a password that the holder of a one-time link chooses. Throws `AppError` 400 and 429. */
async function hashPassword(
  { password, guard, signal }: { password: string } & Guarded,
  linkHash: string,
  about: { email: string; organizations: readonly string[] },
): Promise<string> {
  guard.count(linkHash);
  await requireGoodPassword(password, about);
  return guard.passwords.hash(password, { source: linkHash, isKnown: true, signal });
}

/** What a person's password must not be made of. */
async function factsAbout(db: Deps['db'], { id, email }: User) {
  const memberships = await listMemberships(db, id);
  return { email, organizations: memberships.map(({ organizationName }) => organizationName) };
}

function wrongSignIn(): AppError {
  return new AppError(401, 'The e-mail address or the password is wrong.');
}

function wrongCurrent(): AppError {
  return new AppError(400, 'The current password is wrong.');
}

function badLink(): AppError {
  return new AppError(404, 'This link does not work: it was used, has expired, or was not copied whole.');
}
