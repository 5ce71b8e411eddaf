import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { launchBrowser } from '../support/browser.ts';
import { temporaryFolder } from '../support/cli.ts';
import { type ServerProcess, startTidings } from '../support/server.ts';

const folder = temporaryFolder();
let browser: Browser;
let server: ServerProcess;

beforeAll(async () => {
  [browser, server] = await Promise.all([launchBrowser(), startTidings(folder.path)]);
});

afterAll(async () => {
  await browser.close();
  await server.stop();
  folder.remove();
});

/** The reference page, and what the browser said and asked for while it opened. */
async function open(
  options: BrowserContextOptions,
): Promise<{ page: Page; said: string[]; asked: string[] }> {
  const page = await (await browser.newContext(options)).newPage();
  const said: string[] = [];
  const asked: string[] = [];
  page.on('console', (message) => said.push(message.text()));
  page.on('pageerror', (error) => said.push(error.message));
  page.on('request', (request) => asked.push(new URL(request.url()).pathname));
  await page.goto(`${server.url}/docs`);
  return { page, said, asked };
}

test('works without scripts and offline, and breaks no policy', async () => {
  const { page, said, asked } = await open({ javaScriptEnabled: false });
  await page.evaluate(async () => void (await document.fonts.ready));
  await page.context().setOffline(true);
  await page.getByRole('link', { name: 'Get one post', exact: true }).click();
  expect(page.url()).toEndWith('/docs#getPost');
  expect(await page.getByRole('heading', { name: 'Get one post' }).isVisible()).toBe(true);
  // The style sheet is in force: the policy did not refuse it.
  expect(await page.locator('h1').evaluate((heading) => getComputedStyle(heading).fontSize)).toBe('32px');
  // Languages are radio buttons, so a browser switches between them by itself.
  const samples = page.locator('#getPost .samples');
  await samples.getByLabel('JavaScript', { exact: true }).check();
  expect(await samples.getByText('await fetch(').isVisible()).toBe(true);
  expect(await page.locator('#getPost-curl').isVisible()).toBe(false);
  // Nothing offers what only the script can do.
  expect(await page.getByRole('button').count()).toBe(0);
  expect(await page.getByRole('searchbox').count()).toBe(0);
  const others = asked.filter((path) => !path.endsWith('.woff2'));
  expect({ said, others }).toEqual({ said: [], others: ['/docs'] });
});

test('the menu of a phone is folded', async () => {
  const { page } = await open({ viewport: { width: 390, height: 800 } });
  const heading = await page.getByRole('heading', { level: 1 }).boundingBox();
  expect(heading?.y).toBeLessThan(300);
  await page.getByText('Contents', { exact: true }).click();
  await page.getByRole('link', { name: 'Get one post', exact: true }).click();
  await page.waitForURL(/#getPost$/);
  expect(await page.locator('.menu nav').isVisible()).toBe(false);
});

test('the search finds endpoints, fields and errors, by keyboard alone', async () => {
  const { page, said } = await open({});
  await page.keyboard.press('/');
  await page.keyboard.type('totalItems');
  const results = page.locator('.results a');
  expect(await results.first().textContent()).toBe('totalItems Pagination, field');
  await page.keyboard.press('Enter');
  await page.waitForURL(/#schema-Pagination-totalItems$/);

  await page.getByRole('searchbox').fill('invalid_key');
  expect(await results.allTextContents()).toContain('401 Unauthorized List posts, response');
  await page.keyboard.press('ArrowDown');
  expect(await results.first().evaluate((link) => link === document.activeElement)).toBe(true);
  await page.keyboard.press('Escape');
  expect(await page.getByRole('searchbox').inputValue()).toBe('');
  expect(await page.locator('.menu nav').isVisible()).toBe(true);

  await page.getByRole('searchbox').fill('<img src=x onerror=alert(1)>');
  expect(await page.getByRole('status').textContent()).toBe('No results. Try another word.');
  expect(said).toEqual([]);
});

test('the page remembers the language, and copies what it shows', async () => {
  const { page, said } = await open({ permissions: ['clipboard-read', 'clipboard-write'] });
  await page.locator('#getPost .samples').getByLabel('JavaScript', { exact: true }).check();
  expect(
    await page.locator('#listPosts .samples').getByLabel('JavaScript', { exact: true }).isChecked(),
  ).toBe(true);
  await page.reload();
  const sample = page.locator('#listPosts-javascript');
  expect(await sample.isVisible()).toBe(true);
  await page.locator('#listPosts').getByRole('button', { name: 'Copy the JavaScript sample' }).click();
  const copied = page.locator('#listPosts').getByText('Copied');
  await copied.waitFor();
  expect(await page.getByRole('status').textContent()).toBe('Copied');
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe((await sample.textContent()) ?? '');
  expect(said).toEqual([]);
});
