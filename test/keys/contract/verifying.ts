import { expect, test } from 'bun:test';
import { type Begin, later, MINUTE, newKey, READ, type Subject } from './subject.ts';

export function verifying(begin: Begin): void {
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
}
