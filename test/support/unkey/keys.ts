import { base58 } from '@scure/base';
import type { Clock } from '../../../src/lib/clock.ts';
import { derivedId } from '../../../src/lib/ids.ts';
import type { Body, Operation } from './bodies.ts';
import { refusals } from './refusal.ts';

interface StoredKey {
  keyId: string;
  /** The value. Unkey keeps its hash only. */
  key: string;
  start: string;
  enabled: boolean;
  name: string | undefined;
  permissions: string[];
  externalId: string | undefined;
  expires: number | undefined;
  createdAt: number;
  lastUsedAt: number | undefined;
}

/** What `keys.verifyKey` answers, as far as Tidings could care. */
export interface Verification {
  valid: boolean;
  code: string;
  keyId?: string | undefined;
  name?: string | undefined;
  enabled?: boolean | undefined;
  expires?: number | undefined;
  permissions?: string[] | undefined;
  identity?: { id: string; externalId: string } | undefined;
}

/** The `data` of an answer, and for a list what else stands beside it. */
export interface Answer {
  data: object;
  pagination?: { hasMore: boolean; cursor?: string };
}

type Operations = { [Name in Operation]: (body: Body<Name>) => Answer };

/** Unkey's operations on the keys of one API, in memory. They throw `UnkeyRefusal`. */
export function keyOperations(apiId: string, clock: Clock): Operations {
  const keys = new Map<string, StoredKey>();
  let count = 0;

  function requireApi(id: string): void {
    if (id !== apiId) throw refusals.unknownApi();
  }

  function requireKey(keyId: string): StoredKey {
    const key = keys.get(keyId);
    if (key === undefined) throw refusals.unknownKey();
    return key;
  }

  return {
    'keys.verifyKey'({ key: value, permissions }) {
      const key = [...keys.values()].find((candidate) => candidate.key === value);
      if (key === undefined) return { data: { valid: false, code: 'NOT_FOUND' } };
      const now = clock.now().getTime();
      key.lastUsedAt = now;
      return { data: verification(key, codeOf(key, permissions, now)) };
    },

    'keys.createKey'({ prefix, name, externalId, permissions = [], expires, enabled = true, ...rest }) {
      requireApi(rest.apiId);
      const random = base58.encode(crypto.getRandomValues(new Uint8Array(rest.byteLength ?? 16)));
      const head = prefix === undefined ? '' : `${prefix}_`;
      const createdAt = clock.now().getTime();
      // Like Unkey's own, the ids say nothing of the order in which keys were made.
      const keyId = derivedId('key', `${++count}`);
      const key = head + random;
      const start = head + random.slice(0, 4);
      const about = { name, externalId, permissions, expires, enabled };
      keys.set(keyId, { keyId, key, start, createdAt, lastUsedAt: undefined, ...about });
      return { data: { keyId, key } };
    },

    'keys.whoami'({ key: value }) {
      const key = [...keys.values()].find((candidate) => candidate.key === value);
      if (key === undefined) throw refusals.unknownKey();
      return { data: shown(key) };
    },

    'keys.getKey': ({ keyId }) => ({ data: shown(requireKey(keyId)) }),

    'keys.updateKey'({ keyId, ...changes }) {
      Object.assign(requireKey(keyId), changes);
      return { data: {} };
    },

    'keys.deleteKey'({ keyId }) {
      keys.delete(requireKey(keyId).keyId);
      return { data: {} };
    },

    'apis.listKeys'({ apiId: id, externalId, limit = 100, cursor = '' }) {
      requireApi(id);
      const found = [...keys.values()]
        .filter((key) => externalId === undefined || key.externalId === externalId)
        .sort((a, b) => (a.keyId < b.keyId ? -1 : 1))
        .filter((key) => key.keyId >= cursor);
      const data = found.slice(0, limit).map(shown);
      // The cursor is the first id of the next page.
      const next = found[limit];
      return {
        data,
        pagination: next === undefined ? { hasMore: false } : { hasMore: true, cursor: next.keyId },
      };
    },
  };
}

/** In Unkey's order: the first that holds. */
function codeOf(key: StoredKey, permission: string | undefined, now: number): string {
  if (!key.enabled) return 'DISABLED';
  if (key.expires !== undefined && now > key.expires) return 'EXPIRED';
  if (permission !== undefined && !key.permissions.includes(permission)) return 'INSUFFICIENT_PERMISSIONS';
  return 'VALID';
}

// Unkey leaves out what is empty, and so does JSON what is undefined.

function verification(key: StoredKey, code: string): Verification {
  const { keyId, name, enabled, expires } = key;
  return {
    valid: code === 'VALID',
    code,
    keyId,
    name,
    enabled,
    expires,
    permissions: unlessEmpty(key.permissions),
    identity: identityOf(key),
  };
}

function shown(key: StoredKey) {
  const { keyId, start, enabled, name, createdAt, lastUsedAt, expires } = key;
  return {
    keyId,
    start,
    enabled,
    name,
    createdAt,
    lastUsedAt,
    expires,
    permissions: unlessEmpty(key.permissions),
    identity: identityOf(key),
  };
}

function identityOf({ externalId }: StoredKey) {
  return externalId === undefined ? undefined : { id: derivedId('id', externalId), externalId };
}

function unlessEmpty(list: string[]): string[] | undefined {
  return list.length === 0 ? undefined : list;
}
