import { afterAll, beforeAll, expect, test } from 'bun:test';
import axe from 'axe-core';
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
  await page.context().setOffline(true);
  await page.getByRole('link', { name: 'Get one post' }).click();
  expect(page.url()).toEndWith('/docs#getPost');
  expect(await page.getByRole('heading', { name: 'Get one post' }).isVisible()).toBe(true);
  // The style sheet is in force: the policy did not refuse it.
  expect(await page.locator('h1').evaluate((heading) => getComputedStyle(heading).fontSize)).toBe('32px');
  expect({ said, asked }).toEqual({ said: [], asked: ['/docs'] });
});

test.each([
  [390, 'light'],
  [390, 'dark'],
  [1440, 'light'],
  [1440, 'dark'],
] as const)('%i wide, %s: nothing sticks out, and axe finds nothing', async (width, colorScheme) => {
  // Axe is a script, which the page's own policy would refuse.
  const { page } = await open({ viewport: { width, height: 900 }, colorScheme, bypassCSP: true });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
  await page.addScriptTag({ content: axe.source });
  const { violations } = await page.evaluate(() => (globalThis as unknown as { axe: typeof axe }).axe.run());
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`)).toEqual([]);
});
