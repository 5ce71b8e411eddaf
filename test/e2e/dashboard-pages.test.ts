import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { cliJson, temporaryFolder } from '../support/cli.ts';
import { type OpenDashboard, openDashboard, setUp, setUpLink, watch } from '../support/dashboard-browser.ts';
import { fillDashboard } from '../support/full-dashboard.ts';
import { wrongWith, wrongWithFocus } from '../support/page-check.ts';
import { openProviderPages, startProviders } from '../support/provider-pages.ts';
import { rounds } from '../support/rounds.ts';
import { askForApproval, assistantEnvironment, followFirst, pages, waiting } from '../support/screenshots.ts';
import { type ServerProcess, startTidings } from '../support/server.ts';

// Every page, light and dark, on a phone and on a wide screen: for everybody to read and to use by keyboard, within the
// screen and the policy.

/** How long a page may take in all its looks, on a busy machine. */
const PATIENCE_MS = 120_000;

let dashboard: OpenDashboard;
let page: Page;
let trouble: string[];
let failing: string;
const provider = startProviders();

beforeAll(async () => {
  dashboard = await openDashboard(['--demo'], { ...provider.environment, ...assistantEnvironment });
  trouble = watch(dashboard.person, dashboard.origin);
  page = await dashboard.person.newPage();
  ({ failing } = await fillDashboard(dashboard));
}, 300_000);

afterAll(async () => {
  await dashboard.close();
  provider.stop();
});

/** Checks the open page. */
async function expectFine(
  here: Page,
  said = trouble,
  options?: Parameters<typeof wrongWith>[1],
): Promise<void> {
  expect(await here.locator('h1').count()).toBe(1);
  expect(await wrongWith(here, options)).toEqual([]);
  expect(said.splice(0)).toEqual([]);
}

/** Checks the open page, and the way of the keyboard through it. */
async function expectFineByKeyboard(): Promise<void> {
  await expectFine(page);
  expect(await wrongWithFocus(page)).toEqual([]);
}

const open = (path: string) =>
  page.goto(path.startsWith('/') ? `${dashboard.origin}${path}` : `${dashboard.base}/${path}`);
const press = (name: string) => page.getByRole('button', { name, exact: true }).click();

const lists = pages.flatMap(({ follow, path }) => (follow === undefined ? [] : [[path, follow] as const]));

describe('full:', () => {
  const titles = new Set<string>();

  test.each(pages.map(({ path }) => path))(
    '%s',
    async (path) => {
      await open(path);
      const title = await page.title();
      expect(title).toEndWith(' · Tidings');
      // The explorer is one page.
      if (path !== 'explorer?operation=getPost') expect(titles).not.toContain(title);
      titles.add(title);
      await expectFineByKeyboard();
    },
    PATIENCE_MS,
  );

  test.each(lists)(
    '%s, one of %s',
    async (path, follow) => {
      await open(path);
      expect(await followFirst(page, follow)).toBe(true);
      await expectFineByKeyboard();
    },
    PATIENCE_MS,
  );

  test.each([
    ['of words that have no end', 'posts/wide'],
    ['the versions of words that have no end', 'posts/wide/versions'],
    ['the account', '/dashboard/~/account'],
    ['the reference of the API', '/docs'],
  ])(
    '%s',
    async (_, path) => {
      await open(path);
      await expectFineByKeyboard();
    },
    PATIENCE_MS,
  );

  test.each([
    ['a search that finds nothing', 'posts?q=nothing+of+the+sort&status=draft'],
    ['a filter that leaves nothing', 'deliveries?event=nothing'],
    ['a page that there is not', 'nothing'],
    ['a post that there is not', 'posts/post_nothing'],
    ['an invitation that does not work', '/dashboard/~/invitation?token=nothing'],
  ])(
    '%s',
    async (_, path) => {
      await open(path);
      await expectFine(page);
    },
    PATIENCE_MS,
  );
});

describe('full, with something to see:', () => {
  test(
    'a newer text beside an edited one',
    async () => {
      await open('posts?q=own+words');
      await followFirst(page, 'posts/post_');
      await page.getByRole('region', { name: 'There is a suggestion for this post.' }).waitFor();
      await expectFine(page);
    },
    PATIENCE_MS,
  );

  test(
    'a list in which all rows have one height, also the one with a newer text',
    async () => {
      await page.setViewportSize({ width: 1440, height: 900 });
      await open('posts');
      await page
        .getByRole('row')
        .getByRole('link', { name: /^\d suggestions?$/ })
        .first()
        .waitFor();
      const heights = await page
        .locator('tbody tr')
        .evaluateAll((rows) => rows.map((row) => row.getBoundingClientRect().height));
      expect(new Set(heights).size).toBe(1);
    },
    PATIENCE_MS,
  );

  test(
    'a post that somebody else has changed meanwhile',
    async () => {
      await open('posts/wide');
      await page.getByLabel('Title').fill('Mine');
      await cliJson(dashboard.dataDir, ['post', 'edit', 'wide', '--title', 'Theirs']);
      await press('Save');
      await page.getByRole('alert').waitFor();
      await expectFine(page);
      await page.getByRole('link', { name: 'discard it and open the stored one' }).click();
      await page.getByRole('link', { name: 'Version history' }).click();
      await page.getByRole('heading', { name: 'Version history' }).waitFor();
      await expectFine(page);
    },
    PATIENCE_MS,
  );

  test(
    'selected rows, whose bar covers none that has the focus',
    async () => {
      for (const path of ['posts', 'deliveries']) {
        await open(path);
        await page.getByRole('checkbox', { name: 'Select all rows' }).check();
        expect(await wrongWithFocus(page)).toEqual([]);
      }
    },
    PATIENCE_MS,
  );

  test.each(['rejected', 'duplicate'])(
    'a delivery that was %s',
    async (status) => {
      await open(`deliveries?status=${status}`);
      expect(await followFirst(page, 'deliveries/dlv_')).toBe(true);
      await expectFineByKeyboard();
    },
    PATIENCE_MS,
  );

  test(
    'a trigger that fails, and its rehearsal',
    async () => {
      await open('integrations');
      await page.getByRole('link', { name: 'acme/rocket', exact: true }).click();
      await page.getByText('Failed runs').waitFor();
      await expectFine(page);
      await page.goto(`${page.url()}/triggers/${failing}`);
      expect(await wrongWithFocus(page)).toEqual([]);
      await page.goto(`${page.url()}?rehearse=yes`);
      await expectFine(page);
    },
    PATIENCE_MS,
  );

  test(
    'a new trigger, and what is wrong with it',
    async () => {
      await open('integrations');
      await page.getByRole('link', { name: 'acme/rocket', exact: true }).click();
      await press('Add trigger');
      await page.getByLabel('Title template').waitFor();
      await expectFine(page);
      await page.getByLabel('Title template').fill('{{ relase.name }}');
      await press('Create trigger');
      await page.getByText('there is no variable relase.name').first().waitFor();
      await expectFine(page);
    },
    PATIENCE_MS,
  );

  test(
    'webhooks that are kept at GitHub and Linear',
    async () => {
      const { base, dataDir } = dashboard;
      const seen: string[] = [];
      for await (const name of openProviderPages(page, { base, dataDir }, provider)) {
        seen.push(name);
        // Their colors are those of other pages.
        await expectFine(page, trouble, { contrast: rounds(0, 1) === 1 });
      }
      expect(seen.length).toBeGreaterThan(12);
    },
    8 * PATIENCE_MS,
  );

  test(
    'what is shown once',
    async () => {
      await open('settings/keys');
      await page.getByText('Create New API Key').click();
      await page.getByLabel('Name').fill('Shown once');
      await press('Create key');
      await page.getByRole('heading', { name: 'Copy the key now' }).waitFor();
      await expectFine(page);
      await page.reload();
      await expectFine(page);
      await open('integrations');
      const card = (name: string) => page.getByRole('region', { name: `Connect ${name}` });
      await card('GitHub').getByText('Webhook (needs a public URL)').click();
      await card('GitHub').getByText('Connect without a token').click();
      await card('GitHub').getByLabel('Repository', { exact: true }).fill('nothing');
      await press('Connect GitHub');
      await page.getByText('must be OWNER/NAME').first().waitFor();
      await expectFine(page);
      await card('Linear').getByText('Connect without a token').click();
      await press('Connect Linear');
      await page.getByRole('heading', { name: 'Linear is almost connected' }).waitFor();
      await expectFine(page);
      await page.getByRole('link', { name: 'Open integration' }).click();
      await page.getByText('Rotate secret').click();
      await press('Create new secret');
      await page.getByRole('heading', { name: 'New secret' }).waitFor();
      await expectFine(page);
    },
    PATIENCE_MS,
  );

  test(
    'the posts that wait for approval, and the review of one',
    async () => {
      await askForApproval(dashboard.dataDir);
      await open(waiting.path);
      await expectFineByKeyboard();
      expect(await followFirst(page, waiting.follow)).toBe(true);
      await expectFineByKeyboard();
      await cliJson(dashboard.dataDir, ['organization', 'set-approval', 'org_demo', 'off']);
    },
    PATIENCE_MS,
  );

  test(
    'an invitation, for who makes it and for who gets it',
    async () => {
      await open('settings/members');
      await press('Create invitation link');
      await page.getByRole('heading', { name: 'Invitation link' }).waitFor();
      await expectFine(page);
      const link = (await page.locator('.once code').textContent()) ?? '';
      const guests = await dashboard.browser.newContext();
      const said = watch(guests, dashboard.origin);
      const guest = await guests.newPage();
      await guest.goto(link);
      await expectFine(guest, said);
      await guest.getByRole('link', { name: 'Sign in first' }).click();
      await guest.getByLabel('Password').waitFor();
      await expectFine(guest, said);
      await guest.getByLabel('Email').fill('nobody@acme.example');
      await guest.getByLabel('Password').fill('nothing of the sort');
      await guest.getByRole('button', { name: 'Sign in' }).click();
      await guest.getByRole('alert').waitFor();
      await expectFine(guest, said);
      const reset = ['user', 'reset-password', '--email', 'ann@acme.example'];
      const { url } = await cliJson(dashboard.dataDir, reset);
      await guest.goto(`${dashboard.origin}${new URL(url).pathname}${new URL(url).search}`);
      await expectFine(guest, said);
      await guests.close();
    },
    PATIENCE_MS,
  );
});

describe('empty:', () => {
  const folder = temporaryFolder();
  let server: ServerProcess;
  let base: string;
  let first: Page;
  let said: string[];

  beforeAll(async () => {
    server = await startTidings(folder.path, [], {
      until: 'Set up the dashboard',
      environment: assistantEnvironment,
    });
    const person = await dashboard.browser.newContext();
    said = watch(person, new URL(setUpLink(server)).origin);
    first = await person.newPage();
  }, 300_000);

  afterAll(async () => {
    await server.stop();
    folder.remove();
  }, PATIENCE_MS);

  test(
    'sign-in and set-up',
    async () => {
      await first.goto(new URL('/dashboard', setUpLink(server)).href);
      await first.getByText('Nobody has an account yet.').waitFor();
      await expectFine(first, said);
      await first.goto(setUpLink(server));
      await expectFine(first, said);
      base = await setUp(first, server);
      expect(said).toEqual([]);
    },
    PATIENCE_MS,
  );

  test.each(pages.map(({ path }) => path))(
    '%s',
    async (path) => {
      await first.goto(`${base}/${path}`);
      expect(await first.locator('h1').count()).toBe(1);
      // Most of an empty page is the same as on the full one.
      if (path === 'start' || path === 'posts' || rounds(0, 1) === 1) await expectFine(first, said);
      expect(said.splice(0)).toEqual([]);
    },
    PATIENCE_MS,
  );
});
