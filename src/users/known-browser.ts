import type { Deps } from '../deps.ts';
import { randomToken } from '../lib/ids.ts';
import { WrongSecretKey } from '../lib/secret-box.ts';
import { DAY_MS } from '../lib/time.ts';
import type { User } from './model.ts';
import { findCredentials } from './store.ts';

// A browser that has signed in carries a token, so that others who guess at the account don't lock it out. The token
// is sealed for one person and one password, and ends with that password. It doesn't sign anybody in.

/** How long a browser stays known after a sign-in, in milliseconds. */
export const BROWSER_MS = 365 * DAY_MS;

/** A token for the browser that this person has just signed in with; null without a password. */
export async function rememberBrowser(
  { db, clock, secrets }: Pick<Deps, 'db' | 'clock' | 'secrets'>,
  { email }: User,
): Promise<string | null> {
  const user = await findCredentials(db, email);
  if (user?.passwordHash == null) return null;
  const expiresAt = clock.now().getTime() + BROWSER_MS;
  const context = contextOf(user.id, user.passwordHash);
  return secrets.seal(`${randomToken(16)} ${expiresAt}`, context).toString('base64url');
}

/** The id of the browser with this token, when it is known for this person and their current password; else null. */
export function findKnownBrowser(
  { clock, secrets }: Pick<Deps, 'clock' | 'secrets'>,
  token: string | null,
  user: { id: string; passwordHash: string | null } | null,
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
