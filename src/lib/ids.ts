import { base58 } from '@scure/base';

/** What every id in a path or a record looks like. */
export const ID_PATTERN = '^[A-Za-z0-9_-]{1,64}$';

/** The same, for people. */
export const ID_RULE = 'must be 1 to 64 letters, digits, "_" and "-"';

const idPattern = new RegExp(ID_PATTERN);

export function isId(value: unknown): value is string {
  return typeof value === 'string' && idPattern.test(value);
}

/** Where new ids come from: `org_…`, `post_…`, `key_…`. */
export interface Ids {
  newId(prefix: string): string;
  /** A UUID, as providers name their deliveries. */
  newUuid(): string;
}

/** Ids from UUIDv7, in base58: unique without a coordinator, and new ones sort near each other. */
export const randomIds: Ids = {
  newId: (prefix) => `${prefix}_${base58.encode(Bun.randomUUIDv7('buffer'))}`,
  newUuid: () => crypto.randomUUID(),
};

/** The same id for the same words, always: what makes an import repeatable. */
export function derivedId(prefix: string, ...words: string[]): string {
  const digest = Bun.SHA256.hash(words.join('\0')) as Uint8Array;
  return `${prefix}_${base58.encode(digest.subarray(0, 16))}`;
}

/** A secret that nobody can guess: so many random bytes, in base58. */
export function randomToken(bytes: number): string {
  return base58.encode(crypto.getRandomValues(new Uint8Array(bytes)));
}
