import { expect, test } from 'bun:test';
import { listMarkdown } from '../../src/readers/public/programs.ts';
import { getPublic } from '../../src/readers/public/service.ts';
import { appWithPage } from '../support/public-page.ts';
import { PUBLIC_URL } from '../support/test-app.ts';
import { turnsDuring } from '../support/turns.ts';

// The page for programs: Markdown, llms.txt, the sitemap, robots.txt.

const url = `${PUBLIC_URL}/changelog/acme`;

test('a post as Markdown has its title, dates and address', async () => {
  const { app, open } = await appWithPage();
  const title = 'A "quoted": title';
  const createdAt = '2026-05-01T10:00:00.000Z';
  const updatedAt = '2026-05-02T10:00:00.000Z';
  const markdown = '### Added\n\n- Quiet mode\n';
  await app.addPosts('org_acme', { id: 'a', title, markdown, createdAt, updatedAt });
  const { response, text } = await open('/a.md');
  expect(response.headers.get('content-type')).toBe('text/markdown; charset=utf-8');
  expect(text).toBe(
    `---\ntitle: "A \\"quoted\\": title"\ndate: ${createdAt}\nupdated: ${updatedAt}\nurl: ${url}/a\n---\n\n### Added\n\n- Quiet mode\n`,
  );
  const again = await open('/a.md', { 'if-none-match': response.headers.get('etag') ?? '' });
  expect(again.status).toBe(304);
});

test('the list as Markdown has the same pages as the page', async () => {
  const { app, change, open } = await appWithPage();
  expect((await open('.md')).text).toBe('# Acme news\n\nNo posts yet.\n');
  await change({ description: 'What we made' });
  await app.addPosts(
    'org_acme',
    ...Array.from({ length: 11 }, (_, at) => ({ id: `p${at}`, title: `[${at}]` })),
  );
  const { text } = await open('.md');
  expect(text).toStartWith(
    `# Acme news\n\n> What we made\n\n## [\\[10\\]](${url}/p10.md)\n\nJanuary 1, 2026\n\n**Text** 11\n\n## `,
  );
  expect(text).toEndWith(`[Older posts](${url}.md?page=2)\n`);
  expect((await open('/index.md')).text).toBe(text);
  expect((await open('.md?page=2')).text).toContain(`${url}/p0.md`);
  expect((await open('.md?page=3')).status).toBe(404);
  const month = await open('/archive/2026-01.md');
  expect(month.text).toStartWith(`# January 2026\n\n- [\\[10\\]](${url}/p10.md): 2026-01-01\n`);
  expect((await open('/archive/2026-02.md')).status).toBe(404);
});

test('the list as Markdown cuts a very long post', async () => {
  const { app, open } = await appWithPage();
  const markdown = `${'- A line about rockets\n'.repeat(2_000)}\nThe very end.`;
  await app.addPosts('org_acme', { id: 'long', markdown });
  const { text } = await open('.md');
  expect(text.length).toBeLessThan(21_000);
  expect(text).toEndWith(`- A line about rockets\n\n[Continue reading](${url}/long.md)\n`);
  expect((await open('/long.md')).text).toEndWith('The very end.\n');
});

test('the list as Markdown lets others in between posts', async () => {
  const { app } = await appWithPage();
  await app.addPosts(
    'org_acme',
    ...Array.from({ length: 5 }, () => ({ markdown: '- item\n'.repeat(5_000) })),
  );
  const render = await app.db.read(async (tx) => {
    const publication = await getPublic(tx, 'acme', 'isPageOn');
    return listMarkdown({ tx, publication, totalItems: 5 }, PUBLIC_URL, 1);
  });
  expect(await turnsDuring(render)).toBeGreaterThanOrEqual(5);
});

test('llms.txt lists the newest posts', async () => {
  const { app, change, open } = await appWithPage();
  await app.addPosts('org_acme', ...Array.from({ length: 101 }, (_, at) => ({ id: `p${at}` })));
  await change({ isFeedOn: true, description: 'What we made' });
  const { text } = await open('/llms.txt');
  expect(text).toStartWith(
    `# Acme news\n\n> What we made\n\n## Posts\n\n- [Post 101](${url}/p100.md): 2026-01-01\n`,
  );
  expect(text.match(/^- \[Post/gm)).toHaveLength(100);
  expect(text).toEndWith(
    `## More\n\n- [All posts](${url}.md): the newest posts as Markdown, in pages\n- [Sitemap](${url}/sitemap.xml): the addresses of all posts. Add \`.md\` to one for Markdown\n- [Feed](${url}/feed.json): the newest posts as a JSON feed\n`,
  );
});

test('the sitemap lists all posts, in files of 5,000', async () => {
  const { app, open } = await appWithPage();
  await app.addPosts('org_acme', ...Array.from({ length: 2 }, (_, at) => ({ id: `p${at}` })));
  const one = await open('/sitemap.xml');
  expect(one.response.headers.get('content-type')).toBe('application/xml; charset=utf-8');
  const locations = (text: string) => [...text.matchAll(/<loc>([^<]*)<\/loc>/g)].map(([, loc]) => loc);
  expect(locations(one.text)).toEqual([url, `${url}/p1`, `${url}/p0`]);
  expect(one.text).toContain('<lastmod>2026-01-01T00:02:00.000Z</lastmod>');
  await app.addPosts('org_acme', ...Array.from({ length: 4_999 }, (_, at) => ({ id: `q${at}` })));
  const index = await open('/sitemap.xml');
  expect(locations(index.text)).toEqual([`${url}/sitemap.xml?page=1`, `${url}/sitemap.xml?page=2`]);
  expect(locations((await open('/sitemap.xml?page=1')).text)).toHaveLength(5_001);
  expect(locations((await open('/sitemap.xml?page=2')).text)).toEqual([`${url}/p0`]);
  expect((await open('/sitemap.xml?page=3')).status).toBe(404);
});

test('robots.txt names the sitemap, and the icon has the first letter', async () => {
  const { change, open } = await appWithPage();
  expect((await open('/robots.txt')).text).toBe(`User-agent: *\nAllow: /\nSitemap: ${url}/sitemap.xml\n`);
  await change({ title: '“élan” news', accentColor: '#ffffff' });
  const { response, text } = await open('/icon.svg');
  expect(response.headers.get('content-type')).toBe('image/svg+xml');
  expect(text).toContain('>É</text>');
  expect(text).not.toContain('#ffffff');
});
