import { describe, expect, spyOn, test } from 'bun:test';
import fc from 'fast-check';
import { AppError } from '../../src/lib/app-error.ts';
import { texts } from '../../src/lib/markdown/texts.ts';
import { readFeed } from '../../src/readers/public/feeds/feed.ts';
import type { PublicationChange } from '../../src/readers/public/model.ts';
import { changePublication, getPublic } from '../../src/readers/public/service.ts';
import { readers } from '../support/feeds.ts';
import { appWithOrganization, PUBLIC_URL, type TestApp } from '../support/test-app.ts';
import { turnsDuring } from '../support/turns.ts';

const ALL = { slug: 'acme', title: 'Acme news', isFeedOn: true, isPageOn: true };
const names = Object.keys(readers) as (keyof typeof readers)[];

async function world(input: PublicationChange = ALL) {
  let publicUrl = PUBLIC_URL;
  const app = await appWithOrganization({ organizations: ['acme', 'other'], publicUrl: () => publicUrl });
  const change = (next: PublicationChange, organizationId = 'acme') =>
    changePublication(app.deps, organizationId, next);
  await change(input);
  return {
    app,
    change,
    move: (to: string) => {
      publicUrl = to;
    },
    get: getter(app),
  };
}

/** Checks responses against the OpenAPI document, which has the feeds. */
function getter(app: TestApp) {
  return async (path: string, headers: Record<string, string> = {}, method = 'GET') => {
    const isDocumented = path.includes('/feed.') && method !== 'OPTIONS';
    return isDocumented
      ? app.request(`/changelog/${path}`, { method, headers })
      : app.fetch(new Request(`http://localhost/changelog/${path}`, { method, headers }));
  };
}

describe('each feed', () => {
  test('passes its validator and has the newest posts first, in full', async () => {
    const { app, get } = await world();
    await app.addPosts(
      'acme',
      { id: 'old' },
      { id: 'new', title: 'Fast & <b>safe</b>', markdown: '**Quick** ]]> start' },
    );
    for (const name of names) {
      const response = await get(`acme/${name}`);
      expect(response.headers.get('content-type')).toStartWith(
        name === 'feed.json' ? 'application/feed+json' : `application/${name.slice(5)}+xml`,
      );
      const entries = readers[name](await response.text());
      expect(entries, name).toMatchObject([
        {
          url: `${PUBLIC_URL}/changelog/acme/new`,
          title: 'Fast & <b>safe</b>',
          html: '<p><strong>Quick</strong> ]]&gt; start</p>',
        },
        { url: `${PUBLIC_URL}/changelog/acme/old` },
      ]);
    }
  });

  test('has no entry that was changed before it was published', async () => {
    const { app, get } = await world();
    const createdAt = '2099-01-01T00:00:00.000Z';
    await app.addPosts('acme', { createdAt });
    expect(await (await get('acme/feed.json')).json()).toMatchObject({
      items: [{ date_published: createdAt, date_modified: createdAt }],
    });
    expect(await (await get('acme/feed.atom')).text()).toContain(`<updated>${createdAt}</updated>`);
  });

  test('is valid without a post, a text, or a title', async () => {
    const { app, get } = await world();
    for (const name of names) expect(readers[name](await (await get(`acme/${name}`)).text())).toEqual([]);
    await app.addPosts('acme', { title: ' ', content: '', markdown: '' });
    for (const name of names) {
      const [entry] = readers[name](await (await get(`acme/${name}`)).text());
      expect(entry?.title, name).toBe('Untitled');
    }
  });

  test('shows published changelog posts of this organization alone', async () => {
    const { app, get } = await world();
    await app.addPosts(
      'acme',
      { id: 'yes' },
      { id: 'draft', status: 'draft' },
      { id: 'social', contentType: 'linkedin_post' },
    );
    await app.addPosts('other', { id: 'theirs' });
    for (const name of names) {
      const entries = readers[name](await (await get(`acme/${name}`)).text());
      expect(entries.map(({ url }) => url)).toEqual([`${PUBLIC_URL}/changelog/acme/yes`]);
    }
  });

  test('has our images with a whole address, links to those of others, and nothing active', async () => {
    const { app, get } = await world();
    const markdown = `![Ours](${PUBLIC_URL}/media/img_1.png) ![Theirs](https://x.test/a.png) <script>alert(1)</script>`;
    await app.addPosts('acme', { markdown });
    for (const name of names) {
      const [entry] = readers[name](await (await get(`acme/${name}`)).text());
      expect(entry?.html).toContain(`<img src="${PUBLIC_URL}/media/img_1.png" alt="Ours"`);
      expect(entry?.html).toContain('<a href="https://x.test/a.png"');
      expect(entry?.html).not.toContain('script');
    }
  });

  test('keeps the ids of posts when titles, the slug, the address and PUBLIC_URL change', async () => {
    const { app, change, get, move } = await world();
    await app.addPosts('acme', { id: 'a' }, { id: 'b' });
    const idsAt = async (slug: string) =>
      Promise.all(names.map(async (name) => readers[name](await (await get(`${slug}/${name}`)).text())));
    const before = await idsAt('acme');
    expect(before[0]?.map(({ id }) => id)).toEqual([
      'urn:uuid:798b7093-73de-51de-ae55-17e3f63e884f',
      'urn:uuid:d3665b1c-1f2d-5dce-ac29-7937b8ddead7',
    ]);
    move('https://elsewhere.test');
    await app.addPosts('acme', { id: 'b', title: 'Renamed', createdAt: '2027-01-01T00:00:00.000Z' });
    await change({ slug: 'rockets', title: 'Rockets', address: 'https://news.acme.test' });
    const after = await idsAt('rockets');
    for (const [at, entries] of after.entries()) {
      expect(entries.map(({ id }) => id)).toEqual((before[at] ?? []).map(({ id }) => id));
      expect(entries[1]?.url).toBe('https://news.acme.test/a');
    }
  });

  test('has no link to a page that is off', async () => {
    const { app, change, get } = await world();
    await app.addPosts('acme', { id: 'a' });
    await change({ isPageOn: false });
    for (const name of names) {
      const text = await (await get(`acme/${name}`)).text();
      expect(readers[name](text)[0]?.url).toBeNull();
      expect(text).not.toContain('changelog/acme/a');
      // RSS requires a link: it is the feed's own.
      if (name === 'feed.rss') expect(text).toContain(`<link>${PUBLIC_URL}/changelog/acme/feed.rss</link>`);
      else expect(text).not.toContain(`${PUBLIC_URL}/changelog/acme"`);
    }
  });

  test('is 404 until it is on, and again on the next request after it is off', async () => {
    const { change, get } = await world({ slug: 'acme', isPageOn: true });
    const files = [...names, 'widget.js'];
    const statuses = async () => Promise.all(files.map(async (name) => (await get(`acme/${name}`)).status));
    expect(await statuses()).toEqual([404, 404, 404, 404]);
    await change({ isFeedOn: true });
    expect(await statuses()).toEqual([200, 200, 200, 200]);
    await change({ isFeedOn: false });
    expect(await statuses()).toEqual([404, 404, 404, 404]);
    expect((await get('nobody/feed.json')).status).toBe(404);
  });
});

describe('a reader that comes back', () => {
  test('gets 304 until a post or a setting changes', async () => {
    const { app, change, get } = await world();
    await app.addPosts('acme', { id: 'a' });
    for (const name of names) {
      const tag = async () => (await get(`acme/${name}`)).headers.get('etag') ?? '';
      const first = await tag();
      expect(first).toMatch(/^"/);
      const again = await get(`acme/${name}`, { 'if-none-match': first });
      expect([again.status, await again.text()]).toEqual([304, '']);
      expect((await get(`acme/${name}`, {}, 'HEAD')).headers.get('etag')).toBe(first);
      await app.addPosts('acme', { title: `Newer than ${name}` });
      const second = await tag();
      expect(second).not.toBe(first);
      await change({ title: `Title for ${name}` });
      expect(await tag()).not.toBe(second);
    }
  });

  test('gets gzip when it asks for it', async () => {
    const { app, get } = await world();
    await app.addPosts('acme', { markdown: 'quieter engines\n'.repeat(200) });
    for (const name of names) {
      const response = await get(`acme/${name}`, { 'accept-encoding': 'gzip' });
      expect(response.headers.get('content-encoding')).toBe('gzip');
      const text = new TextDecoder().decode(Bun.gunzipSync(await response.arrayBuffer()));
      expect(readers[name](text)).toHaveLength(1);
    }
  });
});

describe('the length of a feed', () => {
  test('is 30 posts, or as many as are asked for', async () => {
    const { app, get } = await world();
    await app.addPosts('acme', ...Array.from({ length: 31 }, () => ({})));
    for (const name of names) {
      const lengthOf = async (query: string) =>
        readers[name](await (await get(`acme/${name}${query}`)).text()).length;
      expect([await lengthOf(''), await lengthOf('?limit=5'), await lengthOf('?limit=30')]).toEqual([
        30, 5, 30,
      ]);
    }
  });

  test.each([
    ['limit=0', 'limit must be a number from 1 to 30'],
    ['limit=31', 'limit must be a number from 1 to 30'],
    ['limit=5&limit=6', 'limit must be a number from 1 to 30'],
    ['limit=0x5', 'limit must be a number from 1 to 30'],
    ['limit=', 'limit must be a number from 1 to 30'],
  ])('%s is refused', async (query, error) => {
    const { get } = await world();
    const response = await get(`acme/feed.json?${query}`);
    expect([response.status, await response.json()]).toEqual([400, { error }]);
  });

  test('with a limit, each post has the beginning of its text alone', async () => {
    const { app, get } = await world();
    await app.addPosts('acme', { content: 'Quieter\n\n- engines\n'.repeat(100), markdown: 'Quieter' });
    for (const name of names) {
      const text = await (await get(`acme/${name}?limit=1`)).text();
      readers[name](text);
      expect(text).toContain('Quieter · engines · Quieter');
      expect(text.length).toBeLessThan(2000);
    }
  });

  test('is less when texts are very long, and at least one post', async () => {
    const { app, get } = await world();
    const lengthOf = async (name: (typeof names)[number], query = '') =>
      readers[name](await (await get(`acme/${name}${query}`)).text()).length;
    const markdown = 'word '.repeat(14_000);
    await app.addPosts('acme', { markdown }, { markdown }, { markdown }, { markdown: 'short' });
    for (const name of names)
      expect([await lengthOf(name), await lengthOf(name, '?limit=5')]).toEqual([3, 4]);
    await app.addPosts('acme', { markdown: 'word '.repeat(39_999) });
    expect(await lengthOf('feed.rss')).toBe(1);
  });
});

test('a text that cannot be rendered in time is plain text, and the other posts are whole', async () => {
  const app = await appWithOrganization({ organizations: ['acme'] });
  await changePublication(app.deps, 'acme', ALL);
  const long = { markdown: 'word '.repeat(3_000), content: 'a < b\nc' };
  const { html } = texts;
  using _ = spyOn(texts, 'html').mockImplementation(async (markdown, options) => {
    if (markdown === long.markdown) throw new AppError(503, 'The text took more than 10 s to read');
    return html(markdown, options);
  });
  await app.addPosts('acme', long, { markdown: '**ok**' });
  for (const name of names) {
    const entries = readers[name](await (await getter(app)(`acme/${name}`)).text());
    expect(entries.map(({ html }) => html)).toEqual(['<p><strong>ok</strong></p>', '<p>a &lt; b<br>c</p>']);
  }
});

test.each(['feed.atom', 'feed.rss'] as const)('%s has no white space around its texts', async (name) => {
  const { app, change, get } = await world();
  await change({ title: 'Acme & sons', description: 'News <here> & ]]> there' });
  await app.addPosts('acme', {
    id: 'a',
    title: 'Fixes & improvements',
    markdown: 'a < b',
    content: 'a < b & c',
  });
  const xml = await (await get(`acme/${name}`)).text();
  expect(xml).toContain('><![CDATA[Fixes & improvements]]></title>');
  expect(xml).toContain('><![CDATA[Acme & sons]]></title>');
  expect(xml.replaceAll(']]]]><![CDATA[>', '').match(/[^>]<!\[CDATA\[|\]\]>[^<]/g)).toBeNull();
});

test.each([
  ['one \u202eowt', '\u2068one \u202eowt\u2069'],
  ['one \u2067two', '\u2068one \u2067two\u2069\u2069'],
  ['one\u2069 \u2066two\u2069', '\u2068one \u2066two\u2069\u2069'],
  ['مرحبا', 'مرحبا'],
])('the title %j reorders nothing beside it', async (title, expected) => {
  const { app, get } = await world();
  await app.addPosts('acme', { id: 'a', title });
  for (const name of names) {
    const [entry] = readers[name](await (await get(`acme/${name}`)).text());
    expect(entry?.title).toBe(expected);
  }
});

test('a summary in RSS is text, although readers take the element for HTML', async () => {
  const { app, get } = await world();
  await app.addPosts('acme', { id: 'a', content: 'Use <img src=x onerror=alert(1)> & "x"' });
  const rss = await (await get('acme/feed.rss?limit=1')).text();
  const item = rss.slice(rss.indexOf('<item>'));
  const [, written = ''] =
    /<description>\s*(?:<!\[CDATA\[)?([\s\S]*?)(?:\]\]>)?\s*<\/description>/.exec(item) ?? [];
  expect(written).toBe('Use &lt;img src=x onerror=alert(1)&gt; &amp; &quot;x&quot;');
});

test('rendering a feed lets others in between posts', async () => {
  const { app } = await world();
  await app.addPosts('acme', ...Array.from({ length: 5 }, () => ({ markdown: '- item\n'.repeat(100) })));
  const render = await app.db.read(async (tx) => {
    const publication = await getPublic(tx, 'acme', 'isFeedOn');
    return readFeed(tx, publication, null, { publicUrl: () => PUBLIC_URL });
  });
  expect(await turnsDuring(render)).toBeGreaterThanOrEqual(5);
});

test('no character breaks a feed', async () => {
  const { app, change, get } = await world();
  const odd = fc.constantFrom(
    ']]>',
    '<![CDATA[',
    '\0',
    '\b',
    '\ud800',
    '\udc00',
    '\uffff',
    '&#0;',
    '&amp;',
    '😀',
    '</p>',
    '"',
  );
  const text = fc.array(fc.oneof(odd, fc.string({ unit: 'binary', maxLength: 4 })), { maxLength: 6 });
  const joined = text.map((parts) => parts.join(''));
  await fc.assert(
    fc.asyncProperty(joined, joined, async (title, markdown) => {
      await app.addPosts('acme', { id: 'a', title, markdown, content: markdown });
      await change({ title: `T ${title}`.slice(0, 100), description: markdown });
      const seen = await Promise.all(
        names.map(async (name) => readers[name](await (await get(`acme/${name}`)).text())),
      );
      // All formats show the same title.
      expect(new Set(seen.map(([entry]) => entry?.title.replaceAll(/\s+/g, ' '))).size).toBe(1);
    }),
    { numRuns: 60 },
  );
});

describe('scripts of other sites', () => {
  const CORS = /^access-control-/;
  const corsOf = (response: Response) => [...response.headers.keys()].filter((name) => CORS.test(name));
  const origin = { origin: 'https://shop.test' };

  test('may read feeds, also on 304, and send If-None-Match', async () => {
    const { get } = await world();
    for (const name of names) {
      const response = await get(`acme/${name}`, origin);
      expect(response.headers.get('access-control-allow-origin')).toBe('*');
      const etag = response.headers.get('etag') ?? '';
      const again = await get(`acme/${name}`, { ...origin, 'if-none-match': etag });
      expect([again.status, again.headers.get('access-control-allow-origin')]).toEqual([304, '*']);
      const asked = {
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'if-none-match',
      };
      const preflight = await get(`acme/${name}`, { ...origin, ...asked }, 'OPTIONS');
      expect(preflight.status).toBe(204);
      expect(preflight.headers.get('access-control-allow-origin')).toBe('*');
      expect(preflight.headers.get('access-control-allow-headers')).toBe('If-None-Match');
      expect(preflight.headers.has('access-control-allow-credentials')).toBe(false);
    }
  });

  test('may read nothing else', async () => {
    const { app, get } = await world();
    await app.addPosts('acme', { id: 'a' });
    const document = (await (await app.request('/openapi.json')).json()) as { paths: Record<string, object> };
    const api = Object.entries(document.paths).flatMap(([path, operations]) =>
      path.includes('/feed.') ? [] : Object.keys(operations).map((method) => [method.toUpperCase(), path]),
    );
    expect(api.length).toBeGreaterThan(5);
    const others = [
      '/',
      '/docs',
      '/openapi.json',
      '/dashboard',
      '/dashboard/acme/posts',
      '/setup',
      '/nothing',
    ];
    const pages = [
      '',
      '/a',
      '/a.md',
      '.md',
      '/llms.txt',
      '/sitemap.xml',
      '/widget.js',
      '/card.svg',
      '/feed.xml',
    ];
    const reads = [...others, ...pages.map((path) => `/changelog/acme${path}`)];
    for (const [method = '', path = ''] of [...api, ...reads.map((each) => ['GET', each])]) {
      const url = `http://localhost${path.replace('{organizationId}', 'acme').replaceAll(/\{\w+\}/g, 'a')}`;
      for (const verb of new Set([method, 'OPTIONS'])) {
        const headers = { ...origin, 'access-control-request-method': method };
        const response = await app.fetch(new Request(url, { method: verb, headers }));
        expect(corsOf(response), `${verb} ${url}`).toEqual([]);
      }
    }
    // A refusal of a feed says nothing either.
    expect(corsOf(await get('nobody/feed.json', origin))).toEqual([]);
  });
});
