import type { WriteTx } from '../../db/engine.ts';
import { changing, NONE } from '../../db/order.ts';
import { type AuditAction, quote } from '../audit/model.ts';
import { type AuditContext, recordAudit } from '../audit/store.ts';
import { randomToken } from '../lib/text.ts';
import { requireFuture } from '../lib/time.ts';
import { getOrganization } from '../organizations/store.ts';
import { type ApiKey, KEY_BYTES, KEY_PREFIX } from './model.ts';
import type { KeyDeps, KeyService } from './service.ts';
import {
  deleteKey,
  findGrant,
  findKeyByHash,
  getKey,
  insertKey,
  type KeyRow,
  listKeyRows,
  recordKeyUse,
  updateKey,
} from './store.ts';

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
      const row = await db.read((tx) => findKeyByHash(tx, hash), {
        single: true,
        name: `key ${hash.toString('base64')}`,
      });
      if (row === null) return { outcome: 'invalid' };
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
        await insertKey(tx, {
          ...key,
          hash: sha256(value),
          prefix: value.slice(0, PREFIX_LENGTH),
          createdAt: now.toISOString(),
          revokedAt: null,
          lastUsedAt: null,
        });
        await recordKey(tx, deps, 'key.created', key);
        return { ...key, key: value };
      }, NONE);
    },

    async listKeys(organizationId) {
      const now = clock.now();
      const rows = await db.read((tx) => listKeyRows(tx, organizationId));
      return rows.map((row) => toApiKey(row, now));
    },

    async revokeKey(keyId) {
      const now = clock.now();
      return await db.write(
        async (tx) => {
          const row = await getKey(tx, keyId);
          if (row.revokedAt === null) {
            row.revokedAt = now.toISOString();
            await updateKey(tx, keyId, { revokedAt: row.revokedAt });
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
          await deleteKey(tx, keyId);
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

/** In the transaction of the change. */
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

/**
 * Collects the times of use in memory, so that no request waits for a write. The first use after a quiet minute is due at
 * once, further ones a minute later. The latest of all processes counts.
 */
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
