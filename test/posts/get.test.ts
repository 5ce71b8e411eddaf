import { beforeEach, expect, test } from 'bun:test';
import { appWithOrganization, bearer, type TestApp } from '../support/test-app.ts';

let app: TestApp;
let auth: ReturnType<typeof bearer>;

beforeEach(async () => {
  app = await appWithOrganization({ organizations: ['org_a', 'org_b'] });
  auth = bearer(await app.addKey('org_a'));
  await app.addPosts('org_a', { id: 'news' }, { id: 'draft', status: 'draft' });
  await app.addPosts('org_a', { id: 'linkedin', contentType: 'linkedin_post' });
  await app.addPosts('org_b', { id: 'theirs' });
});

const get = (path: string) => app.request(`/v1/org_a/posts/${path}`, auth);

test.each([
  ['a published post', 'news'],
  ['a draft, when asked for', 'draft?status=draft'],
  ['a draft, when every status is asked for', 'draft?status=published&status=draft'],
  ['a post of the type asked for', 'linkedin?contentType=linkedin_post'],
  ['limit, page and sort mean nothing here', 'news?limit=0&page=x&sort=up'],
  ['nor do they in another spelling', 'news?Limit=0&page[number]=x&sort[]=up'],
])('%s is found', async (_, path) => {
  const response = await get(path);
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({ post: { id: path.split('?')[0] } });
});

test.each([
  ['does not exist', 'nothing'],
  ['belongs to another organization', 'theirs'],
  ['is a draft and none was asked for', 'draft'],
  ['is published and drafts were asked for', 'news?status=draft'],
  ['is of another type', 'news?contentType=linkedin_post'],
])('a post that %s is null, with 200', async (_, path) => {
  const response = await get(path);
  expect(response.status).toBe(200);
  expect(await response.text()).toBe('{"post":null}');
});

test.each([
  ['an id with a dot', 'a.b'],
  ['an id that is too long', 'x'.repeat(65)],
  ['an id with an encoded slash', 'a%2Fb'],
  ['an id with broken encoding', '%zz'],
  ['an id of spaces', '%20'],
  ['a status that there is not', 'news?status=archived'],
  ['an empty type', 'news?contentType='],
  ['status as an array', 'news?status[]=published'],
  ['contentType in lower case', 'news?contenttype=changelog'],
])('%s is 400', async (_, path) => {
  const response = await get(path);
  expect(response.status).toBe(400);
  expect(await response.json()).toEqual({ error: 'Invalid path params or query' });
});

test('the longest id is taken', async () => {
  expect((await get('x'.repeat(64))).status).toBe(200);
});

test('an unchanged post is 304', async () => {
  const etag = (await get('news')).headers.get('etag') ?? '';
  const again = await app.request('/v1/org_a/posts/news', {
    headers: { ...auth.headers, 'if-none-match': etag },
  });
  expect(again.status).toBe(304);
});
