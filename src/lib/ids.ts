import { base58 } from '@scure/base';

/** The form of every id in a path or a record. */
export const ID_PATTERN = '^[A-Za-z0-9_-]{1,64}$';

/** The rest of a sentence about an id. */
export const ID_RULE = 'must be 1 to 64 letters, digits, "_" and "-"';

const idPattern = new RegExp(ID_PATTERN);

export function isId(value: unknown): value is string {
  return typeof value === 'string' && idPattern.test(value);
}

/** Makes new ids, such as `org_…`, `post_…`, `key_…`. */
export interface Ids {
  newId(prefix: string): string;
  /** The form of providers' delivery ids. */
  newUuid(): string;
}

/** Ids from UUIDv7, in base58: unique without a coordinator, and new ones sort near each other. */
export const randomIds: Ids = {
  newId: (prefix) => `${prefix}_${base58.encode(Bun.randomUUIDv7('buffer'))}`,
  newUuid: () => crypto.randomUUID(),
};

/** The same id for the same words, so that imports are repeatable. */
export function derivedId(prefix: string, ...words: string[]): string {
  const digest = Bun.SHA256.hash(words.join('\0')) as Uint8Array;
  return `${prefix}_${base58.encode(digest.subarray(0, 16))}`;
}

/** Random bytes in base58. */
export function randomToken(bytes: number): string {
  return base58.encode(crypto.getRandomValues(new Uint8Array(bytes)));
}
