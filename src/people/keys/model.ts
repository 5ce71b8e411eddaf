import { type Static, Type } from '@sinclair/typebox';
import { requireValid } from '../../lib/app-error.ts';
import { tidings } from '../../lib/build.ts';
import type { KeyRow, KeyService } from './store.ts';

/** The permission that every read of the content API needs (section 5 of the spec). */
export const READ_PERMISSION = 'api.read';

/** The permission to propose changes of posts, which a person then accepts or dismisses. */
export const SUGGEST_PERMISSION = 'posts.suggest';

/** A longer key is refused without a lookup (Unkey takes 1 to 512 characters). */
export const MAX_KEY_LENGTH = 512;

/** The prefix by which people and secret scanners recognize a key. */
export const KEY_PREFIX = 'tdk';

/** Random bytes in a key: too many to guess, so a plain hash of the key is enough. */
export const KEY_BYTES = 32;

/** A key without its value. `prefix` is the start of the value, to tell keys apart. */
export interface ApiKey extends Omit<KeyRow, 'hash' | 'revokedAt'> {
  status: 'active' | 'expired' | 'revoked';
}

/** A new key with its value. `warning` is set when the API may refuse it. */
export type CreatedKey = NewKey & { id: string; key: string; warning?: KeyWarning };

/** `refused`: Unkey answered `code` for the new key; `permission` is missing from the root key. */
export type KeyWarning =
  | { reason: 'refused'; code: string; permission: string | null }
  | { reason: 'not_verified' };

export interface UnkeyConfig {
  rootKey: string;
  apiId?: string | undefined;
  baseUrl?: string | undefined;
  timeoutMs: number;
}

/** The key of a request. */
export interface KeyHolder {
  keyId: string;
  name: string;
  /** Null: the key is bound to none. */
  organizationId: string | null;
}

/**
 * Gives the same verdict once more, for a database of the same `version`, and records the use. False: the key has
 * expired meanwhile.
 */
export type RepeatVerdict = () => boolean;

/**
 * The result of checking a key. Without `repeat` it holds for one request alone. `limited` carries the limit's code, and
 * the headers that describe it.
 */
export type Verdict =
  | ({ outcome: 'valid'; repeat?: RepeatVerdict } & KeyHolder)
  | { outcome: 'invalid' }
  | { outcome: 'forbidden' }
  | { outcome: 'limited'; code: string; headers: Record<string, string> };

const NewKey = Type.Object({
  organizationId: Type.String(),
  name: Type.String({ minLength: 1, maxLength: 100, pattern: '\\S' }),
  permissions: Type.Array(
    Type.String({
      pattern: '^[A-Za-z0-9_.:-]{1,100}$',
      errorMessage: 'must be 1 to 100 letters, digits and _.:-, such as api.read',
    }),
    { maxItems: 50, uniqueItems: true },
  ),
  expiresAt: Type.Union([Type.String(), Type.Null()], { description: 'ISO 8601, UTC; null: never.' }),
});
export type NewKey = Static<typeof NewKey>;

/** Throws `AppError` 400. */
export const requireNewKey = (input: unknown): NewKey => requireValid(NewKey, input);

export function describeKeyWarning(warning: KeyWarning): string {
  const check = `${tidings} doctor --key KEY`;
  if (warning.reason === 'not_verified') return `Unkey did not verify the new key. Check it: ${check}`;
  const { code, permission } = warning;
  const grant = permission === null ? '' : `. Give the root key ${permission}`;
  return `Unkey answers ${code} for the new key, so the API refuses it${grant}. Then check it: ${check}`;
}

/** How soon a revoked or deleted key stops working. */
export function describeRevocation({ revocationDelayS }: Pick<KeyService, 'revocationDelayS'>): string {
  return revocationDelayS === 0
    ? 'A revoked or deleted key stops working at once.'
    : `Unkey caches keys: a revoked or deleted key can work for ${revocationDelayS} more seconds, in rare cases for 10 minutes.`;
}
