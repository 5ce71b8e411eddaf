import type { Browser, BrowserContext, Page } from 'playwright-core';
import { launchBrowser } from './browser.ts';
import { temporaryFolder } from './cli.ts';
import { type ServerProcess, startTidings } from './server.ts';

// The dashboard of a server of its own, in a real browser, with its first owner signed in.

export const owner = { email: 'ann@acme.example', password: 'correct horse battery' };

export interface OpenDashboard {
  browser: Browser;
  server: ServerProcess;
  dataDir: string;
  /** The prefix of the printed link: cookies belong to this host, not to the listening address. */
  origin: string;
  /** The address that the organization's pages begin with. */
  base: string;
  /** The owner's browser. */
  person: BrowserContext;
  close(): Promise<void>;
}

/** Starts a server and a browser, and sets the dashboard up by the link that the server prints. */
export async function openDashboard(
  words: readonly string[] = [],
  environment: Record<string, string> = {},
): Promise<OpenDashboard> {
  const folder = temporaryFolder();
  const [browser, server] = await Promise.all([
    launchBrowser(),
    startTidings(folder.path, words, { until: 'Set up the dashboard', environment }),
  ]);
  const close = async () => {
    await browser.close();
    await server.stop();
    folder.remove();
  };
  try {
    const person = await browser.newContext({ reducedMotion: 'reduce' });
    person.setDefaultTimeout(120_000);
    const page = await person.newPage();
    const base = await setUp(page, server);
    await page.close();
    return { browser, server, dataDir: folder.path, origin: new URL(base).origin, base, person, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The link to set the dashboard up, as the start printed it. */
export function setUpLink(server: ServerProcess): string {
  const link = /Set up the dashboard: (\S+\/setup\?token=\S+)/.exec(server.stdout())?.[1];
  if (link === undefined) throw new Error(`no setup link in: ${server.stdout()}`);
  return link;
}

/** Opens that link, and becomes the owner. Returns the address that the organization's pages begin with. */
export async function setUp(page: Page, server: ServerProcess): Promise<string> {
  await page.goto(setUpLink(server));
  await page.getByLabel('Email').fill(owner.email);
  await page.getByLabel('Password').fill(owner.password);
  const organization = page.getByLabel('Your team or product');
  if ((await organization.count()) > 0) await organization.fill('Acme Rockets');
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.waitForURL(/\/start$/);
  return page.url().replace(/\/start$/, '');
}

/** Fills in the form of the sign-in that is open. */
export async function signIn(page: Page): Promise<void> {
  await page.getByLabel('Email').fill(owner.email);
  await page.getByLabel('Password').fill(owner.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** Opens an address, and returns whether the browser asks before it leaves the page. */
export async function asksBeforeLeaving(page: Page, to: string): Promise<boolean> {
  let isAsked = false;
  page.once('dialog', (dialog) => {
    isAsked = true;
    void dialog.accept();
  });
  await page.goto(to);
  page.removeAllListeners('dialog');
  return isAsked;
}

/**
 * Collects failures in a browser's pages from now on: scripts that should not run, policy violations, and requests to another site
 * for something. A page that is itself refused is no trouble: its test looks at it.
 */
export function watch(context: BrowserContext, origin: string): string[] {
  const trouble: string[] = [];
  context.on('console', (message) => {
    const text = message.text();
    const isOwnStatus =
      text.startsWith('Failed to load resource') && message.location().url === message.page()?.url();
    // A test may type before the page is drawn, which is when its first field would be given the focus.
    const isEager = text.startsWith('Autofocus processing was blocked');
    if (!isOwnStatus && !isEager) trouble.push(text);
  });
  context.on('weberror', (error) => trouble.push(error.error().message));
  context.on('dialog', (dialog) => {
    if (dialog.type() === 'beforeunload') void dialog.accept();
    else void dialog.dismiss().then(() => trouble.push(dialog.message()));
  });
  context.on('request', (request) => {
    if (new URL(request.url()).origin !== origin) trouble.push(request.url());
  });
  return trouble;
}
