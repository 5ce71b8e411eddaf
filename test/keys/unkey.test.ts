import { describe, expect, test } from 'bun:test';
import { describeRevocation } from '../../src/people/keys/store.ts';
import { deleteOrganization, restoreOrganization } from '../../src/people/organizations.ts';
import { allRows } from '../support/rows.ts';
import { bearer } from '../support/test-app.ts';
import type { Verification } from '../support/unkey/keys.ts';
import { createUnkeyApp } from '../support/unkey-app.ts';

const PATH = '/v1/org_1/posts';

/** The app, and a good key of org_1 at Unkey. */
async function begin() {
  const app = await createUnkeyApp({ organizations: ['org_1', 'org_2'] });
  const created = await app.addKey('org_1');
  app.unkey.requests.length = 0;
  return { ...app, ...created };
}

test('a good key reads, and Unkey is asked each time', async () => {
  using app = await begin();
  for (const path of [PATH, `${PATH}/post_1`]) {
    expect((await app.request(path, bearer(app.key))).status).toBe(200);
  }
  expect(app.unkey.requests).toEqual(['keys.verifyKey', 'keys.verifyKey']);
});

test('a key of an organization in the trash is refused at once', async () => {
  using app = await begin();
  await deleteOrganization(app.deps, 'org_1', 'Organization org_1');
  expect(await (await app.request(PATH, bearer(app.key))).json()).toEqual({ error: 'INVALID_KEY' });
  await restoreOrganization(app.deps, 'org_1');
  expect((await app.request(PATH, bearer(app.key))).status).toBe(200);
});

describe("Unkey's answer about a key decides the response", () => {
  const elsewhere = { id: 'id_x', externalId: 'org_2' };
  const unnamed = { id: 'id_x', externalId: '' };
  const DENIED = 'Forbidden: organization access denied';
  const DOWN = 'Authentication service unavailable';

  const answers: [Partial<Verification>, number, string][] = [
    [{ valid: false, code: 'NOT_FOUND' }, 401, 'INVALID_KEY'],
    [{ valid: false, code: 'DISABLED' }, 401, 'INVALID_KEY'],
    [{ valid: false, code: 'EXPIRED' }, 401, 'INVALID_KEY'],
    [{ valid: false, code: 'A_CODE_OF_TOMORROW' }, 401, 'INVALID_KEY'],
    [{ valid: false, code: '' }, 401, 'INVALID_KEY'],
    [{ valid: false, code: 'valid' }, 401, 'INVALID_KEY'],
    [{ valid: false, code: 'INSUFFICIENT_PERMISSIONS' }, 403, 'Forbidden'],
    [{ valid: false, code: 'FORBIDDEN' }, 403, 'Forbidden'],
    [{ valid: false, code: 'RATE_LIMITED' }, 429, 'RATE_LIMITED'],
    [{ valid: false, code: 'USAGE_EXCEEDED' }, 429, 'USAGE_EXCEEDED'],
    [{ identity: undefined }, 403, DENIED],
    [{ identity: elsewhere }, 403, DENIED],
    [{ identity: unnamed }, 403, DENIED],
    // The code comes before the organization.
    [{ valid: false, code: 'INSUFFICIENT_PERMISSIONS', identity: elsewhere }, 403, 'Forbidden'],
    [{ valid: false, code: 'RATE_LIMITED', identity: elsewhere }, 429, 'RATE_LIMITED'],
    [{ valid: false, code: 'EXPIRED', identity: undefined }, 401, 'INVALID_KEY'],
    // A contradictory response never grants access.
    [{ valid: true, code: 'DISABLED' }, 401, 'INVALID_KEY'],
    [{ valid: true, code: 'A_CODE_OF_TOMORROW' }, 401, 'INVALID_KEY'],
    [{ valid: true, code: 'FORBIDDEN' }, 403, 'Forbidden'],
    [{ valid: true, code: 'RATE_LIMITED' }, 429, 'RATE_LIMITED'],
    [{ valid: false, code: 'VALID' }, 503, DOWN],
    [{ valid: true, code: 'VALID', keyId: undefined }, 503, DOWN],
  ];

  test.each(answers)('%j: %d %s', async (answer, status, error) => {
    using app = await begin();
    const before = await allRows(app.db);
    for (const path of [PATH, `${PATH}/post_1`, `${PATH}?limit=0`]) {
      app.unkey.answerNext(answer);
      const response = await app.request(path, bearer(app.key));
      expect(response.status).toBe(status);
      expect(await response.text()).toBe(JSON.stringify({ error }));
      expect(response.headers.get('www-authenticate')).toBe(status === 401 ? 'Bearer' : null);
    }
    await app.deps.keys.flush({ all: true });
    expect(await allRows(app.db)).toEqual(before);
    // Nothing of it is remembered.
    expect((await app.request(PATH, bearer(app.key))).status).toBe(200);
  });

  test('a key without an identity is of no organization', async () => {
    using app = await begin();
    app.unkey.answerNext({ identity: undefined });
    expect(await app.deps.keys.verifyKey(app.key, 'api.read')).toMatchObject({ organizationId: null });
  });

  test('a key reads its own organization and no other', async () => {
    using app = await begin();
    const { key } = await app.addKey('org_2');
    expect((await app.request(PATH, bearer(key))).status).toBe(403);
    expect((await app.request('/v1/org_2/posts', bearer(key))).status).toBe(200);
  });
});

describe('a limit that Unkey reports becomes the headers of section 8', () => {
  const LIMITS = ['retry-after', 'x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'];
  const limit =
    (exceeded: boolean, resetsInMs: number, more: object = {}) =>
    (now: number) => ({
      ...{ id: 'rl_1', name: 'requests', autoApply: true, duration: 60_000, limit: 100, remaining: 0 },
      ...{ exceeded, reset: now + resetsInMs, ...more },
    });
  type Limits = ReturnType<typeof limit>[];

  const cases: [string, string, Limits, number | undefined, (number | null)[]][] = [
    ['the exceeded limit', 'RATE_LIMITED', [limit(true, 41_500)], undefined, [42, 100, 0, 42]],
    [
      'of several, the one that resets last',
      'RATE_LIMITED',
      [limit(true, 1_000), limit(true, 5_000, { limit: 7 }), limit(false, 90_000, { remaining: 9 })],
      undefined,
      [5, 7, 0, 5],
    ],
    [
      'a reset that is a duration, as Unkey documents it',
      'RATE_LIMITED',
      [limit(true, 0, { reset: 41_500 })],
      undefined,
      [42, 100, 0, 42],
    ],
    ['a limit that resets now', 'RATE_LIMITED', [limit(true, 0)], undefined, [1, 100, 0, 0]],
    ['no limit named', 'RATE_LIMITED', [], undefined, [null, null, null, null]],
    ['credits that are used up', 'USAGE_EXCEEDED', [limit(false, 5_000)], 0, [null, null, 0, null]],
    ['credits that are not named', 'USAGE_EXCEEDED', [], undefined, [null, null, null, null]],
  ];

  test.each(cases)('%s (%s)', async (_, code, limits, credits, [wait, ...rest]) => {
    using app = await begin();
    const now = app.clock.now().getTime();
    const ratelimits = limits.map((each) => each(now));
    app.unkey.answerNext({ valid: false, code, credits, ratelimits });
    const { status, headers } = await app.request(PATH, bearer(app.key));
    expect(status).toBe(429);
    // The reset is a time: in seconds since 1970, rounded up.
    const expected = [wait, rest[0], rest[1], rest[2] == null ? null : now / 1000 + rest[2]];
    expect(LIMITS.map((name) => headers.get(name))).toEqual(
      expected.map((value) => (value == null ? null : String(value))),
    );
  });

  test('a 429 of Unkey itself is a 503, because the key was not verified', async () => {
    using app = await begin();
    app.unkey.fault = 'answers 429';
    const { status, headers } = await app.request(PATH, bearer(app.key));
    expect(status).toBe(503);
    const reset = app.clock.now().getTime() / 1000 + 17;
    expect(LIMITS.map((name) => headers.get(name))).toEqual(['17', '600', '0', String(reset)]);
  });

  test('a key without a limit has none of these headers', async () => {
    using app = await begin();
    app.unkey.answerNext({ ratelimits: [limit(false, 5_000)(app.clock.now().getTime())], credits: 5 });
    const { status, headers } = await app.request(PATH, bearer(app.key));
    expect(status).toBe(200);
    expect(LIMITS.filter((name) => headers.has(name))).toEqual([]);
  });
});

test('a revoked key can pass at another node of Unkey, as the service says', async () => {
  using app = await begin();
  const { id, key } = await app.addKey('org_1');
  app.unkey.isOtherNode = true;
  const statusOf = async () => (await app.request(PATH, bearer(key))).status;
  expect(await statusOf()).toBe(200);
  await app.deps.keys.revokeKey(id);
  app.clock.advance(9_999);
  expect(await statusOf()).toBe(200);
  app.clock.advance(500_000);
  expect([await statusOf(), await statusOf()]).toEqual([200, 401]);
  expect(describeRevocation(app.deps.keys)).toContain('10 more seconds, in rare cases for 10 minutes');
});

test.each([
  [512, 1],
  [513, 0],
])('a key of %d characters: Unkey is asked %d times', async (length, asked) => {
  using app = await begin();
  const response = await app.request(PATH, bearer('x'.repeat(length)));
  expect(response.status).toBe(401);
  expect(await response.json()).toEqual({ error: 'INVALID_KEY' });
  expect(app.unkey.requests).toHaveLength(asked);
});
