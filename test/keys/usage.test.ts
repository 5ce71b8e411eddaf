import { expect, test } from 'bun:test';
import { KeyUsage } from '../../src/people/keys/store.ts';
import { fixedClock } from '../support/clock.ts';
import { sqliteOf, testSqlite } from '../support/database.ts';
import { refuseRows } from '../support/faults.ts';
import { allRows } from '../support/rows.ts';
import { appWithOrganization, bearer, createTestApp } from '../support/test-app.ts';
import { openTogether } from '../support/together.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** An app with keys that are used through HTTP, and when each was last used as far as the database knows. */
async function begin() {
  const app = await appWithOrganization({ organizations: ['org_1'] });
  const { deps, clock } = app;
  return {
    ...app,
    now: () => clock.now().toISOString(),
    flush: deps.keys.flush,
    newKey: () => app.addKey('org_1'),
    async use(key: { key: string }) {
      expect((await app.request('/v1/org_1/posts', bearer(key.key))).status).toBe(200);
    },
    async lastUsed({ id }: { id: string }) {
      return (await deps.keys.listKeys('org_1')).find((key) => key.id === id)?.lastUsedAt;
    },
  };
}

test('a request writes nothing; the next flush does', async () => {
  const { use, flush, newKey, lastUsed, now, db, clock } = await begin();
  const key = await newKey();
  const before = await allRows(db);
  await use(key);
  expect(await allRows(db)).toEqual(before);
  const usedAt = now();
  clock.advance(SECOND);
  await flush();
  expect(await lastUsed(key)).toBe(usedAt);
});

test('a key that is used all the time is written once a minute, with its latest use', async () => {
  const { use, flush, newKey, lastUsed, now, clock } = await begin();
  const key = await newKey();
  const written = new Set<unknown>();
  const start = clock.now().getTime();
  for (let second = 0; second <= 180; second++) {
    await use(key);
    await flush();
    written.add(await lastUsed(key));
    clock.advance(SECOND);
  }
  const at = (second: number) => new Date(start + second * SECOND).toISOString();
  expect([...written]).toEqual([at(0), at(60), at(120), at(180)]);
  expect(now()).toBe(at(181));
});

test('a use within the minute is not lost when no other follows', async () => {
  const { use, flush, newKey, lastUsed, now, clock } = await begin();
  const key = await newKey();
  await use(key);
  await flush();
  clock.advance(10 * SECOND);
  await use(key);
  const usedAt = now();
  clock.advance(50 * SECOND - 1);
  await flush();
  expect(await lastUsed(key)).not.toBe(usedAt);
  clock.advance(1);
  await flush();
  expect(await lastUsed(key)).toBe(usedAt);
});

test('all: writes every pending use, due or not', async () => {
  const { use, flush, newKey, lastUsed, now, clock } = await begin();
  const key = await newKey();
  await use(key);
  await flush();
  clock.advance(SECOND);
  await use(key);
  await flush({ all: true });
  expect(await lastUsed(key)).toBe(now());
});

test('the minute is counted for each key', async () => {
  const { use, flush, newKey, lastUsed, now, clock } = await begin();
  const [first, second] = [await newKey(), await newKey()];
  await use(first);
  await flush();
  const firstUse = now();
  clock.advance(SECOND);
  await use(first);
  await use(second);
  await flush();
  expect(await lastUsed(first)).toBe(firstUse);
  expect(await lastUsed(second)).toBe(now());
});

test('the use of a key that is deleted by then is passed over, and no other', async () => {
  const { use, flush, newKey, lastUsed, now, deps } = await begin();
  const [deleted, kept] = [await newKey(), await newKey()];
  await use(deleted);
  await use(kept);
  await deps.keys.deleteKey(deleted.id);
  await flush();
  expect(await lastUsed(kept)).toBe(now());
  expect(await lastUsed(deleted)).toBeUndefined();
});

testSqlite('a flush without uses writes nothing', async () => {
  const { use, flush, newKey, db, clock } = await begin();
  await use(await newKey());
  await flush();
  const changes = () => sqliteOf(db).$client.query('select total_changes() as count').get();
  const before = changes();
  clock.advance(MINUTE);
  await flush();
  await flush({ all: true });
  expect(changes()).toEqual(before);
});

test('a use that could not be written is written by the next flush that can', async () => {
  const { use, flush, newKey, lastUsed, now, db, clock } = await begin();
  const key = await newKey();
  await use(key);
  const usedAt = now();
  const endFault = await refuseRows(db, 'update', 'api_keys', 'the disk is full');
  await expect(flush()).rejects.toThrow('the disk is full');
  await endFault();
  clock.advance(SECOND);
  await flush();
  expect(await lastUsed(key)).toBe(usedAt);
});

test('a use that comes while another is written stays pending', () => {
  const usage = new KeyUsage();
  const [first, second] = [new Date(0), new Date(SECOND)];
  usage.record('key_1', first);
  const due = usage.due(first);
  usage.record('key_1', second);
  usage.markWritten(due, first);
  expect(usage.due(second)).toEqual(new Map());
  expect(usage.due(second, { all: true })).toEqual(new Map([['key_1', second]]));
});

test('of two processes the later use counts, in whatever order they write', async () => {
  const together = openTogether();
  const [one, other] = together.databases.map((db) => createTestApp({ db, clock: fixedClock() }));
  if (one === undefined || other === undefined) throw new Error('two are opened');
  await one.addOrganization('org_1');
  const key = await one.addKey('org_1');
  const lastUsed = async () => (await one.deps.keys.listKeys('org_1'))[0]?.lastUsedAt;
  await one.deps.keys.verifyKey(key.key, 'api.read');
  other.clock.advance(5_000);
  await other.deps.keys.verifyKey(key.key, 'api.read');
  await other.deps.keys.flush();
  expect(await lastUsed()).toBe(other.clock.now().toISOString());
  await one.deps.keys.flush();
  expect(await lastUsed()).toBe(other.clock.now().toISOString());
});
