import type { Actor } from '../audit/model.ts';
import type { AuditDeps } from '../audit/store.ts';
import { AppError } from '../lib/app-error.ts';
import type { Ids } from '../lib/ids.ts';
import type { Metrics } from '../lib/metrics.ts';
import { DAY_MS } from '../lib/time.ts';
import { type ApiKey, type CreatedKey, MAX_KEY_LENGTH, type NewKey, type Verdict } from './model.ts';

export type KeyDeps = AuditDeps & { readonly ids: Ids };

/**
 * Keeps the keys: in our own table, or at Unkey. Both pass the same contract suite.
 * Every call throws `KeyServiceUnavailable` when Unkey cannot be reached or its response makes no sense.
 */
export interface KeyService {
  /** How soon a revoked or deleted key stops working, as a sentence. */
  readonly revocationDelay: string;
  /** The same keys, with changes recorded as this actor's. */
  as(actor: Actor): KeyService;
  /** Checks a key of 1 to 512 characters for `permission`. Never cached. */
  verifyKey(key: string, permission: string): Promise<Verdict>;
  /** Throws `AppError` 404 for an unknown organization and 400 for an invalid field. */
  createKey(input: NewKey): Promise<CreatedKey>;
  /** Every key of the organization, newest first. */
  listKeys(organizationId: string): Promise<ApiKey[]>;
  /** Keeps the key in the list. Revoking again is no error. Throws `AppError` 404. */
  revokeKey(keyId: string): Promise<ApiKey>;
  /** Removes the key from the list too. Throws `AppError` 404. */
  deleteKey(keyId: string): Promise<void>;
  /**
   * Stores the times of last use that are due; `all`: every one. `giveUpMs`: how long to wait while another process
   * writes.
   */
  flush(options?: { all?: boolean; giveUpMs?: number }): Promise<void>;
}

/** An outage is a 503 and never a 401: the client's key may be valid. */
export class KeyServiceUnavailable extends AppError {
  constructor(cause: unknown, headers: Record<string, string> = {}) {
    super(503, 'Authentication service unavailable', { cause, headers: { 'retry-after': '1', ...headers } });
  }
}

/**
 * Requires a key of the organization with `permission`. Throws `AppError` 401, 403, 429 or 503, in the order of
 * section 7 of the spec.
 */
export async function requireApiKey(
  { keys, metrics }: { keys: KeyService; metrics: Pick<Metrics, 'verifications' | 'verificationDurations'> },
  headers: Headers,
  organizationId: string,
  permission: string,
): Promise<void> {
  const key = bearerToken(headers.get('authorization'));
  if (key === null) throw unauthorized('Missing API key');
  if (key.length > MAX_KEY_LENGTH) throw unauthorized('INVALID_KEY');

  const startedAt = performance.now();
  let verdict: Verdict | undefined;
  try {
    verdict = await keys.verifyKey(key, permission);
  } finally {
    metrics.verificationDurations.observe((performance.now() - startedAt) / 1000);
    metrics.verifications[verdict?.outcome ?? 'unavailable'].value++;
  }
  switch (verdict.outcome) {
    case 'invalid':
      throw unauthorized('INVALID_KEY');
    case 'limited':
      throw new AppError(429, verdict.code, { headers: verdict.headers });
    case 'forbidden':
      throw new AppError(403, 'Forbidden');
    case 'valid':
      if (verdict.organizationId !== organizationId) {
        throw new AppError(403, 'Forbidden: organization access denied');
      }
  }
}

/** The token of `Bearer <token>`; the scheme is case-insensitive. Null for anything else. */
export function bearerToken(authorization: string | null): string | null {
  return authorization?.match(/^bearer +(\S.*)$/i)?.[1] ?? null;
}

function unauthorized(message: string): AppError {
  return new AppError(401, message, { headers: { 'www-authenticate': 'Bearer' } });
}

/** A key without a call for this many days counts as unused. */
const QUIET_DAYS = 30;

/** Throws `AppError` 404 when the organization has no key of this id. */
export async function getOwnKey(
  { keys }: { keys: KeyService },
  organizationId: string,
  keyId: string,
): Promise<ApiKey> {
  const key = (await keys.listKeys(organizationId)).find(({ id }) => id === keyId);
  if (key?.organizationId !== organizationId) {
    throw new AppError(404, 'There is no such key. It may have been deleted.', { code: 'key_not_found' });
  }
  return key;
}

/** Days since the last call or, before the first, since its creation; null for a key that is in use or not active. */
export function quietDays(
  { status, lastUsedAt, createdAt }: Pick<ApiKey, 'status' | 'lastUsedAt' | 'createdAt'>,
  now: Date,
): number | null {
  const days = Math.floor((now.getTime() - Date.parse(lastUsedAt ?? createdAt)) / DAY_MS);
  return status === 'active' && days >= QUIET_DAYS ? days : null;
}
