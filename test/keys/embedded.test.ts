import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { base58 } from '@scure/base';
import type { Database } from '../../db/engine.ts';
import { openDatabase } from '../../db/sqlite/client.ts';
import { SERVER } from '../../src/people/audit.ts';
import { embeddedKeys } from '../../src/people/keys/store.ts';
import { createOrganization } from '../../src/people/organizations.ts';
import { fixedClock } from '../support/clock.ts';
import { createSharedDatabase, testSqlite } from '../support/database.ts';
import { newFolder } from '../support/folder.ts';
import { countingIds } from '../support/ids.ts';
import { allRows } from '../support/rows.ts';
import { appWithOrganization, createTestApp } from '../support/test-app.ts';

const READ = 'api.read';
const fields = { organizationId: 'org_1', name: 'Website', permissions: [READ], expiresAt: null };

/** The key service of one process. */
function keysIn(db: Database) {
  const { log } = createTestApp().deps;
  const deps = { db, clock: fixedClock(), ids: countingIds(), log, actor: SERVER };
  return { deps, keys: embeddedKeys(deps) };
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

  testSqlite('the bytes on disk hold no more', async () => {
    const folder = newFolder('keys');
    const db = openDatabase(join(folder, 'tidings.db'));
    const { deps, keys } = keysIn(db);
    await createOrganization(deps, { id: 'org_1', name: 'One', plan: 'free' });
    const { id, key } = await keys.createKey(fields);
    await keys.verifyKey(key, READ);
    await keys.flush({ all: true });
    await keys.revokeKey(id);
    for (const checkpointed of [false, true]) {
      if (checkpointed) db.$client.run('PRAGMA wal_checkpoint(TRUNCATE)');
      // The database, its log and whatever else lies beside it.
      const bytes = Buffer.concat(readdirSync(folder).map((file) => readFileSync(join(folder, file))));
      expect(bytes.includes(new Bun.CryptoHasher('sha256').update(key).digest())).toBe(true);
      expect(bytes.includes(key.slice(0, 8))).toBe(true);
      expect(bytes.includes(key.slice(0, 9))).toBe(false);
      expect(bytes.includes(key.slice(8))).toBe(false);
      expect(bytes.includes(Buffer.from(base58.decode(key.slice(4))))).toBe(false);
    }
    await db.close();
    rmSync(folder, { recursive: true });
  });
});

test('changes by another process take effect at once', async () => {
  const shared = createSharedDatabase();
  const ours = keysIn(shared.open());
  const theirs = keysIn(shared.open());
  await createOrganization(ours.deps, { id: 'org_1', name: 'One', plan: 'free' });
  const { id, key } = await theirs.keys.createKey(fields);
  expect(await ours.keys.verifyKey(key, READ)).toMatchObject({ outcome: 'valid', keyId: id });
  await theirs.keys.revokeKey(id);
  expect(await ours.keys.verifyKey(key, READ)).toEqual({ outcome: 'invalid' });
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
