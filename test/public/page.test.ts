import { describe, expect, test } from 'bun:test';
import { addImage, removeImage } from '../../src/posts/media/service.ts';
import { schedulePost } from '../../src/posts/schedule.ts';
import { changePosts, editPost } from '../../src/posts/service.ts';
import { createPublicPages } from '../../src/readers/public/site.ts';
import { findActive } from '../support/active-html.ts';
import { attacks } from '../support/attacks.ts';
import { imageFixture, testMedia } from '../support/media.ts';
import { appWithPage, attributesOf, headingsOf } from '../support/public-page.ts';
import { PUBLIC_URL } from '../support/test-app.ts';
import { until } from '../support/until.ts';

describe('who sees the page:', () => {
  test('a page that is off is the same 404 as an unknown one, on every path', async () => {
    const { app, change, open } = await appWithPage({ organizations: ['org_b'] });
    await app.addPosts('org_acme', { id: 'post_a' });
    expect((await open()).status).toBe(200);
    await change({ isPageOn: false });
    for (const path of ['', '/', '/post_a', '/post_a.md', '.md', '/index.md', '/llms.txt', '/sitemap.xml']) {
      const [off, unknown] = await Promise.all(
        ['acme', 'nobody'].map(async (slug) => {
          const url = `http://localhost/changelog/${slug}${path}`;
          const [page, json] = await Promise.all([
            app.fetch(new Request(url, { headers: { accept: 'text/html' } })),
            app.fetch(new Request(url)),
          ]);
          return [page.status, await page.text(), json.status, await json.text()];
        }),
      );
      expect(off, path).toEqual(unknown as never);
      expect(off?.[0]).toBe(404);
    }
    await change({ isPageOn: true });
    expect((await open('/post_a')).status).toBe(200);
  });

  test('it shows published changelog posts of its organization alone', async () => {
    const { app, open } = await appWithPage({ organizations: ['org_b'] });
    const at = '2026-11-30T09:00:00Z';
    await app.addPosts(
      'org_acme',
      { id: 'shown', title: 'Shown rocket' },
      { id: 'draft', title: 'Hidden rocket', status: 'draft' },
      { id: 'later', title: 'Hidden rocket', status: 'draft' },
      { id: 'linkedin', title: 'Hidden rocket', contentType: 'linkedin_post' },
    );
    await schedulePost(app.deps, 'later', { publishAt: at, timeZone: 'UTC' });
    await app.addPosts('org_b', { id: 'other', title: 'Hidden rocket' });
    for (const path of [
      '',
      '?q=rocket',
      '/archive/2026-01',
      '/shown',
      '/llms.txt',
      '/sitemap.xml',
      '/index.md',
      '/archive/2026-01.md',
    ]) {
      const { status, text } = await open(path);
      expect(status, path).toBe(200);
      expect(text, path).not.toMatch(/Hidden|draft|later|linkedin|other/);
      expect(text, path).toContain('shown');
    }
    for (const id of ['draft', 'later', 'linkedin', 'other', 'nobody', 'a b', '%00', '%', 'x'.repeat(65)]) {
      expect((await open(`/${id}`)).status, id).toBe(404);
      expect((await open(`/${id}.md`)).status, id).toBe(404);
    }
  });

  test('a change shows in the next response', async () => {
    const { app, change, open } = await appWithPage();
    await app.addPosts('org_acme', { id: 'post_a', title: 'First words' });
    expect((await open('/post_a')).text).toContain('First words');
    await app.addPosts('org_acme', { id: 'post_a', title: 'Second words' });
    expect((await open('/post_a')).text).toContain('Second words');
    await change({ title: 'Other news' });
    expect((await open('/post_a')).text).toContain('Other news');
  });
});

test('a request after a write does not share the rendering that began before it', async () => {
  const { app } = await appWithPage();
  let reads = 0;
  const read: typeof app.db.read = (...given) => app.db.read(...given).finally(() => reads++);
  const render = createPublicPages({ read });
  const [held, begun] = [Promise.withResolvers<string>(), Promise.withResolvers<void>()];
  const before = render('acme', 'isPageOn', 'home', async () => () => {
    begun.resolve();
    return held.promise;
  });
  await begun.promise;
  await app.addPosts('org_acme', { id: 'post_a' });
  const seen = reads;
  const after = render('acme', 'isPageOn', 'home', async () => 'after');
  // It has looked for a rendering under way once it knows the version.
  await until(
    async () => reads,
    (count) => count > seen,
  );
  held.resolve('before');
  const texts = (await Promise.all([before, after])).map(({ body }) => new TextDecoder().decode(body));
  expect(texts).toEqual(['before', 'after']);
});

describe('a response', () => {
  test('allows no script, sets no cookie, and is revalidated', async () => {
    const { app, open } = await appWithPage();
    await app.addPosts('org_acme', { id: 'post_a', markdown: '- Quieter engines\n'.repeat(100) });
    const { response, text } = await open('', { 'accept-encoding': 'gzip' });
    const headers = Object.fromEntries(response.headers);
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'public, no-cache',
      'content-encoding': 'gzip',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    });
    expect(headers['set-cookie']).toBeUndefined();
    expect(headers['content-security-policy']).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+' 'sha256-[^']+'; img-src 'self'; form-action 'self'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'$/,
    );
    expect(text).not.toContain('<script');
    const again = await open('', { 'if-none-match': headers.etag ?? '' });
    expect([again.status, again.text]).toEqual([304, '']);
  });

  test('that fails is a page for browsers and JSON for others', async () => {
    const { app, open } = await appWithPage();
    const { response, text } = await open('/nope');
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(headingsOf(text)).toEqual(['1 Page not found']);
    expect(text).toContain('This post does not exist or is not public.');
    expect(attributesOf(text, 'href')).toContain('/changelog/acme');
    const missing = new Request('http://localhost/changelog/nobody', { headers: { accept: 'text/html' } });
    const nowhere = await app.fetch(missing);
    expect([nowhere.status, await nowhere.text()]).toEqual([
      404,
      expect.stringContaining('There is no public page at this address.'),
    ]);
    const json = await app.fetch(new Request('http://localhost/changelog/acme/nope'));
    expect([json.status, await json.text()]).toEqual([
      404,
      '{"error":"This post does not exist or is not public"}',
    ]);
    const posted = await app.request('/changelog/acme', { method: 'POST' });
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });
});

describe('the list', () => {
  test('has a helpful empty state', async () => {
    const { change, open } = await appWithPage();
    await change({ isFeedOn: true });
    const { text } = await open();
    expect(headingsOf(text)).toEqual(['1 Acme news', '2 No posts yet']);
    expect(text).toContain('Subscribe to the feed');
    expect(text).not.toContain('type="search"');
  });

  test('has ten posts a page, newest first, and refuses pages that do not exist', async () => {
    const { app, open } = await appWithPage();
    await app.addPosts('org_acme', ...Array.from({ length: 21 }, () => ({})));
    const titles = async (path: string) =>
      headingsOf((await open(path)).text).filter((each) => /Post/.test(each));
    expect(await titles('')).toEqual(Array.from({ length: 10 }, (_, at) => `2 Post ${21 - at}`));
    expect(await titles('?page=3')).toEqual(['2 Post 1']);
    expect(attributesOf((await open('?page=2')).text, 'rel')).toEqual(
      expect.arrayContaining(['canonical', 'prev', 'next']),
    );
    await app.addPosts('org_acme', { createdAt: '2025-01-01T00:00:00.000Z' });
    const hasArchive = async (path: string) => headingsOf((await open(path)).text).includes('2 Archive');
    expect([await hasArchive(''), await hasArchive('?page=2')]).toEqual([true, false]);
    expect((await open('?page=4')).status).toBe(404);
    for (const page of ['0', '-1', '1.5', 'x', '', '1e3', '99999999', '1&page=2']) {
      expect((await open(`?page=${page}`)).status, page).toBe(400);
    }
  });

  test('cuts a long post between blocks, and leads to the rest', async () => {
    const { app, open } = await appWithPage();
    const markdown = `Start.\n\n${'- A line about rockets that is as long as lines are\n'.repeat(60)}\n\nThe very end.`;
    await app.addPosts('org_acme', { id: 'long', title: 'Long', markdown });
    const { text } = await open();
    expect(text).toContain('aria-label="Continue reading Long"');
    expect(text).not.toContain('The very end.');
    expect((await open('/long')).text).toContain('The very end.');
  });

  test('shows the links and the notes that the beginning of a long post uses', async () => {
    const { app, open } = await appWithPage();
    const start = 'See [the guide][Docs] and [12]. A claim[^1], and another one[^long].\n\nStart.\n\n';
    const rest = '- A line about rockets that is as long as lines are\n'.repeat(60);
    const definitions = [
      '[docs]: https://docs.test',
      '[12]: https://issues.test/12',
      '[unused]: https://unused.test',
      '[^1]: The first note.',
      `[^long]: ${'A long note. '.repeat(60)}`,
    ];
    await app.addPosts('org_acme', { id: 'long', markdown: `${start}${rest}\n\n${definitions.join('\n')}` });
    const { text } = await open();
    expect(text).toContain('Continue reading');
    expect(text).not.toMatch(/\[\^|\[12\]|\[the guide\]/);
    expect(attributesOf(text, 'href')).toEqual(
      expect.arrayContaining(['https://docs.test', 'https://issues.test/12']),
    );
    expect(text).toContain('The first note.');
    expect(text).toMatch(/A long… <a/);
    const { text: markdown } = await open('.md');
    expect(markdown).toContain('[^1]: The first note.');
  });

  test('shows settings: title, description, links, logo, and feeds that are on', async () => {
    using media = testMedia();
    const { app, change, open } = await appWithPage({ media: media.place });
    const bytes = imageFixture('photo.png');
    const logo = await addImage(app.deps, { organizationId: 'org_acme', bytes, name: 'logo.png' });
    const links = [{ label: 'Docs', url: 'https://acme.test/docs?a=1&b="2"' }];
    await change({ title: 'A <b> & "c"', description: 'What <i>we</i> made', links, logoId: logo.id });
    const { text } = await open();
    expect(headingsOf(text)[0]).toBe('1 A &lt;b> &amp; &quot;c&quot;');
    expect(text).not.toMatch(/<b>|<i>|feed\.atom/);
    expect(attributesOf(text, 'href')).toContain('https://acme.test/docs?a=1&b="2"');
    expect(attributesOf(text, 'src')).toEqual([`/media/${logo.id}.png`]);
    await change({ isFeedOn: true });
    const feeds = attributesOf((await open()).text, 'href').filter((each) =>
      each.startsWith(`${PUBLIC_URL}/`),
    );
    expect(feeds).toEqual(
      ['', '.md', '/feed.atom', '/feed.rss', '/feed.json'].map((end) => `${PUBLIC_URL}/changelog/acme${end}`),
    );
  });
});

test('a logo that is deleted leaves the page and the feeds at once', async () => {
  using media = testMedia();
  const { app, change, open } = await appWithPage({ media: media.place });
  await app.addPosts('org_acme', { id: 'post_a' });
  const bytes = imageFixture('photo.png');
  const logo = await addImage(app.deps, { organizationId: 'org_acme', bytes, name: 'logo.png' });
  await change({ logoId: logo.id, isFeedOn: true });
  const paths = ['', '/post_a', '/feed.json'];
  for (const path of paths) expect((await open(path)).text, path).toContain(logo.id);
  await removeImage(app.deps, 'org_acme', logo.id);
  for (const path of paths) expect((await open(path)).text, path).not.toContain(logo.id);
});

test('nothing leads to a post that is a draft again', async () => {
  const { app, open } = await appWithPage();
  const at = (id: string, createdAt: string) => ({ id, title: `Title ${id}`, createdAt });
  await app.addPosts(
    'org_acme',
    at('gone', '2026-05-01T00:00:00.000Z'),
    at('old', '2026-04-30T23:59:59.999Z'),
    at('new', '2026-04-30T00:00:00.000Z'),
  );
  expect((await open('/old')).text).toContain('Title gone');
  await editPost(app.deps, 'gone', { status: 'draft' });
  for (const path of ['', '/old', '/archive/2026-04', '/sitemap.xml', '/llms.txt']) {
    const { status, text } = await open(path);
    expect(status, path).toBe(200);
    expect(text, path).not.toMatch(/gone|2026-05/);
  }
  expect((await open('/archive/2026-05')).status).toBe(404);
});

describe('a post', () => {
  test('has its metadata, and links to its neighbors', async () => {
    const { app, open } = await appWithPage();
    const createdAt = '2026-05-01T10:00:00.000Z';
    // Two of the same time are ordered by id.
    const at = (id: string) => ({ id, title: `Title ${id}`, content: `Words of ${id}`, createdAt });
    await app.addPosts('org_acme', at('a'), at('b'), at('c'));
    const { text } = await open('/b');
    const url = `${PUBLIC_URL}/changelog/acme/b`;
    expect(headingsOf(text)).toEqual(['1 Title b']);
    expect(text).toContain('<title>Title b · Acme news</title>');
    expect(text).toContain(`<time datetime="${createdAt}">May 1, 2026</time>`);
    for (const [name, content] of Object.entries({
      description: 'Words of b',
      'og:title': 'Title b',
      'og:description': 'Words of b',
      'og:url': url,
      'og:type': 'article',
      'og:image': `${url}.png`,
      'og:site_name': 'Acme news',
      'article:published_time': createdAt,
      'twitter:card': 'summary_large_image',
    })) {
      expect(text).toMatch(new RegExp(`<meta (?:name|property)="${name}" content="${content}"/>`));
    }
    expect(text).toContain(`<link rel="canonical" href="${url}"/>`);
    expect(text).toContain(`<link rel="alternate" type="text/markdown" href="${url}.md"/>`);
    const neighbors = (html: string) =>
      [...html.matchAll(/href="\/changelog\/acme\/(\w)" rel="(\w+)"/g)].map(([, id, rel]) => `${rel} ${id}`);
    expect(neighbors(text)).toEqual(['prev c', 'next a']);
    expect(neighbors((await open('/a')).text)).toEqual(['prev b']);
    expect(neighbors((await open('/c')).text)).toEqual(['next b']);
  });

  test('has headings that fit the outline, with anchors', async () => {
    const { app, open } = await appWithPage();
    const markdown = '### Added\n\n##### Deep `code`\n\n# Top\n\n### Added\n\n## [A link](https://x.test)';
    await app.addPosts('org_acme', { id: 'post_a', title: 'Post', markdown });
    const { text } = await open('/post_a');
    expect(headingsOf(text)).toEqual(['1 Post', '2 Added', '3 Deep code', '2 Top', '3 Added', '3 A link']);
    expect(attributesOf(text, 'id')).toEqual([
      'content',
      'h-added',
      'h-deep-code',
      'h-top',
      'h-added-2',
      'h-a-link',
    ]);
    expect(headingsOf((await open()).text)).toEqual([
      '1 Acme news',
      '2 Post',
      ...['3 Added', '4 Deep code', '3 Top', '4 Added', '4 A link'],
    ]);
  });

  test('has anchors at the first thousand headings', async () => {
    const { app, open } = await appWithPage();
    await app.addPosts('org_acme', { id: 'post_a', markdown: '# Added\n'.repeat(1_001) });
    const { text } = await open('/post_a');
    expect(headingsOf(text)).toHaveLength(1_002);
    expect(attributesOf(text, 'id').at(-1)).toBe('h-added-1000');
  });

  test('shows our images with their size, below the address of the page too', async () => {
    using media = testMedia();
    const { app, change, open } = await appWithPage({ media: media.place });
    const bytes = imageFixture('photo.png');
    const image = await addImage(app.deps, { organizationId: 'org_acme', bytes, name: 'a.png' });
    const file = `${image.id}.png`;
    const markdown = `![Engine](${PUBLIC_URL}/media/${file}) ![Other](https://other.test/x.png)`;
    await app.addPosts('org_acme', { id: 'post_a', markdown });
    const pictures = async () => (await open('/post_a')).text.match(/<img[^>]*>/g) ?? [];
    const sizes = { width: `${image.width}`, height: `${image.height}` };
    const [picture = '', ...others] = await pictures();
    expect(others).toEqual([]);
    expect(attributesOf(picture, 'src')).toEqual([`/media/${file}`]);
    expect([attributesOf(picture, 'width'), attributesOf(picture, 'height')]).toEqual([
      [sizes.width],
      [sizes.height],
    ]);
    await change({ address: 'https://news.acme.test' });
    expect(attributesOf((await pictures())[0] ?? '', 'src')).toEqual([
      `https://news.acme.test/media/${file}`,
    ]);
    const served = await app.fetch(new Request(`http://localhost/changelog/acme/media/${file}`));
    expect([served.status, served.headers.get('content-type')]).toEqual([200, 'image/png']);
    expect((await open('/media/img_nobody.png')).status).toBe(404);
    await change({ isPageOn: false });
    expect((await open(`/media/${file}`)).status).toBe(404);
  });

  test('cannot run or load anything, whatever its text is', async () => {
    const { app, open } = await appWithPage();
    await app.addPosts(
      'org_acme',
      ...attacks.map((markdown, at) => ({
        id: `attack_${at}`,
        title: '<img src=x onerror=alert(1)>',
        markdown,
      })),
    );
    for (const [at, attack] of attacks.entries()) {
      const { text } = await open(`/attack_${at}`);
      const [, prose = ''] = /<div class="prose" dir="auto">([\s\S]*)<\/div><\/article>/.exec(text) ?? [];
      // The page adds these itself.
      const ours = prose
        .replaceAll(/<(h[1-6]) id="[^"]*">/g, '<$1>')
        .replaceAll('<a href="#', '<a href="https://x.test/#')
        .replaceAll('<pre tabindex="0">', '<pre>')
        .replaceAll(/<div class="scroll"[^>]*>(<table[\s\S]*?<\/table>)<\/div>/g, '$1')
        .replaceAll(/ (?:rel|loading|width|height|disabled)(?:="[^"]*")?/g, '');
      expect(findActive(ours), attack).toEqual([]);
      expect(text).not.toContain('<img src=x');
    }
  });
});

describe('the archive', () => {
  test('lists the posts of a month in UTC, and all months', async () => {
    const { app, open } = await appWithPage();
    const at = (id: string, createdAt: string) => ({ id, title: id, createdAt });
    await app.addPosts(
      'org_acme',
      at('first', '2026-02-01T00:00:00.000Z'),
      at('last', '2026-02-28T23:59:59.999Z'),
      at('before', '2026-01-31T23:59:59.999Z'),
      at('after', '2026-03-01T00:00:00.000Z'),
      at('old', '2019-12-24T00:00:00.000Z'),
    );
    const { text } = await open('/archive/2026-02');
    expect(headingsOf(text)).toEqual(['1 February 2026', '2 Archive']);
    const links = attributesOf(text, 'href').filter((each) => /^\/changelog\/acme\/\w+$/.test(each));
    expect(links).toEqual(['/changelog/acme/last', '/changelog/acme/first']);
    const months = (html: string) =>
      attributesOf(html, 'href').flatMap((each) => /archive\/(\d{4}-\d\d)$/.exec(each)?.[1] ?? []);
    const all = ['2026-03', '2026-02', '2026-01', '2019-12'];
    expect(months((await open()).text)).toEqual(all);
    expect(months(text.slice(text.indexOf('<main')))).toEqual(all);
    for (const month of ['2026-04', '2026-13', '2026-2', '202602', 'x', '2026-02-01', '%']) {
      expect((await open(`/archive/${month}`)).status, month).toBe(404);
    }
    expect((await open('/archive/2026-02?page=2')).status).toBe(404);
    expect((await open('/archive/2026-02?page=x')).status).toBe(400);
  });
});

test('publishing and unpublishing many posts shows in the next response', async () => {
  const { app, open } = await appWithPage();
  await app.addPosts('org_acme', { id: 'a', status: 'draft' }, { id: 'b', status: 'draft' });
  expect((await open()).text).toContain('No posts yet');
  await changePosts(app.deps, 'org_acme', ['a', 'b'], 'publish');
  expect((await open('/a')).status).toBe(200);
  await changePosts(app.deps, 'org_acme', ['a'], 'unpublish');
  expect((await open('/a')).status).toBe(404);
});

test('a summary separates lines, but not after a sentence', async () => {
  const { app, open } = await appWithPage();
  const content = 'A new engine.\n\nChanged:\n- Ignition\n- Pads';
  await app.addPosts('org_acme', { id: 'a', content });
  expect((await open('/a')).text).toContain('content="A new engine. Changed: Ignition · Pads"');
});
