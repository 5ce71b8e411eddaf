import { describe, expect, spyOn, test } from 'bun:test';
import { withCheck } from '../../db/checked.ts';
import { AccessEnded } from '../../src/lib/app-error.ts';
import { describeKeyWarning, type KeyService } from '../../src/people/keys/store.ts';
import { refusalOf } from '../support/refusal.ts';
import { allRows } from '../support/rows.ts';
import { allFaults, holdDeadAddress } from '../support/unkey/faults.ts';
import { createUnkeyApp } from '../support/unkey-app.ts';
import { API_ID, permissionOn } from '../support/unkey-server.ts';

const fields = { organizationId: 'org_1', name: 'Website', permissions: ['api.read'], expiresAt: null };
const UNAVAILABLE = { status: 503, message: 'Authentication service unavailable' };

const calls: [string, (keys: KeyService) => Promise<unknown>][] = [
  ['createKey', (keys) => keys.createKey(fields)],
  ['listKeys', (keys) => keys.listKeys('org_1')],
  ['revokeKey', (keys) => keys.revokeKey('key_1')],
  ['deleteKey', (keys) => keys.deleteKey('key_1')],
];

const begin = (options: Parameters<typeof createUnkeyApp>[0] = {}) =>
  createUnkeyApp({ ...options, organizations: ['org_1'] });

describe('a problem that an operator can fix has a message', () => {
  test.each(calls)('%s with a bad root key', async (_, call) => {
    using app = await begin({ rootKey: 'unkey_wrong' });
    expect(await refusalOf(call(app.deps.keys))).toEqual({
      status: 502,
      message: 'Unkey refused the request (401): The provided root key is invalid.',
    });
  });

  test.each(calls.slice(0, 2))('%s without UNKEY_API_ID', async (_, call) => {
    using app = await begin({ withoutApiId: true });
    const message = expect.stringMatching(/^UNKEY_API_ID must be set/);
    expect(await refusalOf(call(app.deps.keys))).toEqual({ status: 400, message });
    expect(app.unkey.requests).toEqual([]);
  });

  test.each(calls.slice(0, 2))('%s with the id of another API', async (_, call) => {
    using app = await begin({ apiId: 'api_of_somebody_else' });
    expect(await refusalOf(call(app.deps.keys))).toEqual({
      status: 502,
      message:
        'Unkey refused the request (404): The specified API was not found. Unkey also answers 404 when the root key lacks a permission.',
    });
  });

  test.each([
    ['revokeKey', 'read_key'],
    ['revokeKey', 'update_key'],
    ['deleteKey', 'delete_key'],
  ] as const)('%s without %s changes nothing', async (call, action) => {
    using app = await begin();
    const { id, key } = await app.addKey('org_1');
    app.unkey.permissions.delete(permissionOn(action));
    const refusal = await refusalOf(app.deps.keys[call](id));
    expect(refusal.status).toBe(502);
    expect(refusal.message).toStartWith('Unkey refused the request (403): Missing one of these permissions');
    expect(refusal.message).toContain(permissionOn(action));
    expect(await app.deps.keys.verifyKey(key, 'api.read')).toMatchObject({ outcome: 'valid' });
  });

  test('a field that only Unkey bounds is named', async () => {
    using app = await begin();
    // Unkey takes no expiry after 2099.
    const refusal = await refusalOf(
      app.deps.keys.createKey({ ...fields, expiresAt: '2100-01-01T00:00:00.001Z' }),
    );
    expect(refusal.status).toBe(502);
    expect(refusal.message).toMatch(
      /^Unkey refused the request \(400\): One or more fields failed validation; body\.expires .+/,
    );
  });

  test('too many requests', async () => {
    using app = await begin();
    app.unkey.fault = 'answers 429';
    expect(await refusalOf(app.deps.keys.listKeys('org_1'))).toEqual({
      status: 502,
      message:
        'Unkey refused the request (429): This workspace has exceeded its API rate limit of 600/1m0s. Please try again later.',
    });
  });

  test.each(['answers 403 with a page', 'answers 403 with JSON of another shape'] as const)(
    'a refusal that is not in the form of Unkey is not repeated: %s',
    async (fault) => {
      using app = await begin();
      app.unkey.fault = fault;
      expect(await refusalOf(app.deps.keys.listKeys('org_1'))).toEqual({
        status: 502,
        message: 'Unkey refused the request (403) without saying why',
      });
    },
  );
});

describe('an outage is not reported as an error of the person', () => {
  // Those that hang are left out: management waits two seconds for them.
  const outages = allFaults.filter((fault) => !/never|middle|403|429/.test(fault));

  describe.each(outages)('a server that %s', (fault) => {
    test.each(calls)('%s', async (_, call) => {
      using app = await begin();
      app.unkey.fault = fault;
      expect(await refusalOf(call(app.deps.keys))).toEqual(UNAVAILABLE);
      expect(app.unkey.requests).toHaveLength(1);
    });
  });

  test.each(calls)('nobody listens: %s', async (_, call) => {
    using dead = await holdDeadAddress();
    using app = await begin({ baseUrl: dead.url });
    expect(await refusalOf(call(app.deps.keys))).toEqual(UNAVAILABLE);
  });
});

describe('a new key is verified once', () => {
  test('one that works has no warning, and counts as never used', async () => {
    using app = await begin();
    const created = await app.deps.keys.createKey(fields);
    expect(app.unkey.requests).toEqual(['keys.createKey', 'keys.verifyKey']);
    expect(created.warning).toBeUndefined();
    expect((await app.deps.keys.listKeys('org_1'))[0]?.lastUsedAt).toBeNull();
  });

  test('a root key without verify_key is named', async () => {
    using app = await begin();
    app.unkey.permissions.delete(permissionOn('verify_key'));
    const { key, warning } = await app.deps.keys.createKey(fields);
    const permission = `api.${API_ID}.verify_key`;
    expect(warning).toEqual({ reason: 'refused', code: 'NOT_FOUND', permission });
    const sentence = warning && describeKeyWarning(warning);
    expect(sentence).toStartWith(
      `Unkey answers NOT_FOUND for the new key, so the API refuses it. Give the root key ${permission}.`,
    );
    expect(sentence).not.toContain(key);
  });

  test.each([
    ['RATE_LIMITED', undefined],
    ['FORBIDDEN', { reason: 'refused', code: 'FORBIDDEN', permission: null } as const],
  ])('%s', async (code, warning) => {
    using app = await begin();
    app.unkey.answerNext({ valid: false, code });
    const created = await app.deps.keys.createKey(fields);
    expect(created.warning).toEqual(warning);
    if (warning === undefined) return;
    const sentence = 'Unkey answers FORBIDDEN for the new key, so the API refuses it.';
    expect(describeKeyWarning(warning)).toStartWith(sentence);
  });

  test('an outage after the creation does not lose the key', async () => {
    using app = await begin();
    app.unkey.failAfter('keys.createKey', 'answers 500');
    const { key, warning } = await app.deps.keys.createKey(fields);
    expect(key).toStartWith('tdk_');
    expect(warning).toEqual({ reason: 'not_verified' });
    expect(warning && describeKeyWarning(warning)).toStartWith('Unkey did not verify the new key.');
  });
});

describe('whose right to manage keys has ended', () => {
  /** `while`: when Unkey has answered, before it is recorded. */
  async function openEnding(when: 'before' | 'while') {
    const app = await begin();
    const db = withCheck(app.db, async (_, isWriting) => {
      if (when === 'before' || isWriting) throw new AccessEnded(404, 'Page not found.');
    });
    const { id, key } = await app.addKey('org_1');
    app.unkey.requests.length = 0;
    const verdict = () => app.deps.keys.verifyKey(key, 'api.read');
    return { ...app, id, verdict, keys: app.deps.keys.as({ db }) };
  }
  const ended = { status: 404, message: 'Page not found.' };

  test.each([
    ['createKey', (keys: KeyService) => keys.createKey(fields)],
    ['revokeKey', (keys: KeyService, id: string) => keys.revokeKey(id)],
    ['deleteKey', (keys: KeyService, id: string) => keys.deleteKey(id)],
  ] as const)('Unkey is not asked to change anything: %s', async (_, change) => {
    using app = await openEnding('before');
    expect(await refusalOf(change(app.keys, app.id))).toEqual(ended);
    expect(app.unkey.requests.filter((name) => name !== 'keys.getKey')).toEqual([]);
  });

  test('a key that was created meanwhile is deleted', async () => {
    using app = await openEnding('while');
    expect(await refusalOf(app.keys.createKey(fields))).toEqual(ended);
    expect(app.unkey.requests).toEqual(['keys.createKey', 'keys.verifyKey', 'keys.deleteKey']);
    expect((await app.deps.keys.listKeys('org_1')).map(({ id }) => id)).toEqual([app.id]);
  });

  test('a key that was revoked meanwhile works again', async () => {
    using app = await openEnding('while');
    expect(await refusalOf(app.keys.revokeKey(app.id))).toEqual(ended);
    expect(await app.verdict()).toMatchObject({ outcome: 'valid' });
  });

  test('a key that was deleted meanwhile stays deleted, and is recorded', async () => {
    using app = await openEnding('while');
    await app.keys.deleteKey(app.id);
    expect(await app.verdict()).not.toMatchObject({ outcome: 'valid' });
    const rows = (await allRows(app.db)).audit_events ?? [];
    expect(rows.map(({ action }) => action)).toContain('key.deleted');
  });

  test('a key that cannot be taken back is in the log', async () => {
    using app = await openEnding('while');
    app.unkey.failAfter('keys.verifyKey', 'answers 500');
    expect(await refusalOf(app.keys.createKey(fields))).toEqual(ended);
    expect(app.logged.at(-1)).toMatchObject({ level: 'error', action: 'key.created' });
  });
});

test('a person waits 2 seconds for Unkey, the API as long as UNKEY_TIMEOUT_MS says', async () => {
  using app = await begin({ timeoutMs: 700 });
  const timeouts = spyOn(AbortSignal, 'timeout');
  try {
    const { id, key } = await app.deps.keys.createKey(fields);
    await app.deps.keys.listKeys('org_1');
    await app.deps.keys.revokeKey(id);
    await app.deps.keys.deleteKey(id);
    expect(app.unkey.requests).toHaveLength(timeouts.mock.calls.length);
    expect(new Set(timeouts.mock.calls.flat())).toEqual(new Set([2_000]));
    timeouts.mockClear();
    await app.deps.keys.verifyKey(key, 'api.read');
    expect(timeouts.mock.calls).toEqual([[700]]);
  } finally {
    timeouts.mockRestore();
  }
});
