import type { ReadTx } from '../../db/engine.ts';
import type { AuditDeps } from '../audit/store.ts';
import { AppError } from '../lib/app-error.ts';
import type { Ids } from '../lib/text.ts';
import { DAY_MS } from '../lib/time.ts';
import type { ApiKey, CreatedKey, NewKey, Verdict } from './model.ts';

export type KeyDeps = AuditDeps & { readonly ids: Ids };

/**
 * Keeps the keys: in our own table, or at Unkey. Both pass the same contract suite.
 * Every call throws `KeyServiceUnavailable` when Unkey cannot be reached or its response makes no sense.
 */
export interface KeyService {
  /** How long a revoked or deleted key can still work; in rare cases longer, unless it is 0. */
  readonly revocationDelayS: number;
  /** The same keys, with changes recorded as this actor's, and written through this storage. */
  as(caller: Partial<Pick<KeyDeps, 'actor' | 'db'>>): KeyService;
  /** Checks a key of 1 to 512 characters for `permission`. Keeps no verdict; equal checks at the same time can share one. */
  verifyKey(key: string, permission: string): Promise<Verdict>;
  /**
   * Whether a key that `verifyKey` has accepted still holds. `isKept`: in `write`, where it does until the commit. Unkey's keys
   * are in no transaction of ours: there, what `verifyKey` said last counts.
   */
  isStillValid(tx: ReadTx, keyId: string, permission: string, isKept: boolean): Promise<boolean>;
  /** Throws `AppError` 404 for an unknown organization and 400 for an invalid field. */
  createKey(input: NewKey): Promise<CreatedKey>;
  /** Every key of the organization, newest first. */
  listKeys(organizationId: string): Promise<ApiKey[]>;
  /** Keeps the key in the list. Revoking again is no error. Throws `AppError` 404. */
  revokeKey(keyId: string): Promise<ApiKey>;
  /** Removes the key from the list too. Throws `AppError` 404. */
  deleteKey(keyId: string): Promise<void>;
  /** Stores the times of last use that are due, or `all`. `giveUpMs` bounds the wait for another process's write. */
  flush(options?: { all?: boolean; giveUpMs?: number }): Promise<void>;
}

/** An outage is a 503 and never a 401: the client's key may be valid. */
export class KeyServiceUnavailable extends AppError {
  constructor(cause: unknown, headers: Record<string, string> = {}) {
    super(503, 'Authentication service unavailable', { cause, headers: { 'retry-after': '1', ...headers } });
  }
}

/** A key without a call for so long counts as unused. */
const QUIET_DAYS = 30;

/** Throws `AppError` 404 when the organization has no key of this id. */
export async function getOwnKey(
  { keys }: { keys: KeyService },
  organizationId: string,
  keyId: string,
): Promise<ApiKey> {
  const key = (await keys.listKeys(organizationId)).find(({ id }) => id === keyId);
  if (key?.organizationId !== organizationId) {
    throw new AppError(404, 'API key not found. It may have been deleted.', { code: 'key_not_found' });
  }
  return key;
}

/** Days since the last call or, before the first, since its creation; null for a key that is in use or not active. */
export function quietDays({ status, lastUsedAt, createdAt }: ApiKey, now: Date): number | null {
  const days = Math.floor((now.getTime() - Date.parse(lastUsedAt ?? createdAt)) / DAY_MS);
  return status === 'active' && days >= QUIET_DAYS ? days : null;
}
