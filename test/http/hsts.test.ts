import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { type Hsts, withHsts } from '../../src/http/request.ts';
import { temporaryFolder } from '../support/cli.ts';
import { startTidings } from '../support/server.ts';

const YEAR = 'max-age=31536000';

async function headerOf(
  path: string,
  {
    publicUrl = 'https://tidings.test',
    hsts = 'subdomains' as Hsts,
    host = 'tidings.test',
    isLate = false,
  } = {},
) {
  const response = new Response(null, { status: 404 });
  const fetch = withHsts(() => (isLate ? Promise.resolve(response) : response), publicUrl, hsts);
  const answered = await fetch(new Request(`http://${host}${path}`, { headers: { host } }));
  expect(answered.status).toBe(404);
  return answered.headers.get('strict-transport-security');
}

test.each<[string, Parameters<typeof headerOf>[1], string | null]>([
  ['/dashboard', {}, `${YEAR}; includeSubDomains`],
  ['/ping', { isLate: true, host: '127.0.0.1:3000' }, `${YEAR}; includeSubDomains`],
  ['/v1/org_a/posts', { publicUrl: 'https://tidings.test/base' }, `${YEAR}; includeSubDomains`],
  ['/dashboard', { hsts: 'host' }, YEAR],
  ['/dashboard', { hsts: 'off' }, null],
  ['/dashboard', { publicUrl: 'http://tidings.test' }, null],
  // A proxy of another domain may serve it.
  ['/changelog/acme', {}, YEAR],
  ['/changelog/acme/post.md', { isLate: true }, YEAR],
  ['/changelog/acme', { host: 'example.com' }, null],
  ['/changelog/acme', { host: '127.0.0.1:3000' }, null],
  ['/changelog/acme', { hsts: 'off' }, null],
])('%s with %j', async (path, options, expected) => {
  expect(await headerOf(path, options)).toBe(expected);
});

test('a server sends it with every kind of response', async () => {
  const folder = temporaryFolder();
  const environment = { PUBLIC_URL: 'https://tidings.test', HSTS: 'host' };
  const server = await startTidings(join(folder.path, 'data'), [], { environment });
  try {
    for (const path of ['/', '/ping', '/v1/acme/posts', '/dashboard/sign-in', '/nope', '/openapi.json']) {
      const { headers } = await fetch(server.url + path, { redirect: 'manual' });
      expect([path, headers.get('strict-transport-security')]).toEqual([path, YEAR]);
    }
  } finally {
    await server.stop();
    folder.remove();
  }
});
