import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { launchBrowser } from './browser.ts';
import { temporaryFolder } from './cli.ts';
import { root, type ServerProcess, startTidings } from './server.ts';

// Pictures of every page of the dashboard, to be looked at: light and dark, on a phone and on a wide screen, empty
// and full. `bun run screenshots` writes them to `screenshots/`, which Git ignores.

const folder = join(root, 'screenshots');
const password = 'correct horse battery';

const looks = [
  { width: 390, colorScheme: 'light' },
  { width: 390, colorScheme: 'dark' },
  { width: 1440, colorScheme: 'light' },
  { width: 1440, colorScheme: 'dark' },
] as const;

/** Pages of an organization, and what to follow from them, from one to the next. */
const pages: { path: string; follow?: string[] }[] = [
  { path: 'start' },
  { path: 'posts', follow: ['posts/post_'] },
  { path: 'posts/~/new' },
  { path: 'integrations', follow: ['integrations/int_', 'triggers/trg_'] },
  { path: 'deliveries', follow: ['deliveries/dlv_'] },
  { path: 'settings' },
  { path: 'settings/keys' },
  { path: 'settings/members' },
];

/** Opens the set-up link that the start printed, and becomes the owner. Returns the organization's path. */
export async function setUp(page: Page, server: ServerProcess): Promise<string> {
  const link = /Set up the dashboard: \S+(\/setup\?token=\S+)/.exec(server.stdout())?.[1];
  if (link === undefined) throw new Error(`no set-up link in: ${server.stdout()}`);
  await page.goto(`${server.url}${link}`);
  await page.getByLabel('E-mail address').fill('ann@acme.example');
  await page.getByLabel('Password').fill(password);
  const organization = page.getByLabel('Your team or product');
  if ((await organization.count()) > 0) await organization.fill('Acme Rockets');
  await page.getByRole('button', { name: 'Begin' }).click();
  await page.waitForURL(/\/start$/);
  return new URL(page.url()).pathname.replace(/\/start$/, '');
}

async function shoot(page: Page, name: string): Promise<void> {
  for (const { width, colorScheme } of looks) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`), fullPage: true });
  }
}

async function shootAll(context: BrowserContext, server: ServerProcess, kind: string): Promise<void> {
  const page = await context.newPage();
  await page.goto(`${server.url}/dashboard/~/sign-in`);
  await shoot(page, `${kind}-sign-in`);
  const base = await setUp(page, server);
  for (const { path, follow = [] } of pages) {
    await page.goto(`${server.url}${base}/${path}`);
    const name = path.replaceAll(/[~/]+/g, '-');
    await shoot(page, `${kind}-${name}`);
    for (const [depth, part] of follow.entries()) {
      const link = page.locator(`main a[href*="${part}"]`).first();
      if ((await link.count()) === 0) break;
      await page.goto(`${server.url}${await link.getAttribute('href')}`);
      await shoot(page, `${kind}-${name}${'-one'.repeat(depth + 1)}`);
    }
  }
  await page.goto(`${server.url}/dashboard/~/account`);
  await shoot(page, `${kind}-account`);
}

async function withServer(browser: Browser, kind: string, words: string[], until: string): Promise<void> {
  const data = temporaryFolder();
  const server = await startTidings(data.path, words, { until });
  try {
    await shootAll(await browser.newContext(), server, kind);
  } finally {
    await server.stop();
    data.remove();
  }
}

if (import.meta.main) {
  mkdirSync(folder, { recursive: true });
  const browser = await launchBrowser();
  try {
    await withServer(browser, 'empty', [], 'Set up the dashboard');
    await withServer(browser, 'full', ['--demo'], 'Stop with Ctrl-C');
  } finally {
    await browser.close();
  }
}
