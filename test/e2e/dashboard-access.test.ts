import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { type OpenDashboard, openDashboard, owner, signIn, watch } from '../support/dashboard-browser.ts';
import { wrongWith } from '../support/page-check.ts';
import { until } from '../support/until.ts';

// The dashboard for everybody: without scripts, by keyboard alone, and in a session that ends.

let dashboard: OpenDashboard;

beforeAll(async () => {
  dashboard = await openDashboard(['--demo']);
}, 300_000);

afterAll(() => dashboard.close());

/** A browser of its own that nobody is signed in with. */
async function newBrowser(options: BrowserContextOptions = {}) {
  const context = await dashboard.browser.newContext({ reducedMotion: 'reduce', ...options });
  context.setDefaultTimeout(120_000);
  return { context, page: await context.newPage(), trouble: watch(context, dashboard.origin) };
}

async function signInAnew(page: Page): Promise<void> {
  await page.goto(`${dashboard.origin}/dashboard`);
  await signIn(page);
  await page.getByRole('heading', { name: 'Posts', level: 1 }).waitFor();
}

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
const follow = (page: Page, name: string) => page.getByRole('link', { name, exact: true }).click();

test('without scripts everything can be done', async () => {
  const { context, page, trouble } = await newBrowser({ javaScriptEnabled: false });
  await signInAnew(page);

  await follow(page, 'Settings');
  await follow(page, 'API Keys');
  await page.getByText('Create New API Key').click();
  await page.getByLabel('Name').fill('By hand');
  await page.getByLabel('Expires').selectOption('90');
  await press(page, 'Create key');
  await page.getByRole('heading', { name: 'Copy the key now' }).waitFor();
  const key = (await page.locator('.once code').first().textContent()) ?? '';
  // A button that needs a script is not there.
  expect(await page.getByRole('button', { name: 'Copy key' }).count()).toBe(0);

  await page.getByRole('link', { name: 'Posts' }).click();
  await follow(page, 'New post');
  await page.getByLabel('Title').fill('By hand');
  await page.getByLabel('Text, in Markdown').fill('\n\n**loud**');
  await press(page, 'Save draft');
  await page.getByLabel('Text, in Markdown').fill('**louder**');
  await press(page, 'Save');
  expect(await page.locator('#preview strong').textContent()).toBe('louder');
  await press(page, 'Publish now');
  await page.getByText('Published. The API returns it from now on.').waitFor();
  const headers = { authorization: `Bearer ${key}` };
  const answer = await fetch(`${dashboard.origin}/v1/org_demo/posts?limit=1`, { headers });
  expect(await answer.json()).toMatchObject({ posts: [{ title: 'By hand', markdown: '**louder**' }] });

  await follow(page, 'Integrations');
  await page.getByText('Webhook (needs a public URL)').first().click();
  await page.getByText('Connect without a token').first().click();
  await page.getByLabel('Repository').first().fill('acme/lander');
  await press(page, 'Connect GitHub');
  await follow(page, 'Open integration');
  await press(page, 'Add trigger');
  await press(page, 'Create trigger');
  await follow(page, 'acme/lander');
  await page.getByLabel('Event', { exact: true }).selectOption('release');
  await press(page, 'Send test event');
  await page.getByText('Test event sent.').waitFor();
  const draft = page.getByRole('region', { name: 'Result' }).getByRole('link');
  await until(
    () => page.reload().then(() => draft.count()),
    (count) => count > 0,
  );
  await press(page, 'Replay delivery');
  await page.getByText('Delivery replayed.').waitFor();
  await page.getByRole('navigation', { name: 'Dashboard' }).getByRole('link', { name: 'Deliveries' }).click();
  expect(await page.getByRole('row', { name: /acme\/lander/ }).count()).toBe(2);
  expect(await page.getByRole('row', { name: /replay.*acme\/lander/ }).count()).toBe(1);
  expect(trouble).toEqual([]);
  await context.close();
}, 300_000);

/** Presses a key until the focus is on what is asked for. Wherever it stops on the way, it can be seen. */
async function tabTo(page: Page, name: string | RegExp, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
  const stops: string[] = [];
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press(key);
    const stop = await page.evaluate(() => {
      const element = document.activeElement as HTMLInputElement;
      const { outlineStyle, outlineWidth } = getComputedStyle(element);
      const { width, height, left, right, bottom } = element.getBoundingClientRect();
      const isSeen = width > 1 && height > 1 && left >= 0 && right <= innerWidth && bottom > 0;
      return {
        name: element.ariaLabel ?? (element.labels?.[0] ?? element).textContent?.trim() ?? '',
        // At the end of the page the focus leaves it, for the browser's own buttons.
        isVisible: element === document.body || (outlineStyle !== 'none' && outlineWidth !== '0px' && isSeen),
      };
    });
    stops.push(stop.name.slice(0, 60));
    if (!stop.isVisible) throw new Error(`the focus cannot be seen on: ${stops.join(' | ')}`);
    if (typeof name === 'string' ? stop.name === name : name.test(stop.name)) return;
  }
  throw new Error(`no ${name} among: ${stops.join(' | ')}`);
}

test('by keyboard alone, from the sign-in to a published draft', async () => {
  const { context, page, trouble } = await newBrowser();
  const { keyboard } = page;
  await page.goto(`${dashboard.origin}/dashboard`);
  // The first field has the focus already, once the page is drawn.
  await page.locator('input[name="email"]:focus').waitFor();
  await keyboard.type(owner.email);
  await tabTo(page, 'Password');
  await keyboard.type(owner.password);
  await tabTo(page, 'Sign in');
  await keyboard.press('Space');
  await page.getByRole('heading', { name: 'Posts', level: 1 }).waitFor();

  await tabTo(page, 'Skip to content');
  await keyboard.press('Enter');
  await tabTo(page, 'New post');
  await tabTo(page, /^Rocket 2\.4\.0/);
  await keyboard.press('Enter');
  await page.getByLabel('Title').waitFor();
  await tabTo(page, 'Title');
  await keyboard.press('ControlOrMeta+a');
  await keyboard.type('Typed by hand');
  await tabTo(page, 'Text, in Markdown');
  await keyboard.press('ControlOrMeta+a');
  await keyboard.type('It is *typed*.');
  await page.locator('#preview em', { hasText: 'typed' }).waitFor({ state: 'attached' });
  await tabTo(page, 'Title', 'Shift+Tab');
  await keyboard.press('Enter');
  await page.getByText('Saved.').waitFor();
  await tabTo(page, 'Schedule…');
  await keyboard.press('Enter');
  await tabTo(page, 'Schedule post');
  await tabTo(page, 'Schedule…', 'Shift+Tab');
  await keyboard.press('Enter');
  await tabTo(page, /^Publish now/, 'Shift+Tab');
  await keyboard.press('Space');
  await page.getByText('Published. The API returns it from now on.').waitFor();
  expect(await page.getByLabel('Title').inputValue()).toBe('Typed by hand');
  expect(trouble).toEqual([]);
  await context.close();
}, 300_000);

test('after sign-out, the back button shows no page', async () => {
  const { context, page } = await newBrowser();
  await signInAnew(page);
  await follow(page, 'Rocket 2.3.1: a steadier gauge');
  await page.getByLabel('Title').waitFor();
  await press(page, 'Sign out');
  await page.getByText('You are signed out.').waitFor();
  await page.goBack();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  expect(await page.content()).not.toContain('steadier gauge');
  await page.goBack();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await context.close();
}, 300_000);

test('a session that was ended elsewhere leads to the sign-in, and back to what was asked for', async () => {
  const here = await newBrowser();
  const there = await newBrowser();
  await Promise.all([signInAnew(here.page), signInAnew(there.page)]);
  await follow(there.page, owner.email);
  await press(there.page, 'Sign out everywhere');
  await there.page.getByText('You are signed out everywhere.').waitFor();

  const asked = `${dashboard.base}/posts?status=published&q=gauge`;
  await here.page.goto(asked);
  await here.page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await signIn(here.page);
  await here.page.waitForURL(asked);
  expect(await here.page.getByRole('searchbox').inputValue()).toBe('gauge');
  expect([...here.trouble, ...there.trouble]).toEqual([]);
  await Promise.all([here.context.close(), there.context.close()]);
}, 300_000);

test('text typed after the session ended is kept, and saved after sign-in', async () => {
  const { context, page } = await newBrowser();
  await signInAnew(page);
  await follow(page, 'New post');
  await page.getByLabel('Title').fill('Long thought about');
  await page.getByLabel('Text, in Markdown').fill('\n\nOne line\nand "another" <b>');
  await context.clearCookies();
  await press(page, 'Save draft');
  await page.getByRole('heading', { name: 'You are signed out' }).waitFor();
  expect(await wrongWith(page)).toEqual([]);
  const opened = context.waitForEvent('page');
  await follow(page, 'sign in in another tab');
  const tab = await opened;
  await signIn(tab);
  await tab.getByRole('heading', { name: 'Posts', level: 1 }).waitFor();
  await press(page, 'Send form again');
  await page.getByText('Saved as a draft.').waitFor();
  expect(await page.getByLabel('Title').inputValue()).toBe('Long thought about');
  expect(await page.getByLabel('Text, in Markdown').inputValue()).toBe('\n\nOne line\nand "another" <b>');
  await context.close();
}, 300_000);

test('a text that is too long to be kept without a session is saved by reloading the page', async () => {
  const { context, page } = await newBrowser();
  await signInAnew(page);
  await follow(page, 'New post');
  const text = `${'A long line. '.repeat(100)}\n`.repeat(14);
  await page.getByLabel('Title').fill('Very long');
  await page.getByLabel('Text, in Markdown').fill(text);
  await context.clearCookies();
  await press(page, 'Save draft');
  await page.getByRole('heading', { name: 'You are signed out' }).waitFor();
  await page.getByText('Your text is too long to keep on this page').waitFor();
  expect(await wrongWith(page)).toEqual([]);
  const opened = context.waitForEvent('page');
  await follow(page, 'sign in in another tab');
  const tab = await opened;
  await signIn(tab);
  await tab.getByRole('heading', { name: 'Posts', level: 1 }).waitFor();
  await page.reload();
  await page.getByText('Saved as a draft.').waitFor();
  expect(await page.getByLabel('Title').inputValue()).toBe('Very long');
  expect(await page.getByLabel('Text, in Markdown').inputValue()).toBe(text);
  await context.close();
}, 300_000);
