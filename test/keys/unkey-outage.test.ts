import { describe, expect, test } from 'bun:test';
import type { UnkeyConfig } from '../../src/people/keys/store.ts';
import { bearer } from '../support/test-app.ts';
import { allFaults, type Fault, holdDeadAddress, startClosingServer } from '../support/unkey/faults.ts';
import { createUnkeyApp } from '../support/unkey-app.ts';
import { ROOT_KEY } from '../support/unkey-server.ts';

const PATH = '/v1/org_1/posts';

/** A key that may be good; during an outage this is unknown. */
const KEY = 'tdk_7Qm2xWcVbN8rTzKpL4sYdHfGj3aE';

/** Expects a 503 although the query is bad too. Returns the requests to Unkey and the log. */
async function outage({ fault = null, ...config }: Partial<UnkeyConfig> & { fault?: Fault | null }) {
  using app = await createUnkeyApp(config);
  app.unkey.fault = fault;
  const response = await app.request(`${PATH}?limit=0`, bearer(KEY));
  expect(response.status).toBe(503);
  expect(await response.text()).toBe('{"error":"Authentication service unavailable"}');
  expect(response.headers.get('retry-after')).toBe(fault === 'answers 429' ? '17' : '1');
  return { requests: [...app.unkey.requests], logged: app.logged };
}

/** On a busy machine it may be over before the request arrives. */
const SHORT_MS = 250;

const isHang = (fault: Fault) => fault === 'never answers' || fault === 'stops in the middle of its answer';

describe('an outage of Unkey is a 503, after one try', () => {
  test.each(allFaults.filter(isHang))('a server that %s, once the timeout is over', async (fault) => {
    const { requests } = await outage({ fault, timeoutMs: SHORT_MS });
    expect(requests.length).toBeLessThanOrEqual(1);
  });

  test.each(allFaults.filter((fault) => !isHang(fault)))('a server that %s', async (fault) => {
    expect((await outage({ fault })).requests).toEqual(['keys.verifyKey']);
  });

  test('a server that hangs up', async () => {
    using closing = startClosingServer();
    await outage({ baseUrl: closing.url });
    expect(closing.connections()).toBe(1);
  });

  test('nobody listens', async () => {
    using dead = await holdDeadAddress();
    await outage({ baseUrl: dead.url });
  });

  test('a root key that Unkey does not know', async () => {
    expect((await outage({ rootKey: 'unkey_wrong' })).requests).toEqual(['keys.verifyKey']);
  });
});

test.each([301, 302, 303, 307, 308])(
  'a %d to another server is an outage: no key goes there',
  async (status) => {
    const seen: string[] = [];
    using elsewhere = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      async fetch(request) {
        seen.push(await request.text());
        const data = {
          valid: true,
          code: 'VALID',
          keyId: 'key_1',
          identity: { id: 'i', externalId: 'org_1' },
        };
        return Response.json({ meta: { requestId: 'req_1' }, data });
      },
    });
    using redirecting = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: () =>
        new Response(null, { status, headers: { location: `http://127.0.0.1:${elsewhere.port}/` } }),
    });
    const { logged } = await outage({ baseUrl: `http://127.0.0.1:${redirecting.port}` });
    expect(seen).toEqual([]);
    expect(JSON.stringify(logged)).toContain(`Status ${status}`);
  },
);

test('it is over when Unkey is back', async () => {
  using app = await createUnkeyApp({ organizations: ['org_1'] });
  const key = await app.addKey('org_1');
  app.unkey.fault = 'answers 500';
  expect((await app.request(PATH, bearer(key))).status).toBe(503);
  app.unkey.fault = null;
  expect((await app.request(PATH, bearer(key))).status).toBe(200);
});

describe('the log has the reason and no secret', () => {
  const reasons: [string, Parameters<typeof outage>[0], string][] = [
    ['a wrong root key', { rootKey: 'unkey_wrong' }, 'The provided root key is invalid.'],
    ['a weak root key', { fault: 'answers 403: the root key may not verify' }, 'api.*.verify_key'],
    ['a timeout', { fault: 'never answers', timeoutMs: SHORT_MS }, 'Request timed out'],
    ['a page', { fault: 'answers 502 with a page' }, 'Status 502 Content-Type'],
    ['broken JSON', { fault: 'answers broken JSON' }, 'JSON Parse error'],
    ['another shape', { fault: 'answers JSON of another shape' }, 'Response validation failed'],
  ];
  test.each(reasons)('%s', async (_, options, reason) => {
    const { logged } = await outage(options);
    const failure = logged.find(({ msg }) => msg === 'request failed');
    expect(failure).toMatchObject({ level: 'error', err: { type: 'KeyServiceUnavailable' } });
    expect(JSON.stringify(failure)).toContain(reason);
    const log = JSON.stringify(logged);
    for (const secret of [KEY, ROOT_KEY, 'unkey_wrong']) expect(log).not.toContain(secret);
  });
});
