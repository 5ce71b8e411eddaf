import { expect, test } from 'bun:test';
import { type Begin, later, MINUTE, newKey, READ } from './subject.ts';

export function listing(begin: Begin): void {
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
}
