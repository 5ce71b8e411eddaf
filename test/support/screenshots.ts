import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { launchBrowser } from './browser.ts';
import { cliJson, temporaryFolder } from './cli.ts';
import { setUp } from './dashboard-browser.ts';
import { fillDashboard } from './full-dashboard.ts';
import { openProviderPages, type Providers, startProviders } from './provider-pages.ts';
import { root, type ServerProcess, startTidings } from './server.ts';

// Pictures of every page of the dashboard and of the public page, to be looked at: light and dark, on a phone and on a wide screen, empty
// and full. `bun run screenshots` writes them to `screenshots/`, which Git ignores.

const folder = join(root, 'screenshots');

export const looks = [
  { width: 390, colorScheme: 'light' },
  { width: 390, colorScheme: 'dark' },
  { width: 1440, colorScheme: 'light' },
  { width: 1440, colorScheme: 'dark' },
] as const;

/** For the page of the assistant, which nobody asks. */
export const assistantEnvironment = { AI_URL: 'http://127.0.0.1:9/v1', AI_MODEL: 'llama3.3' };

/** Pages of an organization, and for lists what to follow from them. */
export const pages: { path: string; follow?: string }[] = [
  { path: 'start' },
  { path: 'posts', follow: 'posts/post_' },
  { path: 'posts/~/new' },
  { path: 'posts/~/import' },
  { path: 'posts/~/export' },
  { path: 'posts/~/compare' },
  { path: 'jump' },
  { path: 'posts/~/trash' },
  { path: 'media' },
  { path: 'integrations', follow: 'integrations/int_' },
  { path: 'import' },
  { path: 'triggers' },
  { path: 'triggers/request' },
  { path: 'deliveries', follow: 'deliveries/dlv_' },
  { path: 'publishing/agents' },
  { path: 'publishing/hooks', follow: 'publishing/hooks/hook_' },
  { path: 'publishing/hooks/~/new?kind=slack' },
  { path: 'publishing' },
  { path: 'explorer?send=1' },
  { path: 'explorer?operation=getPost' },
  { path: 'settings' },
  { path: 'settings/keys' },
  { path: 'settings/members' },
  { path: 'settings/assistant' },
  { path: 'settings/audit' },
  { path: 'attention' },
];

/** Where publishing needs a second person. */
export const waiting = { path: 'posts?approval=1', follow: '/approval' };

/** The public page: list, search, nothing found, and an address of no post. */
const publicPaths = { list: '', search: '?q=rocket', none: '?q=zeppelin', missing: '/nope' };

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

async function shootPublic(page: Page, origin: string, kind: string): Promise<void> {
  const home = `${origin}/changelog/acme-rockets`;
  for (const [name, path] of Object.entries(publicPaths)) {
    await page.goto(home + path);
    await shoot(page, `${kind}-public-${name}`);
  }
  for (const [name, link] of [
    ['post', '.entry h2 a'],
    ['month', '.months a'],
  ] as const) {
    await page.goto(home);
    const first = page.locator(link).first();
    if ((await first.count()) === 0) continue;
    await first.click();
    await shoot(page, `${kind}-public-${name}`);
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
  for (const { path, follow } of [...pages, waiting]) {
    await page.goto(`${base}/${path}`);
    const name = path.replaceAll(/[~/?=&]+/g, '-');
    await shoot(page, `${kind}-${name}`);
    if (follow !== undefined && (await followFirst(page, follow))) await shoot(page, `${kind}-${name}-one`);
  }
  await page.goto(new URL('/dashboard/~/account', base).href);
  await shoot(page, `${kind}-account`);
  await shootPublic(page, new URL(base).origin, kind);
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
  fill: (open: { dataDir: string; server: ServerProcess }) => Promise<unknown> = async () => undefined,
): Promise<void> {
  const data = temporaryFolder();
  const environment = { ...provider?.environment, ...assistantEnvironment };
  const server = await startTidings(data.path, words, { until, environment });
  try {
    await fill({ dataDir: data.path, server });
    await shootAll(await browser.newContext(), server, kind, data.path, provider);
  } finally {
    await server.stop();
    data.remove();
  }
}

/** Makes publishing need a second person, and asks one for the post of words that have no end. */
export async function askForApproval(dataDir: string): Promise<void> {
  await cliJson(dataDir, ['organization', 'set-approval', 'org_demo', 'on']);
  await cliJson(dataDir, ['post', 'ask-approval', 'wide']);
}

/** Long titles, titles without spaces, from right to left, in other scripts, and more posts than a page holds. */
async function addAwkward({ dataDir, server }: { dataDir: string; server: ServerProcess }): Promise<void> {
  await fillDashboard({ dataDir, server });
  await askForApproval(dataDir);
  const titles = [
    'A title of ninety characters, which is about as long as the longest that people really write',
    'صواريخ أكمي: محركات أكثر هدوءًا وعودة أسرع إلى الأرض',
    '火箭二点四：更安静的发动机，以及一半的加油时间',
    `https://example.com/${'unbroken'.repeat(12)}`,
    'Short',
  ];
  const posts = Array.from({ length: 200 }, (_, at) => ({
    id: `awkward_${at}`,
    title: titles[at % titles.length],
    markdown: '- One line',
    status: at % 3 === 0 ? 'draft' : 'published',
  }));
  const path = join(dataDir, 'awkward.json');
  await Bun.write(path, JSON.stringify(posts));
  await cliJson(dataDir, ['post', 'import', path, '--organization', 'org_demo']);
}

if (import.meta.main) {
  mkdirSync(folder, { recursive: true });
  const browser = await launchBrowser();
  const provider = startProviders();
  try {
    await withServer(browser, 'empty', [], 'Set up the dashboard');
    await withServer(browser, 'full', ['--demo'], 'Set up the dashboard', provider);
    await withServer(browser, 'awkward', ['--demo'], 'Set up the dashboard', null, addAwkward);
  } finally {
    provider.stop();
    await browser.close();
  }
}
