import { beforeEach, expect, test } from 'bun:test';
import { insertDelivery, type NewDelivery } from '../../src/integrations/deliveries/store.ts';
import { changeOrganization } from '../../src/people/organizations.ts';
import { pageVisitor, type VisitPage } from '../support/dashboard.ts';
import { execute } from '../support/database.ts';
import { appWithGithub, githubRequest, logEntry } from '../support/deliveries.ts';
import { createTriggerFor } from '../support/drafts.ts';
import type { TestApp } from '../support/test-app.ts';

// The picture above the delivery log.

const LOG = '/dashboard/org_a/deliveries';
const DAY_MS = 86_400_000;

let app: TestApp;
let visit: VisitPage;
let connected: Awaited<ReturnType<typeof appWithGithub>>['connected'];
let made = 0;

beforeEach(async () => {
  ({ app, connected } = await appWithGithub({ organizations: ['org_a', 'org_b'] }));
  visit = await pageVisitor(app);
});

async function add(daysAgo: number, status: NewDelivery['status'], fields: Partial<NewDelivery> = {}) {
  const at = new Date(app.clock.now().getTime() - daysAgo * DAY_MS);
  const entry = logEntry({
    id: `dlv_${++made}`,
    integrationId: connected.integrationId,
    title: `Entry ${made}`,
    status,
    payload: { event: 'push', action: null, data: {} },
    createdAt: at.toISOString(),
    ...fields,
  });
  await app.db.write((tx) => insertDelivery(tx, entry, app.clock.now()));
  return entry;
}

const page = async (path = '') => (await visit(`${LOG}${path}`)).text();
const cells = (html: string) =>
  Array.from(html.matchAll(/<th scope="row">([^<]+)<\/th><td>([^<]+)<\/td>/g), ([, day, words]) => [
    day,
    words,
  ]);

test('the log of a new organization has no picture', async () => {
  expect(await page()).not.toContain('data-chart');
});

test('each day has its results, as a picture and as a table', async () => {
  await add(6, 'processed');
  await add(2, 'rejected');
  await add(2, 'failed');
  await add(0, 'processed');
  await add(0, 'ignored', { integrationId: 'int_other' });
  await add(7, 'processed');
  await add(1, 'processed', { organizationId: 'org_b' });
  const html = await page();
  expect(html).toContain('aria-label="5 deliveries in 7 days: 2 processed, 1 ignored, 1 rejected, 1 failed"');
  expect(cells(html)).toEqual([
    ['Nov 14', '1 processed'],
    ['Nov 18', '1 rejected, 1 failed'],
    ['Nov 20', '1 processed, 1 ignored'],
  ]);
  expect(cells(await page(`?integration=int_other`))).toEqual([['Nov 20', '1 ignored']]);
});

test('a delivery whose draft failed is not counted as processed', async () => {
  const trigger = await createTriggerFor(app, connected, 'release');
  for (let at = 0; at < 2; at++)
    await app.request(...githubRequest(connected, release(at), { event: 'release' }));
  expect(cells(await page())).toEqual([['Nov 20', '2 processed']]);
  await execute(
    app.db,
    `UPDATE delivery_results SET outcome = 'failed' WHERE trigger_id = '${trigger.id}'
      AND delivery_id = (SELECT min(delivery_id) FROM delivery_results)`,
  );
  const both = [['Nov 20', '1 processed, 1 with a failed draft']];
  expect(cells(await page())).toEqual(both);
  expect(
    cells(await (await visit(`/dashboard/org_a/integrations/${connected.integrationId}`)).text()),
  ).toEqual(both);
});

const release = (id: number) => ({
  action: 'published',
  release: {
    id,
    tag_name: `v${id}`,
    name: null,
    body: null,
    draft: false,
    prerelease: false,
    author: { login: 'ann' },
    html_url: 'https://example.com',
    published_at: '2026-11-18T09:30:00Z',
    created_at: '2026-11-18T09:30:00Z',
    target_commitish: 'main',
  },
  repository: { id: 186853002, full_name: 'acme/rocket', default_branch: 'main' },
});

test('a day leads to its deliveries, of the chosen integration', async () => {
  await add(2, 'processed', { title: 'Before' });
  for (let at = 0; at < 30; at++) await add(1, 'processed', { title: 'On that day' });
  await add(1, 'processed', { title: 'Elsewhere', integrationId: 'int_other' });
  await add(0, 'processed', { title: 'After' });
  const html = await page(`?integration=${connected.integrationId}`);
  const links = Array.from(html.matchAll(/<a href="([^"]+)" tabindex="-1"/g), ([, path = '']) =>
    path.replaceAll('&amp;', '&'),
  );
  expect(links).toHaveLength(3);
  const titles: string[] = [];
  for (let next = links[1]; next !== undefined; ) {
    const listed = await (await visit(next.startsWith('?') ? `${LOG}${next}` : next)).text();
    expect(listed).toContain('<option value="2026-11-19" selected>Nov 19</option>');
    titles.push(
      ...Array.from(listed.matchAll(/deliveries\/dlv_\w+">([^<]+)<\/a>/g), ([, title = '']) => title),
    );
    next = /href="([^"]+before[^"]+)" rel="next"/.exec(listed)?.[1]?.replaceAll('&amp;', '&');
  }
  expect(titles).toEqual(Array.from({ length: 30 }, () => 'On that day'));
  expect((await visit(`${LOG}?since=2026-13-99`)).status).toBe(200);
});

test('the picture of thirty full days keeps the page small', async () => {
  await changeOrganization(app.deps, 'org_a', () => ({ plan: 'pro' }));
  for (let day = 0; day < 30; day++)
    for (const status of ['processed', 'ignored', 'duplicate', 'rejected', 'failed'] as const)
      await add(day, status, { retentionDays: 30 });
  const html = await page();
  expect(cells(html)).toHaveLength(30);
  expect(html.slice(html.indexOf('<figure'), html.indexOf('</figure>')).length).toBeLessThan(18_000);
});
