import type { WriteTx } from '../../db/storage.ts';
import { type AuditAction, quote } from '../audit/model.ts';
import { type AuditContext, recordAudit } from '../audit/store.ts';
import { notFound } from '../lib/app-error.ts';
import { randomToken } from '../lib/ids.ts';
import { requireFuture } from '../lib/time.ts';
import { requireValid } from '../lib/validation.ts';
import { getOrganization } from '../organizations/store.ts';
import { type ApiKey, KEY_BYTES, KEY_PREFIX, NewKey } from './model.ts';
import type { KeyDeps, KeyService } from './service.ts';
import {
  deleteKey,
  findKey,
  findKeyByHash,
  insertKey,
  type KeyRow,
  listKeyRows,
  updateKey,
} from './store.ts';

/** The start of a key that people see again: `tdk_` and four more characters. */
const VISIBLE_CHARACTERS = 8;

/** Keys in our own table: the default. A request costs one SHA-256 and one lookup. */
export function embeddedKeys(deps: KeyDeps, usage = new KeyUsage()): KeyService {
  const { db, clock, ids } = deps;

  return {
    as: (actor) => embeddedKeys({ ...deps, actor }, usage),
    revocationDelay: 'A revoked or deleted key stops working at once.',

    async verifyKey(key, permission) {
      const row = await db.read((tx) => findKeyByHash(tx, sha256(key)));
      if (row === null) return { outcome: 'invalid' };
      const now = clock.now();
      if (statusOf(row, now) !== 'active') return { outcome: 'invalid' };
      usage.record(row.id, now);
      if (!row.permissions.includes(permission)) return { outcome: 'forbidden' };
      return { outcome: 'valid', keyId: row.id, organizationId: row.organizationId };
    },

    async createKey(input) {
      const { organizationId, name, permissions } = requireValid(NewKey, input);
      const now = clock.now();
      return await db.write(async (tx) => {
        await getOrganization(tx, organizationId);
        const expiresAt = requireFuture(input.expiresAt, now);
        const key = `${KEY_PREFIX}_${randomToken(KEY_BYTES)}`;
        const id = ids.newId('key');
        await insertKey(tx, {
          id,
          organizationId,
          name,
          hash: sha256(key),
          prefix: key.slice(0, VISIBLE_CHARACTERS),
          permissions,
          createdAt: now.toISOString(),
          expiresAt,
          revokedAt: null,
          lastUsedAt: null,
        });
        await recordKey(tx, deps, 'key.created', { id, organizationId, name });
        return { id, key, name, organizationId, permissions, expiresAt };
      });
    },

    async listKeys(organizationId) {
      const now = clock.now();
      const rows = await db.read((tx) => listKeyRows(tx, organizationId));
      return rows.map((row) => toApiKey(row, now));
    },

    async revokeKey(keyId) {
      const now = clock.now();
      return await db.write(async (tx) => {
        const row = await findKey(tx, keyId);
        if (row === null) throw notFound('key', keyId);
        if (row.revokedAt === null) {
          row.revokedAt = now.toISOString();
          await updateKey(tx, keyId, { revokedAt: row.revokedAt });
          await recordKey(tx, deps, 'key.revoked', row);
        }
        return toApiKey(row, now);
      });
    },

    async deleteKey(keyId) {
      await db.write(async (tx) => {
        const row = await findKey(tx, keyId);
        if (row === null) throw notFound('key', keyId);
        await deleteKey(tx, keyId);
        await recordKey(tx, deps, 'key.deleted', row);
      });
    },

    async flush({ all, giveUpMs } = {}) {
      const now = clock.now();
      const due = usage.due(now, { all });
      if (due.size === 0) return;
      await db.write(
        async (tx) => {
          for (const [keyId, at] of due) await updateKey(tx, keyId, { lastUsedAt: at.toISOString() });
        },
        { giveUpMs },
      );
      usage.markWritten(due, now);
    },
  };
}

const keyVerbs = { 'key.created': 'created', 'key.revoked': 'revoked', 'key.deleted': 'deleted' } as const;

/** In the transaction of the change. */
export async function recordKey(
  tx: WriteTx,
  deps: AuditContext,
  action: Extract<AuditAction, `key.${string}`>,
  { id, organizationId, name }: Pick<ApiKey, 'id' | 'organizationId' | 'name'>,
): Promise<void> {
  const summary = `${keyVerbs[action]} the API key ${quote(name)}`;
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

function toApiKey(row: KeyRow, now: Date): ApiKey {
  const { id, name, organizationId, prefix, permissions, createdAt, lastUsedAt, expiresAt } = row;
  const status = statusOf(row, now);
  return { id, name, organizationId, prefix, permissions, createdAt, lastUsedAt, expiresAt, status };
}

/** The least time between two stored uses of a key: the precision of "last used". */
const GRAIN_MS = 60_000;

/**
 * Collects the times of use in memory, so that no request waits for a write. The first use after a quiet minute is due
 * at once, further ones a minute later.
 */
export class KeyUsage {
  readonly #pending = new Map<string, Date>();
  readonly #written = new Map<string, number>();

  record(keyId: string, at: Date): void {
    this.#pending.set(keyId, at);
  }

  /** The uses to write now, `all` or those that are due. They stay due until `markWritten`. */
  due(now: Date, { all = false }: { all?: boolean | undefined } = {}): Map<string, Date> {
    const due = new Map<string, Date>();
    for (const [keyId, at] of this.#pending) {
      const writtenAt = this.#written.get(keyId) ?? Number.NEGATIVE_INFINITY;
      if (all || now.getTime() - writtenAt >= GRAIN_MS) due.set(keyId, at);
    }
    return due;
  }

  markWritten(uses: ReadonlyMap<string, Date>, now: Date): void {
    for (const [keyId, at] of uses) {
      this.#written.set(keyId, now.getTime());
      // Keep a later use that came during the write.
      if (this.#pending.get(keyId) === at) this.#pending.delete(keyId);
    }
  }
}
