import { expect, test } from 'bun:test';
import { savePosts } from '../../src/posts/service.ts';
import { readPost } from '../../src/posts/store.ts';
import { refusalOf } from '../support/refusal.ts';
import { bearer, createTestApp } from '../support/test-app.ts';

const subsets = <Value>(values: Value[]) => [[], ...values.map((value) => [value]), values];

const queries = subsets(['draft', 'published']).flatMap((statuses) =>
  subsets(['changelog', 'linkedin_post']).flatMap((types) =>
    ['asc', 'desc'].map((sort) => {
      const filters = [
        ...statuses.map((each) => `status=${each}`),
        ...types.map((each) => `contentType=${each}`),
      ];
      return { statuses, query: `?${[...filters, `sort=${sort}`, 'limit=100'].join('&')}` };
    }),
  ),
);

test('no key reads another organization, and no draft leaves unasked, whatever the filter and the id', async () => {
  const app = createTestApp();
  const organizations = ['org_a', 'org_b'];
  const keys = new Map<string, ReturnType<typeof bearer>>();
  const ids: string[] = [];
  for (const organization of organizations) {
    await app.addOrganization(organization);
    keys.set(organization, bearer(await app.addKey(organization)));
    for (const status of ['draft', 'published'] as const) {
      for (const contentType of ['changelog', 'linkedin_post'] as const) {
        const id = `${organization}-${status}-${contentType}`;
        ids.push(id);
        await app.addPosts(organization, { id, status, contentType, title: id, content: id, markdown: id });
      }
    }
  }

  for (const [owner, auth] of keys) {
    const other = owner === 'org_a' ? 'org_b' : 'org_a';
    for (const { statuses, query } of queries) {
      const asked = [`/v1/${owner}/posts${query}`, ...ids.map((id) => `/v1/${owner}/posts/${id}${query}`)];
      for (const path of asked) {
        const text = await (await app.request(path, auth)).text();
        expect(text, path).not.toContain(other);
        if (!statuses.includes('draft')) expect(text, path).not.toContain('draft');
      }
      for (const path of [
        `/v1/${other}/posts${query}`,
        ...ids.map((id) => `/v1/${other}/posts/${id}${query}`),
      ]) {
        const response = await app.request(path, auth);
        expect(response.status, path).toBe(403);
        expect(await response.text()).toBe('{"error":"Forbidden: organization access denied"}');
      }
    }
    // And something is found at all.
    const found = await (await app.request(`/v1/${owner}/posts?status=draft&status=published`, auth)).text();
    expect(found.match(new RegExp(`"id":"${owner}`, 'g'))).toHaveLength(4);
  }
});

test('a write under the id of another organization changes nothing', async () => {
  const app = createTestApp();
  for (const organization of ['org_a', 'org_b']) await app.addOrganization(organization);
  await app.addPosts('org_b', { id: 'theirs', title: 'Theirs' });
  const post = await app.db.read((tx) => readPost(tx, 'theirs'));
  if (post === null) throw new Error('no post');
  const taken = { ...post, organizationId: 'org_a', title: 'Ours' };
  expect((await refusalOf(savePosts(app.db, [taken]))).status).toBe(409);
  expect(await app.db.read((tx) => readPost(tx, 'theirs'))).toEqual(post);
});
