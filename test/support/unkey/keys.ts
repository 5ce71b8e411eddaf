import { base58 } from '@scure/base';
import { derivedId } from '../../../src/lib/text.ts';
import type { Clock } from '../../../src/lib/time.ts';
import type { Body, Operation } from './bodies.ts';
import { refusals } from './refusal.ts';

interface StoredKey {
  apiId: string;
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

/** The response of `keys.verifyKey`, as far as Tidings reads it. */
export interface Verification {
  valid: boolean;
  code: string;
  keyId?: string | undefined;
  name?: string | undefined;
  enabled?: boolean | undefined;
  expires?: number | undefined;
  permissions?: string[] | undefined;
  identity?: { id: string; externalId: string } | undefined;
  credits?: number | undefined;
  ratelimits?: RateLimit[] | undefined;
}

interface RateLimit {
  exceeded: boolean;
  id: string;
  name: string;
  limit: number;
  duration: number;
  /** Milliseconds since 1970 on the real server. Its documentation calls it a duration. */
  reset: number;
  remaining: number;
  autoApply: boolean;
}

/** The `data` of an answer, and for a list what else stands beside it. */
export interface Answer {
  data: object;
  pagination?: { hasMore: boolean; cursor?: string };
}

type Operations = { [Name in Operation]: (body: Body<Name>) => Answer };

/** The permissions on an API that operations ask for. */
export type Action = 'verify_key' | 'create_key' | 'read_key' | 'update_key' | 'delete_key' | 'read_api';

/** How long another node answers from its cache, and how long it answers from it once more before it refreshes. */
const FRESH_MS = 10_000;
const STALE_MS = 600_000;

interface Workspace {
  apiIds: readonly string[];
  clock: Clock;
  /** True if the root key has the permission. */
  may(action: Action, apiId: string): boolean;
  /** True if another node than that of the changes handles verifications. */
  isOtherNode(): boolean;
}

/** Unkey's operations on the keys of one workspace, in memory. They throw `UnkeyRefusal`. */
export function keyOperations({ apiIds, clock, may, isOtherNode }: Workspace): Operations {
  const keys = new Map<string, StoredKey>();
  const cache = new Map<string, { key: StoredKey | undefined; at: number }>();
  let count = 0;

  /** Unkey hides an API from a root key that lacks the permissions. */
  function requireVisibleApi(apiId: string, ...actions: Action[]): void {
    if (!apiIds.includes(apiId) || !actions.every((action) => may(action, apiId)))
      throw refusals.unknownApi();
  }

  function requirePermission(action: Action, apiId: string): void {
    if (!may(action, apiId)) throw refusals.noPermission(action, apiId);
  }

  function requireKey(keyId: string): StoredKey {
    const key = keys.get(keyId);
    if (key === undefined) throw refusals.unknownKey();
    return key;
  }

  function findKey(value: string): StoredKey | undefined {
    return [...keys.values()].find((candidate) => candidate.key === value);
  }

  function findCachedKey(value: string, now: number): StoredKey | undefined {
    const current = findKey(value);
    const cached = cache.get(value);
    const age = cached === undefined ? STALE_MS : now - cached.at;
    if (age >= FRESH_MS) cache.set(value, { key: current && { ...current }, at: now });
    return age < STALE_MS ? cached?.key : current;
  }

  return {
    'keys.verifyKey'({ key: value, permissions }) {
      const now = clock.now().getTime();
      const key = isOtherNode() ? findCachedKey(value, now) : findKey(value);
      if (key === undefined || !may('verify_key', key.apiId)) {
        return { data: { valid: false, code: 'NOT_FOUND' } };
      }
      const stored = keys.get(key.keyId);
      if (stored !== undefined) stored.lastUsedAt = now;
      return { data: verification(key, codeOf(key, permissions, now)) };
    },

    'keys.createKey'({
      apiId,
      prefix,
      name,
      externalId,
      permissions = [],
      expires,
      enabled = true,
      ...rest
    }) {
      requireVisibleApi(apiId, 'create_key');
      const random = base58.encode(crypto.getRandomValues(new Uint8Array(rest.byteLength ?? 16)));
      const head = prefix === undefined ? '' : `${prefix}_`;
      const createdAt = clock.now().getTime();
      // Like Unkey's own, the ids say nothing of the order in which keys were made.
      const keyId = derivedId('key', `${++count}`);
      const key = head + random;
      const start = head + random.slice(0, 4);
      const about = { name, externalId, permissions, expires, enabled };
      keys.set(keyId, { apiId, keyId, key, start, createdAt, lastUsedAt: undefined, ...about });
      return { data: { keyId, key } };
    },

    'keys.whoami'({ key: value }) {
      const key = findKey(value);
      if (key === undefined || !may('read_key', key.apiId)) throw refusals.unknownKey();
      return { data: shown(key) };
    },

    'keys.getKey'({ keyId }) {
      const key = requireKey(keyId);
      requirePermission('read_key', key.apiId);
      return { data: shown(key) };
    },

    'keys.updateKey'({ keyId, ...changes }) {
      const key = requireKey(keyId);
      requirePermission('update_key', key.apiId);
      Object.assign(key, changes);
      return { data: {} };
    },

    'keys.deleteKey'({ keyId }) {
      requirePermission('delete_key', requireKey(keyId).apiId);
      keys.delete(keyId);
      return { data: {} };
    },

    'apis.getApi'({ apiId }) {
      // The only operation that looks at the permission before it looks for the API.
      requirePermission('read_api', apiId);
      requireVisibleApi(apiId);
      return { data: { id: apiId, name: apiId } };
    },

    'apis.listKeys'({ apiId, externalId, limit = 100, cursor = '' }) {
      requireVisibleApi(apiId, 'read_key', 'read_api');
      const found = [...keys.values()]
        .filter((key) => key.apiId === apiId && (externalId === undefined || key.externalId === externalId))
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
