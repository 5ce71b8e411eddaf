import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type OpenDashboard, openDashboard, watch } from '../support/dashboard-browser.ts';
import { wrongWith } from '../support/page-check.ts';

// Importing posts in a real browser.

let dashboard: OpenDashboard;
beforeAll(async () => {
  dashboard = await openDashboard();
}, 300_000);
afterAll(() => dashboard?.close(), 300_000);

const changelog = (version: string) => ({
  name: 'CHANGELOG.md',
  mimeType: 'text/markdown',
  buffer: Buffer.from(`# Changelog\r\n\r\n## [${version}] - 2026-01-31\r\n\r\n- "Quiet" & <b>small</b>\r\n`),
});

test('a file is corrected, previewed and imported; every page is accessible', async () => {
  const trouble = watch(dashboard.person, dashboard.origin);
  const page = await dashboard.person.newPage();
  await page.goto(`${dashboard.base}/posts`);
  await page.getByRole('link', { name: 'import posts', exact: true }).click();
  expect(await wrongWith(page)).toEqual([]);
  await page.getByLabel('Or paste the text').fill('{"title":"One"}\n{"title":""}');
  await page.getByRole('button', { name: 'Preview import' }).click();
  await page.getByText('There are 2 problems').waitFor();
  expect(await wrongWith(page)).toEqual([]);
  await page.getByLabel('File').setInputFiles(changelog('1.0.0'));
  await page.getByRole('button', { name: 'Preview import' }).click();
  await page.getByRole('button', { name: 'Import 1 post' }).waitFor();
  expect(await wrongWith(page)).toEqual([]);
  await page.getByRole('button', { name: 'Import 1 post' }).click();
  await page.getByText('Imported 1 post: 1 new, 0 updated.').waitFor();
  await page.getByRole('link', { name: '1.0.0' }).click();
  expect(await page.getByLabel('Text, in Markdown').inputValue()).toBe('- "Quiet" & <b>small</b>');
  await page.close();
  expect(trouble).toEqual([]);
}, 300_000);
