import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { attacks } from '../support/attacks.ts';
import { launchBrowser } from '../support/browser.ts';
import { temporaryFolder } from '../support/cli.ts';
import { type ServerProcess, startTidings } from '../support/server.ts';

// A person writes and publishes a post, in a real browser.

const folder = temporaryFolder();
let browser: Browser;
let server: ServerProcess;
let person: BrowserContext;
let posts: string;

beforeAll(async () => {
  const until = 'Set up the dashboard';
  [browser, server] = await Promise.all([launchBrowser(), startTidings(folder.path, [], { until })]);
  person = await browser.newContext();
  const page = await person.newPage();
  const link = /\/setup\?token=\S+/.exec(server.stdout())?.[0] ?? '';
  await page.goto(`${server.url}${link}`);
  await page.getByLabel('Email').fill('ann@acme.example');
  await page.getByLabel('Password').fill('correct horse battery');
  await page.getByLabel('Your team or product').fill('Acme Rockets');
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.waitForURL(/\/dashboard\/org_/);
  posts = `${page.url().split('/').slice(0, 5).join('/')}/posts`;
  await page.close();
}, 300_000);

afterAll(async () => {
  await browser.close();
  await server.stop();
  folder.remove();
});

/** A page, and whatever in it went wrong, ran that should not, or asked another site for something. */
async function open(context: BrowserContext, address: string): Promise<{ page: Page; trouble: string[] }> {
  const page = await context.newPage();
  const trouble: string[] = [];
  page.on('console', (message) => trouble.push(message.text()));
  page.on('pageerror', (error) => trouble.push(error.message));
  page.on('dialog', (dialog) => void dialog.dismiss().then(() => trouble.push(dialog.message())));
  page.on('request', (request) => {
    if (!request.url().startsWith(server.url)) trouble.push(request.url());
  });
  await page.goto(address);
  // Typing before the first paint makes the browser report that it cannot focus the first field.
  await page.locator(':focus').waitFor();
  return { page, trouble };
}

/** The button creates the draft, or an autosave before it. */
async function saveDraft(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Save( draft)?$/ }).click();
  await page.getByRole('button', { name: /^Publish (now|to the API)$/ }).waitFor();
}

test('a time is on the clock of the browser; selected posts are deleted, and come back', async () => {
  const context = await browser.newContext({
    timezoneId: 'America/New_York',
    storageState: await person.storageState(),
  });
  const { page, trouble } = await open(context, `${posts}/~/new`);
  await page.getByLabel('Title').fill('Later');
  await page.getByLabel('Text, in Markdown').fill('Text');
  await page.getByRole('button', { name: 'Save draft' }).click();
  await page.getByText('Schedule…').click();
  await page.getByText('Time zone: America/New_York.').first().waitFor();
  await page.getByLabel('Publish at').fill('2099-03-29T09:00');
  await page.getByRole('button', { name: 'Schedule post' }).click();
  await page.getByText('Scheduled for Mar 29, 2099, 09:00.').waitFor();
  await page.getByText('Change schedule…').click();
  expect(await page.getByLabel('Publish at').inputValue()).toBe('2099-03-29T09:00');

  await page.goto(`${posts}?status=scheduled`);
  const deleteButton = page.getByRole('button', { name: 'Delete posts' });
  expect(await deleteButton.isVisible()).toBe(false);
  await page.getByLabel('Select Later').check();
  await page.getByText('1 selected').waitFor();
  await deleteButton.click();
  await page.getByText('Deleted 1 post.').waitFor();
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Restored the post. It is a draft.').waitFor();
  expect(trouble).toEqual([]);
  await context.close();
}, 300_000);

test('no attack runs, in a saved post or while it is typed', async () => {
  const { page, trouble } = await open(person, `${posts}/~/new`);
  // The preview is beside the text.
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.reload();
  await page.getByLabel('Title').fill('<img src=x onerror=alert(1)>');
  await page.getByLabel('Text, in Markdown').fill(attacks.join('\n\n').replaceAll('\0', ''));
  await page.locator('#preview .prose').waitFor();
  await saveDraft(page);
  for (const attack of attacks.slice(0, 20)) {
    const answered = page.waitForResponse(/\/preview$/);
    await page.getByLabel('Text, in Markdown').fill(`x ${attack}`.replaceAll('\0', ''));
    await answered;
  }
  expect(trouble).toEqual([]);
}, 300_000);
