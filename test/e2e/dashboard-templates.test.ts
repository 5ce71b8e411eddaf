import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { type OpenDashboard, openDashboard, watch } from '../support/dashboard-browser.ts';
import { wrongWith } from '../support/page-check.ts';

// The template editor in a real browser.

let dashboard: OpenDashboard;
let trouble: string[];
let path: string;

beforeAll(async () => {
  dashboard = await openDashboard(['--demo']);
  trouble = watch(dashboard.person, dashboard.origin);
  const page = await dashboard.person.newPage();
  const follow = async (part: string) => {
    const href = await page.locator(`main a[href*="${part}"]`).first().getAttribute('href');
    return new URL(href ?? '', dashboard.origin).href;
  };
  await page.goto(`${dashboard.base}/integrations`);
  await page.goto(await follow('integrations/int_'));
  path = await follow('/triggers/trg_');
  await page.close();
}, 300_000);

afterAll(() => dashboard.close());

const BODY = 'Body template';
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const result = (page: Page) => page.locator('[data-preview-result]');
/** Opens an address, and returns whether the browser asks before it leaves the page. `watch` answers it. */
async function asks(page: Page, to: string): Promise<boolean> {
  let isAsked = false;
  page.once('dialog', () => {
    isAsked = true;
  });
  await page.goto(to);
  page.removeAllListeners('dialog');
  return isAsked;
}
const typedIn = (page: Page, label: string) => page.getByLabel(label).inputValue();

test('the preview follows what is typed, and an error leads to its place', async () => {
  const page = await dashboard.person.newPage();
  await page.goto(path);
  expect(await button(page, 'Preview template').isVisible()).toBe(false);
  await page.getByLabel(BODY).fill('Typed **{{ release.tag }}**');
  await result(page).locator('strong', { hasText: 'v2.4.0' }).waitFor();

  await page.getByLabel(BODY).fill('One\nTwo {{ release.nam }}\nThree');
  const error = result(page).getByRole('link', { name: /^Body template, line 2, column 8/ });
  await error.waitFor();
  expect(await page.getByLabel(BODY).getAttribute('aria-invalid')).toBe('true');
  expect(await page.locator('.gutter .wrong').textContent()).toBe('2');
  expect(await page.getByRole('status').filter({ hasText: 'line 2' }).count()).toBe(1);
  await error.click();
  const caret = await page.evaluate(() => {
    const area = document.activeElement as HTMLTextAreaElement;
    return area.value.slice(area.selectionStart, area.selectionStart + 11);
  });
  expect(caret).toBe('release.nam');
  expect(await wrongWith(page)).toEqual([]);

  // Enter presses the button that saves, not one of those beside the form.
  await page.getByLabel('Tags').press('Enter');
  const summary = page.locator('[data-problem]');
  await summary.waitFor();
  expect(await summary.evaluate((each) => each === document.activeElement)).toBe(true);
  expect(await page.title()).toStartWith('Error: ');
  expect(await wrongWith(page)).toEqual([]);

  // Once it is mended, the old error is gone.
  await page.getByLabel(BODY).fill('Mended {{ release.tag }}');
  await result(page).locator('.prose', { hasText: 'Mended v2.4.0' }).waitFor();
  expect(await summary.count()).toBe(0);
  expect(await page.getByLabel(BODY).getAttribute('aria-invalid')).toBeNull();
  await page.close();
}, 300_000);

test('a chosen template and a variable go into the fields, and can be undone', async () => {
  const page = await dashboard.person.newPage();
  await page.goto(path);
  await page.getByLabel('Template', { exact: true }).selectOption('linkedin_post');
  await button(page, 'Use template').click();
  expect(await typedIn(page, 'Post type')).toBe('linkedin_post');
  expect(await typedIn(page, 'Title template')).toBe('{{ release.name }}');
  await result(page).locator('.prose.plain').waitFor();

  await page.getByText('Show variables').click();
  await page.getByLabel('Title template').focus();
  await page.keyboard.press('End');
  await button(page, 'Insert release.version').click();
  expect(await typedIn(page, 'Title template')).toBe('{{ release.name }}{{ release.version }}');
  await page.keyboard.press('Control+z');
  expect(await typedIn(page, 'Title template')).toBe('{{ release.name }}');
  expect(page.url()).toBe(path);
  await page.close();
}, 300_000);

test.each([
  ['a trigger', () => path, BODY, 'One\n{{ release.tag }}'],
  [
    'a new trigger',
    () => path.replace(/\/triggers\/[^/]+$/, '/triggers/new?event=release'),
    BODY,
    'New\nbody',
  ],
  ['an import', () => `${dashboard.base}/posts/~/import`, 'Or paste the text', '# 1.0.0\n\n- Text'],
] as const)(
  '%s asks before its text is lost, also by a reload, and offers it again',
  async (_, open, label, typed) => {
    const page = await dashboard.person.newPage();
    await page.goto(dashboard.base);
    await page.evaluate(() => localStorage.clear());
    await page.goto(open());
    const stored = await typedIn(page, label);
    await page.getByLabel(label).fill(typed);
    expect(await asks(page, `${dashboard.base}/posts`)).toBe(true);
    await page.goto(open());
    expect(await typedIn(page, label)).toBe(stored);
    await button(page, 'Restore unsaved text').click();
    expect(await typedIn(page, label)).toBe(typed);
    // A reload.
    expect(await asks(page, page.url())).toBe(true);
    await button(page, 'Restore unsaved text').click();
    expect(await typedIn(page, label)).toBe(typed);
    await asks(page, page.url());
    await button(page, 'Discard').click();
    expect(await asks(page, page.url())).toBe(false);
    expect(await button(page, 'Restore unsaved text').count()).toBe(0);
    await page.close();
  },
  300_000,
);

test('in two tabs of a trigger, the second save shows both texts, and keeps what only the first changed', async () => {
  const mine = await dashboard.person.newPage();
  const theirs = await dashboard.person.newPage();
  await mine.goto(path);
  await theirs.goto(path);
  await theirs.getByLabel(BODY).fill('Theirs {{ release.tag }}');
  await theirs.getByLabel('Title template').fill('Their title');
  await button(theirs, 'Save trigger').click();
  await theirs.getByText('Trigger saved.').waitFor();
  await mine.getByLabel(BODY).fill('Mine {{ release.tag }}');
  await mine.getByLabel('Tags').fill('v9.*');
  await button(mine, 'Save trigger').click();
  const conflict = mine.getByRole('alert').filter({ hasText: 'changed while you had it open' });
  await conflict.waitFor();
  expect(await conflict.locator('del').allTextContents()).toEqual(['Theirs {{ release.tag }}']);
  expect(await conflict.locator('ins').allTextContents()).toEqual(['Mine {{ release.tag }}']);
  await theirs.reload();
  expect(await typedIn(theirs, BODY)).toBe('Theirs {{ release.tag }}');
  await button(mine, 'Save trigger').click();
  await mine.getByText('Trigger saved.').waitFor();
  expect(await typedIn(mine, BODY)).toBe('Mine {{ release.tag }}');
  expect(await typedIn(mine, 'Title template')).toBe('Their title');
  expect(await typedIn(mine, 'Tags')).toBe('v9.*');
  await mine.close();
  await theirs.close();
  expect(trouble).toEqual([]);
}, 300_000);
