import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import type { Connected } from '../../src/integrations/words.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { cliJson } from '../support/cli.ts';
import { curlLines } from '../support/curl.ts';
import { type OpenDashboard, openDashboard, setUpLink, watch } from '../support/dashboard-browser.ts';
import { githubRequest } from '../support/deliveries.ts';
import { changed } from '../support/payloads.ts';
import { until } from '../support/until.ts';

// The dashboard in a real browser, from the first start to a post that a site reads.

let dashboard: OpenDashboard;
let page: Page;
let trouble: string[];

beforeAll(async () => {
  dashboard = await openDashboard();
  await dashboard.person.grantPermissions(['clipboard-read', 'clipboard-write']);
  trouble = watch(dashboard.person, dashboard.origin);
  page = await dashboard.person.newPage();
}, 300_000);

afterAll(() => dashboard.close());

const json = (...words: string[]) => cliJson(dashboard.dataDir, words);
const button = (name: string) => page.getByRole('button', { name, exact: true });
const link = (name: string | RegExp) => page.getByRole('link', { name, exact: true });

/** Opens a section by the navigation. */
const go = (section: string | RegExp) =>
  page.getByRole('navigation', { name: 'Dashboard' }).getByRole('link', { name: section }).click();

/** Checks that a copy button copies the text beside it. */
async function copyBy(name: string): Promise<string> {
  const text = await page
    .locator('.once', { has: button(name) })
    .locator('code')
    .textContent();
  await button(name).click();
  await button('Copied').first().waitFor();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(text ?? '');
  return text ?? '';
}

/** Reloads until something is there: triggers do their work in their own time. */
const appears = (here: Page, what: ReturnType<Page['locator']>) =>
  until(
    () => here.reload().then(() => what.count()),
    (count) => count > 0,
  );

test('from the printed link to a first call, and a key that is revoked', async () => {
  await page.goto(`${dashboard.base}/start`);
  await page.getByRole('heading', { name: 'First steps' }).waitFor();
  await link('Create New API Key').click();
  await page.getByLabel('Name').fill('Website');
  await button('Create key').click();
  await page.getByRole('heading', { name: 'Copy the key now' }).waitFor();

  const key = await copyBy('Copy key');
  const [call] = curlLines(await copyBy('Copy command'));
  expect(call?.headers).toEqual({ Authorization: `Bearer ${key}` });
  const ask = () => fetch(call?.url ?? '', call ?? {});
  const answer = await ask();
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({ posts: [], pagination: { totalItems: 0 } });

  await page.reload();
  await page.getByText('This form was already submitted').waitFor();
  expect(await page.content()).not.toContain(key);
  expect(await page.getByRole('row', { name: 'Website' }).count()).toBe(1);

  await page.goto(`${dashboard.base}/start`);
  await appears(page, page.getByRole('listitem').filter({ hasText: 'One of your keys has been used.' }));
  await go('Settings');
  await link('API Keys').click();
  await page.getByText('Revoke Website').click();
  await button('Revoke key').click();
  await page.getByText('“Website” is revoked').waitFor();
  expect((await ask()).status).toBe(401);

  // The link that made the owner makes no other.
  expect((await page.goto(setUpLink(dashboard.server)))?.status()).toBe(404);
  expect(trouble).toEqual([]);
}, 300_000);

test('from connecting GitHub to a draft, with the log open beside it', async () => {
  await page.goto(dashboard.base);
  await go('Integrations');
  await page.getByText('Webhook (needs a public URL)').first().click();
  await page.getByText('Connect without a token').first().click();
  await page.getByLabel('Repository').first().fill('acme/rocket');
  await button('Connect GitHub').click();
  await page.getByRole('heading', { name: 'acme/rocket is almost connected' }).waitFor();
  const url = await copyBy('Copy URL');
  const secret = await copyBy('Copy secret');
  expect(url).toStartWith(`${dashboard.origin}/api/webhooks/github/org_`);
  expect(secret.length).toBeGreaterThan(40);
  await page.reload();
  await page.getByText('This form was already submitted').waitFor();
  expect(await page.content()).not.toContain(secret);
  expect(await page.getByRole('article').count()).toBe(1);
  await link('acme/rocket').click();

  await page.getByLabel('Create posts from').selectOption({ label: 'Published releases' });
  await button('Add trigger').click();
  await button('Create trigger').click();
  await page.getByText('Trigger created.').waitFor();
  const trigger = page.url();

  // The log is empty still: the first delivery appears as any other.
  const log = await dashboard.person.newPage();
  await log.goto(`${dashboard.base}/deliveries`);
  const live = log.getByRole('button', { name: 'Live' });
  await live.click();
  await log.getByText('New deliveries appear as they arrive.').waitFor();

  await link('acme/rocket').click();
  await page.getByLabel('Event', { exact: true }).selectOption('release');
  await button('Send test event').click();
  await page.getByText('Test event sent.').waitFor();
  const entry = page.url();
  const row = log.getByRole('row', { name: 'Release v2.4.0 published' });
  await row.waitFor();
  expect(await log.getByRole('status').filter({ hasText: '1 new delivery' }).count()).toBe(1);
  expect(await live.getAttribute('aria-pressed')).toBe('true');

  await row.getByRole('link', { name: 'Release v2.4.0 published' }).click();
  await log.waitForURL(entry);
  expect(await log.getByRole('region', { name: 'Payload' }).textContent()).toContain('Quiet mode');
  const caused = log.getByRole('region', { name: 'Result' });
  await appears(log, caused.getByRole('link', { name: 'Rocket 2.4.0: quieter engines' }));
  await log.getByRole('button', { name: 'Replay delivery' }).click();
  await log.getByText('Delivery replayed.').waitFor();
  await log.getByRole('navigation', { name: 'Breadcrumb' }).getByRole('link').click();
  await log.getByRole('row', { name: /Release v2\.4\.0 published.*replay/ }).waitFor();
  expect(await row.count()).toBe(2);
  await log.close();

  await page.goto(trigger);
  const rehearsal = page.locator('#rehearsal');
  await rehearsal.getByText('Rehearsal', { exact: true }).click();
  await link('Rehearse').click();
  const rehearsed = rehearsal.getByRole('article').filter({ hasText: 'Rocket 2.4.0: quieter engines' });
  await rehearsed.getByRole('listitem').filter({ hasText: 'Quiet mode' }).waitFor();
  // The first post stands apart from the hint above it.
  const gap = await rehearsed.evaluate((post) => {
    const hint = post.closest('#rehearsal')?.querySelector('.hint');
    return post.getBoundingClientRect().top - (hint?.getBoundingClientRect().bottom ?? 0);
  });
  expect(gap).toBeGreaterThanOrEqual(12);
  await go('Posts');
  expect(await link('Rocket 2.4.0: quieter engines').count()).toBe(1);
  expect(trouble).toEqual([]);
}, 300_000);

test('from a draft to a published post, and to the newer text that is suggested for it', async () => {
  const organization = dashboard.base.split('/').at(-1) ?? '';
  const connect = ['integration', 'connect', 'github', '--organization', organization];
  const connected: Connected = await json(...connect, '--repository', 'acme/lander');
  await json('trigger', 'create', '--integration', connected.integrationId, '--event', 'release');
  const { key } = await json('key', 'create', '--organization', organization, '--name', 'Site');
  const published = async () => {
    const headers = { authorization: `Bearer ${key}` };
    return (await fetch(`${dashboard.origin}/v1/${organization}/posts`, { headers })).json();
  };
  const send = async (payload: Record<string, unknown>) => {
    const { pathname } = new URL(connected.webhookUrl);
    const [path, init] = githubRequest(connected, payload, { event: 'release', path: pathname });
    expect((await fetch(`${dashboard.origin}${path}`, init)).status).toBe(200);
  };
  const release = samplePayload('github', 'release', { repository: 'acme/lander', now: new Date() }) ?? {};
  await send(changed(release, { 'release.name': 'Lander 1.0', 'release.body': '- Wider pads' }));
  await page.goto(`${dashboard.base}/posts`);
  await appears(page, link('Lander 1.0'));

  await link('Lander 1.0').click();
  await page.getByLabel('Title').fill('Lander, at last');
  await page.getByLabel('Text, in Markdown').fill('It *lands* now.');
  await page.locator('#preview em', { hasText: 'lands' }).waitFor({ state: 'attached' });
  await button('Save').click();
  await page.getByText('Saved.').waitFor();
  expect(await published()).toMatchObject({ posts: [] });
  await button('Publish now').click();
  await page.getByText('Published. The API returns it from now on.').waitFor();
  expect(await published()).toMatchObject({
    posts: [{ title: 'Lander, at last', markdown: 'It *lands* now.', status: 'published' }],
  });

  const now = new Date(Date.now() + 60_000);
  const edited =
    samplePayload('github', 'release', { repository: 'acme/lander', now, action: 'edited' }) ?? {};
  await send(
    changed(edited, { 'release.name': 'Lander 1.0', 'release.body': '- Wider pads\n- Longer legs' }),
  );
  const suggestion = page.getByRole('region', { name: 'There is a suggestion for this post.' });
  await appears(page, suggestion);
  expect(await page.getByLabel('Title').inputValue()).toBe('Lander, at last');
  await suggestion.getByText('Changes').waitFor();
  expect(await suggestion.locator('del').allTextContents()).toEqual(['Lander, at last', 'It *lands* now.']);
  expect(await suggestion.locator('ins').allTextContents()).toEqual([
    'Lander 1.0',
    '- Wider pads',
    '- Longer legs',
  ]);
  await button('Accept suggestion').click();
  await page.getByText('The post now has the suggested text.').waitFor();
  expect(await suggestion.count()).toBe(0);
  expect(await page.getByLabel('Text, in Markdown').inputValue()).toBe('- Wider pads\n- Longer legs');
  expect(await published()).toMatchObject({
    posts: [{ title: 'Lander 1.0', markdown: '- Wider pads\n- Longer legs' }],
  });
  expect(trouble).toEqual([]);
}, 300_000);
