import { Unkey } from '@unkey/api';
import { HTTPClient } from '@unkey/api/lib/http.js';
import type {
  BadRequestErrorDetails,
  KeyResponseData,
  V2KeysVerifyKeyResponseData,
} from '@unkey/api/models/components';
import { UnkeyError } from '@unkey/api/models/errors';
import { requireStillAllowed, toSettle } from '../../../db/checked.ts';
import { NONE } from '../../../db/engine.ts';
import { AccessEnded, AppError, notFound } from '../../lib/app-error.ts';
import { BoundedMap } from '../../lib/bounded-map.ts';
import { maxRequests } from '../../lib/build.ts';
import { fetchWithoutRedirects } from '../../lib/public-fetch.ts';
import { requireFuture } from '../../lib/time.ts';
import { getOrganization, isDeleted } from '../organization-store.ts';
import { requireNewKey } from './new-key.ts';
import {
  type ApiKey,
  KEY_BYTES,
  KEY_PREFIX,
  type KeyChange,
  type KeyDeps,
  type KeyService,
  KeyServiceUnavailable,
  type KeyWarning,
  recordKey,
  type UnkeyConfig,
  type Verdict,
} from './store.ts';

/** Calls at a time. The other half of what Bun allows is for hooks, polling and the dashboard. */
export const MAX_CALLS = Math.ceil(maxRequests / 2);

/** Of these, calls for keys that were valid before, and for others: each leaves a quarter to the other. */
export const MAX_OF_KIND = Math.ceil((MAX_CALLS * 3) / 4);

export const MAX_WAITING = 10 * MAX_CALLS;

const MAX_KNOWN = 10_000;

type Verify = (key: string, permission: string) => Promise<Verdict>;

interface Lane {
  calls: number;
  readonly waiting: (() => void)[];
}

/** Shares one call among requests with the same key. A key that was valid before goes before keys that nobody knows. */
export function shareVerifications(verify: Verify): Verify {
  const underWay = new Map<string, Promise<Verdict>>();
  const known = new BoundedMap<number | bigint, true>(MAX_KNOWN);
  const valid: Lane = { calls: 0, waiting: [] };
  const unknown: Lane = { calls: 0, waiting: [] };

  function startNext(): void {
    for (const lane of [valid, unknown]) {
      while (lane.calls < MAX_OF_KIND && valid.calls + unknown.calls < MAX_CALLS) {
        const next = lane.waiting.shift();
        if (next === undefined) break;
        lane.calls++;
        next();
      }
    }
  }

  async function verifyInTurn(key: string, permission: string, name: string): Promise<Verdict> {
    // A hash, so that no key stays in memory. It decides nothing but the order.
    const hash = Bun.hash(name);
    const lane = known.get(hash) === undefined ? unknown : valid;
    if (lane.waiting.length >= MAX_WAITING) throw new Error('too many verifications wait for Unkey');
    await new Promise<void>((resolve) => {
      lane.waiting.push(resolve);
      startNext();
    });
    try {
      const verdict = await verify(key, permission);
      if (verdict.outcome === 'valid') known.set(hash, true);
      else known.delete(hash);
      return verdict;
    } finally {
      lane.calls--;
      startNext();
    }
  }

  return (key, permission) => {
    const name = `${permission} ${key}`;
    const shared = underWay.get(name);
    if (shared !== undefined) return shared;
    const own = verifyInTurn(key, permission, name).finally(() => underWay.delete(name));
    underWay.set(name, own);
    return own;
  };
}

const MANAGEMENT_TIMEOUT_MS = 2_000;

/** A use this soon after the creation is the check of the new key, which Unkey records as its first use. */
const FIRST_CHECK_MS = 2 * MANAGEMENT_TIMEOUT_MS;

/** Unkey's own bound on a page of keys. */
const PAGE_SIZE = 100;

/** By default the SDK waits forever, retries for ten seconds, and follows redirects with the API key in the body. */
export function openUnkey({ rootKey, timeoutMs, baseUrl }: Omit<UnkeyConfig, 'apiId'>): Unkey {
  return new Unkey({
    rootKey,
    timeoutMs,
    retryConfig: { strategy: 'none' },
    httpClient: new HTTPClient({ fetcher: fetchWithoutRedirects }),
    ...(baseUrl !== undefined && { serverURL: baseUrl }),
  });
}

export function unkeyKeys(
  deps: KeyDeps,
  config: UnkeyConfig,
  unkey = openUnkey(config),
  verify = shareVerifications(async (key, permissions) =>
    verdictOf((await unkey.keys.verifyKey({ key, permissions })).data, deps.clock.now()),
  ),
): KeyService {
  const management = { timeoutMs: MANAGEMENT_TIMEOUT_MS };

  function requireApiId(): string {
    if (config.apiId !== undefined) return config.apiId;
    throw new AppError(400, 'UNKEY_API_ID must be set to create or list keys: the ID of their Unkey API');
  }

  /** A root key without verify_key creates keys that Unkey never verifies. Null: the key works. */
  async function checkNewKey(key: string): Promise<KeyWarning | null> {
    try {
      const { code } = (await unkey.keys.verifyKey({ key }, management)).data;
      if (code === 'VALID' || code === 'RATE_LIMITED') return null;
      const [verifyKey = null] = code === 'NOT_FOUND' ? rootKeyPermissions(config.apiId) : [];
      return { reason: 'refused', code, permission: verifyKey };
    } catch {
      return { reason: 'not_verified' };
    }
  }

  /** Records a change at Unkey. Undoes it, and throws `AccessEnded`, when its person may no longer make it. */
  async function recordOrUndo(undo: () => Promise<unknown>, ...change: KeyChange): Promise<void> {
    try {
      await recordChange(deps, ...change);
    } catch (error) {
      await undo().catch((err: unknown) => {
        const [action, { id, organizationId }] = change;
        deps.log.error(
          { err, action, id, organizationId },
          'a refused change of a key is not undone at Unkey',
        );
      });
      throw error;
    }
  }

  return {
    as: (caller) => unkeyKeys({ ...deps, ...caller }, config, unkey, verify),
    // How long Unkey caches a key.
    revocationDelayS: 10,

    async verifyKey(key, permissions) {
      let verdict: Verdict;
      try {
        verdict = await verify(key, permissions);
      } catch (error) {
        throw new KeyServiceUnavailable(error, limitOf(error, deps.clock.now()));
      }
      if (verdict.outcome !== 'valid' || verdict.organizationId === null) return verdict;
      const { organizationId } = verdict;
      const isRefused = await deps.db.read((tx) => isDeleted(tx, organizationId), { single: true });
      return isRefused ? { outcome: 'invalid' } : verdict;
    },

    isStillValid: async () => true,

    async createKey(input) {
      const { organizationId, name, permissions } = requireNewKey(input);
      await deps.db.read((tx) => getOrganization(tx, organizationId));
      const expiresAt = requireFuture(input.expiresAt, deps.clock.now());
      const request = {
        apiId: requireApiId(),
        prefix: KEY_PREFIX,
        byteLength: KEY_BYTES,
        name,
        externalId: organizationId,
        permissions,
        recoverable: false,
        ...(expiresAt !== null && { expires: Date.parse(expiresAt) }),
      };
      await requireStillAllowed(deps.db);
      const { data } = await managed(unkey.keys.createKey(request, management));
      const { keyId: id, key } = data;
      const warning = await checkNewKey(key);
      await recordOrUndo(() => unkey.keys.deleteKey({ keyId: id }, management), 'key.created', {
        id,
        organizationId,
        name,
      });
      return { id, key, name, organizationId, permissions, expiresAt, ...(warning && { warning }) };
    },

    async listKeys(organizationId) {
      const request = { apiId: requireApiId(), externalId: organizationId, limit: PAGE_SIZE };
      const listing = unkey.apis.listKeys(request, management);
      const pages = await managed(listing.then((all) => Array.fromAsync(all)));
      const now = deps.clock.now();
      const keys = pages.flatMap(({ result }) => result.data.map((key) => toApiKey(key, now)));
      return keys.sort((a, b) => b.createdAt.localeCompare(a.createdAt));
    },

    async revokeKey(keyId) {
      // Read first: a read that fails after the change would report the change as failed.
      const { data } = await managed(unkey.keys.getKey({ keyId }, management), keyId);
      await requireStillAllowed(deps.db);
      await managed(unkey.keys.updateKey({ keyId, enabled: false }, management), keyId);
      const revoked = toApiKey({ ...data, enabled: false }, deps.clock.now());
      const { enabled } = data;
      await recordOrUndo(() => unkey.keys.updateKey({ keyId, enabled }, management), 'key.revoked', revoked);
      return revoked;
    },

    async deleteKey(keyId) {
      const { data } = await managed(unkey.keys.getKey({ keyId }, management), keyId);
      await requireStillAllowed(deps.db);
      await managed(unkey.keys.deleteKey({ keyId }, management), keyId);
      // It is gone for good, so nothing can be undone.
      await recordChange(toSettle(deps), 'key.deleted', toApiKey(data, deps.clock.now()));
    },

    async flush() {
      // Unkey records each use itself.
    },
  };
}

/** The permissions that the root key needs. One with `api.*.verify_key` lets keys of other APIs pass. */
export function rootKeyPermissions(apiId = 'UNKEY_API_ID'): string[] {
  const actions = ['verify_key', 'create_key', 'read_key', 'update_key', 'delete_key', 'read_api'];
  return actions.map((action) => `api.${apiId}.${action}`);
}

/** After Unkey's change, in no transaction with it: a failing write goes to the log. Throws `AccessEnded` alone. */
async function recordChange(deps: KeyDeps, ...change: KeyChange): Promise<void> {
  try {
    await deps.db.write((tx) => recordKey(tx, deps, ...change), NONE);
  } catch (error) {
    if (error instanceof AccessEnded) throw error;
    const [action, { id, organizationId }] = change;
    deps.log.error({ err: error, action, id, organizationId }, 'a change to a key is not in the audit log');
  }
}

/** Maps Unkey's codes. An unknown code refuses the key. */
export function verdictOf(data: V2KeysVerifyKeyResponseData, now: Date): Verdict {
  switch (data.code) {
    case 'VALID':
      if (!data.valid || data.keyId === undefined) throw new Error('Unkey answers VALID for an invalid key');
      return {
        outcome: 'valid',
        keyId: data.keyId,
        name: data.name ?? '',
        organizationId: data.identity?.externalId ?? null,
      };
    case 'INSUFFICIENT_PERMISSIONS':
    case 'FORBIDDEN':
      return { outcome: 'forbidden' };
    case 'RATE_LIMITED':
    case 'USAGE_EXCEEDED':
      return { outcome: 'limited', code: data.code, headers: limitHeaders(exceededLimit(data, now), now) };
    default:
      return { outcome: 'invalid' };
  }
}

interface Limit {
  limit?: number | undefined;
  remaining?: number | undefined;
  resetsInMs?: number | undefined;
  retryAfterS?: number | undefined;
}

/** The exceeded limit that resets last, or the credits when they are used up. */
function exceededLimit({ code, ratelimits = [], credits }: V2KeysVerifyKeyResponseData, now: Date): Limit {
  if (code === 'USAGE_EXCEEDED') return { remaining: credits };
  const [last] = ratelimits.filter((each) => each.exceeded).sort((a, b) => b.reset - a.reset);
  if (last === undefined) return {};
  // Unkey documents a duration and sends a timestamp, both in milliseconds.
  const resetsInMs = last.reset < Date.UTC(2000) ? last.reset : last.reset - now.getTime();
  return { limit: last.limit, remaining: last.remaining, resetsInMs };
}

/** The headers for a 429 of Unkey itself, which limits the whole workspace. */
function limitOf(error: unknown, now: Date): Record<string, string> {
  if (!(error instanceof UnkeyError) || error.statusCode !== 429) return {};
  const read = (name: string) => {
    const value = error.headers.get(name) ?? '';
    return /^\d{1,9}$/.test(value) ? Number(value) : undefined;
  };
  const [limit, remaining, resetS] = ['limit', 'remaining', 'reset'].map((name) => read(`ratelimit-${name}`));
  const resetsInMs = resetS && resetS * 1000;
  return limitHeaders({ limit, remaining, resetsInMs, retryAfterS: read('retry-after') }, now);
}

/** Section 8 of the spec. Tidings has no limits of its own and forwards Unkey's. */
function limitHeaders({ limit, remaining, resetsInMs, retryAfterS }: Limit, now: Date) {
  const waitS = retryAfterS ?? (resetsInMs && Math.ceil(resetsInMs / 1000));
  const headers = {
    'retry-after': waitS === undefined ? undefined : Math.max(1, waitS),
    'x-ratelimit-limit': limit,
    'x-ratelimit-remaining': remaining === undefined ? undefined : Math.max(0, remaining),
    'x-ratelimit-reset':
      resetsInMs === undefined ? undefined : Math.ceil((now.getTime() + resetsInMs) / 1000),
  };
  const known = Object.entries(headers).filter(([, value]) => value !== undefined);
  return Object.fromEntries(known.map(([name, value]) => [name, String(value)]));
}

/** Turns errors that a person can fix, such as a refused root key or an unknown id, into `AppError` 4xx or 502. */
async function managed<Result>(call: Promise<Result>, keyId?: string): Promise<Result> {
  try {
    return await call;
  } catch (error) {
    // The SDK also throws an `UnkeyError` for a 200 that makes no sense.
    if (!(error instanceof UnkeyError) || error.statusCode < 400 || error.statusCode >= 500) {
      throw new KeyServiceUnavailable(error);
    }
    // An id that no key could have is a 400 at Unkey.
    if (keyId !== undefined && [400, 404].includes(error.statusCode)) throw notFound('key', keyId);
    // Unkey hides APIs from root keys that lack a permission on them.
    const hint =
      error.statusCode === 404 ? ' Unkey also answers 404 when the root key lacks a permission.' : '';
    throw new AppError(502, `Unkey refused the request (${error.statusCode})${reasonOf(error)}${hint}`, {
      code: 'unkey_refused',
      details: { status: error.statusCode },
      cause: error,
    });
  }
}

/** Unkey's own message, with the invalid fields of a 400. The page of a proxy is left out. */
function reasonOf({ body }: UnkeyError): string {
  try {
    const { detail, errors = [] }: BadRequestErrorDetails = JSON.parse(body).error;
    if (typeof detail !== 'string') throw new TypeError('not in the form of Unkey');
    return [`: ${detail}`, ...errors.map(({ location, message }) => `${location} ${message}`)].join('; ');
  } catch {
    return ' without saying why';
  }
}

function toApiKey(key: KeyResponseData, now: Date): ApiKey {
  const { expires, lastUsedAt = 0 } = key;
  const isUsed = lastUsedAt > key.createdAt + FIRST_CHECK_MS;
  return {
    id: key.keyId,
    name: key.name ?? '',
    organizationId: key.identity?.externalId ?? '',
    prefix: key.start,
    permissions: key.permissions ?? [],
    createdAt: new Date(key.createdAt).toISOString(),
    lastUsedAt: isUsed ? new Date(lastUsedAt).toISOString() : null,
    expiresAt: expires === undefined ? null : new Date(expires).toISOString(),
    status: !key.enabled
      ? 'revoked'
      : expires !== undefined && expires <= now.getTime()
        ? 'expired'
        : 'active',
  };
}
