import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { systemClock } from '../../src/lib/time.ts';
import { type OpenDashboard, openDashboard } from '../support/dashboard-browser.ts';
import { fillDashboard } from '../support/full-dashboard.ts';
import { projectOf } from '../support/github-api/project.ts';
import { type GithubApi, startGithubApi } from '../support/github-api/server.ts';
import { day } from '../support/import.ts';
import { until } from '../support/until.ts';

// The goals that people come for, in few steps and by the keyboard alone.

let github: GithubApi;
let fresh: OpenDashboard;
let demo: OpenDashboard;

beforeAll(async () => {
  github = startGithubApi({ clock: systemClock });
  projectOf(github.addRepository('acme/rocket', { isPrivate: false }), systemClock, [
    { at: day(1), push: ['chore: start'] },
    { at: day(2), release: 'v1.0.0', name: 'Rocket 1.0: lift-off', notes: '### Added\n\n- Quiet mode' },
  ]);
  fresh = await openDashboard([], { GITHUB_API_URL: github.url });
  demo = await openDashboard(['--demo']);
  await fillDashboard(demo);
  using db = new Database(join(demo.dataDir, 'tidings.db'));
  db.run('pragma busy_timeout = 60000');
  // The trigger was tried for hours.
  db.run("update trigger_runs set status = 'failed', attempts = 8 where error is not null");
}, 300_000);

afterAll(async () => {
  await fresh.close();
  await demo.close();
  github[Symbol.dispose]();
});

/** Uses a page as a person without a mouse, and counts what it takes. */
async function byKeyboard({ base, person }: OpenDashboard, start: string) {
  const page = await person.newPage();
  page.setDefaultTimeout(60_000);
  const took = { pages: new Set<string>(), fields: 0, presses: 0 };
  page.on('framenavigated', (frame) => took.pages.add(new URL(frame.url()).pathname));
  await page.goto(`${base}/${start}`);
  /** Moves the focus to the control of this name. */
  async function reach(name: string) {
    for (let stops = 0; stops < 200; stops++) {
      await page.keyboard.press('Tab');
      if ((await page.evaluate(nameOfFocus)).startsWith(name)) return;
    }
    throw new Error(`Tab reaches no ${name} on ${page.url()}`);
  }
  return {
    page,
    took,
    async press(name: string) {
      await reach(name);
      took.presses++;
      await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')]);
    },
    async type(name: string, text: string) {
      await reach(name);
      took.fields++;
      await page.keyboard.press('Control+a');
      await page.keyboard.type(text);
    },
  };
}

/** Runs in the page. */
function nameOfFocus(): string {
  const focused = document.activeElement as HTMLInputElement | null;
  const label = focused?.labels?.[0]?.textContent ?? focused?.ariaLabel ?? focused?.textContent;
  return label?.trim() ?? '';
}

const shown = (page: Page, text: string) => page.getByText(text).first().waitFor();

test('the first draft of the own project takes two pages and one field', async () => {
  const { page, took, type } = await byKeyboard(fresh, 'start');
  await type('Repository', 'acme/rocket');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'Rocket 1.0: lift-off' }).waitFor();
  expect([...took.pages].map((path) => path.split('/')[3])).toEqual(['start', 'import']);
  expect(took.fields).toBe(1);
}, 300_000);

test('a failed template is mended from the number of what needs a person, in three presses', async () => {
  await until(
    async () => {
      const { page } = await byKeyboard(demo, 'posts');
      const attention = await page.getByRole('link', { name: 'Attention' }).textContent();
      await page.close();
      return attention;
    },
    (text) => text === 'Attention1',
  );
  const { page, took, press, type } = await byKeyboard(demo, 'posts');
  await press('Attention');
  await shown(page, 'body template, line 1, column 30: the result of divided_by is not a number');
  await press('Open trigger');
  await type('Body template', '{{ release.notes }}');
  await press('Save trigger');
  await shown(page, 'Trigger saved. Retrying its failed runs.');
  // By itself, without a reload.
  await page.locator('section[aria-labelledby="failing"] .error').waitFor({ state: 'detached' });
  expect(took.presses).toBe(3);
}, 300_000);

test('a rejection explains itself after two presses', async () => {
  const { page, took, press } = await byKeyboard(demo, 'posts');
  await press('Deliveries');
  await press('Signature does not match');
  await page.getByRole('heading', { level: 1, name: 'Signature does not match' }).waitFor();
  await shown(page, 'The delivery was not signed with the secret of this integration');
  expect(took.presses).toBe(2);
}, 300_000);

test('the page of triggers says what happens on the next release', async () => {
  const { page } = await byKeyboard(demo, 'triggers');
  await shown(page, 'When acme/rocket publishes a release → a changelog draft');
}, 300_000);
