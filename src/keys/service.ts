import type { Actor } from '../audit/model.ts';
import type { Deps } from '../deps.ts';
import { AppError } from '../lib/app-error.ts';
import type { ApiKey, CreatedKey, NewKey, Verdict } from './model.ts';

export type KeyDeps = Pick<Deps, 'db' | 'clock' | 'ids' | 'log' | 'actor'>;

/**
 * Who keeps the keys: the embedded table, or Unkey. Both pass the same contract suite.
 * Every call throws `KeyServiceUnavailable` when the keeper cannot be reached or makes no sense.
 */
export interface KeyService {
  /** When a revoked or deleted key stops working, as a sentence for people. */
  readonly revocationDelay: string;
  /** The same keys, with changes recorded as this actor's. */
  as(actor: Actor): KeyService;
  /** What a key of 1 to 512 characters is worth for something that needs `permission`. Never cached. */
  verifyKey(key: string, permission: string): Promise<Verdict>;
  /** Throws `AppError` 404 when there is no such organization, 400 for a bad field. */
  createKey(input: NewKey): Promise<CreatedKey>;
  /** Every key of the organization, newest first. */
  listKeys(organizationId: string): Promise<ApiKey[]>;
  /** Keeps the key in the list. Revoking again is no error. Throws `AppError` 404. */
  revokeKey(keyId: string): Promise<ApiKey>;
  /** The key is gone from the list too. Throws `AppError` 404. */
  deleteKey(keyId: string): Promise<void>;
  /**
   * Writes when keys were last used, where that is due; `all`: every use. `giveUpMs`: how long to wait while another
   * process writes.
   */
  flush(options?: { all?: boolean; giveUpMs?: number }): Promise<void>;
}

/** An outage is a 503 and never a 401: the client's key may be perfectly good. */
export class KeyServiceUnavailable extends AppError {
  constructor(cause: unknown, headers: Record<string, string> = {}) {
    super(503, 'Authentication service unavailable', { cause, headers: { 'retry-after': '1', ...headers } });
  }
}

export function keyNotFound(keyId: string): AppError {
  return new AppError(404, `Key ${keyId} not found; "key list" shows those there are`);
}
