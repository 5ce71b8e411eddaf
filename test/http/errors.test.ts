import { describe, expect, test } from 'bun:test';
import { AppError } from '../../src/lib/app-error.ts';
import type { KeyService } from '../../src/people/keys/store.ts';
import { appWithOrganization, bearer, createTestApp } from '../support/test-app.ts';

describe('an unknown path', () => {
  test.each([
    '/nope',
    '/v1',
    '/v1/org_a',
    '/v1/org_a/posts/',
    '/v1/org_a/posts/p/x',
    '/v2/org_a/posts',
    '/PING',
    '/ping/',
  ])('%s is 404 as JSON', async (path) => {
    const response = await createTestApp().request(path);
    expect(response.status).toBe(404);
    expect(await response.text()).toBe('{"error":"Not found"}');
  });
});

describe('a method that a path does not have', () => {
  const paths = ['/ping', '/openapi.json', '/docs', '/v1/org_a/posts', '/v1/org_a/posts/p'];
  const methods = ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

  test.each(paths)('%s is 405 with Allow', async (path) => {
    for (const method of methods) {
      const response = await createTestApp().request(path, { method });
      expect(response.status, method).toBe(405);
      expect(response.headers.get('allow')).toBe('GET, HEAD');
      expect(await response.text()).toBe('{"error":"Method not allowed"}');
    }
  });
});

test('a body over 25 MiB is 413 on every path', async () => {
  const app = createTestApp();
  const declare = (bytes: number) => ({ method: 'POST', headers: { 'content-length': String(bytes) } });
  for (const path of ['/ping', '/ping?x=/api/webhooks/', '/nope', '/v1/org_a/posts']) {
    const response = await app.request(path, declare(25 * 1024 * 1024 + 1));
    expect(response.status).toBe(413);
    expect(await response.text()).toBe('{"error":"Payload too large"}');
  }
  expect((await app.request('/nope', declare(25 * 1024 * 1024))).status).toBe(404);
});

test('every answer carries the headers that keep browsers from guessing', async () => {
  const app = createTestApp();
  for (const path of ['/ping', '/docs', '/openapi.json', '/nope', '/v1/org_a/posts']) {
    const { headers } = await app.request(path);
    expect(headers.get('x-content-type-options'), path).toBe('nosniff');
    expect(headers.get('referrer-policy'), path).toBe('no-referrer');
    expect(headers.get('access-control-allow-origin'), path).toBeNull();
  }
});

test('an unexpected error is 500 without its cause, and is logged in full', async () => {
  const failing: Partial<KeyService> = {
    verifyKey: () => Promise.reject(new Error('the secret cause')),
  };
  const app = createTestApp({ keys: () => failing as KeyService });
  const response = await app.request('/v1/org_a/posts', bearer('tdk_x'));
  expect(response.status).toBe(500);
  expect(await response.text()).toBe('{"error":"Internal server error"}');
  const requestId = response.headers.get('x-request-id');
  expect(app.logged.find(({ level }) => level === 'error')).toMatchObject({
    requestId,
    method: 'GET',
    err: { message: 'the secret cause', stack: expect.stringContaining('errors.test.ts') },
  });
});

test('requests are logged with path and status, and never with a key', async () => {
  const app = await appWithOrganization();
  const key = await app.addKey('org_a');
  await app.request('/v1/org_a/posts?limit=1', bearer(key));
  await app.request('/v1/org_b/posts', bearer(key));
  expect(app.logged.filter(({ path }) => String(path).startsWith('/v1'))).toMatchObject([
    {
      level: 'debug',
      method: 'GET',
      path: '/v1/org_a/posts',
      status: 200,
      requestId: expect.stringMatching(/^req_/),
    },
    { level: 'info', method: 'GET', path: '/v1/org_b/posts', status: 403 },
  ]);
  expect(JSON.stringify(app.logged)).not.toContain(key.key.slice(4));
});

describe('the X-Request-Id of a request', () => {
  const failing: Partial<KeyService> = {
    verifyKey: () => Promise.reject(new AppError(503, 'Authentication service unavailable')),
  };

  /** Sends a request that fails on our side. Returns the id of its answer, which both of its log lines have. */
  async function idOf(given: string): Promise<string> {
    const app = createTestApp({ keys: () => failing as KeyService });
    const { headers } = bearer('tdk_x');
    const response = await app.request('/v1/org_a/posts', { headers: { ...headers, 'x-request-id': given } });
    const id = response.headers.get('x-request-id') ?? '';
    const lines = app.logged.filter(({ level }) => level === 'error' || level === 'warn');
    expect(lines.map(({ requestId }) => requestId)).toEqual([id, id]);
    return id;
  }

  test.each(['trace-01', '4bf92f3577b34da6a3ce929d0e0e4736', 'Root:1-67891233.abc_d'])(
    '%s is taken over',
    async (given) => {
      expect(await idOf(given)).toBe(given);
    },
  );

  test.each(['', 'short', 'x'.repeat(129), 'with space inside', '{"json":"injected"}', 'a;b,c=12345'])(
    '%j is not',
    async (given) => {
      expect(await idOf(given)).toMatch(/^req_[\w-]{22}$/);
    },
  );
});
