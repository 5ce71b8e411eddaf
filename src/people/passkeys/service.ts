import { base32crockford } from '@scure/base';
import { account, changing, organization as organizationKey, type WriteTx } from '../../../db/engine.ts';
import { type AuditDeps, quote, recordAudit } from '../audit.ts';
import type { Deps } from '../deps.ts';
import { claimFormMark, type Guard } from '../guard.ts';
import { isSecondFactorNeeded, setSecondFactorNeeded } from '../organization-store.ts';
import { hashOf } from '../passwords.ts';
import { failure, SECOND_FACTOR, type User } from '../permission.ts';
import { actingAs, beginSession, type Pending, proofOf, recordAccount, requireFresh } from '../sessions.ts';
import * as people from '../store.ts';
import * as store from './store.ts';
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from './webauthn.ts';

// Passkeys: a way in by themselves, and the second factor after a password. The authenticator always verifies its person, so a
// passkey alone is two factors. Each challenge works once.

type Needs = AuditDeps & Pick<Deps, 'publicUrl'>;

const MAX_PASSKEYS = 20;
export const MAX_NAME_LENGTH = 60;
const MAX_CREDENTIAL_LENGTH = 10_000;
const CODES = 10;
const CODE_BYTES = 10;

/** The answer of the browser's script to a challenge. */
export interface Answer {
  /** JSON of the credential. */
  credential: string;
  challenge: string;
}

/** Browsers use a passkey only on the host that made it. */
function siteOf({ publicUrl }: Pick<Deps, 'publicUrl'>) {
  const { hostname, origin } = new URL(publicUrl());
  return { id: hostname, origin };
}

/** Of the browser's `navigator.credentials.get`. `passkeys`: those that may answer; none, for any. */
export function requestOptions(
  deps: Pick<Deps, 'publicUrl'>,
  challenge: string,
  passkeys: readonly store.Passkey[],
) {
  return {
    challenge,
    rpId: siteOf(deps).id,
    userVerification: 'required',
    allowCredentials: passkeys.map(({ id, transports }) => ({
      id,
      type: 'public-key',
      transports: transports.split(',').filter(Boolean),
    })),
  };
}

/** Of the browser's `navigator.credentials.create`. */
export function creationOptions(
  deps: Pick<Deps, 'publicUrl'>,
  challenge: string,
  { id, email }: User,
  passkeys: readonly store.Passkey[],
) {
  return {
    challenge,
    rp: { id: siteOf(deps).id, name: 'Tidings' },
    user: { id: Buffer.from(id).toString('base64url'), name: email, displayName: email },
    pubKeyCredParams: [-8, -7, -257].map((alg) => ({ alg, type: 'public-key' })),
    authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
    attestation: 'none',
    excludeCredentials: passkeys.map(({ id }) => ({ id, type: 'public-key' })),
  };
}

/** Adds a passkey. Returns recovery codes with the first one. Throws `AppError` 400 and 403. */
export async function addPasskey(
  deps: Needs,
  user: User,
  input: Answer & { name: string; sessionHash: string },
): Promise<string[] | null> {
  const { verifyRegistration } = await import('./webauthn.ts');
  const { id: expectedRPID, origin: expectedOrigin } = siteOf(deps);
  const verified = await verifyRegistration({
    response: parse(input.credential),
    expectedChallenge: input.challenge,
    ...{ expectedRPID, expectedOrigin },
    requireUserVerification: true,
    supportedAlgorithmIDs: [-8, -7, -257],
  }).catch(() => null);
  if (verified?.verified !== true) throw failure('passkey_failed');
  const { id, publicKey, counter, transports = [] } = verified.registrationInfo.credential;
  const name = input.name.trim();
  const now = deps.clock.now();
  return deps.db.write(
    async (tx) => {
      await useChallenge(tx, deps, input.challenge);
      await requireFresh(tx, deps, input.sessionHash);
      const existing = await store.listPasskeys(tx, user.id);
      if (existing.length >= MAX_PASSKEYS) throw failure('too_many_passkeys', { limit: MAX_PASSKEYS });
      const row = { id, userId: user.id, name, publicKey: Buffer.from(publicKey), counter };
      const rest = {
        transports: transports.filter((each) => /^[a-z-]{1,20}$/.test(each)).join(','),
        createdAt: now.toISOString(),
        lastUsedAt: null,
      };
      if (!(await store.insertPasskey(tx, { ...row, ...rest }))) throw failure('passkey_failed');
      await recordAccount(tx, deps, 'passkey.added', user.id, `added the passkey ${quote(name)}`);
      // The person has just used it.
      await people.updateSession(tx, input.sessionHash, { confirmedAt: now.getTime() });
      return existing.length > 0 ? null : newCodes(tx, deps, user);
    },
    changing(account(user.id)),
  );
}

/**
 * The last one takes the recovery codes with it. Throws `AppError` 403, and 409 for the last one of a person whose organization
 * requires it.
 */
export function removePasskey(deps: Needs, user: User, id: string, sessionHash: string): Promise<void> {
  return deps.db.write(
    async (tx) => {
      await requireFresh(tx, deps, sessionHash);
      const name = await store.deletePasskey(tx, user.id, id);
      if (name === null) return;
      await recordAccount(tx, deps, 'passkey.removed', user.id, `removed the passkey ${quote(name)}`);
      if ((await store.listPasskeys(tx, user.id)).length > 0) return;
      for (const { organization } of await people.listMemberships(tx, user.id)) {
        if (await isSecondFactorNeeded(tx, organization.id))
          throw failure('last_passkey', { name: organization.name });
      }
      await store.deleteCodes(tx, user.id);
    },
    changing(account(user.id)),
  );
}

/** New recovery codes in place of the old ones. Throws `AppError` 403. */
export function replaceCodes(deps: Needs, user: User, sessionHash: string): Promise<string[]> {
  return deps.db.write(
    async (tx) => {
      await requireFresh(tx, deps, sessionHash);
      if ((await store.listPasskeys(tx, user.id)).length === 0) throw failure('passkey_failed');
      return newCodes(tx, deps, user);
    },
    changing(account(user.id)),
  );
}

/** Removes all of a person's passkeys and ends their sessions, for somebody who has lost them. Throws `AppError` 404. */
export async function resetPasskeys(
  deps: AuditDeps,
  email: string,
): Promise<{ id: string; email: string; removed: number }> {
  return deps.db.write(async (tx) => {
    const user = await people.findCredentials(tx, email.trim().toLowerCase());
    if (user === null) throw failure('user_not_found', { email });
    const removed = await store.deletePasskeysOf(tx, user.id);
    await people.deleteSessionsOf(tx, user.id);
    const summary = `removed the passkeys and recovery codes of ${user.email}`;
    await recordAccount(tx, deps, 'passkey.removed', user.id, summary);
    return { id: user.id, email: user.email, removed };
  });
}

/** Signs in by a passkey alone. Returns the token of a session. Throws `AppError` 400 and 403. */
export function signInByPasskey(deps: Needs, answer: Answer): Promise<string> {
  return withPasskey(deps, answer, null, async (tx, passkey) => {
    const user = await people.findUser(tx, passkey.userId);
    if (user === null || !(await people.isActive(tx, user.id))) throw failure('account_disabled');
    const how = `signed in with the passkey ${quote(passkey.name)}`;
    return beginSession(tx, deps, user, how, deps.clock.now().getTime());
  });
}

/** Signs in a person who passed the first factor. Throws `AppError` 400, and 429 after too many attempts. */
export async function passSecondFactor(
  deps: Needs,
  { userId, email, proof }: Pending,
  given: Answer | { code: string },
  { guard, source }: { guard: Guard; source: string },
): Promise<string> {
  const user = { id: userId, email };
  const attempt = guard.signIn(`second factor of ${userId}`, source, false);
  await attempt.count();
  return withFactor(actingAs(deps, user), userId, given, async (tx, how) => {
    await attempt.succeed(tx);
    // The password or the account may have changed since.
    if ((await proofOf(tx, userId)) !== proof || !(await people.isActive(tx, userId)))
      throw failure('flow_lost');
    return beginSession(tx, deps, user, `signed in with ${how}`, deps.clock.now().getTime());
  });
}

/** Adds the second factor to a session, or renews it. Throws `AppError` 400. */
export function confirmSession(
  deps: Needs,
  user: User,
  sessionHash: string,
  given: Answer | { code: string },
): Promise<void> {
  const confirmedAt = deps.clock.now().getTime();
  return withFactor(deps, user.id, given, (tx) => people.updateSession(tx, sessionHash, { confirmedAt }));
}

/** Does the work with a passkey or a recovery code of this person, in the transaction that uses it up. `how`: with which. */
function withFactor<Result>(
  deps: Needs,
  userId: string,
  given: Answer | { code: string },
  work: (tx: WriteTx, how: string) => Promise<Result>,
): Promise<Result> {
  if ('code' in given) {
    return deps.db.write(
      async (tx) => {
        await useCode(tx, deps, userId, given.code);
        return work(tx, 'a recovery code');
      },
      changing(account(userId)),
    );
  }
  return withPasskey(deps, given, userId, (tx, { name }) =>
    work(tx, `the passkey ${quote(name)} as second factor`),
  );
}

/** Sets whether members need a second factor. The owner who sets it must have one. Throws `AppError` 409. */
export function requireSecondFactor(
  deps: AuditDeps,
  organizationId: string,
  isNeeded: boolean,
  sessionHash: string,
): Promise<void> {
  return deps.db.write(
    async (tx) => {
      if ((await isSecondFactorNeeded(tx, organizationId)) === isNeeded) return;
      const session = await people.findSession(tx, sessionHash, deps.clock.now());
      if (isNeeded && session?.confirmedAt == null) throw failure('no_second_factor');
      await setSecondFactorNeeded(tx, organizationId, isNeeded);
      const summary = isNeeded ? 'required a second factor' : 'no longer requires a second factor';
      const target = { type: 'organization', id: organizationId };
      await recordAudit(tx, deps, { organizationId, action: 'organization.changed', target, summary });
    },
    changing(organizationKey(organizationId)),
  );
}

/** Throws `AppError` 403 in a session without the second factor that an organization requires, also one in the trash. */
export async function requireConfirmed(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  organizationId: string,
  sessionHash: string,
): Promise<void> {
  const isMissing = await db.read(async (tx) => {
    if (!(await isSecondFactorNeeded(tx, organizationId))) return false;
    return (await people.findSession(tx, sessionHash, clock.now()))?.confirmedAt == null;
  });
  if (isMissing) throw failure(SECOND_FACTOR);
}

/** `userId`: whose passkey it must be; null, anybody's. */
async function withPasskey<Result>(
  deps: Needs,
  { credential, challenge }: Answer,
  userId: string | null,
  work: (tx: WriteTx, passkey: store.Passkey) => Promise<Result>,
): Promise<Result> {
  const response = parse(credential);
  const passkey = await deps.db.read((tx) => store.findPasskey(tx, response.id));
  if (passkey === null || (userId !== null && passkey.userId !== userId)) throw failure('passkey_failed');
  const { verifyAuthentication } = await import('./webauthn.ts');
  const { id: expectedRPID, origin: expectedOrigin } = siteOf(deps);
  const { id, publicKey, counter } = passkey;
  const verified = await verifyAuthentication(passkey.userId, {
    response,
    expectedChallenge: challenge,
    ...{ expectedRPID, expectedOrigin },
    requireUserVerification: true,
    credential: { id, publicKey: new Uint8Array(publicKey), counter },
  }).catch(() => null);
  if (verified?.verified !== true) throw failure('passkey_failed');
  const used = {
    id,
    counter: verified.authenticationInfo.newCounter,
    lastUsedAt: deps.clock.now().toISOString(),
  };
  return deps.db.write(
    async (tx) => {
      await useChallenge(tx, deps, challenge);
      if (!(await store.countPasskey(tx, used))) throw failure('passkey_failed');
      return work(tx, passkey);
    },
    changing(account(passkey.userId)),
  );
}

/** The library checks every part of it. */
function parse(credential: string): RegistrationResponseJSON & AuthenticationResponseJSON {
  try {
    const parsed: unknown = JSON.parse(credential.slice(0, MAX_CREDENTIAL_LENGTH));
    if (typeof parsed === 'object' && parsed !== null && 'id' in parsed && typeof parsed.id === 'string') {
      return parsed as RegistrationResponseJSON & AuthenticationResponseJSON;
    }
  } catch {
    // Not the script's.
  }
  throw failure('passkey_failed');
}

async function useChallenge(tx: WriteTx, { clock }: AuditDeps, challenge: string): Promise<void> {
  if (!(await claimFormMark(tx, hashOf(challenge), clock.now()))) throw failure('passkey_late');
}

async function newCodes(tx: WriteTx, deps: AuditDeps, { id }: User): Promise<string[]> {
  const codes = Array.from({ length: CODES }, () => {
    const code = base32crockford.encode(crypto.getRandomValues(new Uint8Array(CODE_BYTES))).toLowerCase();
    return code.replaceAll(/.{4}(?=.)/g, '$&-');
  });
  await store.deleteCodes(tx, id);
  await store.insertCodes(tx, id, codes.map(hashOfCode));
  await recordAccount(tx, deps, 'recovery_codes.created', id, 'created new recovery codes');
  return codes;
}

async function useCode(tx: WriteTx, deps: AuditDeps, userId: string, code: string): Promise<void> {
  if (!(await store.useCode(tx, userId, hashOfCode(code)))) throw failure('wrong_code');
  const left = await store.countCodes(tx, userId);
  await recordAccount(tx, deps, 'recovery_code.used', userId, `used a recovery code; ${left} are left`);
}

/** However a person types it. */
const hashOfCode = (code: string) =>
  hashOf(
    code
      .toLowerCase()
      .replaceAll(/[^0-9a-z]/g, '')
      .replaceAll('o', '0')
      .replaceAll(/[il]/g, '1')
      .slice(0, 64),
  );
