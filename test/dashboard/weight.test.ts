import { expect, test } from 'bun:test';
import { createTrigger } from '../../src/drafting/triggers/service.ts';
import { signedIn } from '../support/dashboard.ts';
import { appWithGithub, githubRequest } from '../support/deliveries.ts';
import type { TestApp } from '../support/test-app.ts';

// Bytes that a browser receives before it can show a page for the first time: HTML, style sheet and scripts, as they are sent.

const LIMIT = 45_000;

const posts = Array.from({ length: 40 }, (_, at) => ({
  title: `Release ${at} of the rocket, with a title that takes about as much room as titles usually do`,
  markdown: '- Quieter engines\n- Wider pads\n'.repeat(20),
}));

/** The bytes of a page and of the files that it names. Browsers accept gzip. */
async function weigh(app: TestApp, open: () => Promise<Response>) {
  const page = await open();
  expect(page.status).toBe(200);
  const html = await page.text();
  const files = [...html.matchAll(/<(?:script src|link rel="stylesheet" href)="([^"]+)"/g)].map(
    ([, path]) => path,
  );
  expect(files.length).toBeGreaterThanOrEqual(2);
  const headers = { 'accept-encoding': 'gzip' };
  const sizes = await Promise.all(
    files.map(async (path = '') => (await (await app.request(path, { headers })).bytes()).byteLength),
  );
  return Buffer.byteLength(html) + sizes.reduce((sum, size) => sum + size, 0);
}

const setUp = async () => {
  const { app, connected } = await appWithGithub();
  const { integrationId } = connected;
  await createTrigger(app.deps, { integrationId, event: 'release', contentType: 'changelog' });
  await app.addPosts('org_a', { ...posts[0], id: 'post_first' }, ...posts.slice(1));
  for (let at = 0; at < 60; at++) await app.request(...githubRequest(connected, { zen: `${at}` }));
  const visit = await signedIn(app, { organizationId: 'org_a' });
  return { app, visit, integrationId };
};
const world = setUp();

test.each([
  'start',
  'posts',
  'posts/~/new',
  'posts/post_first',
  'triggers',
  'deliveries',
  'integrations',
  'integrations/:integration',
  'jump',
  'publishing',
  'explorer',
  'settings',
  'settings/keys',
  'settings/members',
  'settings/audit',
  '/dashboard/~/account',
])('%s weighs 45 KB at most', async (path) => {
  const { app, visit, integrationId } = await world;
  const full = path.startsWith('/')
    ? path
    : `/dashboard/org_a/${path.replace(':integration', integrationId)}`;
  expect(await weigh(app, () => visit(full))).toBeLessThanOrEqual(LIMIT);
});

test('the sign-in weighs 45 KB at most', async () => {
  const { app } = await world;
  expect(await weigh(app, () => app.request('/dashboard/~/sign-in'))).toBeLessThanOrEqual(LIMIT);
});
