import { expect, test } from 'bun:test';
import type { Role } from '../../src/people/permission.ts';
import { hostile, isHarmed, signedIn } from '../support/dashboard.ts';
import { connectGithub } from '../support/deliveries.ts';
import { appWithOrganization } from '../support/test-app.ts';

async function setUp(role: Role = 'owner') {
  const app = await appWithOrganization({ organizations: ['org_a', 'org_b'] });
  const visit = await signedIn(app, { organizationId: 'org_a', role });
  const find = async (query: string) => {
    const response = await visit(`/dashboard/org_a/jump?list=yes&q=${encodeURIComponent(query)}`);
    expect(response.status).toBe(200);
    return labelsIn(await response.text());
  };
  return { app, visit, find };
}

const labelsIn = (html: string) => [...html.matchAll(/<span>([^<]*)<\/span>/g)].map(([, label]) => label);

test('finds pages, actions, integrations and posts', async () => {
  const { app, find } = await setUp();
  await app.addPosts('org_a', { title: 'Wider pads' }, { title: 'Longer legs' });
  await connectGithub(app, 'org_a', 'acme/lander');
  expect(await find('')).toEqual(expect.arrayContaining(['New post', 'Posts', 'API Keys', 'acme/lander']));
  expect(await find('pads')).toEqual(['Wider pads']);
  expect(await find('lander')).toEqual(['acme/lander']);
  expect(await find('new p')).toEqual(['New post']);
  expect(await find('token')).toEqual(['Create New API Key', 'API Keys']);
  expect(await find('nothing of the sort')).toEqual([]);
});

test('a member is not sent to pages of owners', async () => {
  const { find } = await setUp('member');
  expect(await find('')).not.toContain('Create New API Key');
  expect(await find('audit')).toEqual([]);
});

test("another organization's posts and integrations stay out", async () => {
  const { app, visit, find } = await setUp();
  await app.addPosts('org_b', { title: 'Secret plans' });
  await connectGithub(app, 'org_b', 'secret/rocket');
  expect(await find('secret')).toEqual([]);
  expect((await visit('/dashboard/org_b/jump?q=secret')).status).toBe(404);
});

test('a long query and a long list are cut', async () => {
  const { app, find } = await setUp();
  await app.addPosts('org_a', ...Array.from({ length: 30 }, (_, at) => ({ title: `Engine ${at}` })));
  expect(await find('engine')).toHaveLength(8);
  expect(await find('x'.repeat(10_000))).toEqual([]);
});

test('without the script it is a page, which shows the query as text', async () => {
  const { visit } = await setUp();
  const html = await (await visit(`/dashboard/org_a/jump?q=${encodeURIComponent(hostile)}`)).text();
  expect(html).toContain('Nothing matches');
  expect(isHarmed(html)).toBe(false);
});
