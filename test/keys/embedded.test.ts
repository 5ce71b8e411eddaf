import { describe, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { base58 } from '@scure/base';
import { closeDatabase, openDatabase } from '../../db/sqlite/client.ts';
import { SERVER } from '../../src/audit/model.ts';
import { embeddedKeys } from '../../src/keys/embedded.ts';
import { createOrganization } from '../../src/organizations/service.ts';
import { fixedClock } from '../support/clock.ts';
import { countingIds } from '../support/ids.ts';
import { allRows } from '../support/rows.ts';
import { appWithOrganization, createTestApp } from '../support/test-app.ts';

const READ = 'api.read';
const fields = { organizationId: 'org_1', name: 'Website', permissions: [READ], expiresAt: null };

/** A key service on a database file of its own. `reopen` opens it as another process would. */
async function onDisk() {
  const folder = mkdtempSync(join(tmpdir(), 'tidings-keys-'));
  const clock = fixedClock();
  const databases: ReturnType<typeof openDatabase>[] = [];
  const reopen = () => {
    const db = openDatabase(join(folder, 'tidings.db'));
    databases.push(db);
    const deps = { db, clock, ids: countingIds(), log: createTestApp().deps.log, actor: SERVER };
    return { db, deps, keys: embeddedKeys(deps) };
  };
  const { db, deps, keys } = reopen();
  await createOrganization(deps, { id: 'org_1', name: 'One', plan: 'free' });
  return {
    db,
    keys,
    reopen,
    /** The database, its log and whatever else lies beside it. */
    bytes: () => Buffer.concat(readdirSync(folder).map((file) => readFileSync(join(folder, file)))),
    [Symbol.dispose]() {
      for (const each of databases) closeDatabase(each);
      rmSync(folder, { recursive: true });
    },
  };
}

test('a value is 32 random bytes in base58 behind tdk_', async () => {
  const app = await appWithOrganization({ organizations: ['org_1'] });
  const values = new Set<string>();
  for (let count = 0; count < 50; count++) values.add((await app.addKey('org_1')).key);
  expect(values.size).toBe(50);
  for (const value of values) {
    expect(value.slice(0, 4)).toBe('tdk_');
    expect(base58.decode(value.slice(4))).toHaveLength(32);
  }
});

describe('a value is kept nowhere', () => {
  test('the row holds its SHA-256 and its first characters', async () => {
    const app = await appWithOrganization({ organizations: ['org_1'] });
    const { id, key } = await app.addKey('org_1');
    expect((await allRows(app.db)).api_keys).toEqual([
      {
        id,
        organization_id: 'org_1',
        name: 'Test',
        hash: new Bun.CryptoHasher('sha256').update(key).digest('hex'),
        prefix: key.slice(0, 8),
        permissions: '["api.read"]',
        created_at: '2026-11-20T12:00:00.000Z',
        expires_at: null,
        revoked_at: null,
        last_used_at: null,
      },
    ]);
  });

  test('the bytes on disk hold no more', async () => {
    using disk = await onDisk();
    const { id, key } = await disk.keys.createKey(fields);
    await disk.keys.verifyKey(key, READ);
    await disk.keys.flush({ all: true });
    await disk.keys.revokeKey(id);
    for (const checkpointed of [false, true]) {
      if (checkpointed) disk.db.$client.run('PRAGMA wal_checkpoint(TRUNCATE)');
      const bytes = disk.bytes();
      expect(bytes.includes(new Bun.CryptoHasher('sha256').update(key).digest())).toBe(true);
      expect(bytes.includes(key.slice(0, 8))).toBe(true);
      expect(bytes.includes(key.slice(0, 9))).toBe(false);
      expect(bytes.includes(key.slice(8))).toBe(false);
      expect(bytes.includes(Buffer.from(base58.decode(key.slice(4))))).toBe(false);
    }
  });
});

test('changes by another process take effect at once', async () => {
  using disk = await onDisk();
  const other = disk.reopen().keys;
  const { id, key } = await other.createKey(fields);
  expect(await disk.keys.verifyKey(key, READ)).toMatchObject({ outcome: 'valid', keyId: id });
  await other.revokeKey(id);
  expect(await disk.keys.verifyKey(key, READ)).toEqual({ outcome: 'invalid' });
});

test('a second revocation keeps the time of the first', async () => {
  const app = await appWithOrganization({ organizations: ['org_1'] });
  const { id } = await app.addKey('org_1');
  await app.deps.keys.revokeKey(id);
  const revoked = await allRows(app.db);
  app.clock.advance(1_000);
  await app.deps.keys.revokeKey(id);
  expect(await allRows(app.db)).toEqual(revoked);
});
