import { commitTogether } from '../../db/group-commit.ts';
import type { Deps } from '../deps.ts';
import { AppError } from '../lib/app-error.ts';
import { randomToken } from '../lib/ids.ts';
import { DAY_MS } from '../lib/time.ts';
import { requireValid } from '../lib/validation.ts';
import { newOrganization } from '../organizations/service.ts';
import { insertOrganizationNow, listOrganizations } from '../organizations/store.ts';
import { type Client, Email, type OneTimeLink, Password, type Role, type User } from './model.ts';
import { deleteSessionsOf, findSession, insertSession, updateSession } from './session-store.ts';
import {
  deleteLinks,
  findCredentials,
  findLink,
  hasUsers,
  insertLink,
  insertMembership,
  insertUser,
  isActive,
  replacePassword,
  useLink,
} from './store.ts';
import type { Throttle } from './throttle.ts';

/** How much randomness a session or a link carries, in bytes. */
const TOKEN_BYTES = 32;

/** How long a session lasts without being used, and how long at most, in milliseconds. */
export const SESSION_MS = 30 * DAY_MS;
const MAX_SESSION_MS = 90 * DAY_MS;

/** How often the use of a session is written, in milliseconds. */
const SESSION_WRITE_MS = 3_600_000;

/** How long links work, in milliseconds. */
const LINK_MS = { setup: DAY_MS, invitation: 7 * DAY_MS, password: DAY_MS } as const;

type Needs = Pick<Deps, 'db' | 'clock' | 'ids'>;

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
  return commitTogether(db, () => {
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
  input: { email: string; password: string; organization: string },
): Promise<{ session: Secret; organizationId: string }> {
  const { db, clock, ids } = deps;
  const link = await requireLink(deps, token, 'setup');
  const email = requireEmail(input.email);
  const existing = await listOrganizations(db);
  const made = existing.length > 0 ? null : newOrganization(deps, { name: input.organization, plan: 'free' });
  const passwordHash = await hashPassword(input.password);
  const now = clock.now();
  const createdAt = now.toISOString();
  const user = { id: ids.newId('usr'), email, createdAt };
  const session = newSecret();
  await commitTogether(db, () => {
    if (!useLink(db, link.hash) || hasUsers(db)) throw badLink();
    insertUser(db, { ...user, passwordHash });
    if (made !== null) insertOrganizationNow(db, made);
    for (const { id: organizationId } of made === null ? existing : [made]) {
      insertMembership(db, { userId: user.id, organizationId, role: 'owner', createdAt });
    }
    insertSession(db, sessionOf(session, user.id, now));
  });
  return { session, organizationId: (made ?? existing[0])?.id ?? '' };
}

/**
 * Signs in. Throws `AppError` 401 for an address or a password that is wrong, without telling which, 403 for a disabled
 * account, and 429 when the address has failed too often just now.
 */
export async function signIn(
  { db, clock }: Needs,
  throttle: Throttle,
  input: { email: string; password: string },
): Promise<Secret> {
  const email = input.email.trim().toLowerCase().slice(0, 254);
  const waitMs = throttle.waitMs(email);
  if (waitMs > 0) {
    const seconds = Math.ceil(waitMs / 1000);
    throw new AppError(
      429,
      `Too many attempts. Try again in ${seconds === 1 ? 'a second' : `${seconds} seconds`}.`,
      {
        headers: { 'retry-after': String(seconds) },
      },
    );
  }
  // Counted before the slow part, so that many attempts at once do not all get through.
  throttle.failed(email);
  const user = await findCredentials(db, email);
  // Unknown addresses take as long as known ones.
  const hash = user?.passwordHash ?? (await nobodysHash());
  const isRight = await Bun.password.verify(input.password.slice(0, 200), hash);
  if (user?.passwordHash == null || !isRight) throw wrongPassword();
  if (user.disabledAt !== null) {
    throw new AppError(403, 'This account is disabled. Ask the administrator of this service.');
  }
  throttle.succeeded(email);
  const { id, passwordHash } = user;
  const session = newSecret();
  await commitTogether(db, () => {
    // The account may have changed while the password was verified.
    if (!isActive(db, id, passwordHash)) throw wrongPassword();
    insertSession(db, sessionOf(session, id, clock.now()));
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
 * Signs out everywhere else, and ends links for choosing a password. Throws `AppError` 400 when the old password is
 * wrong or the new one is bad.
 */
export async function changePassword(
  { db }: Pick<Deps, 'db'>,
  user: User,
  input: { current: string; next: string; keepHash: string },
): Promise<void> {
  const { passwordHash } = (await findCredentials(db, user.email)) ?? {};
  if (passwordHash == null || !(await Bun.password.verify(input.current.slice(0, 200), passwordHash))) {
    throw new AppError(400, 'The present password is wrong.');
  }
  const next = await hashPassword(input.next);
  await commitTogether(db, () => {
    // Another change may have come first.
    if (!isActive(db, user.id, passwordHash)) throw new AppError(400, 'The present password is wrong.');
    replacePassword(db, user.id, next);
    deleteLinks(db, 'password', user.id);
    deleteSessionsOf(db, user.id, input.keepHash);
  });
}

/** The path of a link by which the person chooses a password. Throws `AppError` 404, and 409 for a disabled account. */
export async function createPasswordLink(
  { db, clock }: Needs,
  email: string,
): Promise<{ user: User; path: string }> {
  const user = await findCredentials(db, requireEmail(email));
  if (user === null) throw new AppError(404, `There is no user ${email}; "user create" makes one`);
  if (user.disabledAt !== null) {
    throw new AppError(409, `${user.email} is disabled; "user enable" lets them in again`);
  }
  const { token, hash } = newSecret();
  await commitTogether(db, () => {
    deleteLinks(db, 'password', user.id);
    insertLink(db, {
      ...noOne,
      hash,
      purpose: 'password',
      userId: user.id,
      ...lifeOf('password', clock.now()),
    });
  });
  return { user, path: `/dashboard/~/password?token=${token}` };
}

/** Sets the password that a link asks for, and signs out everywhere. Throws `AppError` 400 and 404. */
export async function choosePassword(deps: Needs, token: string, password: string): Promise<Secret> {
  const { hash, userId } = await requireLink(deps, token, 'password');
  if (userId === null) throw badLink();
  const passwordHash = await hashPassword(password);
  const session = newSecret();
  await commitTogether(deps.db, () => {
    if (!useLink(deps.db, hash)) throw badLink();
    deleteLinks(deps.db, 'password', userId);
    replacePassword(deps.db, userId, passwordHash);
    deleteSessionsOf(deps.db, userId);
    insertSession(deps.db, sessionOf(session, userId, deps.clock.now()));
  });
  return session;
}

/** A user without a password yet; in an organization when one is named. Throws `AppError` 400 and 409. */
export async function createUser(
  { db, clock, ids }: Needs,
  input: { email: string; organizationId?: string; role?: Role },
): Promise<User> {
  const createdAt = clock.now().toISOString();
  const user = { id: ids.newId('usr'), email: requireEmail(input.email), createdAt };
  const { organizationId, role = 'owner' } = input;
  await commitTogether(db, () => {
    if (!insertUser(db, { ...user, passwordHash: null })) {
      throw new AppError(
        409,
        `There is a user ${user.email} already; "user reset-password" lets them in again`,
      );
    }
    if (organizationId !== undefined)
      insertMembership(db, { userId: user.id, organizationId, role, createdAt });
  });
  return user;
}

/** The path of a link by which somebody joins an organization, for a week. */
export async function invite({ db, clock }: Needs, organizationId: string, role: Role): Promise<string> {
  const { token, hash } = newSecret();
  const life = lifeOf('invitation', clock.now());
  await commitTogether(db, () =>
    insertLink(db, { ...noOne, hash, purpose: 'invitation', organizationId, role, ...life }),
  );
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
  by: User | { email: string; password: string },
): Promise<{ organizationId: string; session: Secret | null }> {
  const { db, clock, ids } = deps;
  const { hash, organizationId, role } = await requireLink(deps, token, 'invitation');
  if (organizationId === null || role === null) throw badLink();
  const now = clock.now();
  const createdAt = now.toISOString();
  if ('id' in by) {
    await commitTogether(db, () => {
      if (!useLink(db, hash) || !isActive(db, by.id)) throw badLink();
      insertMembership(db, { userId: by.id, organizationId, role, createdAt });
    });
    return { organizationId, session: null };
  }
  const user = { id: ids.newId('usr'), email: requireEmail(by.email), createdAt };
  const passwordHash = await hashPassword(by.password);
  const session = newSecret();
  await commitTogether(db, () => {
    if (!useLink(db, hash)) throw badLink();
    if (!insertUser(db, { ...user, passwordHash })) {
      throw new AppError(409, 'This address has an account. Sign in first, then open the invitation again.');
    }
    insertMembership(db, { userId: user.id, organizationId, role, createdAt });
    insertSession(db, sessionOf(session, user.id, now));
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

function sessionOf({ hash }: Secret, userId: string, now: Date) {
  const lastUsedAt = now.getTime();
  return { hash, userId, createdAt: now.toISOString(), lastUsedAt, expiresAt: lastUsedAt + SESSION_MS };
}

function requireEmail(text: string): string {
  return requireValid(Email, { email: text.trim().toLowerCase() }).email;
}

function hashPassword(password: string): Promise<string> {
  requireValid(Password, { password });
  return Bun.password.hash(password);
}

let nobody: Promise<string> | undefined;

/** The hash of a password that nobody has. */
function nobodysHash(): Promise<string> {
  nobody ??= Bun.password.hash(randomToken(TOKEN_BYTES));
  return nobody;
}

function wrongPassword(): AppError {
  return new AppError(401, 'The e-mail address or the password is wrong.');
}

function badLink(): AppError {
  return new AppError(404, 'This link does not work: it was used, has expired, or was not copied whole.');
}
