import { describe, expect, test } from 'bun:test';
import { gzipPreference, matchesEtag } from '../../src/http/respond.ts';
import { appWithOrganization, bearer } from '../support/test-app.ts';

test.each<[string | null, ReturnType<typeof gzipPreference>]>([
  [null, 'refused'],
  ['', 'refused'],
  ['gzip', 'accepted'],
  ['GZIP', 'accepted'],
  ['gzip, deflate, br, zstd', 'accepted'],
  ['br;q=1.0, gzip;q=0.8, *;q=0.1', 'accepted'],
  ['*', 'accepted'],
  ['*;q=0', 'refused'],
  ['gzip;q=0', 'refused'],
  ['gzip;q=0, *', 'refused'],
  ['gzip ; q=0.001', 'accepted'],
  ['gzip;Q=0.5', 'accepted'],
  ['gzip;q=often', 'refused'],
  ['gzip;q=', 'refused'],
  ['identity', 'refused'],
  ['br, zstd', 'refused'],
  ['xgzip, gzipped', 'refused'],
  ['gzip;q=0.5, identity', 'refused'],
  ['gzip;q=0.5, identity;q=0.6', 'refused'],
  ['gzip, identity;q=0.5', 'accepted'],
  ['gzip, identity', 'accepted'],
  ['gzip, identity;q=0', 'required'],
  ['gzip;q=0.1, *;q=0', 'required'],
  ['identity;q=0, *', 'required'],
  ['identity;q=0', 'refused'],
  ['identity;q=0, br', 'refused'],
])('Accept-Encoding %p: gzip is %s', (header, expected) => {
  expect(gzipPreference(header)).toBe(expected);
});

test.each<[string | null, boolean]>([
  [null, false],
  ['"x"', true],
  ['"x-gzip"', true],
  ['W/"x"', true],
  ['W/"x-gzip"', true],
  ['"y" , "x-gzip"', true],
  ['*', true],
  ['x', false],
  ['"x-gzip-gzip"', false],
  ['"x-br"', false],
])('If-None-Match %p names the content of "x": %p', (header, expected) => {
  expect(matchesEtag(header, '"x"')).toBe(expected);
});

describe('responses', async () => {
  const app = await appWithOrganization();
  await app.addPosts('org_a', { id: 'small' }, { id: 'large', markdown: 'quieter engines\n'.repeat(200) });
  const { headers } = bearer(await app.addKey('org_a'));
  const get = (path: string, more: Record<string, string> = {}, method = 'GET') =>
    app.request(path, { method, headers: { ...headers, ...more } });
  const gzip = { 'accept-encoding': 'gzip' };
  const large = ['/v1/org_a/posts', '/v1/org_a/posts/large', '/openapi.json', '/docs'];
  const small = ['/v1/org_a/posts?limit=1&sort=asc', '/v1/org_a/posts/small', '/v1/org_a/posts/none'];
  const unzipped = async (response: Response) => Bun.gunzipSync(await response.arrayBuffer());

  test.each(large)('%s is compressed when asked, the same content under a tag of its own', async (path) => {
    const plain = await get(path);
    const zipped = await get(path, gzip);
    expect(plain.headers.get('content-encoding')).toBeNull();
    expect(zipped.headers.get('content-encoding')).toBe('gzip');
    const etag = plain.headers.get('etag') ?? '';
    expect(zipped.headers.get('etag')).toBe(etag.replace(/"$/, '-gzip"'));
    for (const { headers } of [plain, zipped]) expect(headers.get('vary')).toContain('accept-encoding');
    const bytes = await zipped.clone().arrayBuffer();
    const body = await plain.bytes();
    expect(bytes.byteLength).toBeLessThan(body.byteLength / 2);
    expect(await unzipped(zipped)).toEqual(body);
    expect(zipped.headers.get('content-type')).toBe(plain.headers.get('content-type') ?? '');
  });

  test.each(small)('%s fits in one packet and stays as it is', async (path) => {
    const response = await get(path, gzip);
    expect(response.headers.get('content-encoding')).toBeNull();
    expect(response.headers.get('vary')).toBe('authorization, accept-encoding');
  });

  test.each(small)('%s is compressed for a client that accepts nothing else', async (path) => {
    const zipped = await get(path, { 'accept-encoding': 'gzip, identity;q=0' });
    expect(zipped.headers.get('content-encoding')).toBe('gzip');
    expect(await unzipped(zipped)).toEqual(await (await get(path)).bytes());
  });

  test.each(large)('%s: either tag gives 304, with the tag that a 200 would have', async (path) => {
    const plain = (await get(path)).headers;
    const zipped = (await get(path, gzip)).headers;
    for (const known of [plain, zipped]) {
      const condition = { 'if-none-match': known.get('etag') ?? '' };
      for (const [asked, expected] of [
        [{}, plain],
        [gzip, zipped],
      ] as const) {
        const response = await get(path, { ...condition, ...asked });
        expect(response.status).toBe(304);
        expect(response.headers.get('etag')).toBe(expected.get('etag') ?? '');
        expect(response.headers.get('vary')).toBe(expected.get('vary') ?? '');
        expect(response.headers.get('content-encoding')).toBeNull();
      }
    }
  });

  test('HEAD has the headers of GET', async () => {
    const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: app.fetch });
    try {
      const refused = ['/ping', '/nope', '/v1/org_b/posts', '/v1/org_a/posts?limit=0'];
      for (const path of [...large, ...refused]) {
        for (const asked of [gzip, { 'accept-encoding': 'identity' }]) {
          const [got, head] = await Promise.all(
            ['GET', 'HEAD'].map((method) =>
              fetch(new URL(path, server.url), { method, headers: { ...headers, ...asked } }),
            ),
          );
          const comparable = (response: Response | undefined) =>
            Object.fromEntries([...(response?.headers ?? [])].filter(([name]) => name !== 'date'));
          expect([head?.status, comparable(head)], path).toEqual([got?.status, comparable(got)]);
          expect(await head?.text()).toBe('');
        }
      }
    } finally {
      await server.stop(true);
    }
  });

  test('a refusal is not compressed', async () => {
    for (const [path, status] of [
      ['/v1/org_a/posts?limit=0', 400],
      ['/v1/org_b/posts', 403],
      ['/nope', 404],
    ] as const) {
      const response = await get(path, gzip);
      expect(response.status).toBe(status);
      expect(response.headers.get('content-encoding')).toBeNull();
    }
  });
});
