import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { cliJson } from '../support/cli.ts';
import { type OpenDashboard, openDashboard, watch } from '../support/dashboard-browser.ts';
import { until } from '../support/until.ts';

// From a delivery to its draft, in a real browser.

const TITLE = 'Rocket 2.4.0: quieter engines';

let dashboard: OpenDashboard;
let page: Page;
let trouble: string[];
let integrationId: string;

beforeAll(async () => {
  dashboard = await openDashboard();
  await dashboard.person.grantPermissions(['clipboard-read', 'clipboard-write']);
  trouble = watch(dashboard.person, dashboard.origin);
  page = await dashboard.person.newPage();
  const organization = dashboard.base.split('/').at(-1) ?? '';
  const connect = ['integration', 'connect', 'github', '--organization', organization];
  ({ integrationId } = await cliJson(dashboard.dataDir, [...connect, '--repository', 'acme/rocket']));
}, 300_000);

afterAll(() => dashboard.close());

const integration = () => `${dashboard.base}/integrations/${integrationId}`;
const resultOf = (here: Page) => here.getByRole('region', { name: 'Result' });

async function sendTest(here: Page): Promise<void> {
  await here.goto(integration());
  await here.getByLabel('Event', { exact: true }).selectOption('release');
  await here.getByRole('button', { name: 'Send test event' }).click();
  await here.getByText('Test event sent.').waitFor();
}

test('the first test event of a new team ends in its draft', async () => {
  await page.goto(`${dashboard.base}/start`);
  await page.getByRole('link', { name: 'Send test event' }).click();
  await page.getByText("can't reach").first().waitFor();
  await sendTest(page);
  await resultOf(page).getByText('this integration has no triggers').waitFor();
  await resultOf(page).getByRole('button', { name: 'Create trigger' }).click();
  await page.getByText('Trigger created, and the delivery replayed.').waitFor();
  // The page updates itself.
  await page.evaluate(() => document.body.setAttribute('data-same', ''));
  await resultOf(page).getByText('Draft ready').waitFor();
  expect(await page.locator('body[data-same]').count()).toBe(1);
  await resultOf(page).getByRole('link', { name: 'Open draft' }).click();
  await page.waitForURL(/\/posts\/post_/);
  expect(await page.content()).toContain(TITLE);
  expect(trouble).toEqual([]);
}, 300_000);

test('the payload is searched, folded and copied', async () => {
  await sendTest(page);
  const payload = page.getByRole('region', { name: 'Payload' });
  await payload.getByRole('searchbox').fill('v2.4.0');
  await payload.getByText(/^\d+ matches$/).waitFor();
  await payload.getByRole('searchbox').press('Enter');
  await payload.getByText(/^1 of \d+$/).waitFor();
  const line = payload.locator('.line', { hasText: 'tagName' });
  await line.focus();
  const copied = () => page.evaluate(() => navigator.clipboard.readText());
  for (const [label, text] of [
    ['Copy value', 'v2.4.0'],
    ['Copy path', 'tagName'],
  ] as const) {
    await payload.getByRole('button', { name: label }).click();
    await until(copied, (each) => each === text);
  }
  await payload.getByRole('button', { name: 'Copy payload' }).click();
  await until(copied, (each) => each.startsWith('{'));
  expect(JSON.parse(await copied())).toMatchObject({ tagName: 'v2.4.0' });
  expect(trouble).toEqual([]);
}, 300_000);

test('what needs a script is shown when all scripts of its page listen', async () => {
  const opened = await dashboard.person.newPage();
  await opened.addInitScript(() => {
    // The first listener of this event: all scripts have run, and those that wait for it come later.
    document.addEventListener('DOMContentLoaded', () => {
      const shown = [...document.querySelectorAll<HTMLElement>('[data-script]')].filter(
        (each) => !each.hidden,
      );
      document.body.dataset.early = String(shown.length);
    });
  });
  await opened.goto(page.url());
  await opened.getByRole('searchbox').waitFor();
  expect(await opened.getAttribute('body', 'data-early')).toBe('0');
  await opened.close();
});

test('a pointer that rests takes no button from the line with the focus', async () => {
  const lines = page.getByRole('region', { name: 'Payload' }).locator('div.line');
  await lines.first().hover();
  await lines.nth(2).focus();
  const beside = () =>
    page.evaluate(
      () => document.querySelector('.line-tools')?.previousElementSibling === document.activeElement,
    );
  expect(await beside()).toBe(true);
  const isOver = page.evaluate(
    () =>
      new Promise((resolve) => {
        document.querySelector('.tree')?.addEventListener('pointerover', resolve, { once: true });
        // The next line comes below the pointer.
        scrollBy(0, document.querySelector('div.line')?.clientHeight ?? 0);
      }),
  );
  await isOver;
  expect(await beside()).toBe(true);
});

test('the live log shows a result as it comes, and replays what is selected', async () => {
  const log = await dashboard.person.newPage();
  await log.goto(`${dashboard.base}/deliveries`);
  await log.getByRole('button', { name: 'Live' }).click();
  // The picture above has rows too.
  const entries = log.getByRole('row').filter({ has: log.getByRole('checkbox') });
  const rows = await entries.count();
  await sendTest(page);
  await until(
    () => entries.count(),
    (count) => count === rows + 1,
  );
  const newest = entries.nth(1);
  await newest.getByText(`Updates ${TITLE}`).waitFor();
  await newest.getByRole('checkbox').check();
  await log.getByText('1 selected').waitFor();
  await log.getByRole('button', { name: 'Replay deliveries' }).click();
  await log.getByText('1 delivery replayed.').waitFor();
  await entries.nth(1).getByText('No changes').waitFor();
  await log.close();
  expect(trouble).toEqual([]);
}, 300_000);
