import { afterAll, beforeAll, expect, test } from 'bun:test';
import { systemClock } from '../../src/lib/time.ts';
import { type OpenDashboard, openDashboard } from '../support/dashboard-browser.ts';
import { type Happening, projectOf } from '../support/github-api/project.ts';
import { type GithubApi, startGithubApi } from '../support/github-api/server.ts';
import { day } from '../support/import.ts';
import { wrongWith } from '../support/page-check.ts';

const PAST: Happening[] = [
  { at: day(1), push: ['chore: start'] },
  { at: day(2), release: 'v1.0.0', name: 'Rocket 1.0: lift-off', notes: '### Added\n\n- Quiet mode' },
  { at: day(3), merge: 12, title: 'feat: softer start' },
  { at: day(4), release: 'v1.1.0' },
];

let github: GithubApi;
let dashboard: OpenDashboard;

beforeAll(async () => {
  github = startGithubApi({ clock: systemClock });
  projectOf(github.addRepository('acme/rocket', { isPrivate: false }), systemClock, PAST);
  dashboard = await openDashboard([], { GITHUB_API_URL: github.url });
});
afterAll(async () => {
  await dashboard.close();
  github[Symbol.dispose]();
});

test('from the first steps to published posts, in a browser', async () => {
  const { base, person } = dashboard;
  const page = await person.newPage();
  await page.goto(`${base}/start`);
  // The page follows the import by itself: GitHub answers only when the test lets it.
  const answer = Promise.withResolvers<void>();
  github.failNext(
    async () => {
      await answer.promise;
      return Response.json({ message: 'Server Error' }, { status: 502 });
    },
    { after: 1 },
  );
  await page.getByLabel('Repository', { exact: true }).fill('acme/rocket');
  await page.getByRole('button', { name: 'Import releases' }).click();
  await page.getByRole('heading', { name: 'Import of acme/rocket' }).waitFor();
  await page.getByText('0 releases found.').waitFor();
  expect(await wrongWith(page)).toEqual([]);
  answer.resolve();
  await page.getByText('Paused', { exact: true }).waitFor();
  await page.getByText('2 releases read. 2 drafts to review.').waitFor();
  await page.getByRole('link', { name: 'Rocket 1.0: lift-off' }).waitFor();

  for (const width of [390, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    expect(await wrongWith(page)).toEqual([]);
  }
  await page.getByText('Publish all 2').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Publish 2 posts' }).click();
  await page.getByText('2 releases read. No drafts to review.').waitFor();
  expect(await page.locator('main .tag.published').count()).toBe(2);
  await page.close();
}, 300_000);
