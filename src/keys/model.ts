import { type Static, Type } from '@sinclair/typebox';

/** What a key must be allowed to do for every read of the content API (section 5 of the spec). */
export const READ_PERMISSION = 'api.read';

/** No key is longer; a longer one is refused without asking anybody (Unkey takes 1 to 512 characters). */
export const MAX_KEY_LENGTH = 512;

/** What every key begins with, so that people and secret scanners know one when they see it. */
export const KEY_PREFIX = 'tdk';

/** How much randomness a key carries, in bytes. That much cannot be guessed, so a plain hash of it is enough. */
export const KEY_BYTES = 32;

export const NewKey = Type.Object({
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

/** A key as people see it. Its value is not among it: nothing can give it back. */
export interface ApiKey {
  id: string;
  name: string;
  organizationId: string;
  /** The first characters of the value, to tell keys apart. */
  prefix: string;
  permissions: string[];
  createdAt: string;
  lastUsedAt: string | null;
  expiresAt: string | null;
  status: 'active' | 'expired' | 'revoked';
}

/** The answer to making a key, and the one time that its value is told. */
export interface CreatedKey {
  id: string;
  key: string;
  name: string;
  organizationId: string;
  permissions: string[];
  expiresAt: string | null;
  /** Why the API would refuse the key, and what to do. Not part of what `key create --json` prints. */
  warning?: string;
}

/** What became of a presented key. `limited` carries the limit's code, and the headers that describe it. */
export type Verdict =
  | { outcome: 'valid'; keyId: string; organizationId: string | null }
  | { outcome: 'invalid' }
  | { outcome: 'forbidden' }
  | { outcome: 'limited'; code: string; headers: Record<string, string> };
