import { describe, expect, test } from 'bun:test';
import { allRows } from '../support/rows.ts';
import { bearer } from '../support/test-app.ts';
import type { Verification } from '../support/unkey/keys.ts';
import { createUnkeyApp } from '../support/unkey-app.ts';

const PATH = '/v1/org_1/posts';

/** The app, and a good key of org_1 at Unkey. */
async function begin() {
  const app = createUnkeyApp();
  await app.addOrganization('org_1');
  await app.addOrganization('org_2');
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

describe('what Unkey says of a key decides the answer', () => {
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
    // What contradicts itself never lets anybody in.
    [{ valid: true, code: 'DISABLED' }, 401, 'INVALID_KEY'],
    [{ valid: true, code: 'A_CODE_OF_TOMORROW' }, 401, 'INVALID_KEY'],
    [{ valid: true, code: 'FORBIDDEN' }, 403, 'Forbidden'],
    [{ valid: true, code: 'RATE_LIMITED' }, 429, 'RATE_LIMITED'],
    [{ valid: false, code: 'VALID' }, 503, DOWN],
    [{ valid: true, code: 'VALID', keyId: undefined }, 503, DOWN],
  ];

  test.each(answers)('%j: %d %s', async (answer, status, error) => {
    using app = await begin();
    const before = allRows(app.db);
    for (const path of [PATH, `${PATH}/post_1`, `${PATH}?limit=0`]) {
      app.unkey.answerNext(answer);
      const response = await app.request(path, bearer(app.key));
      expect(response.status).toBe(status);
      expect(await response.text()).toBe(JSON.stringify({ error }));
      expect(response.headers.get('www-authenticate')).toBe(status === 401 ? 'Bearer' : null);
    }
    await app.deps.keys.flush({ all: true });
    expect(allRows(app.db)).toEqual(before);
    // Nothing of it is remembered.
    expect((await app.request(PATH, bearer(app.key))).status).toBe(200);
  });

  test('a key without an identity is of no organization', async () => {
    using app = await begin();
    app.unkey.answerNext({ identity: undefined });
    expect(await app.deps.keys.verifyKey(app.key, 'api.read')).toMatchObject({ organizationId: null });
  });

  test('a key of another organization, as it really is', async () => {
    using app = await begin();
    const { key } = await app.addKey('org_2');
    expect((await app.request(PATH, bearer(key))).status).toBe(403);
    expect((await app.request('/v1/org_2/posts', bearer(key))).status).toBe(200);
  });
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
