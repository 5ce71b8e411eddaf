import { randomToken } from '../lib/ids.ts';
import { requireFuture } from '../lib/time.ts';
import { requireValid } from '../lib/validation.ts';
import { getOrganization } from '../organizations/store.ts';
import { type ApiKey, KEY_BYTES, KEY_PREFIX, NewKey } from './model.ts';
import { type KeyDeps, type KeyService, keyNotFound } from './service.ts';
import {
  deleteKeyRow,
  findKeyByHash,
  insertKey,
  type KeyRow,
  listKeyRows,
  recordKeyUse,
  revokeKeyRow,
} from './store.ts';
import { KeyUsage } from './usage.ts';

/** How many characters of a key are shown again: `tdk_` and four more. */
const SHOWN_CHARACTERS = 8;

/** Keys in our own table: the default. A request costs one SHA-256 and one look-up. */
export function embeddedKeys(deps: KeyDeps, usage = new KeyUsage()): KeyService {
  const { db, clock, ids } = deps;

  return {
    as: (actor) => embeddedKeys({ ...deps, actor }, usage),
    revocationDelay: 'A revoked or deleted key stops working at once.',

    async verifyKey(key, permission) {
      const row = await findKeyByHash(db, sha256(key));
      if (row === null) return { outcome: 'invalid' };
      const now = clock.now();
      if (statusOf(row, now) !== 'active') return { outcome: 'invalid' };
      usage.record(row.id, now);
      if (!row.permissions.includes(permission)) return { outcome: 'forbidden' };
      return { outcome: 'valid', keyId: row.id, organizationId: row.organizationId };
    },

    async createKey(input) {
      const { organizationId, name, permissions } = requireValid(NewKey, input);
      await getOrganization(db, organizationId);
      const now = clock.now();
      const expiresAt = requireFuture(input.expiresAt, now);
      const key = `${KEY_PREFIX}_${randomToken(KEY_BYTES)}`;
      const id = ids.newId('key');
      await insertKey(deps, {
        id,
        organizationId,
        name,
        hash: sha256(key),
        prefix: key.slice(0, SHOWN_CHARACTERS),
        permissions,
        createdAt: now.toISOString(),
        expiresAt,
        revokedAt: null,
        lastUsedAt: null,
      });
      return { id, key, name, organizationId, permissions, expiresAt };
    },

    async listKeys(organizationId) {
      const now = clock.now();
      return (await listKeyRows(db, organizationId)).map((row) => shown(row, now));
    },

    async revokeKey(keyId) {
      const now = clock.now();
      const row = await revokeKeyRow(deps, keyId, now);
      if (row === null) throw keyNotFound(keyId);
      return shown(row, now);
    },

    async deleteKey(keyId) {
      if (!(await deleteKeyRow(deps, keyId))) throw keyNotFound(keyId);
    },

    async flush({ all, giveUpMs } = {}) {
      const now = clock.now();
      const due = usage.due(now, { all });
      if (due.size === 0) return;
      await recordKeyUse(db, due, giveUpMs);
      usage.markWritten(due, now);
    },
  };
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

function shown(row: KeyRow, now: Date): ApiKey {
  const { id, name, organizationId, prefix, permissions, createdAt, lastUsedAt, expiresAt } = row;
  return {
    id,
    name,
    organizationId,
    prefix,
    permissions,
    createdAt,
    lastUsedAt,
    expiresAt,
    status: statusOf(row, now),
  };
}
