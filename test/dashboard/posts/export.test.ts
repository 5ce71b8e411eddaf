import { expect, test } from 'bun:test';
import { removeMember } from '../../../src/people/members.ts';
import { signedIn } from '../../support/dashboard.ts';
import { appWithOrganization } from '../../support/test-app.ts';

const PATH = '/dashboard/org_a/posts/~/export';

const app = await appWithOrganization({ organizations: ['org_a', 'org_b'] });
const visit = await signedIn(app, { organizationId: 'org_a', role: 'member' });
await app.addPosts(
  'org_a',
  { id: 'a1', title: 'First', markdown: 'One', content: 'One' },
  { id: 'a2', title: 'Second', status: 'draft' },
  { id: 'a3', title: 'Third', contentType: 'linkedin_post' },
);
await app.addPosts('org_b', { id: 'b1', title: 'Theirs' });

test('the list leads to the form, which offers the formats', async () => {
  expect(await (await visit('/dashboard/org_a/posts')).text()).toContain(`href="${PATH}"`);
  const page = await (await visit(PATH)).text();
  expect(page).toContain(`action="${PATH}/file"`);
  for (const format of ['jsonl', 'json', 'markdown', 'changelog']) {
    expect(page).toContain(`<option value="${format}"`);
  }
});

test.each([
  [
    'format=jsonl&status=&contentType=',
    'posts.jsonl',
    'application/jsonl; charset=utf-8',
    ['a3', 'a2', 'a1'],
  ],
  ['', 'posts.jsonl', 'application/jsonl; charset=utf-8', ['a3', 'a2', 'a1']],
  ['format=json', 'posts.json', 'application/json', ['a3', 'a2', 'a1']],
  ['format=json&status=published&contentType=changelog', 'posts.json', 'application/json', ['a1']],
])('downloads %p', async (query, name, type, ids) => {
  const { status, headers, ...response } = await get(query);
  expect(status).toBe(200);
  expect(headers.get('content-disposition')).toBe(`attachment; filename="${name}"`);
  expect(headers.get('content-type')).toBe(type);
  expect(headers.get('cache-control')).toBe('no-store');
  expect(Array.from(response.text.matchAll(/"id":"(\w+)"/g), ([, id]) => id)).toEqual(ids);
});

async function get(query: string) {
  const response = await visit(`${PATH}/file?${query}`);
  const { status, headers } = response;
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status, headers, text: bytes.toString() };
}

test('a changelog has the published changelog posts', async () => {
  const { headers, text } = await get('format=changelog');
  expect(headers.get('content-disposition')).toBe('attachment; filename="CHANGELOG.md"');
  expect(text).toEndWith('## First - 2026-01-01\n\nOne\n');
  expect(text.match(/^## /gm)).toHaveLength(1);
});

test('Markdown is an archive of files', async () => {
  const response = await visit(`${PATH}/file?format=markdown`);
  expect(response.headers.get('content-type')).toBe('application/gzip');
  expect(response.headers.get('content-disposition')).toBe('attachment; filename="posts.tar.gz"');
  const text = Buffer.from(Bun.gunzipSync(await response.arrayBuffer())).toString();
  for (const id of ['a1', 'a2', 'a3']) expect(text).toContain(`id: "${id}"`);
  expect(text).not.toContain('Theirs');
});

test.each(['format=pdf', 'status=scheduled', 'contentType=blog'])('%s is refused', async (query) => {
  const { status, headers, text } = await get(query);
  expect(status).toBe(400);
  expect(headers.get('content-disposition')).toBeNull();
  expect(text).toContain('Choose one of');
});

test('people of another organization download nothing', async () => {
  const stranger = await signedIn(app, { organizationId: 'org_b' });
  const response = await stranger(`${PATH}/file`);
  expect(response.status).toBe(404);
  expect(await response.text()).not.toContain('First');
});

test('a download ends for a person who is removed', async () => {
  const leaver = await signedIn(app, { organizationId: 'org_a', role: 'member' });
  const posts = Array.from({ length: 60 }, (_, n) => ({ id: `long${n}`, content: 'x'.repeat(40_000) }));
  await app.addPosts('org_a', ...posts);
  const reader = (await leaver(`${PATH}/file`)).body?.getReader();
  const first = await reader?.read();
  expect(first?.done).toBe(false);
  await removeMember(app.deps, leaver.user.id, 'org_a');
  const rest = async () => {
    while ((await reader?.read())?.done === false);
  };
  await expect(rest()).rejects.toThrow('Page not found.');
});
