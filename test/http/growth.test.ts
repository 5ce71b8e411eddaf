import { beforeAll, describe, test } from 'bun:test';
import { hasMoreThan } from '../../src/http/request.ts';
import { fitsOne } from '../../src/lib/text.ts';
import { READ_PERMISSION } from '../../src/people/keys/store.ts';
import { pageVisitor, signedIn } from '../support/dashboard.ts';
import { expectLinear } from '../support/growth.ts';
import { appWithPage } from '../support/public-page.ts';
import type { TestApp } from '../support/test-app.ts';

// No head and no form costs more than in proportion to its length, whatever its parts.

/** The most that Bun accepts as the head of a request, in characters. */
const MAX_HEAD = 16_000;

let app: TestApp;
let cookie: string;
let key: string;

beforeAll(async () => {
  ({ app } = await appWithPage({ organizations: ['org_a'] }));
  ({ cookie } = await signedIn(app, { organizationId: 'org_a' }));
  const created = await app.deps.keys.createKey({
    organizationId: 'org_a',
    name: 'site',
    permissions: [READ_PERMISSION],
    expiresAt: null,
  });
  ({ key } = created);
});

const repeated =
  (piece: string, start = '', end = '') =>
  (size: number) =>
    start + piece.repeat(Math.ceil(size / piece.length)) + end;

const numbered = (before: string, after: string) => (size: number) => {
  let text = '';
  for (let n = 0; text.length < size; n++) text += before + n.toString(36) + after;
  return text;
};

async function send(path: string, headers: Record<string, string> = {}): Promise<void> {
  const response = await app.fetch(new Request(`http://localhost${path}`, { headers }));
  await response.bytes();
}

const queries: Record<string, (size: number) => string> = {
  'one name': repeated('status=a&'),
  'one letter': repeated('a&'),
  ampersands: repeated('&'),
  'names of which each is new': numbered('', '=&'),
  pages: repeated('page=1&'),
  'values of which each is new': numbered('status=', '&'),
  'percent signs': repeated('%'),
  escapes: repeated('%41', 'q='),
  'broken UTF-8': repeated('%ff', 'q='),
  brackets: repeated('status[]=a&'),
  'plus signs': repeated('+', 'q='),
  words: repeated('a+', 'q='),
  quotes: repeated('%22', 'q='),
  stars: repeated('a*', 'q='),
  digits: repeated('1', 'page='),
  times: repeated('2026-', 'from='),
};
const pages = ['/v1/org_a/posts', '/changelog/acme', '/dashboard/org_a/posts', '/dashboard/org_a/deliveries'];

describe.each(pages)('the query of %s', (path) => {
  test.each(Object.entries(queries))('%s', async (name, make) => {
    await expectLinear(
      `${path}: ${name}`,
      make,
      (query) => send(`${path}?${query}`, { cookie, authorization: `Bearer ${key}` }),
      { most: MAX_HEAD },
    );
  });
});

const headers: [name: string, path: string, make: (size: number) => string][] = [
  ...['a=b; ', '; ', '=', 'a', '"', 'tidings_session=a; ', '%'].map(
    (piece): [string, string, (size: number) => string] => [
      'cookie',
      '/dashboard/org_a/posts',
      repeated(piece),
    ],
  ),
  ['cookie', '/dashboard/org_a/posts', numbered('', '=a; ')],
  ...['gzip;q=0.1,', ',', ';', 'gzip;', 'q=', '*;q=0,', ' '].map(
    (piece): [string, string, (size: number) => string] => [
      'accept-encoding',
      '/v1/org_a/posts',
      repeated(piece),
    ],
  ),
  ['accept-encoding', '/v1/org_a/posts', numbered('', ',')],
  ...['"a",', 'W/', ',', '"', 'W/"a", '].map((piece): [string, string, (size: number) => string] => [
    'if-none-match',
    '/v1/org_a/posts',
    repeated(piece),
  ]),
  ...['text/html,', ';q=', '*/*,', ','].map((piece): [string, string, (size: number) => string] => [
    'accept',
    '/changelog/acme',
    repeated(piece),
  ]),
  ...['Bearer ', ' ', 'a'].map((piece): [string, string, (size: number) => string] => [
    'authorization',
    '/v1/org_a/posts',
    repeated(piece, 'Bearer '),
  ]),
  ...['1,', ', ', ':', '::1,', '%'].map((piece): [string, string, (size: number) => string] => [
    'x-forwarded-for',
    '/metrics',
    repeated(piece),
  ]),
  ['host', '/metrics', repeated('a.')],
  ['content-type', '/v1/org_a/posts', repeated('; boundary=')],
];

test.each(headers)('%s of %s', async (name, path, make) => {
  const others = { cookie, authorization: `Bearer ${key}` };
  await expectLinear(`${name} ${make(20)}`, make, (value) => send(path, { ...others, [name]: value }), {
    most: MAX_HEAD,
  });
});

test.each(
  [
    '/',
    '/v1/',
    '/v1/org_a/posts/',
    '/changelog/',
    '/changelog/acme/',
    '/media/',
    '/dashboard/',
    '/dashboard/org_a/posts/',
    '/api/webhooks/github/',
    '/docs/',
  ].flatMap((start) => ['a', '/', '%2f', '%', '../', 'a/', '-', '.', '%ff'].map((piece) => [start, piece])),
)('the path %s and many of %s', async (start = '', piece = '') => {
  await expectLinear(`${start} ${piece}`, repeated(piece, start), (path) => send(path, { cookie }), {
    most: MAX_HEAD,
  });
});

test.each([
  ['*a', 'a', 'b'],
  ['a*', 'a', ''],
  ['*', 'a', 'b'],
  ['*ab', 'ab', 'c'],
  ['**a', 'aa', 'b'],
])('a pattern of many %s on many of %s', async (piece, letters, end) => {
  const pattern = piece.repeat(100) + end;
  await expectLinear(`${pattern}`, repeated(letters), (text) => fitsOne([pattern], text));
});

describe('a form with a file', () => {
  const MAX_BODY = 2_000_000;
  const part = (head: string, body: string) => `--x\r\n${head}\r\n\r\n${body}\r\n--x--\r\n`;
  const bodies: Record<string, (size: number) => string> = {
    dashes: repeated('-', '--x\r\n'),
    'starts of a boundary': repeated(
      '\r\n--',
      part('content-disposition: form-data; name="a"', '').slice(0, -9),
    ),
    'line ends': repeated('\r\n', '--x\r\n'),
    'a name': (size) => part(`content-disposition: form-data; name="${'a'.repeat(size)}"`, ''),
    parameters: (size) => part(`content-disposition: form-data${'; name="a"'.repeat(size / 10)}`, ''),
    headers: (size) => part('a: b\r\n'.repeat(size / 6), ''),
    quotes: (size) => part(`content-disposition: form-data; name=${'"'.repeat(size)}`, ''),
    backslashes: (size) => part(`content-disposition: form-data; name="${'\\'.repeat(size)}"`, ''),
  };
  test.each(Object.entries(bodies))('%s', async (name, make) => {
    const type = { 'content-type': 'multipart/form-data; boundary=x' };
    await expectLinear(
      name,
      (size) => new TextEncoder().encode(make(size)),
      async (body) => {
        hasMoreThan(50, '--x', body);
        await new Response(body, { headers: type }).formData().catch(() => null);
      },
      { most: MAX_BODY },
    );
  });

  test('of text', async () => {
    const visit = await pageVisitor(app);
    await expectLinear(
      'one field',
      (size) => 'a\r\n'.repeat(size / 3),
      async (markdown) =>
        (await visit('/dashboard/org_a/posts/~/preview', { markdown, contentType: 'changelog' })).bytes(),
    );
  });
});
