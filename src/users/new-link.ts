import { ACCOUNTS, changing } from '../../db/order.ts';
import type { Deps } from '../deps.ts';
import { DAY_MS } from '../lib/time.ts';
import { newSecret } from './secret.ts';
import * as store from './store.ts';

/** How long links work, in milliseconds. */
const LINK_MS = { setup: DAY_MS, invitation: 7 * DAY_MS, password: DAY_MS } as const;

/** A link to store, and its token. `link`: the fields that the purpose needs. */
export function newLink(
  { clock }: Pick<Deps, 'clock'>,
  purpose: store.OneTimeLink['purpose'],
  link: Partial<store.OneTimeLink> = {},
) {
  const { token, hash } = newSecret();
  const now = clock.now();
  const life = { createdAt: now.toISOString(), expiresAt: now.getTime() + LINK_MS[purpose] };
  return { token, row: { userId: null, organizationId: null, role: null, ...link, purpose, hash, ...life } };
}

/**
 * The path of a new setup link; null once there is a user. Earlier setup links stop working, unless `keepsEarlier`:
 * processes that share a database each print one.
 */
export function createSetupLink(
  deps: Pick<Deps, 'db' | 'clock'>,
  { keepsEarlier = false } = {},
): Promise<string | null> {
  const { token, row } = newLink(deps, 'setup');
  return deps.db.write(async (tx) => {
    const isSetUp = await store.hasUsers(tx);
    if (isSetUp || !keepsEarlier) await store.deleteLinks(tx, 'setup');
    if (isSetUp) return null;
    await store.insertLink(tx, row);
    return `/setup?token=${token}`;
  }, changing(ACCOUNTS));
}
