import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type OpenDashboard, openDashboard, watch } from '../support/dashboard-browser.ts';

let dashboard: OpenDashboard;

beforeAll(async () => {
  dashboard = await openDashboard(['--demo']);
}, 300_000);

afterAll(() => dashboard.close());

test('a person sends a request, copies its body and code, and meets their language again', async () => {
  const { person, origin, base } = dashboard;
  await person.grantPermissions(['clipboard-read', 'clipboard-write'], { origin });
  const trouble = watch(person, origin);
  const page = await person.newPage();
  const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
  await page.goto(`${base}/explorer`);
  await page.getByLabel('limit').fill('1');
  await page.getByRole('button', { name: 'Send request' }).click();
  await page.getByText('200 OK').waitFor();
  expect(page.url()).toContain('limit=1');

  await page.getByText('Raw body', { exact: true }).click();
  await page.getByRole('button', { name: 'Copy the raw body' }).click();
  await page.getByRole('button', { name: 'Copy the raw body' }).getByText('Copied').waitFor();
  await page.getByRole('status').filter({ hasText: 'Copied' }).waitFor();
  expect(JSON.parse(await clipboard())).toMatchObject({ posts: [{}], pagination: { limit: 1 } });

  await page.getByLabel('JavaScript', { exact: true }).check();
  await page.getByRole('button', { name: 'Copy the JavaScript sample' }).click();
  await page.getByRole('button', { name: 'Copy the JavaScript sample' }).getByText('Copied').waitFor();
  expect(await clipboard()).toContain('await fetch(');

  await page.goto(`${origin}/docs`);
  expect(await page.locator('#listPosts-javascript').isVisible()).toBe(true);
  expect(trouble).toEqual([]);
}, 300_000);
