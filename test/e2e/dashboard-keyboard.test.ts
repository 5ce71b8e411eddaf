import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { cliJson } from '../support/cli.ts';
import { type OpenDashboard, openDashboard, watch } from '../support/dashboard-browser.ts';

// Additions of the script to every page: keys, the palette, dialogs, notices.

let dashboard: OpenDashboard;
let page: Page;
let trouble: string[];

beforeAll(async () => {
  dashboard = await openDashboard(['--demo']);
  trouble = watch(dashboard.person, dashboard.origin);
  page = await dashboard.person.newPage();
}, 300_000);

afterAll(() => dashboard.close());

beforeEach(async () => {
  await page.goto(`${dashboard.base}/posts`);
});

const selected = () => page.getByRole('dialog', { name: 'Search' }).getByRole('option', { selected: true });

describe('keys', () => {
  test('/ focuses the search, and typing there is only text', async () => {
    await page.keyboard.press('/');
    const field = page.locator('main input[type=search]');
    expect(await field.evaluate((element) => element === document.activeElement)).toBe(true);
    await page.keyboard.type('g d?');
    expect(await field.inputValue()).toBe('g d?');
    expect(page.url()).toEndWith('/posts');
  });

  test.each([
    ['d', 'deliveries'],
    ['i', 'integrations'],
    ['s', 'settings'],
    ['p', 'posts'],
  ])('g %s opens %s', async (key, path) => {
    await page.goto(`${dashboard.base}/jump`);
    await page.keyboard.press('g');
    await page.keyboard.press(key);
    await page.waitForURL(`${dashboard.base}/${path}`);
  });

  test('? shows the keys, and Escape closes them', async () => {
    await page.keyboard.press('?');
    const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await dialog.getByText('Go to deliveries').waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });

  test('single keys can be turned off; Ctrl K stays', async () => {
    await page.goto(`${dashboard.origin}/dashboard/~/account`);
    await page.getByRole('switch', { name: 'Single-key shortcuts' }).uncheck();
    await page.getByRole('button', { name: 'Save appearance' }).click();
    await page.getByText('Appearance saved.').waitFor();
    await page.goto(`${dashboard.base}/posts`);
    await page.keyboard.press('?');
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog', { name: 'Search' }).waitFor();
    expect(await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).count()).toBe(0);
    await page.goto(`${dashboard.origin}/dashboard/~/account`);
    await page.getByRole('switch', { name: 'Single-key shortcuts' }).check();
    await page.getByRole('button', { name: 'Save appearance' }).click();
    await page.getByText('Appearance saved.').waitFor();
  });
});

describe('the palette', () => {
  test('finds a post by its title, and arrow keys move the choice', async () => {
    await page.keyboard.press('Control+k');
    const field = page.getByRole('combobox', { name: 'Search posts, pages and actions' });
    await selected().filter({ hasText: 'New post' }).waitFor();
    await page.keyboard.press('ArrowDown');
    await selected().filter({ hasText: 'Connect an integration' }).waitFor();
    expect(await field.getAttribute('aria-activedescendant')).toBe(await selected().getAttribute('id'));
    await field.fill('steadier gauge');
    await selected().filter({ hasText: 'Rocket 2.3.1: a steadier gauge' }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/posts\/[^/?]+$/);
    expect(await page.getByLabel('Title').inputValue()).toBe('Rocket 2.3.1: a steadier gauge');
  });

  test('opens from the navigation, and gives the focus back', async () => {
    const opener = page.getByRole('link', { name: 'Search' });
    await opener.click();
    await page.getByRole('dialog', { name: 'Search' }).waitFor();
    await page.keyboard.press('Escape');
    expect(await opener.evaluate((element) => element === document.activeElement)).toBe(true);
  });
});

test('a dangerous action asks in a dialog, and does nothing when it is cancelled', async () => {
  const key = ['key', 'create', '--organization', 'org_demo', '--name', 'Spare'];
  await cliJson(dashboard.dataDir, key);
  await page.goto(`${dashboard.base}/settings/keys`);
  const opener = page.locator('summary').filter({ hasText: 'Revoke Spare' });
  await opener.click();
  const dialog = page.getByRole('dialog', { name: 'Revoke Spare' });
  await dialog.getByText('get 401').waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await dialog.waitFor({ state: 'detached' });
  await opener.click();
  await dialog.getByRole('button', { name: 'Revoke key' }).click();
  const notice = page.getByRole('status').filter({ hasText: '“Spare” is revoked' });
  await notice.getByRole('button', { name: 'Close' }).click();
  await notice.waitFor({ state: 'detached' });
});

test("times are in the browser's time zone from the second page on", async () => {
  const context = await dashboard.browser.newContext({
    timezoneId: 'Asia/Tokyo',
    storageState: await dashboard.person.storageState(),
  });
  const elsewhere = await context.newPage();
  await elsewhere.goto(`${dashboard.base}/posts`);
  await elsewhere.reload();
  expect(await elsewhere.locator('main time').first().getAttribute('title')).toContain('UTC+9');
  expect(await elsewhere.getByText('Times are in').textContent()).toBe('Times are in Asia/Tokyo.');
  await context.close();
});

test('a row opens by its title wherever one clicks', async () => {
  const row = page.getByRole('row').filter({ hasText: 'a steadier gauge' });
  for (const cell of [row.getByText('Published'), row.locator('time')]) {
    await page.goto(`${dashboard.base}/posts`);
    const { x, y } = (await cell.boundingBox()) ?? { x: 0, y: 0 };
    await page.mouse.click(x + 4, y + 4);
    await page.waitForURL(/\/posts\/[^/?]+$/);
  }
});

test('nothing of it broke the policy of the page', () => {
  expect(trouble).toEqual([]);
});
