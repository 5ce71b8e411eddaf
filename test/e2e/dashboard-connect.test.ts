import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type OpenDashboard, openDashboard, watch } from '../support/dashboard-browser.ts';
import { startProviders } from '../support/provider-pages.ts';

// What scripts add to connecting GitHub with a token.

const provider = startProviders();
let dashboard: OpenDashboard;

beforeAll(async () => {
  dashboard = await openDashboard([], provider.environment);
}, 300_000);

afterAll(async () => {
  await dashboard.close();
  provider.stop();
});

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
