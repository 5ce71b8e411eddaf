import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type OpenDashboard, openDashboard, watch } from '../support/dashboard-browser.ts';
import { openAppPages } from '../support/github-app-pages.ts';
import { wrongWith } from '../support/page-check.ts';
import { startProviders } from '../support/provider-pages.ts';
import { rounds } from '../support/rounds.ts';

// Creating, installing and disconnecting a GitHub App in a browser, which goes to GitHub and comes back.

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
  const trouble = watch(person, origin);
  const page = await person.newPage();
  const wrong: string[] = [];
  const app = { base, name: 'Tidings for Acme' };
  for await (const name of openAppPages(page, app, provider.github)) {
    // Their colors are those of other pages.
    wrong.push(
      ...(await wrongWith(page, { contrast: rounds(0, 1) === 1 })).map((each) => `${name}: ${each}`),
    );
    await page.setViewportSize({ width: 1440, height: 900 });
  }
  expect(wrong).toEqual([]);
  const elsewhere = trouble.filter((each) => !each.startsWith(`${provider.github.url}/`));
  expect(elsewhere).toEqual([]);
  await page.close();
}, 600_000);
