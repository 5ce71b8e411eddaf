import { AppError } from '../lib/app-error.ts';
import { count } from '../lib/text.ts';

type Details = Readonly<Record<string, unknown>>;

/** The status and the sentence of each failure of accounts, links, sessions and members. */
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
