import { expect, test } from 'bun:test';
import { refusalOf } from '../../support/refusal.ts';
import { type Begin, MINUTE, newKey, READ } from './subject.ts';

export function ending(begin: Begin): void {
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
}
