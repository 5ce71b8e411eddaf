import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import axe from 'axe-core';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { changePublication } from '../../src/readers/public/service.ts';
import { launchBrowser } from '../support/browser.ts';
import { appWithOrganization, type TestApp } from '../support/test-app.ts';

// The widget on a site of another origin, under the strictest policy that the docs promise.

setDefaultTimeout(120_000);

let app: TestApp;
let tidings: Bun.Server<undefined>;
let site: Bun.Server<undefined>;
let browser: Browser;
let address: string;
/** The body of the site's page. */
let body: string;

const snippet = (slug = 'acme', attributes = '') =>
  `<a href="${tidings.url}changelog/${slug}" data-tidings${attributes}>What's new</a>
   <script src="${tidings.url}changelog/${slug}/widget.js" async></script>`;

const change = (input: Parameters<typeof changePublication>[2], organizationId = 'acme') =>
  changePublication(app.deps, organizationId, input);

beforeAll(async () => {
  app = await appWithOrganization({ organizations: ['acme', 'other'], publicUrl: () => tidings.url.origin });
  tidings = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: (request) => app.fetch(request) });
  address = `${tidings.url}changelog/acme`;
  const { origin } = tidings.url;
  const policy = `default-src 'none'; script-src ${origin}; connect-src ${origin}; img-src ${origin}`;
  site = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () =>
      new Response(
        `<!doctype html><html lang="en"><title>Shop</title><main><h1>Shop</h1>${body}</main></html>`,
        {
          headers: { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy },
        },
      ),
  });
  await change({ slug: 'acme', isFeedOn: true, isPageOn: true });
  await change({ slug: 'other', isFeedOn: true, isPageOn: true }, 'other');
  await app.addPosts(
    'acme',
    { title: 'Rocket 1' },
    { id: 'hostile', title: '<img src=x onerror=alert(1)> & more' },
  );
  await app.addPosts('other', { title: 'Their news' });
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  await tidings?.stop(true);
  await site?.stop(true);
});

interface Visit extends AsyncDisposable {
  person: BrowserContext;
  page: Page;
  /** Violations of the policy, errors, and dialogs. */
  trouble: string[];
}

/** Loads the page, and waits until every link is a button. */
async function load(page: Page): Promise<void> {
  await page.goto(site.url.href);
  await page.locator('a[data-tidings]:not([aria-expanded])').first().waitFor({ state: 'detached' });
}

/** Loads a page whose links stay links. */
async function loadPlain(page: Page): Promise<void> {
  await page.goto(site.url.href, { waitUntil: 'networkidle' });
}

async function visit(html: string, options: BrowserContextOptions = {}, open = load): Promise<Visit> {
  body = html;
  const person = await browser.newContext({ reducedMotion: 'reduce', ...options });
  person.setDefaultTimeout(60_000);
  const trouble: string[] = [];
  person.on('weberror', (error) => trouble.push(error.error().message));
  person.on('dialog', (dialog) => void dialog.dismiss().then(() => trouble.push(dialog.message())));
  person.on('console', (message) => {
    const isIcon = message.location().url.endsWith('/favicon.ico');
    if (!isIcon) trouble.push(message.text());
  });
  const page = await person.newPage();
  await open(page);
  return { person, page, trouble, [Symbol.asyncDispose]: () => person.close() };
}

const buttonOf = (page: Page) => page.getByRole('button', { name: /What's new/ });
const panelOf = (page: Page) => page.getByRole('dialog', { name: "What's new" });
const isNew = async (page: Page) =>
  (await page.getByRole('button', { name: "What's new (New)" }).count()) > 0;

test('the list stays clear of its link in a low window', async () => {
  await using opened = await visit(snippet(), { viewport: { width: 700, height: 340 } });
  const button = buttonOf(opened.page);
  await button.click();
  const [link, panel] = [await button.boundingBox(), await panelOf(opened.page).boundingBox()];
  expect(panel?.y).toBeGreaterThanOrEqual((link?.y ?? 0) + (link?.height ?? 0));
  expect((panel?.y ?? 0) + (panel?.height ?? 0)).toBeLessThanOrEqual(340);
});

test('opens the newest posts as text, marks them as read, and returns the focus', async () => {
  await using opened = await visit(snippet());
  const { page, trouble } = opened;
  const button = buttonOf(page);
  expect(await isNew(page)).toBe(true);
  expect(await button.getAttribute('aria-expanded')).toBe('false');

  await button.focus();
  await page.keyboard.press('Space');
  const panel = panelOf(page);
  await panel.waitFor();
  const links = await panel
    .getByRole('link')
    .evaluateAll((all) => all.map((link) => [link.textContent, link.getAttribute('href')]));
  expect(links).toEqual([
    ['<img src=x onerror=alert(1)> & more', `${address}/hostile`],
    ['Rocket 1', `${address}/post_1`],
    ['All updates', address],
  ]);
  expect(await panel.getByText('Jan 1, 2026').count()).toBe(2);
  await page.locator('a[aria-expanded=true]').waitFor();
  expect(await isNew(page)).toBe(false);
  await page.keyboard.press('Escape');
  await page.locator('a[aria-expanded=false]').waitFor();
  expect(await page.evaluate(() => document.activeElement?.hasAttribute('data-tidings'))).toBe(true);

  await load(page);
  expect([await isNew(page), await buttonOf(page).count()]).toEqual([false, 1]);
  await app.addPosts('acme', { id: 'later', title: 'Rocket 2' });
  await load(page);
  expect(await isNew(page)).toBe(true);
  expect(trouble).toEqual([]);
});

test('closes by its button, a second click, and a click elsewhere', async () => {
  await using opened = await visit(snippet());
  const { page } = opened;
  const ways = [
    () => panelOf(page).getByRole('button', { name: 'Close' }).click(),
    () => buttonOf(page).click(),
    () => page.getByRole('heading', { name: 'Shop' }).click(),
  ];
  for (const close of ways) {
    await buttonOf(page).click();
    await panelOf(page).waitFor();
    await close();
    await panelOf(page).waitFor({ state: 'hidden' });
  }
});

test('has no violation that axe finds, and stays on a small screen', async () => {
  await using opened = await visit(snippet(), { viewport: { width: 320, height: 400 }, colorScheme: 'dark' });
  const { page } = opened;
  await buttonOf(page).click();
  await panelOf(page).waitFor();
  const box = await panelOf(page).boundingBox();
  expect(box?.x).toBeGreaterThanOrEqual(8);
  expect((box?.x ?? 0) + (box?.width ?? 999)).toBeLessThanOrEqual(312);
  expect((box?.y ?? 0) + (box?.height ?? 999)).toBeLessThanOrEqual(392);
  await page.evaluate(axe.source);
  const violations = await page.evaluate(async () => {
    const { run } = (globalThis as unknown as { axe: { run(): Promise<{ violations: { id: string }[] }> } })
      .axe;
    return (await run()).violations.map(({ id }) => id);
  });
  expect(violations).toEqual([]);
});

test("does not touch the page's styles, and is not touched by them", async () => {
  const shared = `<style>* { color: rgb(255, 0, 0) !important } span, i { display: none !important }</style>`;
  body = `${shared}<nav><a href="/">Home</a> ${snippet()}</nav>`;
  const person = await browser.newContext({ reducedMotion: 'reduce', bypassCSP: true });
  const page = await person.newPage();
  await page.route('**/widget.js', async (route) => {
    await page.evaluate(() => {
      const styleOf = (link: Element) =>
        JSON.stringify(
          [...getComputedStyle(link)].map((name) => getComputedStyle(link).getPropertyValue(name)),
        );
      Object.assign(globalThis, {
        styleOf,
        before: [...document.querySelectorAll('h1, main > nav > a:first-child')].map(styleOf),
      });
    });
    await route.continue();
  });
  await load(page);
  await buttonOf(page).click();
  await panelOf(page).waitFor();
  const seen = await page.evaluate(() => {
    const { styleOf, before } = globalThis as unknown as { styleOf(link: Element): string; before: string[] };
    const after = [...document.querySelectorAll('h1, main > nav > a:first-child')].map(styleOf);
    const panel = document
      .querySelector('[data-tidings-part=panel]')
      ?.shadowRoot?.querySelector('[role=dialog]');
    const style = panel === null || panel === undefined ? null : getComputedStyle(panel);
    return {
      isSame: JSON.stringify(before) === JSON.stringify(after),
      sheets: document.adoptedStyleSheets.length,
      color: style?.color,
      transition: style?.transitionDuration,
    };
  });
  expect(seen).toEqual({ isSame: true, sheets: 0, color: 'rgb(28, 26, 23)', transition: '0s' });
  await person.close();
});

test('serves several links, and the widgets of two organizations', async () => {
  const both = `${snippet('acme', `="${address}"`)} ${snippet('acme', `="${address}"`)} ${snippet('other', `="${tidings.url}changelog/other"`)}`;
  await using opened = await visit(both);
  const { page, trouble } = opened;
  expect(await buttonOf(page).count()).toBe(3);
  await buttonOf(page).nth(2).click();
  await page.getByRole('link', { name: 'Their news' }).waitFor();
  await page.locator('a[aria-expanded=true]').waitFor();
  await page.keyboard.press('Escape');
  // Reading one organization's posts leaves the dots of the other, and clears all of its own.
  expect(await page.getByRole('button', { name: "What's new (New)" }).count()).toBe(2);
  await buttonOf(page).first().click();
  await page.getByRole('link', { name: 'Rocket 1' }).waitFor();
  await page.locator('a[aria-expanded=true]').waitFor();
  expect(await isNew(page)).toBe(false);
  expect(trouble).toEqual([]);
});

test('works without storage', async () => {
  await using opened = await visit(snippet());
  const { page } = opened;
  await page.addInitScript(() =>
    Object.defineProperty(globalThis, 'localStorage', {
      get() {
        throw new Error('storage is off');
      },
    }),
  );
  await load(page);
  expect(await isNew(page)).toBe(true);
  await buttonOf(page).click();
  await page.locator('a[aria-expanded=true]').waitFor();
  expect(await isNew(page)).toBe(false);
  expect(opened.trouble).toEqual([]);
});

test('without scripts, offline, and while feeds are off, the link stays a link', async () => {
  const isLink = async ({ page }: Visit) => {
    expect(await page.getByRole('link', { name: "What's new", exact: true }).getAttribute('href')).toBe(
      address,
    );
    expect(await page.getByRole('button').count()).toBe(0);
  };
  await using scriptless = await visit(snippet(), { javaScriptEnabled: false }, loadPlain);
  await isLink(scriptless);

  await using offline = await visit(snippet());
  await offline.page.route('**/feed.json?*', (route) => route.abort());
  await loadPlain(offline.page);
  await isLink(offline);
  await offline.page.unroute('**/feed.json?*');
  // The script may be in a cache of the browser when the feed is gone.
  await offline.page.route('**/feed.json?*', (route) =>
    route.fulfill({ status: 404, json: { error: 'Not found' } }),
  );
  await loadPlain(offline.page);
  await isLink(offline);

  await change({ isFeedOn: false });
  await using off = await visit(snippet(), {}, loadPlain);
  await isLink(off);
  await change({ isFeedOn: true });
});

test('while the page is off, posts are no links', async () => {
  await change({ isPageOn: false });
  await using opened = await visit(snippet());
  await buttonOf(opened.page).click();
  await panelOf(opened.page).getByText('Rocket 1').waitFor();
  expect(await panelOf(opened.page).getByRole('link').count()).toBe(1);
  await change({ isPageOn: true });
});

test('weighs 3 KB at most, and its feed is small', async () => {
  const headers = { 'accept-encoding': 'gzip' };
  const sizeOf = async (path: string) => {
    const response = await app.fetch(new Request(`${address}/${path}`, { headers }));
    expect(response.status).toBe(200);
    return (await response.bytes()).byteLength;
  };
  expect(await sizeOf('widget.js')).toBeLessThanOrEqual(3_000);
  await app.addPosts('acme', ...Array.from({ length: 40 }, () => ({ content: 'word '.repeat(9_000) })));
  expect(await sizeOf('feed.json?limit=5')).toBeLessThanOrEqual(2_000);
});

test('a title from right to left stands at the right, and its neighbors stay as they are', async () => {
  await app.addPosts('other', {
    id: 'arabic',
    title: 'إطلاق Rocket 2.4: محركات أهدأ',
    markdown: 'In English.',
  });
  await using opened = await visit(snippet('other'));
  const { page } = opened;
  await buttonOf(page).click();
  const rows = panelOf(page).locator('li');
  await rows.first().waitFor();
  const directions = await rows.evaluateAll((items) =>
    items.map((item) => ({
      row: getComputedStyle(item).direction,
      text: getComputedStyle(item.querySelector('p') ?? item).direction,
      isAtRight:
        (item.querySelector('a')?.getBoundingClientRect().right ?? 0) >
        item.getBoundingClientRect().right - 20,
    })),
  );
  expect(directions[0]).toEqual({ row: 'rtl', text: 'ltr', isAtRight: true });
  expect(directions.at(-1)).toMatchObject({ row: 'ltr', text: 'ltr' });
});
