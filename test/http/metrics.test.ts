import { describe, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { DatabaseUnavailable } from '../../db/failures.ts';
import { type KeyService, KeyServiceUnavailable } from '../../src/people/keys/store.ts';
import { providers } from '../../src/providers/index.ts';
import { createApp } from '../../src/server/app.ts';
import { execute } from '../support/database.ts';
import { appWithGithub, connectLinear, githubRequest, linearRequest } from '../support/deliveries.ts';
import { appWithOrganization, bearer, createTestApp, documented, type TestApp } from '../support/test-app.ts';

const TOKEN = 'a-token-that-nobody-guesses';

interface Asked {
  address?: string | null;
  token?: string;
  headers?: Record<string, string>;
}

/** Asks a server for its metrics, as a client at that address. */
async function ask(app: TestApp, { address = '127.0.0.1', token, headers = {} }: Asked = {}) {
  const { fetch } = createApp({
    ...app.deps,
    compose: () => Promise.reject(new Error('no draft is made here')),
    peerAddress: () => address,
    metricsToken: token,
  });
  const response = await fetch(new Request('http://localhost/metrics', { headers }));
  await documented().check('GET', '/metrics', response.clone());
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** The values of a metric, by their labels as they stand. */
async function valuesOf(app: TestApp, name: string): Promise<Record<string, number>> {
  const { text } = await ask(app);
  const lines = text.matchAll(new RegExp(`^${name}(?:\\{(.*)\\})? (\\S+)$`, 'gm'));
  return Object.fromEntries(Array.from(lines, ([, labels = '', value]) => [labels, Number(value)]));
}

/** The same without zeros. */
async function countsOf(app: TestApp, name: string): Promise<Record<string, number>> {
  return Object.fromEntries(Object.entries(await valuesOf(app, name)).filter(([, value]) => value > 0));
}

describe('without a token', () => {
  test.each(['127.0.0.1', '127.8.9.1', '::1', '::ffff:127.0.0.1'])('%s may read', async (address) => {
    const { status, headers, text } = await ask(createTestApp(), { address });
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(text).toContain('# TYPE tidings_http_requests_total counter\n');
  });

  test.each<[string, Asked]>([
    ['another machine', { address: '10.0.0.5' }],
    ['one that looks alike', { address: '127.0.0.1.example.com' }],
    ['one in IPv6', { address: '2001:db8::1' }],
    ['nobody knows who', { address: null }],
    ...[
      'Forwarded',
      'X-Forwarded-For',
      'X-Forwarded-Host',
      'X-Forwarded-Proto',
      'X-Real-IP',
      'X-Client-IP',
      'True-Client-IP',
      'CF-Connecting-IP',
      'Fly-Client-IP',
      'X-Cluster-Client-IP',
      'X-Envoy-External-Address',
      'X-Amzn-Trace-Id',
      'Via',
    ].map((name): [string, Asked] => [
      `a proxy here that says ${name}`,
      { headers: { [name]: '127.0.0.1' } },
    ]),
    ['a proxy here that passes the host on', { headers: { host: 'tidings.example.com' } }],
    ['one who guesses at a token', { address: '10.0.0.5', headers: { authorization: `Bearer ${TOKEN}` } }],
  ])('%s may not', async (_, asked) => {
    const { status, text } = await ask(createTestApp(), asked);
    expect(status).toBe(403);
    expect(JSON.parse(text)).toEqual({
      error: 'Metrics are for clients on this machine, unless METRICS_TOKEN is set',
    });
  });
});

describe('with a token', () => {
  test.each<[string, Asked]>([
    ['from afar', { address: '10.0.0.5' }],
    ['through a proxy', { headers: { 'x-forwarded-for': '10.0.0.5' } }],
    ['with the scheme in another case', { headers: { authorization: `bearer ${TOKEN}` } }],
  ])('who has it may read, %s', async (_, asked) => {
    const headers = { authorization: `Bearer ${TOKEN}`, ...asked.headers };
    expect((await ask(createTestApp(), { ...asked, token: TOKEN, headers })).status).toBe(200);
  });

  test.each(['', `Bearer ${TOKEN}x`, `Bearer ${TOKEN.slice(1)}`, 'Bearer x', `Basic ${TOKEN}`, TOKEN])(
    'who sends %j may not, even from here',
    async (authorization) => {
      const headers: Record<string, string> = authorization === '' ? {} : { authorization };
      const refused = await ask(createTestApp(), { token: TOKEN, headers });
      expect(refused.status).toBe(401);
      expect(refused.headers.get('www-authenticate')).toBe('Bearer');
      expect(refused.text).not.toContain(TOKEN.slice(1));
    },
  );
});

describe('requests', () => {
  test('are counted by the pattern of their route, never by its values', async () => {
    const app = await appWithOrganization();
    const key = await app.addKey('org_a');
    const paths = ['/v1/org_a/posts', '/v1/org_a/posts?limit=1', '/v1/org_a/posts/p1', '/v1/org_a/posts/p2'];
    for (const path of paths) await app.request(path, bearer(key));
    await app.request('/v1/org_b/posts/p1', bearer(key));
    await app.request('/v1/org_a/posts/p1');
    await app.request('/v1/org_a/posts/p1', { ...bearer(key), method: 'HEAD' });
    await app.request('/v1/org_a/posts', { method: 'DELETE' });
    for (const path of ['/nope', '/wp-login.php', '/v1/a/b/c/d']) await app.request(path);
    await app.request('/ping', { method: 'POST', headers: { 'content-length': String(2 ** 30) } });

    expect(await valuesOf(app, 'tidings_http_requests_total')).toEqual({
      'route="/v1/{organizationId}/posts",method="GET",status="200"': 2,
      'route="/v1/{organizationId}/posts/{postId}",method="GET",status="200"': 2,
      'route="/v1/{organizationId}/posts/{postId}",method="GET",status="403"': 1,
      'route="/v1/{organizationId}/posts/{postId}",method="GET",status="401"': 1,
      'route="/v1/{organizationId}/posts/{postId}",method="HEAD",status="200"': 1,
      'route="none",method="DELETE",status="405"': 1,
      'route="none",method="GET",status="404"': 3,
      'route="none",method="POST",status="413"': 1,
    });
    const took = await valuesOf(app, 'tidings_http_request_duration_seconds_count');
    expect(took['route="/v1/{organizationId}/posts/{postId}",method="GET"']).toBe(4);
    const buckets = await valuesOf(app, 'tidings_http_request_duration_seconds_bucket');
    expect(buckets['route="/v1/{organizationId}/posts/{postId}",method="GET",le="+Inf"']).toBe(4);
  });

  test('of every route are counted as its own, many at once, whatever they come to', async () => {
    const app = createTestApp();
    const document = (await (await app.request('/openapi.json')).json()) as { paths: Record<string, object> };
    const routes = [
      ...Object.entries(document.paths).flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => [method.toUpperCase(), path] as const),
      ),
      ['GET', '/dashboard/{organizationId}/posts'],
      ['POST', '/dashboard/~/sign-in'],
      ['GET', '/setup'],
    ] as const;
    expect(routes.length).toBeGreaterThan(8);
    const fill = (path: string) => path.replaceAll(/\{(\w+)\}/g, 'x');
    await Promise.all(
      routes.map(([method, path]) =>
        app.request(fill(path), { method, ...(method === 'POST' ? { body: '{}' } : {}) }),
      ),
    );
    const counted = Object.keys(await valuesOf(app, 'tidings_http_requests_total'));
    for (const [method, path] of routes) {
      expect(counted.filter((each) => each.startsWith(`route="${path}",method="${method}"`))).toHaveLength(1);
    }
    expect(counted.filter((each) => each.startsWith('route="none"'))).toEqual([]);
  });

  test('with a method that nobody knows share a label', async () => {
    const app = createTestApp();
    for (const method of ['PROPFIND', 'BREW', 'MKCOL']) {
      const request = new Request('http://localhost/ping', { method });
      await createApp({ ...app.deps, compose: () => Promise.reject(new Error('no')) }).fetch(request);
    }
    const counted = Object.keys(await valuesOf(app, 'tidings_http_requests_total'));
    expect(counted.filter((each) => each.includes('method="other"')).length).toBeLessThanOrEqual(1);
    expect(counted.join()).not.toMatch(/PROPFIND|BREW|MKCOL/);
  });
});

test('deliveries are counted as the log has them', async () => {
  const failing = providers.map((provider) =>
    provider.id === 'github'
      ? {
          ...provider,
          events: {
            ...provider.events,
            fails: {
              read: () => {
                throw new Error('no');
              },
            },
          },
        }
      : provider,
  );
  const { app, connected: github } = await appWithGithub({ providers: failing });
  const linear = await connectLinear(app, 'org_a');
  expect(await countsOf(app, 'tidings_deliveries_total')).toEqual({});
  expect(Object.keys(await valuesOf(app, 'tidings_deliveries_total'))).toHaveLength(5 * providers.length);

  const ping = { zen: 'Design for failure.', repository: { id: 1, full_name: 'acme/rocket' } };
  await app.request(...githubRequest(github, ping, { delivery: 'one' }));
  await app.request(...githubRequest(github, ping, { delivery: 'one' }));
  await app.request(...githubRequest(github, {}, { event: 'unheard_of' }));
  await app.request(...githubRequest(github, ping, { secret: 'wrong' }));
  await app.request(...githubRequest(github, ping, { event: 'fails' }));
  await app.request(...linearRequest(linear, '{}', { secret: 'wrong' }));
  await app.request(...githubRequest(github, ping, { path: '/api/webhooks/github/org_a/int_nope/x' }));
  expect(await countsOf(app, 'tidings_deliveries_total')).toEqual({
    'provider="github",outcome="processed"': 1,
    'provider="github",outcome="duplicate"': 1,
    'provider="github",outcome="ignored"': 1,
    'provider="github",outcome="rejected"': 1,
    'provider="github",outcome="failed"': 1,
    'provider="linear",outcome="rejected"': 1,
  });
  // The ping and the unknown event; those of the others were taken back.
  expect(await valuesOf(app, 'tidings_delivery_claims')).toEqual({ '': 2 });
  app.clock.advance(24 * 3_600_000);
  expect(await valuesOf(app, 'tidings_delivery_claims')).toEqual({ '': 0 });
});

test('verdicts on keys are counted and timed, outages too', async () => {
  const verdicts = [
    { outcome: 'valid', keyId: 'k', name: 'Website', organizationId: 'org_a' },
    { outcome: 'invalid' },
    { outcome: 'forbidden' },
    { outcome: 'limited', code: 'RATE_LIMITED' },
  ];
  const keys: Partial<KeyService> = {
    async verifyKey() {
      const verdict = verdicts.shift();
      if (verdict === undefined) throw new KeyServiceUnavailable(new Error('gone'));
      return verdict as Awaited<ReturnType<KeyService['verifyKey']>>;
    },
  };
  const app = createTestApp({ keys: () => keys as KeyService });
  for (let asked = 0; asked < 6; asked++) await app.request('/v1/org_a/posts', bearer('tdk_x'));
  await app.request('/v1/org_a/posts');
  expect(await valuesOf(app, 'tidings_key_verifications_total')).toEqual({
    'outcome="valid"': 1,
    'outcome="invalid"': 1,
    'outcome="forbidden"': 1,
    'outcome="limited"': 1,
    'outcome="unavailable"': 2,
  });
  expect(await valuesOf(app, 'tidings_key_verification_duration_seconds_count')).toEqual({ '': 6 });
});

test('trigger runs are counted, with the age of the oldest that is due', async () => {
  const { app, connected } = await appWithGithub();
  expect(await valuesOf(app, 'tidings_trigger_run_oldest_age_seconds')).toEqual({ '': 0 });
  const now = app.clock.now().getTime();
  const insertTrigger = (id: string, rule: string, enabled: number) =>
    execute(
      app.db,
      sql`INSERT INTO triggers (id, integration_id, event, rule, filters,
      content_type, publish, enabled, created_at, updated_at)
      VALUES (${id}, ${connected.integrationId}, 'push', ${rule}, '{}', 'changelog', 0, ${enabled}, '', '')`,
    );
  await insertTrigger('trg_on', 'on', 1);
  await insertTrigger('trg_off', 'off', 0);
  const insertRun = (triggerId: string, scope: string, status: string, queuedAt: string) =>
    execute(
      app.db,
      sql`INSERT INTO trigger_runs (trigger_id, scope, since, revision, status, attempts,
      due_at, delivery_id, queued_at) VALUES (${triggerId}, ${scope}, '', 1, ${status}, 0, 0, 'd', ${queuedAt})`,
    );
  const ago = (seconds: number) => new Date(now - seconds * 1000).toISOString();
  await insertRun('trg_on', 'a', 'queued', ago(10));
  await insertRun('trg_on', 'b', 'queued', ago(90));
  await insertRun('trg_on', 'c', 'failed', ago(900));
  await insertRun('trg_off', 'a', 'queued', ago(9000));
  expect(await valuesOf(app, 'tidings_trigger_runs')).toEqual({ 'status="queued"': 3, 'status="failed"': 1 });
  expect(await valuesOf(app, 'tidings_trigger_run_oldest_age_seconds')).toEqual({ '': 90 });
});

test('a metric that cannot be read is left out and logged, and the others are there', async () => {
  const app = createTestApp();
  await execute(app.db, 'ALTER TABLE delivery_claims RENAME TO gone');
  const { status, text } = await ask(app);
  expect(status).toBe(200);
  expect(text).toContain('# TYPE tidings_delivery_claims gauge\n# HELP');
  expect(text).toContain('tidings_trigger_runs{status="queued"} 0');
  expect(app.logged.find(({ msg }) => msg === 'a metric could not be read')).toMatchObject({
    level: 'warn',
    metric: 'tidings_delivery_claims',
  });
});

test('while the database is away, its metrics are left out and not logged', async () => {
  const app = createTestApp();
  const away = () => Promise.reject(new DatabaseUnavailable(new Error('connection refused')));
  const { status, text } = await ask({ ...app, deps: { ...app.deps, db: { ...app.db, read: away } } });
  expect(status).toBe(200);
  expect(text).toContain('# TYPE tidings_delivery_claims gauge\n# HELP');
  expect(app.logged.filter(({ msg }) => msg !== 'request')).toEqual([]);
});
