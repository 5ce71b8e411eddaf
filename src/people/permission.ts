import { domainToASCII } from 'node:url';
import { type Static, Type } from '@sinclair/typebox';
import { type Check, withCheck, withCheckedCalls } from '../../db/checked.ts';
import type { ReadTx } from '../../db/engine.ts';
import { AccessEnded, AppError } from '../lib/app-error.ts';
import { count } from '../lib/text.ts';
import type { Deps } from './deps.ts';
import type { Organization } from './organizations.ts';
import * as store from './store.ts';

// A page asks when its request begins, and again in every transaction that writes and before every call to a provider.

/** `SIGNED_OUT` is for the dashboard, which answers a form without a session in its own way. */
export const SIGNED_OUT = 'signed_out';

/** The organization needs a second factor, which the session has not. The dashboard asks for it. */
export const SECOND_FACTOR = 'second_factor';

export interface Permission {
  sessionHash: string;
  /** Null: signing in is enough. */
  membership: { organization: Pick<Organization, 'id' | 'name'>; needs: Need } | null;
}

/** Required for an action: to be a member, in any role; to publish; to own the organization. */
type Need = 'member' | 'publisher' | 'owner';

export const mayPublish = (role: Role | null | undefined) => role === 'member' || role === 'owner';

/** `AppError` 404 for somebody who is no member, because another's organization does not exist either, and 403. */
export function requireRole(
  role: store.Standing | null | undefined,
  { organization, needs }: NonNullable<Permission['membership']>,
): void {
  if (role == null) throw new AccessEnded(404, 'Page not found.');
  if (role === 'blocked') {
    const message = `${organization.name} needs a second factor. Open Your account, and add or use a passkey.`;
    throw new AccessEnded(403, message, { code: SECOND_FACTOR });
  }
  if (needs === 'member' || role === 'owner') return;
  if (needs === 'publisher') {
    if (!mayPublish(role)) throw onlyPublishers(organization.name);
    return;
  }
  throw new AccessEnded(403, `Only owners of ${organization.name} can do this. Ask one of them.`);
}

export const onlyPublishers = (name: string) =>
  new AccessEnded(403, `Only publishers and owners of ${name} can do this. Ask one of them.`);

/** Throws `AccessEnded` unless the session is open, the account active, and the person has the role. */
async function requirePermission(
  tx: ReadTx,
  { sessionHash, membership }: Permission,
  now: Date,
  isWriting: boolean,
): Promise<void> {
  const organizationId = membership?.organization.id ?? null;
  const role = await store.findStanding(tx, { sessionHash, organizationId }, now, isWriting);
  if (role === undefined) {
    throw new AccessEnded(401, 'You are signed out.', { code: SIGNED_OUT });
  }
  if (membership !== null) requireRole(role, membership);
}

/** The services for what this session may do. `onEnd`: called with what refuses it, from then on at each use. */
export function permitted<Given extends Deps>(
  deps: Given,
  permission: Permission,
  onEnd: (refusal: AccessEnded) => void,
): Given {
  const { clock, actor } = deps;
  const check: Check = (tx, isWriting) =>
    requirePermission(tx, permission, clock.now(), isWriting).catch((error: unknown) => {
      if (error instanceof AccessEnded) onEnd(error);
      throw error;
    });
  const db = withCheck(deps.db, check);
  return {
    ...deps,
    db,
    get keys() {
      return deps.keys.as({ actor, db });
    },
    openProviderApi: async (...asked) => withCheckedCalls(await deps.openProviderApi(...asked), db),
  };
}

export const Role = Type.Union([Type.Literal('owner'), Type.Literal('member'), Type.Literal('writer')]);
/** A writer writes drafts; a member also approves and publishes; an owner also manages everything else. */
export type Role = Static<typeof Role>;

/**
 * The mailbox of an address, whose local part counts without dots, quotes and what follows a `+`: many servers deliver all of
 * these to one person. The domain is in ASCII. Null for a text that is no address.
 */
export function mailboxOf(email: string): string | null {
  const [, local, domain] = /^([^+@]*).*@(.*?)\.?$/s.exec(email.normalize('NFKC').toLowerCase()) ?? [];
  if (local === undefined || domain === undefined) return null;
  return `${local.replace(/[."\\]/g, '')}@${domainToASCII(domain) || domain}`;
}

/** Part of an address, without invisible or reordering characters, which make two addresses look alike. U+2800 is a blank. */
const VISIBLE = '[^\\s@\\p{Cc}\\p{Cf}\\p{Co}\\p{Cs}\\p{Default_Ignorable_Code_Point}\\u2800]+';

export const Email = Type.Object({
  email: Type.RegExp(new RegExp(`^(?=.{1,254}$)${VISIBLE}@${VISIBLE}\\.${VISIBLE}$`, 'u'), {
    errorMessage: 'must be an email address without invisible characters, such as ann@acme.example',
  }),
});

/** The maximum bounds the cost of a hash. */
export const Password = Type.Object({
  password: Type.String({ minLength: 10, maxLength: 200, errorMessage: 'must have 10 to 200 characters' }),
});

export interface User {
  id: string;
  email: string;
  createdAt: string;
}

export interface Member extends User {
  role: Role;
  disabledAt: string | null;
  /** A rule about the identity provider gave the role. */
  byRule: boolean;
}

export interface Account extends Omit<Member, 'role' | 'byRule'> {
  organizations: { organizationId: string; organizationName: string; role: Role }[];
}

export interface Membership {
  organization: Organization;
  role: Role;
  isBlocked: boolean;
}

type Details = Readonly<Record<string, unknown>>;

const failures = {
  bad_link: [404, 'This link does not work. It was used, has expired, or is incomplete.'],
  wrong_credentials: [401, 'The email address or the password is wrong.'],
  wrong_current_password: [400, 'The current password is wrong.'],
  account_disabled: [403, 'This account is disabled. Ask the administrator of this server.'],
  address_taken: [409, 'This address has an account. Sign in first, then open the invitation again.'],
  user_not_found: [404, ({ email }: Details) => `User ${email} not found`],
  user_exists: [409, ({ email }: Details) => `User ${email} already exists`],
  user_disabled: [409, ({ email }: Details) => `${email} is disabled`],
  shared_account: [
    409,
    ({ email }: Details) =>
      `${email} also belongs to another organization, so an owner can't reset the password. Ask the administrator of this server.`,
  ],
  own_password_link: [409, 'This is your own account. Change your password under Your account.'],
  last_owner: [
    409,
    ({ email, organizations }: Details) =>
      `You can't remove the last owner of ${[organizations].flat().join(', ')}: ${email}. Make another owner first.`,
  ],
  member_not_found: [404, 'Member not found. They may have left.'],
  organization_gone: [404, 'This organization no longer exists.'],
  may_not_create_organization: [
    403,
    "You can't create an organization. Ask the administrator of this server.",
  ],
  too_many_organizations: [
    400,
    ({ limit }: Details) => `You belong to ${limit} organizations, which is the limit.`,
  ],
  passwords_off: [
    403,
    'This server does not let people sign in with a password. Sign in through the identity provider.',
  ],
  flow_lost: [400, 'This sign-in has expired, was already used, or began in another browser. Start again.'],
  no_entry: [
    403,
    ({ name, email }: Details) =>
      `You are signed in at ${name} as ${email}, but no rule of this server lets you in. Ask an owner for an invitation link, or the administrator of this server for a rule.`,
  ],
  no_verified_email: [
    403,
    ({ name }: Details) =>
      `${name} sent no email address that it has verified, which a new account needs. Ask who manages your accounts there, then try again.`,
  ],
  identity_taken: [
    409,
    ({ name }: Details) => `This account of ${name} already signs in as another person of Tidings.`,
  ],
  sign_in_again: [403, 'You signed in more than ten minutes ago. Sign out, sign in again, then try again.'],
  passkey_failed: [400, 'The passkey could not be verified. Try again, or use another one.'],
  passkey_late: [
    400,
    'The page was open for more than ten minutes, or this step was already done. Try again.',
  ],
  passkey_first: [
    403,
    ({ hasPasswords }: Details) =>
      `This account has passkeys. ${hasPasswords ? 'Sign in with a passkey' : 'Ask the administrator of this server for a link that signs you in'}, then link the identity provider under Your account.`,
  ],
  too_many_passkeys: [400, ({ limit }: Details) => `You have ${limit} passkeys, which is the limit.`],
  wrong_code: [400, 'The recovery code is wrong, or was used before.'],
  second_factor: [
    403,
    'This organization needs a second factor. Open Your account, and add or use a passkey.',
  ],
  last_passkey: [
    409,
    ({ name }: Details) =>
      `${name} requires a passkey, and this is your last one. Add another one first, then remove this one.`,
  ],
  no_second_factor: [409, 'Add a passkey to your own account first. You could no longer enter yourself.'],
  only_way_in: [
    409,
    'You could no longer sign in without it. Choose a password first: ask the administrator of this server for a link.',
  ],
  too_many_attempts: [
    429,
    ({ seconds }: Details) => `Too many attempts. Try again in ${count(Number(seconds), 'second')}.`,
  ],
  passwords_busy: [429, 'Tidings is checking too many passwords right now. Try again in a second.'],
  // nginx's status for a client that has gone: nobody reads it.
  client_closed: [499, 'The client closed the connection.'],
} as const satisfies Record<string, [status: number, text: string | ((details: Details) => string)]>;

/** The field that a failure is about, and the rest of the sentence about it. */
const fields: Partial<Record<UserFailure, Record<string, string>>> = {
  wrong_current_password: { current: 'is wrong' },
  address_taken: { email: 'has an account. Sign in first, then open the invitation again' },
};

export type UserFailure = keyof typeof failures;

export function failure(
  code: UserFailure,
  details: Details = {},
  headers?: Record<string, string>,
): AppError {
  const [status, text] = failures[code];
  const message = typeof text === 'string' ? text : text(details);
  return new AppError(status, message, {
    code,
    details,
    fields: fields[code] ?? {},
    ...(headers && { headers }),
  });
}
