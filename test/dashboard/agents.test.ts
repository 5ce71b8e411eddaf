import { beforeEach, describe, expect, test } from 'bun:test';
import { editPost } from '../../src/posts/service.ts';
import { readPost } from '../../src/posts/store.ts';
import { listSuggestedChanges, suggestChange } from '../../src/posts/suggestions.ts';
import { listVersions } from '../../src/posts/versions.ts';
import { findPublication } from '../../src/readers/public/model.ts';
import { cookieOf, hostile, isHarmed, pageVisitor, type VisitPage } from '../support/dashboard.ts';
import { appWithOrganization, PUBLIC_URL, type TestApp } from '../support/test-app.ts';

const AGENTS = '/dashboard/org_a/publishing/agents';
const POST = '/dashboard/org_a/posts/one';

let app: TestApp;
let visit: VisitPage;

beforeEach(async () => {
  app = await appWithOrganization({ organizations: ['org_a', 'org_b'] });
  visit = await pageVisitor(app);
  await app.addPosts('org_a', { id: 'one', title: 'One', markdown: 'Old' }, { id: 'two' });
});

const read = async (path: string, as = visit) => (await as(path)).text();
const noticeOf = (response: Response) =>
  decodeURIComponent(cookieOf(response, 'tidings_notice')?.replace(/^[^=]*=/, '') ?? '');
const isOn = async () => (await app.db.read((tx) => findPublication(tx, 'org_a')))?.isMcpOn ?? false;
const suggest = (change: object, name = 'Docs agent') =>
  suggestChange(app.deps, 'org_a', { keyId: 'key_bot', name }, { id: 'one', ...change });
const stored = () => app.db.read((tx) => listSuggestedChanges(tx, 'one'));
const post = () => app.db.read((tx) => readPost(tx, 'one'));

describe('the page about agents', () => {
  test('says how to connect', async () => {
    const html = await read(AGENTS);
    const url = `${PUBLIC_URL}/mcp`;
    expect(html).toContain(`data-copy="${url}"`);
    expect(html).toContain(`claude mcp add --transport http tidings ${url} --header`);
    expect(html).toContain('posts.suggest');
    expect(html).toContain('No open suggestions.');
    const settings = /<pre[^>]*id="mcp-settings"[^>]*>([^<]*)</.exec(html)?.[1] ?? '';
    expect(JSON.parse(settings.replaceAll('&quot;', '"'))).toEqual({
      mcpServers: {
        tidings: { type: 'http', url, headers: { Authorization: 'Bearer YOUR_API_KEY' } },
      },
    });
  });

  test('counts open suggestions, and leads to their posts', async () => {
    await suggest({ title: 'A' });
    await suggest({ title: 'B' });
    expect(await read(AGENTS)).toContain(
      '<a href="/dashboard/org_a/posts?suggestion=1">2 open suggestions</a>',
    );
    const list = await read('/dashboard/org_a/posts?suggestion=1');
    expect(list).toContain(`<a class="tag suggested" href="${POST}#suggestions">2 suggestions</a>`);
    expect(list).not.toContain('href="/dashboard/org_a/posts/two"');
    expect(list).toContain('Suggestions <small>1</small>');
    expect(list).toContain('1 new');
  });

  test('lets an owner switch the endpoint on and off', async () => {
    expect(await read(AGENTS)).not.toContain('checked');
    const on = await visit(AGENTS, { isMcpOn: 'on' });
    expect([on.status, on.headers.get('location'), await isOn()]).toEqual([303, AGENTS, true]);
    expect(noticeOf(on)).toBe('The endpoint for agents is on. Agents need an API key to connect.');
    expect(await read(AGENTS)).toContain('checked');
    expect(noticeOf(await visit(AGENTS, {}))).toContain('is off. Agents get 403 from now on.');
    expect(await isOn()).toBe(false);
  });

  test('is only read by members, and by nobody else', async () => {
    const member = await pageVisitor(app, { role: 'member' });
    expect(await read(AGENTS, member)).toContain('The endpoint is off. Only owners can switch it on.');
    expect((await member(AGENTS, { isMcpOn: 'on' })).status).toBe(403);
    const stranger = await pageVisitor(app, { organizationId: 'org_b' });
    expect((await stranger(AGENTS)).status).toBe(404);
    expect(await isOn()).toBe(false);
  });
});

test('a key gets the permission to suggest when the form chose it', async () => {
  const keys = '/dashboard/org_a/settings/keys';
  const create = async (fields: object) => (await visit(keys, { expiry: '', ...fields })).text();
  expect(await create({ name: 'Site' })).not.toContain('Connect an agent');
  expect(await create({ name: 'Agent', access: 'suggest' })).toContain(`href="${AGENTS}">Connect an agent`);
  await visit(keys, { name: 'Odd', expiry: '', access: 'everything' });
  const created = await app.deps.keys.listKeys('org_a');
  expect(Object.fromEntries(created.map(({ name, permissions }) => [name, permissions]))).toEqual({
    Site: ['api.read'],
    Agent: ['api.read', 'posts.suggest'],
    Odd: ['api.read'],
  });
  const again = await visit(keys, { name: '', expiry: '', access: 'suggest' });
  expect(again.status).toBe(400);
  expect(await again.text()).toMatch(/value="suggest" checked/);
});

describe('a suggestion on the page of its post', () => {
  const seenIn = (html: string) => /name="seen" value="(\d[^"]*)"/.exec(html)?.[1] ?? '';
  const decide = async (choice: string, { seen }: { seen?: string } = {}) => {
    const [first] = await stored();
    return visit(`${POST}/suggestions/${first?.id}`, { choice, seen: seen ?? seenIn(await read(POST)) });
  };

  test('shows who suggests it, why, and the difference, as text', async () => {
    await suggest({ markdown: `New\n\n${hostile}`, note: hostile }, hostile);
    await suggest({ title: 'Other' });
    const html = await read(POST);
    expect(html).toContain('2 suggestions for this post.');
    expect(html).toContain('<del>Old</del><ins>New</ins>');
    expect(html).toContain('<strong>Docs agent</strong>');
    expect(isHarmed(html)).toBe(false);
  });

  test('is accepted with a click, which can be undone', async () => {
    await suggest({ markdown: 'New' });
    await suggest({ title: 'Other' });
    const response = await decide('accept');
    const [, previous] = await app.db.read((tx) => listVersions(tx, 'one'));
    expect([response.status, response.headers.get('location')]).toEqual([303, POST]);
    expect(noticeOf(response)).toBe(
      `The post now has the suggested text.\n${POST}/versions/${previous?.id}/restore`,
    );
    expect((await post())?.markdown).toBe('New');
    expect(await read(POST)).toContain('1 suggestion for this post.');
    expect(await read(`${POST}/versions`)).toContain('accepted a suggestion');
  });

  test('is dismissed with a click', async () => {
    await suggest({ markdown: 'New' });
    expect(noticeOf(await decide('dismiss'))).toContain('The suggestion is dismissed.');
    expect([(await post())?.markdown, await stored()]).toEqual(['Old', []]);
    expect(await read(POST)).not.toContain('id="suggestions"');
  });

  test('replaces no text that the person did not see', async () => {
    await suggest({ markdown: 'New' });
    const seen = seenIn(await read(POST));
    app.clock.advance(1000);
    await editPost(app.deps, 'one', { markdown: 'Edited' });
    expect(noticeOf(await decide('accept', { seen }))).toContain('The post changed in the meantime.');
    expect([(await post())?.markdown, (await stored()).length]).toEqual(['Edited', 1]);
  });

  test('has a page of its own for a text that is too different to compare', async () => {
    await suggest({ markdown: `${hostile}\n${'new\n'.repeat(20_000)}` });
    const [{ id } = { id: '' }] = await stored();
    const html = await read(POST);
    expect(html.includes('too different to compare them line by line')).toBe(true);
    expect(html).toContain(`href="${POST}/suggestions/${id}"`);
    const whole = await read(`${POST}/suggestions/${id}`);
    expect(whole.includes('new\n'.repeat(20_000))).toBe(true);
    expect(isHarmed(whole)).toBe(false);
    const stranger = await pageVisitor(app, { organizationId: 'org_b' });
    expect((await stranger(`${POST}/suggestions/${id}`)).status).toBe(404);
    expect((await stranger(`/dashboard/org_b/posts/one/suggestions/${id}`)).status).toBe(404);
    expect((await visit(`/dashboard/org_a/posts/two/suggestions/${id}`)).status).toBe(404);
  });

  test('of another post or organization, or an unknown choice, is refused', async () => {
    await suggest({ markdown: 'New' });
    const [{ id } = { id: '' }] = await stored();
    const fields = { choice: 'accept', seen: seenIn(await read(POST)) };
    const gone = await visit(`/dashboard/org_a/posts/two/suggestions/${id}`, fields);
    expect(noticeOf(gone)).toContain('The suggestion no longer exists.');
    const stranger = await pageVisitor(app, { organizationId: 'org_b' });
    expect((await stranger(`${POST}/suggestions/${id}`, fields)).status).toBe(404);
    expect((await stranger(`/dashboard/org_b/posts/one/suggestions/${id}`, fields)).status).toBe(404);
    expect((await decide('both')).status).toBe(400);
    expect([(await post())?.markdown, (await stored()).length]).toEqual(['Old', 1]);
  });
});
