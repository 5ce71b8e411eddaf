import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type OpenDashboard, openDashboard, watch } from '../support/dashboard-browser.ts';
import { wrongWith } from '../support/page-check.ts';
import { startProviders } from '../support/provider-pages.ts';
import { rounds } from '../support/rounds.ts';

// Connecting GitHub in a browser: by an App, which goes to GitHub and comes back, and with a token.

const provider = startProviders();
let dashboard: OpenDashboard;

beforeAll(async () => {
  dashboard = await openDashboard([], provider.environment);
}, 300_000);

afterAll(async () => {
  await dashboard.close();
  provider.stop();
});

test('an App is created, installed and disconnected; each page is accessible', async () => {
  const { person, origin, base } = dashboard;
  const { github } = provider;
  const trouble = watch(person, origin);
  const page = await person.newPage();
  const wrong: string[] = [];
  async function check(name: string): Promise<void> {
    // Their colors are those of other pages.
    const found = await wrongWith(page, { contrast: rounds(0, 1) === 1 });
    wrong.push(...found.map((each) => `${name}: ${each}`));
    await page.setViewportSize({ width: 1440, height: 900 });
  }
  const press = (label: string) => page.getByRole('button', { name: label, exact: true }).click();
  const follow = (label: string) => page.getByRole('link', { name: label, exact: true }).click();
  const heading = (text: string) => page.getByRole('heading', { name: text, level: 1 }).waitFor();

  await page.goto(`${base}/integrations`);
  await page.getByText('Webhook (needs a public URL)').first().click();
  await follow('Create GitHub App');
  await heading('Create a GitHub App');
  await check('new');

  await page.getByText('Create it in an organization').click();
  await page.getByLabel('Organization', { exact: true }).fill('not a login');
  await press('Use organization');
  await page.getByRole('alert').waitFor();
  await check('wrong-owner');

  await page.getByLabel('Organization', { exact: true }).fill('acme');
  await press('Use organization');
  await page.getByText('which acme will own').waitFor();
  await check('organization');

  await press('Continue to GitHub');
  await heading('Create GitHub App from manifest');
  await page.getByLabel('GitHub App name').fill('Tidings for Acme');
  await press('Create GitHub App');
  await page.getByText('The App is not installed, so it sends no events').waitFor();
  await check('created');

  await follow('Install App');
  await heading('Install Tidings for Acme');
  await page.getByLabel('acme/lander', { exact: true }).check();
  await page.getByLabel('acme/probe', { exact: true }).check();
  await press('Install');
  await page.getByRole('cell', { name: 'acme/lander' }).waitFor();
  await github.settled();
  await check('installed');

  await follow('Check integration');
  await page.getByText('The App is installed at GitHub').waitFor();
  await check('check');
  await page.goBack();

  await follow('Replace key');
  await page.getByLabel('Private key').fill('not a key');
  await press('Replace key');
  await page.getByRole('alert').waitFor();
  await check('wrong-key');
  await page.getByRole('navigation', { name: 'Breadcrumb' }).getByRole('link').last().click();

  const app = github.apps.at(-1);
  if (app === undefined) throw new Error('GitHub has no App');
  github.suspendApp(app);
  await github.settled();
  await page.reload();
  await page.getByText('Somebody suspended the App at GitHub').waitFor();
  await check('suspended');

  await page.locator('summary', { hasText: 'Disconnect' }).click();
  await check('disconnect');
  await press(`Disconnect ${app.slug}`);
  await page.getByText(`${app.slug} is disconnected. Delete the App at`).waitFor();
  await check('disconnected');

  expect(wrong).toEqual([]);
  expect(trouble.filter((each) => !each.startsWith(`${github.url}/`))).toEqual([]);
  await page.close();
}, 600_000);

test('a long list is filtered, and a button that waits for GitHub says so', async () => {
  const trouble = watch(dashboard.person, dashboard.origin);
  const page = await dashboard.person.newPage();
  await page.goto(`${dashboard.base}/integrations`);
  await page.getByText('Webhook (needs a public URL)').first().click();
  await page.getByLabel('GitHub token').fill(provider.token);
  provider.github.failNext('answers 500');
  // Nothing can be asked of a page that is being left, so it writes down what its button says meanwhile.
  await page.evaluate(() => {
    const write = () =>
      sessionStorage.setItem('busy', document.querySelector('[data-busy]:disabled')?.textContent ?? 'none');
    new MutationObserver(write).observe(document.body, { subtree: true, attributes: true });
  });
  await page.getByRole('button', { name: 'Choose repositories' }).first().click();
  await page.getByText('GitHub failed with status 500').first().waitFor();
  expect(await page.evaluate(() => sessionStorage.getItem('busy'))).toBe('Loading repositories…');

  await page.getByLabel('GitHub token').fill(provider.token);
  await page.getByRole('button', { name: 'Choose repositories' }).first().click();
  const filter = page.getByLabel('Filter');
  await filter.fill('ACME gro');
  const shown = page.locator('#places li:visible');
  expect(await shown.allTextContents()).toEqual(['acme/ground-station']);
  await page.getByLabel('acme/ground-station').check();
  await filter.fill('lander');
  expect(await shown.allTextContents()).toEqual(['acme/ground-station', 'acme/lander']);
  await filter.press('Enter');
  expect(page.url()).toEndWith('/github/choose');
  await page.getByRole('button', { name: 'Connect repositories', exact: true }).click();
  await page.getByText('Connected: acme/ground-station. GitHub can reach Tidings.').waitFor();
  expect(trouble).toEqual([]);
  await page.close();
}, 300_000);
