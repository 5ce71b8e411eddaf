import { account, changing, NONE, type ReadTx, type WriteTx } from '../../../db/engine.ts';
import { WrongSecretKey } from '../../lib/secret-box.ts';
import type { Clock } from '../../lib/time.ts';
import { type AuditDeps, asServer } from '../audit.ts';
import { type Deps, passwordsWork } from '../deps.ts';
import { claimFormMark } from '../guard.ts';
import { joinOrganization, recordMember, roleNoun } from '../members.ts';
import { findOrganization } from '../organization-store.ts';
import { listPasskeys } from '../passkeys/store.ts';
import { hashOf } from '../passwords.ts';
import { failure, type Role, type User } from '../permission.ts';
import {
  actingAs,
  beginSession,
  type PasswordAttempt,
  recordAccount,
  requireFresh,
  withPassword,
} from '../sessions.ts';
import * as people from '../store.ts';
import type { Arrival, EndedSession, IdentityProvider } from './provider.ts';
import type { Claims, Rule } from './rules.ts';
import * as store from './store.ts';

// The outcome for a person whom the identity provider has signed in: a session, an account by a rule or an invitation, or the
// question for the password of the account that has the address.

type Needs = AuditDeps & Pick<Deps, 'secrets' | 'ids'>;

/** A role in an organization that `OIDC_RULES` gives a person. */
interface Grant {
  organizationId: string;
  role: Role;
}

/** Kept of an arrival while the person confirms it: small enough for a cookie, and without a token. */
export interface Newcomer extends Pick<Arrival, 'issuer' | 'subject' | 'sid'> {
  /** The address, or else the subject. */
  name: string;
  grants: readonly Grant[];
}

export type Outcome =
  | { kind: 'signed-in'; session: string; organizationId: string | null }
  /** The address has an account: its password confirms that the identity is of the same person. */
  | { kind: 'confirm'; newcomer: Newcomer; email: string };

/** The provider sends people back here. */
export const CALLBACK = '/dashboard/~/oidc/callback';

/** How long a sealed ID token may be, in bytes: a row of each session has it. */
const MAX_ID_TOKEN_BYTES = 8_192;

/** Each attempt works once, whatever the provider then answers. Throws `AppError` 400. */
export function claimAttempt({ db, clock }: Pick<Deps, 'db' | 'clock'>, state: string): Promise<void> {
  return db.write((tx) => useOnce(tx, clock, state), NONE);
}

/** `invitation`: the token of a link. Throws `AppError` 403, 404. */
export function enter(
  deps: Needs,
  provider: IdentityProvider,
  arrival: Arrival,
  invitation: string | null,
): Promise<Outcome> {
  const { issuer, subject, claims } = arrival;
  const newcomer = newcomerOf(provider, arrival);
  const { name } = provider;
  // Alone: it may touch every organization of the rules, and an address that nobody has.
  return deps.db.write(async (tx) => {
    const identity = await store.findIdentity(tx, { issuer, subject });
    if (identity !== null) {
      const user = await requireActive(tx, identity.userId);
      if (identity.name !== newcomer.name) await store.renameIdentity(tx, identity, newcomer.name);
      await applyGrants(tx, deps, user, newcomer.grants);
      const session = await begin(tx, deps, provider, user, arrival);
      return { kind: 'signed-in', session, organizationId: null };
    }
    const { email, isVerified } = claims;
    if (email === null || !isVerified) throw failure('no_verified_email', { name });
    const known = await people.findCredentials(tx, email);
    if (known !== null) {
      if (known.disabledAt !== null) throw failure('account_disabled');
      return { kind: 'confirm', newcomer, email };
    }
    const link = invitation === null ? null : await people.findLink(tx, hashOf(invitation), deps.clock.now());
    const invited = link?.purpose === 'invitation' ? link : null;
    if (invited === null && (await openGrants(tx, deps, newcomer.grants)).length === 0) {
      throw failure('no_entry', { name, email });
    }
    const createdAt = deps.clock.now().toISOString();
    const user = { id: deps.ids.newId('usr'), email, createdAt };
    await people.insertUser(tx, { ...user, passwordHash: null });
    const asUser = actingAs(deps, user);
    await recordAccount(tx, asUser, 'user.created', user.id, `created an account through ${name}`);
    await linkTo(tx, asUser, provider, user, newcomer);
    if (invited?.organizationId != null && invited.role !== null) {
      const { hash, organizationId, role } = invited;
      if (!(await people.useLink(tx, hash, deps.clock.now()))) throw failure('bad_link');
      const membership = { userId: user.id, organizationId, role, createdAt };
      await joinOrganization(tx, asUser, membership, (_, as) => `accepted an invitation as ${as}`);
    }
    await applyGrants(tx, deps, user, newcomer.grants);
    const session = await begin(tx, deps, provider, user, arrival);
    return { kind: 'signed-in', session, organizationId: invited?.organizationId ?? null };
  });
}

/** An identity that a person who is signed in adds to their account, after they confirm it. Throws `AppError` 400, 409. */
export async function arriveToLink(
  { db }: Pick<Deps, 'db'>,
  provider: IdentityProvider,
  arrival: Arrival,
): Promise<Newcomer> {
  const isTaken = (await db.read((tx) => store.findIdentity(tx, arrival))) !== null;
  if (isTaken) throw failure('identity_taken', { name: provider.name });
  return newcomerOf(provider, arrival);
}

/** Links the identity to the account with this password. Returns a new session, or null where there is one. */
export function confirmIdentity(
  deps: Needs,
  provider: IdentityProvider,
  newcomer: Newcomer,
  input: PasswordAttempt & { hasSession: boolean },
): Promise<string | null> {
  return withPassword(
    deps,
    input,
    async (tx, user) => {
      // The provider would then sign in without the passkey.
      if (!input.hasSession && (await listPasskeys(tx, user.id)).length > 0)
        throw failure('passkey_first', { hasPasswords: provider.hasPasswords });
      await linkTo(tx, actingAs(deps, user), provider, user, newcomer);
      await applyGrants(tx, deps, user, newcomer.grants);
      return input.hasSession ? null : begin(tx, deps, provider, user, { ...newcomer, idToken: null });
    },
    true,
  );
}

/** A password that works. */
const hasPassword = async (tx: ReadTx, deps: Pick<Deps, 'identityProvider'>, { id }: User) =>
  passwordsWork(deps) && (await people.findUserById(tx, id))?.passwordHash != null;

/** True if linking needs the password of the account. Without one that works, a sign-in a moment ago is as good. */
export const mustConfirm = (deps: Pick<Deps, 'db' | 'identityProvider'>, user: User): Promise<boolean> =>
  deps.db.read((tx) => hasPassword(tx, deps, user));

/** Links the identity to a person who has just signed in. Throws `AppError` 403 for a password that confirms it, and 409. */
export async function linkIdentity(
  deps: Needs & Pick<Deps, 'identityProvider'>,
  provider: IdentityProvider,
  newcomer: Newcomer,
  { user, sessionHash }: { user: User; sessionHash: string },
): Promise<void> {
  await deps.db.write(async (tx) => {
    if (await hasPassword(tx, deps, user)) throw failure('sign_in_again');
    await requireFresh(tx, deps, sessionHash);
    await linkTo(tx, deps, provider, user, newcomer);
    await applyGrants(tx, deps, user, newcomer.grants);
  });
}

/** Ends the sessions that began with it, but the current one. Throws `AppError` 403, and 409 for the only way in. */
export function unlinkIdentity(
  deps: Needs & Pick<Deps, 'identityProvider'>,
  { user, sessionHash }: { user: User; sessionHash: string },
  key: { issuer: string; subject: string },
): Promise<void> {
  const { identityProvider: provider } = deps;
  return deps.db.write(
    async (tx) => {
      const others = (await store.listIdentities(tx, user.id)).filter(
        ({ issuer, subject }) =>
          issuer === provider?.issuer && (issuer !== key.issuer || subject !== key.subject),
      );
      if (others.length === 0 && !(await hasPassword(tx, deps, user))) throw failure('only_way_in');
      await requireFresh(tx, deps, sessionHash);
      if (!(await store.deleteIdentity(tx, user.id, key))) return;
      await store.deleteProviderSessions(tx, key, sessionHash);
      await recordAccount(
        tx,
        deps,
        'identity.unlinked',
        user.id,
        'unlinked their account of the identity provider',
      );
    },
    changing(account(user.id)),
  );
}

/** Ends the sessions that a logout token names. Throws `AppError` 400 for a token that came before. */
export function endProviderSessions(deps: AuditDeps, ended: EndedSession): Promise<void> {
  return deps.db.write(async (tx) => {
    await useOnce(tx, deps.clock, `${ended.issuer} ${ended.jti}`);
    const userIds = await store.deleteProviderSessions(tx, ended);
    await recordEnded(tx, deps, userIds, 'the identity provider ended the session');
  });
}

/** Ends sessions that began in another way, or at another provider, if people sign in through the provider alone. */
export async function endOtherSessions(deps: AuditDeps & Pick<Deps, 'identityProvider'>): Promise<void> {
  const { identityProvider: provider } = deps;
  if (provider === undefined || provider.hasPasswords) return;
  await deps.db.write(async (tx) => {
    const userIds = await store.deleteOtherSessions(tx, provider.issuer);
    await recordEnded(tx, deps, userIds, 'passwords were turned off');
  });
}

async function recordEnded(tx: WriteTx, deps: AuditDeps, userIds: string[], why: string): Promise<void> {
  for (const userId of userIds) {
    const { email } = (await people.findUser(tx, userId)) ?? { email: userId };
    await recordAccount(tx, asServer(deps), 'session.ended', userId, `signed out ${email}, because ${why}`);
  }
}

/** The ID token of a session that began at this provider, to sign out there too. Null for another session. */
export async function findIdToken(
  { db, secrets }: Pick<Deps, 'db' | 'secrets'>,
  provider: IdentityProvider,
  sessionHash: string,
): Promise<{ idToken: string | null } | null> {
  const found = await db.read((tx) => store.findProviderSession(tx, sessionHash));
  if (found?.issuer !== provider.issuer) return null;
  try {
    const idToken = found.idToken && secrets.open(Buffer.from(found.idToken), contextOf(sessionHash));
    return { idToken };
  } catch (error) {
    if (error instanceof WrongSecretKey) return { idToken: null };
    throw error;
  }
}

const contextOf = (sessionHash: string) => `ID token of session ${sessionHash}`;

function newcomerOf({ rules }: IdentityProvider, { issuer, subject, sid, claims }: Arrival): Newcomer {
  return { issuer, subject, sid, name: claims.email ?? subject, grants: grantsOf(rules, claims) };
}

async function useOnce(tx: WriteTx, clock: Clock, value: string): Promise<void> {
  if (!(await claimFormMark(tx, hashOf(value), clock.now()))) throw failure('flow_lost');
}

async function requireActive(tx: WriteTx, userId: string): Promise<User> {
  const user = await people.findUser(tx, userId);
  if (user === null || !(await people.isActive(tx, userId))) throw failure('account_disabled');
  return user;
}

async function linkTo(
  tx: WriteTx,
  deps: AuditDeps,
  provider: IdentityProvider,
  user: User,
  { issuer, subject, name }: Newcomer,
): Promise<void> {
  const createdAt = deps.clock.now().toISOString();
  const identity = { issuer, subject, name, userId: user.id, createdAt };
  if (!(await store.insertIdentity(tx, identity))) throw failure('identity_taken', { name: provider.name });
  await recordAccount(tx, deps, 'identity.linked', user.id, `linked ${name} of ${provider.name}`);
}

async function begin(
  tx: WriteTx,
  deps: Needs,
  provider: IdentityProvider,
  user: User,
  { issuer, subject, sid, idToken }: Pick<Arrival, 'issuer' | 'subject' | 'sid' | 'idToken'>,
): Promise<string> {
  const token = await beginSession(tx, deps, user, `signed in through ${provider.name}`);
  const hash = hashOf(token);
  const isKept = idToken !== null && idToken.length <= MAX_ID_TOKEN_BYTES;
  const sealed = isKept ? deps.secrets.seal(idToken, contextOf(hash)) : null;
  await store.insertProviderSession(tx, { hash, issuer, subject, sid, idToken: sealed });
  return token;
}

/** The organizations that these rules open for a person. The highest role wins. */
function grantsOf(rules: readonly Rule[], claims: Claims): Grant[] {
  const grants = new Map<string, Role>();
  for (const { organization, role, ...condition } of rules) {
    const given = grants.get(organization);
    const isHigher = given === undefined || people.rolesBelow(role).includes(given);
    if (isHigher && matches(condition, claims)) grants.set(organization, role);
  }
  return Array.from(grants, ([organizationId, role]) => ({ organizationId, role }));
}

function matches(
  { domain, claim, value }: Omit<Rule, 'organization' | 'role'>,
  { email, isVerified, all }: Claims,
): boolean {
  const verified = isVerified ? email : null;
  if (domain !== undefined && verified?.slice(verified.lastIndexOf('@') + 1) !== domain) return false;
  if (claim === undefined) return true;
  // People may enter any address at the provider before it verifies one.
  if (claim === 'email') return verified !== null && verified === value?.toLowerCase();
  const found = Object.hasOwn(all, claim) ? all[claim] : undefined;
  return [found].flat().includes(value);
}

/** Those of organizations that exist. */
async function openGrants(
  tx: WriteTx,
  { log }: Pick<AuditDeps, 'log'>,
  grants: readonly Grant[],
): Promise<Grant[]> {
  const open: Grant[] = [];
  for (const grant of grants) {
    const { organizationId } = grant;
    if ((await findOrganization(tx, organizationId)) !== null) open.push(grant);
    else log.warn({ organizationId }, 'a rule of OIDC_RULES names an organization that does not exist');
  }
  return open;
}

/**
 * Brings the memberships that rules gave up to date. What a person decided stays: rules change no other membership. The
 * last owner of an organization stays one.
 */
async function applyGrants(
  tx: WriteTx,
  deps: AuditDeps,
  user: User,
  grants: readonly Grant[],
): Promise<void> {
  const has = await people.listOwnMemberships(tx, user.id);
  const asRule = asServer(deps);
  for (const { organizationId, role, byRule } of has) {
    const granted = grants.find((grant) => grant.organizationId === organizationId)?.role;
    if (!byRule || granted === role) continue;
    const key = { userId: user.id, organizationId };
    if (role === 'owner' && !(await people.hasOtherOwner(tx, key))) continue;
    if (granted === undefined) await people.deleteMembership(tx, key);
    else await people.updateRole(tx, key, granted, true);
    // As for every owner whose role ends: a link that they kept would bring it back.
    if (role === 'owner' || granted === undefined) await people.deleteLinksOfOwners(tx, organizationId);
    const summary =
      granted === undefined
        ? `removed ${user.email}, whom no rule of the identity provider lets in any more`
        : `made ${user.email} ${roleNoun(granted)} by a rule of the identity provider`;
    const action = granted === undefined ? 'member.removed' : 'member.role_changed';
    await recordMember(tx, asRule, action, key, summary);
  }
  for (const { organizationId, role } of await openGrants(tx, deps, grants)) {
    if (has.some((each) => each.organizationId === organizationId)) continue;
    const createdAt = deps.clock.now().toISOString();
    const membership = { userId: user.id, organizationId, role, createdAt, byRule: true };
    const describe = (email: string, as: string) =>
      `added ${email} as ${as} by a rule of the identity provider`;
    await joinOrganization(tx, asRule, membership, describe);
  }
}
