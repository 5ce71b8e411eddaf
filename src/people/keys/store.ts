import { and, desc, eq, isNotNull, isNull, lt, lte, or, sql } from 'drizzle-orm';
import { changing, dialectOf, NONE, prepared, type ReadTx, type WriteTx } from '../../../db/engine.ts';
import { apiKeys } from '../../../db/schema/organizations.ts';
import { AppError, notFound } from '../../lib/app-error.ts';
import { tidings } from '../../lib/build.ts';
import { type Ids, randomToken } from '../../lib/text.ts';
import { DAY_MS, requireFuture } from '../../lib/time.ts';
import { type AuditAction, type AuditContext, type AuditDeps, quote, recordAudit } from '../audit.ts';
import { getOrganization, isOfLive } from '../organization-store.ts';
import type { NewKey } from './new-key.ts';

type KeyRow = typeof apiKeys.$inferSelect;

// Hot path: every request of the content API runs this.
const byHash = prepared((db) =>
  db
    .select({
      id: apiKeys.id,
      name: apiKeys.name,
      organizationId: apiKeys.organizationId,
      permissions: apiKeys.permissions,
      expiresAt: apiKeys.expiresAt,
      revokedAt: apiKeys.revokedAt,
    })
    .from(apiKeys)
    .where(and(eq(apiKeys.hash, sql.placeholder('hash')), isOfLive(apiKeys.organizationId)))
    .prepare(),
);

/** `isKept`: in `write`, where it stays so until the commit. */
async function findGrant(
  tx: ReadTx,
  id: string,
  isKept: boolean,
): Promise<Pick<KeyRow, 'permissions' | 'expiresAt' | 'revokedAt'> | null> {
  const { permissions, expiresAt, revokedAt } = apiKeys;
  const isIt = and(eq(apiKeys.id, id), isOfLive(apiKeys.organizationId));
  const found = tx
    .select({ permissions, expiresAt, revokedAt })
    .from(apiKeys)
    .where(sql`${isIt} ${isKept ? dialectOf(tx).keepRows : sql``}`);
  return (await found.get()) ?? null;
}

async function getKey(tx: ReadTx, id: string): Promise<KeyRow> {
  const key = await tx.select().from(apiKeys).where(eq(apiKeys.id, id)).get();
  if (key === undefined) throw notFound('key', id);
  return key;
}

export async function countKeys(tx: ReadTx, now: Date): Promise<{ all: number; ended: number }> {
  const isEnded = or(isNotNull(apiKeys.revokedAt), lte(apiKeys.expiresAt, now.toISOString()));
  return { all: await tx.$count(apiKeys), ended: await tx.$count(apiKeys, isEnded) };
}

async function recordKeyUse(tx: WriteTx, id: string, at: Date): Promise<void> {
  const lastUsedAt = at.toISOString();
  const isLatest = or(isNull(apiKeys.lastUsedAt), lt(apiKeys.lastUsedAt, lastUsedAt));
  await tx
    .update(apiKeys)
    .set({ lastUsedAt })
    .where(and(eq(apiKeys.id, id), isLatest))
    .run();
}

export type { NewKey };

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

export interface KeyHolder {
  keyId: string;
  name: string;
  /** Null: the key is bound to none. */
  organizationId: string | null;
}

/** Gives the same verdict for a database of the same `version`, and records the use. False: the key has expired. */
export type RepeatVerdict = () => boolean;

/** Without `repeat` it holds for one request alone. `limited` carries the limit's code and headers. */
export type Verdict =
  | ({ outcome: 'valid'; repeat?: RepeatVerdict } & KeyHolder)
  | { outcome: 'invalid' }
  | { outcome: 'forbidden' }
  | { outcome: 'limited'; code: string; headers: Record<string, string> };

/** `tdk_` and four more characters, to tell keys apart. */
const PREFIX_LENGTH = 8;

/** Keys in our own table: the default. A request costs one SHA-256 and one lookup. */
export function embeddedKeys(deps: KeyDeps, usage = new KeyUsage()): KeyService {
  const { db, clock, ids } = deps;

  return {
    as: (caller) => embeddedKeys({ ...deps, ...caller }, usage),
    revocationDelayS: 0,

    async verifyKey(key, permission) {
      const hash = sha256(key);
      const row = await db.read((tx) => byHash(tx).get({ hash }), {
        single: true,
        name: `key ${hash.toString('base64')}`,
      });
      if (row === undefined) return { outcome: 'invalid' };
      const use = () => {
        const now = clock.now();
        const isActive = statusOf(row, now) === 'active';
        if (isActive) usage.record(row.id, now);
        return isActive;
      };
      if (!use()) return { outcome: 'invalid' };
      if (!row.permissions.includes(permission)) return { outcome: 'forbidden' };
      const { id: keyId, name, organizationId } = row;
      return { outcome: 'valid', keyId, name, organizationId, repeat: use };
    },

    async isStillValid(tx, keyId, permission, isKept) {
      const key = await findGrant(tx, keyId, isKept);
      return key !== null && statusOf(key, clock.now()) === 'active' && key.permissions.includes(permission);
    },

    async createKey(input) {
      const { requireNewKey } = await import('./new-key.ts');
      const { organizationId, name, permissions } = requireNewKey(input);
      const now = clock.now();
      return await db.write(async (tx) => {
        await getOrganization(tx, organizationId);
        const expiresAt = requireFuture(input.expiresAt, now);
        const value = `${KEY_PREFIX}_${randomToken(KEY_BYTES)}`;
        const key = { id: ids.newId('key'), name, organizationId, permissions, expiresAt };
        const createdAt = now.toISOString();
        const prefix = value.slice(0, PREFIX_LENGTH);
        await tx
          .insert(apiKeys)
          .values({ ...key, hash: sha256(value), prefix, createdAt })
          .run();
        await recordKey(tx, deps, 'key.created', key);
        return { ...key, key: value };
      }, NONE);
    },

    async listKeys(organizationId) {
      const now = clock.now();
      const ofOrganization = eq(apiKeys.organizationId, organizationId);
      const newestFirst = [desc(apiKeys.createdAt), desc(apiKeys.id)];
      const rows = await db.read((tx) =>
        tx
          .select()
          .from(apiKeys)
          .where(ofOrganization)
          .orderBy(...newestFirst)
          .all(),
      );
      return rows.map((row) => toApiKey(row, now));
    },

    async revokeKey(keyId) {
      const now = clock.now();
      return await db.write(
        async (tx) => {
          const row = await getKey(tx, keyId);
          if (row.revokedAt === null) {
            row.revokedAt = now.toISOString();
            const { revokedAt } = row;
            await tx.update(apiKeys).set({ revokedAt }).where(eq(apiKeys.id, keyId)).run();
            await recordKey(tx, deps, 'key.revoked', row);
          }
          return toApiKey(row, now);
        },
        changing(`key ${keyId}`),
      );
    },

    async deleteKey(keyId) {
      await db.write(
        async (tx) => {
          await recordKey(tx, deps, 'key.deleted', await getKey(tx, keyId));
          await tx.delete(apiKeys).where(eq(apiKeys.id, keyId)).run();
        },
        changing(`key ${keyId}`),
      );
    },

    async flush({ all, giveUpMs } = {}) {
      const now = clock.now();
      const due = usage.due(now, { all });
      if (due.size === 0) return;
      await db.write(
        async (tx) => {
          for (const [keyId, at] of due) await recordKeyUse(tx, keyId, at);
        },
        { key: 'key usage', giveUpMs },
      );
      usage.markWritten(due, now);
    },
  };
}

export type KeyChange = [
  action: Extract<AuditAction, `key.${string}`>,
  key: Pick<ApiKey, 'id' | 'organizationId' | 'name'>,
];

export async function recordKey(
  tx: WriteTx,
  deps: AuditContext,
  ...[action, { id, organizationId, name }]: KeyChange
): Promise<void> {
  const summary = `${action.replace('key.', '')} the API key ${quote(name)}`;
  await recordAudit(tx, deps, { organizationId, action, target: { type: 'key', id }, summary });
}

function sha256(key: string): Buffer {
  return Buffer.from(Bun.SHA256.hash(key) as Uint8Array);
}

function statusOf(
  { revokedAt, expiresAt }: Pick<KeyRow, 'revokedAt' | 'expiresAt'>,
  now: Date,
): ApiKey['status'] {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && expiresAt <= now.toISOString() ? 'expired' : 'active';
}

function toApiKey({ hash, revokedAt, ...key }: KeyRow, now: Date): ApiKey {
  return { ...key, status: statusOf({ revokedAt, ...key }, now) };
}

/** The least time between two stored uses of a key: the precision of "last used". */
const GRAIN_MS = 60_000;

/** Times of use wait in memory: the first after a quiet minute is due at once, further ones a minute later. */
export class KeyUsage {
  readonly #pending = new Map<string, Date>();
  readonly #written = new Map<string, number>();

  record(keyId: string, at: Date): void {
    this.#pending.set(keyId, at);
  }

  /** The uses to write now, `all` or those that are due. They stay due until `markWritten`. */
  due(now: Date, { all = false }: { all?: boolean | undefined } = {}): Map<string, Date> {
    const isDue = (keyId: string) =>
      now.getTime() - (this.#written.get(keyId) ?? Number.NEGATIVE_INFINITY) >= GRAIN_MS;
    return new Map([...this.#pending].filter(([keyId]) => all || isDue(keyId)));
  }

  markWritten(uses: ReadonlyMap<string, Date>, now: Date): void {
    for (const [keyId, at] of uses) {
      this.#written.set(keyId, now.getTime());
      // Keep a later use that came during the write.
      if (this.#pending.get(keyId) === at) this.#pending.delete(keyId);
    }
  }
}

export type KeyDeps = AuditDeps & { readonly ids: Ids };

/** In our own table, or at Unkey. Both pass the same contract suite. Throws `KeyServiceUnavailable` without Unkey. */
export interface KeyService {
  /** How long a revoked or deleted key can still work; in rare cases longer, unless it is 0. */
  readonly revocationDelayS: number;
  /** The same keys, with changes recorded as this actor's, and written through this storage. */
  as(caller: Partial<Pick<KeyDeps, 'actor' | 'db'>>): KeyService;
  /** Checks a key of 1 to 512 characters for `permission`. Keeps no verdict; equal checks at the same time can share one. */
  verifyKey(key: string, permission: string): Promise<Verdict>;
  /** True if a key that `verifyKey` has accepted still holds. Unkey's keys are in no transaction: its last verdict counts. */
  isStillValid(tx: ReadTx, keyId: string, permission: string, isKept: boolean): Promise<boolean>;
  /** Throws `AppError` 404 for an unknown organization and 400 for an invalid field. */
  createKey(input: NewKey): Promise<CreatedKey>;
  listKeys(organizationId: string): Promise<ApiKey[]>;
  /** Keeps the key in the list. Revoking again is no error. Throws `AppError` 404. */
  revokeKey(keyId: string): Promise<ApiKey>;
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

export function describeKeyWarning(warning: KeyWarning): string {
  const check = `${tidings} doctor --key KEY`;
  if (warning.reason === 'not_verified') return `Unkey did not verify the new key. Check it: ${check}`;
  const { code, permission } = warning;
  const grant = permission === null ? '' : `. Give the root key ${permission}`;
  return `Unkey answers ${code} for the new key, so the API refuses it${grant}. Then check it: ${check}`;
}

export function describeRevocation({ revocationDelayS }: Pick<KeyService, 'revocationDelayS'>): string {
  return revocationDelayS === 0
    ? 'A revoked or deleted key stops working at once.'
    : `Unkey caches keys: a revoked or deleted key can work for ${revocationDelayS} more seconds, in rare cases for 10 minutes.`;
}
