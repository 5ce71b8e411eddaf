import { expect, test } from 'bun:test';
import { signedIn } from '../support/dashboard.ts';
import { allRows } from '../support/rows.ts';
import { appWithOrganization, bearer, PUBLIC_URL } from '../support/test-app.ts';

const PATH = '/dashboard/org_a/explorer';

async function begin() {
  const app = await appWithOrganization({ organizations: ['org_a', 'org_b'] });
  await app.addPosts(
    'org_a',
    { id: 'first', title: 'The first' },
    { id: 'second', title: 'The second' },
    { id: 'sketch', title: 'A sketch', status: 'draft' },
  );
  await app.addPosts('org_b', { id: 'theirs', title: 'Their post' });
  const visit = await signedIn(app, { organizationId: 'org_a', role: 'member' });
  /** The page, and the response that it shows. */
  const open = async (query: string) => {
    const page = await visit(`${PATH}?${query}`);
    const html = await page.text();
    const raw = /<textarea id="raw"[^>]*>\n([^<]*)<\/textarea>/.exec(html)?.[1];
    const status = /<span class="tag \w+">(\d+) /.exec(html)?.[1];
    return { page, html, status, body: raw === undefined ? null : decode(raw) };
  };
  return { app, visit, open };
}

function decode(html: string): string {
  const entities: Record<string, string> = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&amp;': '&' };
  return html.replaceAll(/&\w+;/g, (entity) => entities[entity] ?? entity);
}

test('the page sends nothing before somebody asks for it', async () => {
  const { open } = await begin();
  const { page, html, status } = await open('');
  expect(page.status).toBe(200);
  expect(status).toBeUndefined();
  expect(html).toContain(`<code>${PUBLIC_URL}/v1/org_a/posts</code>`);
  expect(html).not.toContain('The second');
});

test('it shows the bytes, status and headers that a client with a key gets', async () => {
  const { app, open } = await begin();
  const key = bearer(await app.addKey('org_a'));
  for (const [query, path] of [
    ['', '/v1/org_a/posts'],
    ['limit=1&page=2&sort=asc', '/v1/org_a/posts?limit=1&page=2&sort=asc'],
    ['status=draft&status=published', '/v1/org_a/posts?status=draft&status=published'],
    ['contentType=linkedin_post', '/v1/org_a/posts?contentType=linkedin_post'],
    ['operation=getPost&postId=first', '/v1/org_a/posts/first'],
    ['operation=getPost&postId=sketch', '/v1/org_a/posts/sketch'],
    ['operation=getPost&postId=sketch&status=draft', '/v1/org_a/posts/sketch?status=draft'],
    ['limit=0', '/v1/org_a/posts?limit=0'],
    ['sort=sideways&status=archived', '/v1/org_a/posts?sort=sideways&status=archived'],
    ['operation=getPost&postId=a%2Fb', '/v1/org_a/posts/a%2Fb'],
  ] as const) {
    const { page, html, status, body } = await open(`${query}&send=1`);
    const response = await app.request(path, key);
    expect(page.status).toBe(200);
    expect(body).toBe(await response.text());
    expect(status).toBe(String(response.status));
    expect(decode(html)).toContain(`<code>${PUBLIC_URL}${path}</code>`);
    for (const [name, value] of response.headers) {
      expect(decode(html)).toContain(`<span class="key">${name}:</span> ${value}`);
    }
  }
});

test('invalid values are sent, stay in the form, and show the refusal of the service', async () => {
  const { open } = await begin();
  const { html, body, status } = await open('limit=0&sort=sideways&status=archived&send=1');
  expect({ body, status }).toEqual({ body: '{"error":"Invalid query parameters"}', status: '400' });
  expect(html).toMatch(/<input type="text"[^>]* value="0"[^>]* name="limit"/);
  expect(html).toMatch(/<option (selected )?value="sideways"( selected)?>/);
  expect(html).toMatch(/<input type="checkbox" name="status" value="archived" checked/);
});

test('a response can be followed to its next page, and to a 304', async () => {
  const { open } = await begin();
  const { html } = await open('limit=1&send=1');
  const hrefOf = (text: string, from: string) =>
    decode(new RegExp(`<a href="[^"]*\\?([^"]*)#response">${text}</a>`).exec(from)?.[1] ?? '');
  const next = await open(hrefOf('Next page', html));
  expect(next.body).toContain('The first');
  const unchanged = await open(hrefOf('Send again with If-None-Match', html));
  expect(unchanged.status).toBe('304');
  expect(unchanged.html).toContain('No body.');
  expect(decode(unchanged.html)).toMatch(/-H 'If-None-Match: "[a-z0-9]+"'/);
  expect(hrefOf('Send again without If-None-Match', unchanged.html)).toContain('limit=1');
});

test('the samples hold the request in every language, and no key', async () => {
  const { app, open } = await begin();
  const { key } = await app.addKey('org_a');
  const { html } = await open('limit=2&status=draft&send=1');
  for (const language of ['curl', 'javascript']) {
    const sample = new RegExp(`<code id="request-${language}">([^<]*)`).exec(html)?.[1] ?? '';
    expect(decode(sample)).toContain(`${PUBLIC_URL}/v1/org_a/posts?limit=2&status=draft`);
    expect(sample).toContain('TIDINGS_KEY');
  }
  expect(html).not.toContain(key);
});

test('a request that no client can send is explained at its field, and where its response would be', async () => {
  const { open } = await begin();
  for (const [query, sentence, field] of [
    ['operation=getPost', 'Enter the ID of a post.', 'postId'],
    ['operation=getPost&postId=..', 'A URL cannot contain this ID.', 'postId'],
    ['etag=%22%E2%80%A6%22', 'A header cannot contain one of these characters.', 'etag'],
    ['etag=a%0D%0AX-Other%3A+b', 'A header cannot contain one of these characters.', 'etag'],
  ] as const) {
    const { page, html, status } = await open(`${query}&send=1`);
    expect(page.status).toBe(400);
    expect(status).toBeUndefined();
    expect(html).toContain(`aria-describedby="field-${field}`);
    expect(html).toContain(`<a href="#field-${field}">${sentence}`);
  }
});

test('posts of another organization stay out of reach', async () => {
  const { app, visit, open } = await begin();
  const theirs = await open('operation=getPost&postId=theirs&send=1');
  expect(theirs.body).toBe('{"post":null}');
  for (const postId of ['../../org_b/posts/theirs', '..%2f..%2forg_b%2fposts%2ftheirs', '%2e%2e/x']) {
    const { html, body } = await open(`operation=getPost&postId=${encodeURIComponent(postId)}&send=1`);
    expect(body).toBe('{"error":"Invalid path params or query"}');
    expect(html).not.toContain('Their post');
  }
  expect((await visit('/dashboard/org_b/explorer?send=1')).status).toBe(404);
  const stranger = await app.request(`${PATH}?send=1`);
  expect(stranger.status).toBe(303);
  expect(stranger.headers.get('location')).toStartWith('/dashboard/~/sign-in?to=');
});

test('a session is no key: its cookie opens nothing at the API, with whatever headers', async () => {
  const { app, visit } = await begin();
  await visit(`${PATH}?send=1`);
  const { cookie } = visit;
  for (const headers of [
    { cookie },
    { cookie, authorization: 'Bearer ' },
    { cookie, referer: `${PUBLIC_URL}${PATH}`, origin: PUBLIC_URL, 'sec-fetch-site': 'same-origin' },
    { cookie, authorization: `Bearer ${cookie.split('=')[1]}` },
  ]) {
    expect((await app.request('/v1/org_a/posts', { headers })).status).toBe(401);
  }
});

test('it makes no key, uses none, and writes nothing', async () => {
  const { app, open } = await begin();
  const key = await app.addKey('org_a');
  const before = await allRows(app.db);
  await open('send=1');
  await app.deps.keys.flush({ all: true });
  expect(await allRows(app.db)).toEqual(before);
  expect(await app.deps.keys.listKeys('org_a')).toMatchObject([{ id: key.id, lastUsedAt: null }]);
});

test('every character of a body survives, and none acts on the page', async () => {
  const { app, open } = await begin();
  const title = '</textarea><script>alert(1)</script> \u202egnp.exe \u2028 "q" \\ & é 🚀';
  await app.addPosts('org_a', {
    id: 'odd',
    title,
    sourceMetadata: { n: 12345678901234567890n.toString(), list: [], empty: {} },
  });
  const { html, body } = await open('operation=getPost&postId=odd&send=1');
  expect(JSON.parse(body ?? '').post.title).toBe(title);
  expect(html).not.toContain('<script>alert');
  const formatted = /<code id="formatted">([\s\S]*?)<\/code>/.exec(html)?.[1] ?? '';
  const text = decode(formatted.replaceAll(/<[^>]+>/g, ''));
  expect(text).toContain('\\u202egnp.exe');
  expect(text).toBe(JSON.stringify(JSON.parse(body ?? ''), null, 2).replace('\u202e', '\\u202e'));
});

test('a large body is cut on the page, and its size is that of the whole', async () => {
  const { app, open } = await begin();
  await app.addPosts('org_a', { id: 'large', markdown: 'é'.repeat(150_000) });
  const { html, body } = await open('operation=getPost&postId=large&send=1');
  const response = await app.request('/v1/org_a/posts/large', bearer(await app.addKey('org_a')));
  const whole = await response.text();
  expect(body?.length).toBeGreaterThan(130_000);
  expect(whole).toStartWith(body ?? 'no body');
  expect(html).toContain('This page shows the first 256 KiB.');
  expect(html).toContain(`${Math.round(Buffer.byteLength(whole) / 1000)} kB`);
});

test('behind a proxy that adds a path, the request names the public URL', async () => {
  const publicUrl = 'https://acme.example/tidings';
  const app = await appWithOrganization({ publicUrl: () => publicUrl });
  const visit = await signedIn(app, { organizationId: 'org_a' });
  const html = await (await visit(`${PATH}?send=1`)).text();
  expect(html).toContain(`<code>${publicUrl}/v1/org_a/posts</code>`);
  expect(html).toContain('200 OK');
});

test('its requests do not count as requests of clients', async () => {
  const { app, open } = await begin();
  const counted = async () => (await app.deps.metrics.registry.render()).match(/^.*route="\/v1.*$/gm) ?? [];
  const { status } = await open('send=1');
  expect(status).toBe('200');
  expect(await counted()).toEqual([]);
  await app.request('/v1/org_a/posts', bearer(await app.addKey('org_a')));
  expect(await counted()).not.toEqual([]);
});
