import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { addImage } from '../../src/posts/media/service.ts';
import { launchBrowser } from '../support/browser.ts';
import { imageFixture, testMedia } from '../support/media.ts';
import { wrongWith } from '../support/page-check.ts';
import { appWithPage } from '../support/public-page.ts';

// The public page in a browser: without a script, in both themes, on a phone.

const media = testMedia();
let browser: Browser;
let server: ReturnType<typeof Bun.serve>;

const markdown = (image: string) => `
Read [the guide](https://acme.test/guide) first.

#### Added

- [x] Quiet mode: \`rocket --quiet\`
- [ ] Flown

![Engine](${image})

\`\`\`ts
const rocket = await launch({ pad: "A1", fuel: "kerosene", orbit: 400, crew: ["ann", "ben"], window: "2026-11-18" });
\`\`\`

| step | at | a column that is so wide that the table does not fit on a phone |
|---|---|---|
| fuel | T-40 | ${'long '.repeat(30)} |

> Measured on twelve launches.

<details><summary>More</summary>

Text

</details>
`;

beforeAll(async () => {
  browser = await launchBrowser();
  const { app, change } = await appWithPage({
    media: media.place,
    organizations: ['org_empty'],
    publicUrl: () => server.url.origin,
  });
  server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: (request) => app.fetch(request) });
  const image = { organizationId: 'org_acme', bytes: imageFixture('photo.png'), name: 'Engine.png' };
  const { id: logoId } = await addImage(app.deps, image);
  const links = [{ label: 'Documentation', url: 'https://acme.test/docs' }];
  // Yellow is hard to read on white.
  await change({ logoId, links, description: 'What we made', accentColor: '#ffe600', isFeedOn: true });
  await change({ slug: 'empty', title: 'Empty', isPageOn: true, accentColor: '#10002b' }, 'org_empty');
  await app.addPosts(
    'org_acme',
    ...Array.from({ length: 12 }, (_, at) => ({ createdAt: new Date(Date.UTC(2025, at)).toISOString() })),
    {
      id: 'whole',
      title: 'A whole rocket',
      content: 'Quiet mode',
      markdown: markdown(`${server.url.origin}/media/${logoId}.png`),
    },
    { id: 'rtl', title: 'صواريخ أكمي: محركات أكثر هدوءًا', markdown: 'عودة أسرع إلى الأرض\n\n- محركات' },
    { id: 'lists', title: 'Lists', markdown: '- Outer\n  - Inner\n- Last' },
    { id: 'wide', title: 'x'.repeat(200), markdown: `https://acme.test/${'x'.repeat(300)}` },
  );
});

afterAll(async () => {
  await browser.close();
  await server.stop(true);
  media[Symbol.dispose]();
});

/** The page, and what the browser said while it opened. */
async function open(path: string, javaScriptEnabled: boolean): Promise<{ page: Page; said: string[] }> {
  const page = await (await browser.newContext({ javaScriptEnabled })).newPage();
  const said: string[] = [];
  page.on('console', (message) => said.push(message.text()));
  await page.goto(`${server.url.origin}/changelog/${path}`);
  return { page, said };
}

test.each([
  'acme',
  'acme?page=2',
  'acme/whole',
  'acme/rtl',
  'acme/wide',
  'acme/archive/2025-03',
  'acme?q=rocket',
  'acme?q=zeppelin',
  'acme/nope',
  'empty',
  'nobody',
])('%s is accessible in both themes and fits on a phone', async (path) => {
  const { page, said } = await open(path, true);
  expect(await wrongWith(page)).toEqual([]);
  await page.setViewportSize({ width: 320, height: 640 });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320);
  const expected = /nope|nobody/.test(path) ? 1 : 0;
  expect(said.filter((each) => !/404/.test(each))).toEqual([]);
  expect(said.length).toBe(expected);
  await page.context().close();
});

test('the text of a post ends without a margin, and nested lists have none', async () => {
  const { page } = await open('acme/lists', true);
  const margins = await page
    .locator('.prose > ul, .prose ul ul')
    .evaluateAll((lists) => lists.map((list) => getComputedStyle(list).marginBottom));
  expect(margins).toEqual(['0px', '0px']);
  await page.context().close();
});

test('reading, searching and the keyboard need no script', async () => {
  const { page, said } = await open('acme', false);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  expect(page.url()).toEndWith('/changelog/acme#content');
  await page.getByRole('searchbox', { name: 'Search posts' }).fill('quiet mode');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: '1 post matches “quiet mode”' }).waitFor();
  await page.getByRole('link', { name: 'A whole rocket' }).click();
  await page.getByRole('link', { name: 'Added' }).click();
  expect(page.url()).toEndWith('/changelog/acme/whole#h-added');
  const picture = page.getByRole('img', { name: 'Engine' });
  await picture.scrollIntoViewIfNeeded();
  expect(await picture.evaluate((image: HTMLImageElement) => image.complete && image.naturalWidth > 0)).toBe(
    true,
  );
  await page.getByRole('link', { name: 'All posts' }).click();
  await page.getByRole('link', { name: 'Older posts' }).click();
  expect(page.url()).toEndWith('/changelog/acme?page=2');
  expect(said).toEqual([]);
});
