import { expect, test } from 'bun:test';
import { base58 } from '@scure/base';
import type { NewKey } from '../../../src/people/keys/store.ts';
import { refusalOf } from '../../support/refusal.ts';
import { type Begin, newKey, READ } from './subject.ts';

export function creating(begin: Begin): void {
  const bad: [string, Partial<NewKey>, number, RegExp][] = [
    ['an unknown organization', { organizationId: 'org_none' }, 404, /^Organization org_none not found/],
    ['no name', { name: '' }, 400, /^name must not be empty/],
    ['a blank name', { name: ' \t' }, 400, /^name must not be empty/],
    ['a long name', { name: 'x'.repeat(101) }, 400, /^name must have at most 100 characters, not 101/],
    ['a permission with a space', { permissions: [READ, 'api read'] }, 400, /^permissions\.1 must be/],
    ['an empty permission', { permissions: [''] }, 400, /^permissions\.0 must be/],
    ['a long permission', { permissions: ['x'.repeat(101)] }, 400, /^permissions\.0 must be/],
    ['a permission twice', { permissions: [READ, READ] }, 400, /^permissions .*unique/],
    ['51 permissions', { permissions: Array.from({ length: 51 }, (_, i) => `p${i}`) }, 400, /^permissions /],
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
}
