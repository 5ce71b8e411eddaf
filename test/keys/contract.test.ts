import { describe, expect, test } from 'bun:test';
import { base58 } from '@scure/base';
import type { KeyService, NewKey } from '../../src/people/keys/store.ts';
import type { MovableClock } from '../support/clock.ts';
import { refusalOf } from '../support/refusal.ts';
import { appWithOrganization } from '../support/test-app.ts';
import { createUnkeyApp } from '../support/unkey-app.ts';

// The contract of every key service.

/** A key service on a clock that tests move. */
interface Subject extends Disposable {
  readonly keys: KeyService;
  readonly clock: MovableClock;
}

const MINUTE = 60_000;
const READ = 'api.read';

function newKey(fields: Partial<NewKey> = {}): NewKey {
  return { organizationId: 'org_1', name: 'Website', permissions: [READ], expiresAt: null, ...fields };
}

function later(clock: MovableClock, ms: number): string {
  return new Date(clock.now().getTime() + ms).toISOString();
}

/** A fresh subject that knows two organizations, by the name of its service. */
const services: [name: string, begin: () => Promise<Subject>][] = [
  [
    'embedded',
    async () => {
      const app = await appWithOrganization({ organizations: ['org_1', 'org_2'] });
      return { ...app, keys: app.deps.keys, [Symbol.dispose]: () => undefined };
    },
  ],
  [
    'Unkey',
    async () => {
      const app = await createUnkeyApp({ organizations: ['org_1', 'org_2'] });
      return { ...app, keys: app.deps.keys };
    },
  ],
];

describe.each(services)('%s', (_, begin) => {
  describe('verification', () => {
    test('a new key opens its own organization', async () => {
      using subject = await begin();
      const { keys } = subject;
      const created = await keys.createKey(newKey());
      expect(created).toEqual({ ...newKey(), id: expect.any(String), key: expect.stringMatching(/^tdk_/) });
      expect(created.key.length).toBeGreaterThan('tdk_'.length + 20);
      expect(await keys.verifyKey(created.key, READ)).toMatchObject({
        outcome: 'valid',
        keyId: created.id,
        name: 'Website',
        organizationId: 'org_1',
      });
      const other = await keys.createKey(newKey({ organizationId: 'org_2' }));
      expect(await keys.verifyKey(other.key, READ)).toMatchObject({ organizationId: 'org_2' });
      expect(other.key).not.toBe(created.key);
      expect(other.id).not.toBe(created.id);
    });

    const near: [string, (key: string) => string][] = [
      ['another key', () => 'tdk_3mJr7AoUXx2Wqd8uL5sKcVbN9fYtRhPzGe'],
      ['one character', () => 'x'],
      ['its first half', (key) => key.slice(0, key.length / 2)],
      ['one character more', (key) => `${key}x`],
      ['its last character changed', (key) => key.slice(0, -1) + (key.endsWith('z') ? 'y' : 'z')],
      ['another case', (key) => key.toUpperCase()],
      ['spaces around it', (key) => ` ${key} `],
      ['the key without its prefix', (key) => key.replace('tdk_', '')],
      ['the longest key', () => 'x'.repeat(512)],
      ['a key that is not ASCII', () => 'tdk_é\u{1f511}'],
    ];
    test.each(near)('%s is invalid', async (_, change) => {
      using subject = await begin();
      const { key } = await subject.keys.createKey(newKey());
      expect(await subject.keys.verifyKey(change(key), READ)).toEqual({ outcome: 'invalid' });
    });

    const ended: [string, (subject: Subject, keyId: string) => Promise<unknown>][] = [
      ['revoked', ({ keys }, keyId) => keys.revokeKey(keyId)],
      ['deleted', ({ keys }, keyId) => keys.deleteKey(keyId)],
      ['expired', async ({ clock }) => clock.advance(MINUTE + 1)],
    ];
    test.each(ended)('a key that is %s is invalid, and no other key is', async (_, end) => {
      using subject = await begin();
      const { keys, clock } = subject;
      const other = await keys.createKey(newKey());
      const { id, key } = await keys.createKey(newKey({ expiresAt: later(clock, MINUTE) }));
      clock.advance(MINUTE - 1);
      expect(await keys.verifyKey(key, READ)).toMatchObject({ outcome: 'valid' });
      await end(subject, id);
      expect(await keys.verifyKey(key, READ)).toEqual({ outcome: 'invalid' });
      // The response for an ended key does not reveal its permissions.
      expect(await keys.verifyKey(key, 'api.write')).toEqual({ outcome: 'invalid' });
      expect(await keys.verifyKey(other.key, READ)).toMatchObject({ outcome: 'valid' });
    });

    test.each([
      [[], READ],
      [['api.write'], READ],
      [['api.rea'], READ],
      [['api.reader'], READ],
      [['API.READ'], READ],
      [[READ], 'api.write'],
    ])('a key with the permissions %p may not %s', async (permissions, wanted) => {
      using subject = await begin();
      const { key } = await subject.keys.createKey(newKey({ permissions }));
      expect(await subject.keys.verifyKey(key, wanted)).toEqual({ outcome: 'forbidden' });
    });

    test('a key may do each thing that it has the permission for', async () => {
      using subject = await begin();
      const { key } = await subject.keys.createKey(newKey({ permissions: ['api.write', READ] }));
      for (const permission of [READ, 'api.write']) {
        expect(await subject.keys.verifyKey(key, permission)).toMatchObject({ outcome: 'valid' });
      }
    });
  });

  describe('the list', () => {
    test('shows what people need, and never a value', async () => {
      using subject = await begin();
      const { keys, clock } = subject;
      const createdAt = clock.now().toISOString();
      const expiresAt = later(clock, 10 * MINUTE);
      const created = await keys.createKey(newKey({ permissions: [READ, 'api.write'], expiresAt }));
      const shown = {
        id: created.id,
        name: 'Website',
        organizationId: 'org_1',
        prefix: created.key.slice(0, 8),
        permissions: [READ, 'api.write'],
        createdAt,
        lastUsedAt: null,
        expiresAt,
        status: 'active' as const,
      };
      expect(await keys.listKeys('org_1')).toEqual([shown]);

      clock.advance(MINUTE);
      const lastUsedAt = clock.now().toISOString();
      await keys.verifyKey(created.key, READ);
      await keys.flush();
      clock.advance(MINUTE);
      const list = await keys.listKeys('org_1');
      expect(list).toEqual([{ ...shown, lastUsedAt }]);
      expect(JSON.stringify(list)).not.toContain(created.key.slice(8));
    });

    test('says what became of each key, the newest first', async () => {
      using subject = await begin();
      const { keys, clock } = subject;
      const made: string[] = [];
      for (const name of ['first', 'revoked', 'expired', 'revoked and expired', 'last']) {
        const expiresAt = name.includes('expired') ? later(clock, MINUTE) : null;
        const { id } = await keys.createKey(newKey({ name, expiresAt }));
        made.unshift(id);
        if (name.includes('revoked')) await keys.revokeKey(id);
        clock.advance(1_000);
      }
      clock.advance(MINUTE);
      const list = await keys.listKeys('org_1');
      expect(list.map(({ name, status }) => `${name}: ${status}`)).toEqual([
        'last: active',
        'revoked and expired: revoked',
        'expired: expired',
        'revoked: revoked',
        'first: active',
      ]);
      expect(list.map(({ id }) => id)).toEqual(made);
    });

    test("keeps out another organization's keys", async () => {
      using subject = await begin();
      await subject.keys.createKey(newKey());
      expect(await subject.keys.listKeys('org_2')).toEqual([]);
      expect(await subject.keys.listKeys('org_none')).toEqual([]);
    });

    test('is whole, however many there are', async () => {
      using subject = await begin();
      const made: string[] = [];
      for (let number = 1; number <= 201; number++) {
        made.unshift((await subject.keys.createKey(newKey({ name: `Key ${number}` }))).id);
        subject.clock.advance(1);
      }
      expect((await subject.keys.listKeys('org_1')).map(({ id }) => id)).toEqual(made);
    });
  });

  describe('revoke and delete', () => {
    test('a revoked key stays in the list; again is no error', async () => {
      using subject = await begin();
      const { keys } = subject;
      const { id } = await keys.createKey(newKey());
      const revoked = await keys.revokeKey(id);
      expect(revoked).toMatchObject({ id, organizationId: 'org_1', status: 'revoked' });
      subject.clock.advance(MINUTE);
      expect(await keys.revokeKey(id)).toEqual(revoked);
      expect(await keys.listKeys('org_1')).toEqual([revoked]);
    });

    test('a deleted key leaves the list, and is not there to be deleted again', async () => {
      using subject = await begin();
      const { keys } = subject;
      const { id } = await keys.createKey(newKey());
      const kept = await keys.createKey(newKey());
      await keys.deleteKey(id);
      expect((await keys.listKeys('org_1')).map((key) => key.id)).toEqual([kept.id]);
      expect(await refusalOf(keys.deleteKey(id))).toMatchObject({ status: 404 });
      expect(await refusalOf(keys.revokeKey(id))).toMatchObject({ status: 404 });
    });

    const ids = ['key_none', 'no-such-key', 'a b', '', 'x'.repeat(300)];
    test.each(ids)('there is no key with the id %p', async (id) => {
      using subject = await begin();
      const { keys } = subject;
      const { key } = await keys.createKey(newKey());
      const notFound = { status: 404, message: `Key ${id} not found` };
      expect(await refusalOf(keys.revokeKey(id))).toEqual(notFound);
      expect(await refusalOf(keys.deleteKey(id))).toEqual(notFound);
      expect(await keys.verifyKey(key, READ)).toMatchObject({ outcome: 'valid' });
    });
  });

  describe('creating a key', () => {
    const bad: [string, Partial<NewKey>, number, RegExp][] = [
      ['an unknown organization', { organizationId: 'org_none' }, 404, /^Organization org_none not found/],
      ['no name', { name: '' }, 400, /^name must not be empty/],
      ['a blank name', { name: ' \t' }, 400, /^name must not be empty/],
      ['a long name', { name: 'x'.repeat(101) }, 400, /^name must have at most 100 characters, not 101/],
      ['a permission with a space', { permissions: [READ, 'api read'] }, 400, /^permissions\.1 must be/],
      ['an empty permission', { permissions: [''] }, 400, /^permissions\.0 must be/],
      ['a long permission', { permissions: ['x'.repeat(101)] }, 400, /^permissions\.0 must be/],
      ['a permission twice', { permissions: [READ, READ] }, 400, /^permissions .*unique/],
      [
        '51 permissions',
        { permissions: Array.from({ length: 51 }, (_, i) => `p${i}`) },
        400,
        /^permissions /,
      ],
      ['an expiry in words', { expiresAt: 'tomorrow' }, 400, /^expiresAt must be an ISO 8601 time/],
      ['an expiry without an offset', { expiresAt: '2027-01-31T00:00:00' }, 400, /^expiresAt must be/],
      ['30 February', { expiresAt: '2027-02-30' }, 400, /^expiresAt must be/],
      // In UTC it lies in the year 10000, which is written with more digits and sorts before every other.
      ['a year of five digits', { expiresAt: '9999-12-31T23:59:59-10:00' }, 400, /^expiresAt must be/],
      [
        'an expiry in the past',
        { expiresAt: '2026-11-20T11:59:59.999Z' },
        400,
        /^expiresAt must be in the future/,
      ],
      [
        'an expiry just now',
        { expiresAt: '2026-11-20T12:00:00.000Z' },
        400,
        /^expiresAt must be in the future/,
      ],
    ];
    test.each(bad)('%s', async (_, fields, status, message) => {
      using subject = await begin();
      const refusal = await refusalOf(subject.keys.createKey(newKey(fields)));
      expect(refusal).toEqual({ status, message: expect.stringMatching(message) });
      expect(await subject.keys.listKeys(fields.organizationId ?? 'org_1')).toEqual([]);
    });

    test('a key is tdk_ and 32 random bytes in base58', async () => {
      using subject = await begin();
      const { key } = await subject.keys.createKey(newKey());
      expect(key).toStartWith('tdk_');
      expect(base58.decode(key.slice(4))).toHaveLength(32);
    });

    test('the bounds themselves are fine', async () => {
      using subject = await begin();
      const fields = {
        name: 'x'.repeat(100),
        permissions: Array.from({ length: 50 }, (_, i) => `a:b_c-d.${i}`.padEnd(100, 'x')),
        expiresAt: '2026-11-20T13:00:00.001+01:00',
      };
      const created = await subject.keys.createKey(newKey(fields));
      expect(created).toMatchObject({ ...fields, expiresAt: '2026-11-20T12:00:00.001Z' });
    });
  });
});
