import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import type { BrowserContext, Page } from 'playwright-core';
import {
  asksBeforeLeaving,
  type OpenDashboard,
  openDashboard,
  signIn,
  watch,
} from '../support/dashboard-browser.ts';
import { wrongWith } from '../support/page-check.ts';
import { type ServerProcess, startTidings } from '../support/server.ts';
import { until } from '../support/until.ts';

// The editor in a real browser: nothing that a person types is lost, and Markdown is comfortable to write.

let dashboard: OpenDashboard;
let context: BrowserContext;
let page: Page;
let restarted: ServerProcess | null = null;

beforeAll(async () => {
  dashboard = await openDashboard();
}, 300_000);

afterAll(async () => {
  await dashboard.close();
  await restarted?.stop();
});

/** Another browser of the same person. */
async function newBrowser(): Promise<BrowserContext> {
  const state = await dashboard.person.storageState();
  const made = await dashboard.browser.newContext({ reducedMotion: 'reduce', storageState: state });
  made.setDefaultTimeout(120_000);
  return made;
}

beforeEach(async () => {
  await context?.close();
  context = await newBrowser();
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  page = await context.newPage();
}, 120_000);

const title = (here = page) => here.getByLabel('Title');
const text = (here = page) => here.getByLabel('Text, in Markdown');
const saveStatus = (here = page) => here.locator('#save-status');
const saved = (here = page) => here.locator('#save-status', { hasText: /^Saved$/ }).waitFor();
const button = (name: string, here = page) => here.getByRole('button', { name, exact: true });

/** Makes a draft by the form, and opens it. */
async function openDraft(markdown = 'one', here = page): Promise<string> {
  await here.goto(`${dashboard.base}/posts/~/new`);
  await title(here).fill('A draft');
  await text(here).fill(markdown);
  await button('Save draft', here).click();
  await here.getByText('Saved.', { exact: true }).waitFor();
  return here.url();
}

async function publish(): Promise<void> {
  await button('Publish now').click();
  await page.getByText('Published. The API returns it from now on.').waitFor();
}

test('a draft is saved while a person types, without a button', async () => {
  const trouble = watch(context, dashboard.origin);
  await openDraft();
  await text().fill('typed and saved');
  await saved();
  await page.reload();
  expect(await text().inputValue()).toBe('typed and saved');
  // Even the last letters before the page closes.
  await text().fill('typed and gone');
  await page.goto(`${dashboard.base}/posts`);
  await page.goBack();
  await until(
    async () => {
      await page.reload();
      return text().inputValue();
    },
    (value) => value === 'typed and gone',
  );
  expect(trouble).toEqual([]);
}, 300_000);

test('a new post becomes one draft, whose page it then is', async () => {
  await page.goto(`${dashboard.base}/posts/~/new`);
  await page.getByLabel('Type').selectOption('linkedin_post');
  await text().fill('Only a text');
  const places = () =>
    page.evaluate(() =>
      ['#field-title', '#field-markdown', '#field-contentType', '.page-head button:last-child'].map(
        (each) => {
          const { top, right, bottom } = document.querySelector(each)?.getBoundingClientRect() ?? {};
          return [top, right, bottom];
        },
      ),
    );
  const before = await places();
  await page.waitForURL(/posts\/post_/);
  await button('Publish to the API').waitFor();
  // Nothing moves while the person types.
  expect(await places()).toEqual(before);
  await title().fill('Named later');
  await saved();
  await page.reload();
  expect([await title().inputValue(), await text().inputValue()]).toEqual(['Named later', 'Only a text']);
  expect(await page.getByLabel('Type').inputValue()).toBe('linkedin_post');
  await page.goto(`${dashboard.base}/posts`);
  expect(await page.getByRole('link', { name: 'Named later' }).count()).toBe(1);
  expect(await page.getByRole('link', { name: 'Untitled' }).count()).toBe(0);
}, 300_000);

test('a response that is lost makes neither a second draft nor a conflict', async () => {
  await page.goto(`${dashboard.base}/posts/~/new`);
  let isLost = false;
  await page.route('**/autosave', async (route) => {
    if (isLost) return route.continue();
    isLost = true;
    await route.fetch();
    await route.abort();
  });
  await title().fill('Lost response');
  await text().fill('first');
  await saveStatus().filter({ hasText: 'the server cannot be reached' }).waitFor();
  await text().fill('second');
  await saved();
  await page.goto(`${dashboard.base}/posts`);
  await page.getByRole('link', { name: 'Lost response' }).click();
  expect(await text().inputValue()).toBe('second');
}, 300_000);

test('two people: the second gets a conflict, and loses nothing', async () => {
  const url = await openDraft();
  const other = await (await newBrowser()).newPage();
  await other.goto(url);
  await text().fill('mine');
  await saved();
  await text(other).fill('theirs');
  const conflict = other.getByRole('alert').filter({ hasText: 'changed while you had it open' });
  await conflict.waitFor();
  expect(await conflict.locator('del').allTextContents()).toEqual(['mine']);
  expect(await text(other).inputValue()).toBe('theirs');
  expect(await wrongWith(other)).toEqual([]);
  await text(other).fill('theirs, again');
  await saveStatus(other).filter({ hasText: 'somebody else changed this post' }).waitFor();
  await page.reload();
  expect(await text().inputValue()).toBe('mine');
  // To save it now is meant.
  await other.keyboard.press('Control+s');
  await saved(other);
  await page.reload();
  expect(await text().inputValue()).toBe('theirs, again');
  await other.context().close();
}, 300_000);

test('a published post changes by Ctrl+S and the button alone; leaving asks, and the text can be restored', async () => {
  const url = await openDraft('public');
  await publish();
  await text().fill('not meant to be public yet');
  await saveStatus().filter({ hasText: 'Not saved yet' }).waitFor();
  expect(await asksBeforeLeaving(page, `${dashboard.base}/posts`)).toBe(true);

  await page.goto(url);
  expect(await text().inputValue()).toBe('public');
  const note = page.locator('#unsaved-copy');
  await note.getByText('This browser has unsaved text of this post').waitFor();
  await button('Restore unsaved text').click();
  expect(await text().inputValue()).toBe('not meant to be public yet');
  await page.keyboard.press('Control+s');
  await saved();
  expect(await asksBeforeLeaving(page, url)).toBe(false);
  expect(await text().inputValue()).toBe('not meant to be public yet');
  expect(await note.isVisible()).toBe(false);

  // A text that is discarded does not come back.
  await text().fill('discarded');
  await asksBeforeLeaving(page, url);
  await button('Discard').click();
  await page.reload();
  await text().waitFor();
  expect(await note.isVisible()).toBe(false);
}, 300_000);

test('signing out removes unsaved texts from the browser', async () => {
  await openDraft('public');
  await publish();
  await text().fill('secret plans');
  await saveStatus().filter({ hasText: 'Not saved yet' }).waitFor();
  const kept = () => page.evaluate(() => JSON.stringify({ ...localStorage }));
  await until(kept, (all) => all.includes('secret plans'));
  page.on('dialog', (dialog) => void dialog.accept());
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
  expect(await kept()).not.toContain('secret plans');
  await signIn(page);
  await page.waitForURL(/dashboard\/org/);
  // The other tests go on with a session.
  await dashboard.person.addCookies(await context.cookies());
}, 300_000);

test('a version is compared and restored, and the notice takes it back', async () => {
  await openDraft('first words');
  await text().fill('second words');
  await button('Save').click();
  await page.getByText('Saved.', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'Version history' }).click();
  const versions = page.getByRole('navigation', { name: 'Versions' }).getByRole('link');
  expect(await wrongWith(page)).toEqual([]);
  await versions.last().click();
  await button('Restore version').click();
  await page.getByText('Version restored.').waitFor();
  expect(await text().inputValue()).toBe('first words');
  await button('Undo').click();
  await page.getByText('Version restored.').waitFor();
  expect(await text().inputValue()).toBe('second words');
}, 300_000);

test('Markdown: shortcuts, lists, a pasted address and the length', async () => {
  await openDraft('');
  await text().focus();
  const { keyboard } = page;
  await keyboard.type('loud');
  await keyboard.press('Control+a');
  await keyboard.press('Control+b');
  expect(await text().inputValue()).toBe('**loud**');
  await keyboard.press('Control+b');
  expect(await text().inputValue()).toBe('loud');
  await page.evaluate(() => navigator.clipboard.writeText('https://example.test/a'));
  await keyboard.press('Control+a');
  await keyboard.press('Control+v');
  expect(await text().inputValue()).toBe('[loud](https://example.test/a)');
  await keyboard.press('Control+z');
  expect(await text().inputValue()).toBe('loud');

  await text().fill('');
  await keyboard.type('9. nine\nten\n\nafter');
  expect(await text().inputValue()).toBe('9. nine\n10. ten\nafter');
  await text().fill('');
  await keyboard.type('- [x] done\nnext');
  expect(await text().inputValue()).toBe('- [x] done\n- [ ] next');
  await text().fill('one two three');
  await page.getByText('3 words, 1 min read').waitFor();

  await page.getByRole('button', { name: 'Heading' }).click();
  expect(await text().inputValue()).toContain('## ');
  await text().fill('x');
  await text().focus();
  await keyboard.press('Control+Shift+8');
  expect(await text().inputValue()).toBe('- x');
}, 300_000);

test('at 1280 pixels the text has 600, and the preview opens on demand', async () => {
  await page.setViewportSize({ width: 1280, height: 800 });
  await openDraft();
  const preview = page.locator('#preview');
  expect(await preview.isVisible()).toBe(false);
  const widthOfText = async () => (await text().boundingBox())?.width ?? 0;
  expect(await widthOfText()).toBeGreaterThanOrEqual(600);
  await button('Preview').click();
  await preview.waitFor();
  expect(await widthOfText()).toBeGreaterThanOrEqual(600);
  const { y = 0, height = 0 } = (await preview.boundingBox()) ?? {};
  expect(y + height).toBeLessThanOrEqual(800);
}, 300_000);

test('on a phone, "Publish now" is in sight when the page opens', async () => {
  await page.setViewportSize({ width: 390, height: 844 });
  await openDraft();
  const box = await button('Publish now').boundingBox();
  expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(844);
}, 300_000);

test('a text that is not saved looks like trouble, and links to the sign-in', async () => {
  await openDraft();
  const cookies = await context.cookies();
  await context.clearCookies();
  await text().fill('typed while signed out');
  const link = saveStatus().getByRole('link', { name: 'Sign in in another tab' });
  await link.waitFor();
  expect(await link.getAttribute('target')).toBe('_blank');
  expect(await page.locator('.save-state.trouble .icon').isVisible()).toBe(true);
  expect(await wrongWith(page)).toEqual([]);
  // One line, also on a phone.
  await page.setViewportSize({ width: 390, height: 844 });
  const line = await saveStatus().evaluate((words) => words.getBoundingClientRect().height);
  expect(line).toBeLessThan(30);
  // Back from the other tab, the text is saved without another key.
  await context.addCookies(cookies);
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
  await page.locator('.save-state:not(.trouble)', { hasText: 'Saved' }).waitFor();
}, 300_000);

test('the preview scrolls along, and the text can fill the screen', async () => {
  await page.setViewportSize({ width: 1500, height: 800 });
  // Ten lines of a paragraph are one in the preview, so equal parts of both heights show different sections.
  const section = (n: number) => `## Section ${n}\n\n${'word\n'.repeat(n % 3 === 0 ? 10 : 1)}\n`;
  const markdown = Array.from({ length: 60 }, (_, n) => section(n)).join('');
  await openDraft(markdown);
  const area = text();
  const pane = page.locator('#preview');
  await pane.locator('h2', { hasText: 'Section 59' }).waitFor({ state: 'attached' });
  for (const n of [20, 40, 7]) {
    const line = markdown.slice(0, markdown.indexOf(`## Section ${n}\n`)).split('\n').length - 1;
    await area.evaluate((element, line) => {
      const { lineHeight, paddingTop } = getComputedStyle(element);
      element.scrollTop = Number.parseFloat(paddingTop) + line * Number.parseFloat(lineHeight);
    }, line);
    const heading = pane.locator('h2', { hasText: new RegExp(`^Section ${n}$`) });
    await until(
      () =>
        heading.evaluate((element) => {
          const { top } = element.closest('#preview')?.getBoundingClientRect() ?? { top: 0 };
          return element.getBoundingClientRect().top - top;
        }),
      (distance) => Math.abs(distance) < 8,
    );
  }
  await page.evaluate(() => {
    const area = document.getElementById('field-markdown') as HTMLTextAreaElement;
    area.scrollTop = area.scrollHeight;
  });
  await until(
    () => page.locator('#preview').evaluate((pane) => pane.scrollHeight - pane.clientHeight - pane.scrollTop),
    (rest) => rest < 2,
  );

  await button('Full screen').click();
  const box = await page.locator('#post').boundingBox();
  expect([box?.x, box?.y, box?.width]).toEqual([0, 0, page.viewportSize()?.width]);
  expect(await page.locator('.side').evaluate((side) => side.hasAttribute('inert'))).toBe(true);
  await page.keyboard.press('Escape');
  expect(await page.locator('.side').evaluate((side) => side.hasAttribute('inert'))).toBe(false);
  await button('Preview').click();
  await page.locator('#preview').waitFor({ state: 'hidden' });
  await page.reload();
  await page.locator('#preview').waitFor({ state: 'hidden' });
}, 300_000);

test('a text that is typed while the server is away is saved when it is back', async () => {
  const url = await openDraft();
  const { port } = new URL(dashboard.server.url);
  await dashboard.server.stop();
  await text().fill('typed without a server');
  await saveStatus().filter({ hasText: 'the server cannot be reached' }).waitFor();
  await text().fill('typed without a server, and more');
  restarted = await startTidings(dashboard.dataDir, ['--port', port]);
  await saved();
  await page.goto(url);
  expect(await text().inputValue()).toBe('typed without a server, and more');
}, 300_000);
