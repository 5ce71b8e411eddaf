import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { launchBrowser } from './browser.ts';
import { temporaryFolder } from './cli.ts';
import { setUp } from './dashboard-browser.ts';
import { openProviderPages, type Providers, startProviders } from './provider-pages.ts';
import { root, type ServerProcess, startTidings } from './server.ts';

// Pictures of every page of the dashboard, to be looked at: light and dark, on a phone and on a wide screen, empty
// and full. `bun run screenshots` writes them to `screenshots/`, which Git ignores.

const folder = join(root, 'screenshots');

export const looks = [
  { width: 390, colorScheme: 'light' },
  { width: 390, colorScheme: 'dark' },
  { width: 1440, colorScheme: 'light' },
  { width: 1440, colorScheme: 'dark' },
] as const;

/** Pages of an organization, and for lists what to follow from them. */
export const pages: { path: string; follow?: string }[] = [
  { path: 'start' },
  { path: 'posts', follow: 'posts/post_' },
  { path: 'posts/~/new' },
  { path: 'posts/~/trash' },
  { path: 'integrations', follow: 'integrations/int_' },
  { path: 'deliveries', follow: 'deliveries/dlv_' },
  { path: 'explorer?send=1' },
  { path: 'explorer?operation=getPost' },
  { path: 'settings' },
  { path: 'settings/keys' },
  { path: 'settings/members' },
  { path: 'settings/audit' },
];

/** Opens the first thing of a list that is open. Returns whether there is one. */
export async function followFirst(page: Page, part: string): Promise<boolean> {
  const link = page.locator(`main a[href*="${part}"]`).first();
  if ((await link.count()) === 0) return false;
  await page.goto(new URL((await link.getAttribute('href')) ?? '', page.url()).href);
  return true;
}

async function shoot(page: Page, name: string): Promise<void> {
  for (const { width, colorScheme } of looks) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`), fullPage: true });
  }
}

async function shootAll(
  context: BrowserContext,
  server: ServerProcess,
  kind: string,
  dataDir: string,
  provider: Providers | null,
): Promise<void> {
  const page = await context.newPage();
  await page.goto(`${server.url}/dashboard/~/sign-in`);
  await shoot(page, `${kind}-sign-in`);
  const base = await setUp(page, server);
  for (const { path, follow } of pages) {
    await page.goto(`${base}/${path}`);
    const name = path.replaceAll(/[~/?=&]+/g, '-');
    await shoot(page, `${kind}-${name}`);
    if (follow !== undefined && (await followFirst(page, follow))) await shoot(page, `${kind}-${name}-one`);
  }
  await page.goto(new URL('/dashboard/~/account', base).href);
  await shoot(page, `${kind}-account`);
  if (provider === null) return;
  for await (const name of openProviderPages(page, { base, dataDir }, provider)) {
    await shoot(page, `${kind}-kept-${name}`);
  }
}

async function withServer(
  browser: Browser,
  kind: string,
  words: string[],
  until: string,
  provider: Providers | null = null,
): Promise<void> {
  const data = temporaryFolder();
  const environment = provider?.environment ?? {};
  const server = await startTidings(data.path, words, { until, environment });
  try {
    await shootAll(await browser.newContext(), server, kind, data.path, provider);
  } finally {
    await server.stop();
    data.remove();
  }
}

if (import.meta.main) {
  mkdirSync(folder, { recursive: true });
  const browser = await launchBrowser();
  const provider = startProviders();
  try {
    await withServer(browser, 'empty', [], 'Set up the dashboard');
    await withServer(browser, 'full', ['--demo'], 'Set up the dashboard', provider);
  } finally {
    provider.stop();
    await browser.close();
  }
}
