import { expect, test } from 'bun:test';
import { embeddedKeys } from '../../src/people/keys/store.ts';
import { createApp } from '../../src/server/app.ts';
import { compose } from '../support/drafts.ts';
import { createKeySpy } from '../support/key-spy.ts';
import { exchange } from '../support/raw-http.ts';
import { allRows } from '../support/rows.ts';
import { appWithOrganization } from '../support/test-app.ts';

/** The app with a spy before its embedded keys, and a key of each kind. */
async function begin() {
  const spy = createKeySpy();
  const app = await appWithOrganization({
    keys: (base) => spy.watch(embeddedKeys(base)),
    organizations: ['org_1', 'org_2'],
  });
  const { keys: service } = app.deps;
  const expiresAt = new Date(app.clock.now().getTime() + 1).toISOString();
  const fields = { organizationId: 'org_1', name: 'Short', permissions: ['api.read'], expiresAt };
  const expired = await service.createKey(fields);
  const revoked = await app.addKey('org_1');
  await service.revokeKey(revoked.id);
  app.clock.advance(1);
  const keys = {
    good: (await app.addKey('org_1')).key,
    powerless: (await app.addKey('org_1', ['api.write'])).key,
    foreign: (await app.addKey('org_2')).key,
    powerlessForeign: (await app.addKey('org_2', [])).key,
    revoked: revoked.key,
    expired: expired.key,
  };
  return { ...app, spy, keys };
}

type Keys = Awaited<ReturnType<typeof begin>>['keys'];

interface Scenario {
  /** The `Authorization` headers. */
  sent(keys: Keys): string[];
  down?: true;
  status: number;
  error: string;
  /** How often the key service is asked. */
  asked: number;
}

const MISSING = { status: 401, error: 'Missing API key', asked: 0 };
const INVALID = { status: 401, error: 'INVALID_KEY', asked: 1 };

const scenarios: Record<string, Scenario> = {
  'no header': { sent: () => [], ...MISSING },
  'an empty header': { sent: () => [''], ...MISSING },
  'another scheme': { sent: ({ good }) => [`Basic ${good}`], ...MISSING },
  'no scheme': { sent: ({ good }) => [good], ...MISSING },
  'a longer scheme': { sent: ({ good }) => [`Bearers ${good}`], ...MISSING },
  'no space after the scheme': { sent: ({ good }) => [`Bearer${good}`], ...MISSING },
  'a tab after the scheme': { sent: ({ good }) => [`Bearer\t${good}`], ...MISSING },
  'the scheme alone': { sent: () => ['Bearer'], ...MISSING },
  'an empty key': { sent: () => ['Bearer    '], ...MISSING },
  'another scheme before the right one': {
    sent: ({ good }) => ['Basic YTpi', `Bearer ${good}`],
    ...MISSING,
  },
  'the header twice': { sent: ({ good }) => [`Bearer ${good}`, `Bearer ${good}`], ...INVALID },
  'another scheme after the right one': {
    sent: ({ good }) => [`Bearer ${good}`, 'Basic YTpi'],
    ...INVALID,
  },
  'two keys in one header': { sent: ({ good }) => [`Bearer ${good} ${good}`], ...INVALID },
  'an unknown key': { sent: () => ['Bearer tdk_unknown'], ...INVALID },
  'a revoked key': { sent: ({ revoked }) => [`Bearer ${revoked}`], ...INVALID },
  'an expired key': { sent: ({ expired }) => [`Bearer ${expired}`], ...INVALID },
  'a key of 512 characters': { sent: () => [`Bearer ${'x'.repeat(512)}`], ...INVALID },
  'a key of 513 characters': { sent: () => [`Bearer ${'x'.repeat(513)}`], ...INVALID, asked: 0 },
  'a key of 513 characters in an outage': {
    sent: () => [`Bearer ${'x'.repeat(513)}`],
    down: true,
    ...INVALID,
    asked: 0,
  },
  'no header in an outage': { sent: () => [], down: true, ...MISSING },
  'an outage, before permission and organization': {
    sent: ({ powerlessForeign }) => [`Bearer ${powerlessForeign}`],
    down: true,
    status: 503,
    error: 'Authentication service unavailable',
    asked: 1,
  },
  'no api.read': {
    sent: ({ powerless }) => [`Bearer ${powerless}`],
    status: 403,
    error: 'Forbidden',
    asked: 1,
  },
  'no api.read, before organization': {
    sent: ({ powerlessForeign }) => [`Bearer ${powerlessForeign}`],
    status: 403,
    error: 'Forbidden',
    asked: 1,
  },
  'another organization': {
    sent: ({ foreign }) => [`Bearer ${foreign}`],
    status: 403,
    error: 'Forbidden: organization access denied',
    asked: 1,
  },
};

/** A good query and a bad one of each endpoint: the key is judged before them. */
const paths = [
  '/v1/org_1/posts',
  '/v1/org_1/posts?limit=0',
  '/v1/org_1/posts/post_1',
  '/v1/org_1/posts/a%20b',
];

test.each(Object.entries(scenarios))('%s', async (_, { sent, down = false, status, error, asked }) => {
  const { request, spy, keys, db, deps, logged } = await begin();
  const headers = sent(keys).map((value): [string, string] => ['authorization', value]);
  spy.down = down;
  const before = await allRows(db);
  for (const path of paths) {
    spy.asked.length = 0;
    const response = await request(path, { headers });
    expect(response.status).toBe(status);
    expect(await response.text()).toBe(JSON.stringify({ error }));
    expect(response.headers.get('www-authenticate')).toBe(status === 401 ? 'Bearer' : null);
    expect(response.headers.get('retry-after')).toBe(status === 503 ? '1' : null);
    expect(spy.asked).toHaveLength(asked);
  }
  expect(await allRows(db)).toEqual(before);
  // A valid key counts as used even if the organization is refused; an invalid one does not.
  await deps.keys.flush({ all: true });
  if (status === 401) expect(await allRows(db)).toEqual(before);
  const log = JSON.stringify(logged);
  expect(log).toContain(`"status":${status}`);
  for (const key of [...Object.values(keys), 'x'.repeat(512)]) expect(log).not.toContain(key);
});

test.each([
  ['/v1/org_1/posts?limit=0', 'Invalid query parameters'],
  ['/v1/org_1/posts?status=x', 'Invalid query parameters'],
  ['/v1/org_1/posts/post_1?status=x', 'Invalid path params or query'],
  ['/v1/org_1/posts/a%20b', 'Invalid path params or query'],
])('a good key, and only then: %s is 400', async (path, error) => {
  const { request, keys } = await begin();
  const response = await request(path, { headers: { authorization: `Bearer ${keys.good}` } });
  expect(response.status).toBe(400);
  expect(await response.text()).toBe(JSON.stringify({ error }));
});

test.each([
  '/v1/org_3/posts',
  '/v1/org_10/posts',
  '/v1/ORG_1/posts',
  '/v1/a%20b/posts',
  '/v1/org_1%20/posts/x',
])('the path of %s is another organization', async (path) => {
  const { request, keys } = await begin();
  const response = await request(path, { headers: { authorization: `Bearer ${keys.good}` } });
  expect(response.status).toBe(403);
  expect(await response.json()).toEqual({ error: 'Forbidden: organization access denied' });
});

test.each(['Bearer', 'bearer', 'BEARER', 'bEaReR', '  Bearer', 'Bearer   '])(
  'a good key behind %p opens both endpoints',
  async (scheme) => {
    const { request, keys, spy } = await begin();
    for (const path of ['/v1/org_1/posts', '/v1/org_1/posts/post_1']) {
      const response = await request(path, { headers: { authorization: `${scheme} ${keys.good} ` } });
      expect(response.status).toBe(200);
    }
    expect(spy.asked).toEqual([keys.good, keys.good]);
  },
);

test('a header that stands twice on the wire is refused', async () => {
  const { deps, keys } = await begin();
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: createApp({ ...deps, compose }).fetch });
  try {
    const head = ['GET /v1/org_1/posts HTTP/1.1', 'Host: localhost', 'Connection: close'];
    const authorization = `Authorization: Bearer ${keys.good}`;
    const send = (...headers: string[]) => exchange(server.port, [...head, ...headers]);
    expect(await send(authorization)).toStartWith('HTTP/1.1 200 ');
    expect(await send(authorization, authorization)).toStartWith('HTTP/1.1 401 ');
    expect(await send('Authorization: Bearer tdk_x', authorization)).toStartWith('HTTP/1.1 401 ');
    expect(await send(authorization, 'authorization: Basic YTpi')).toStartWith('HTTP/1.1 401 ');
  } finally {
    await server.stop(true);
  }
});
