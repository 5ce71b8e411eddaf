import { expect, test } from 'bun:test';
import { treaty } from '@elysiajs/eden';
import type { ListQuery, Pagination, Post } from '../../src/posts/model.ts';
import type { App } from '../../src/posts/routes.ts';
import { appWithOrganization } from '../support/test-app.ts';

// Eden Treaty is typed by the routes. The type checker compares.

const app = await appWithOrganization();
await app.addPosts('org_a', { id: 'post_1' }, { id: 'post_2', status: 'draft' });
const { key } = await app.addKey('org_a');
const fetcher = Object.assign(
  async (...sent: ConstructorParameters<typeof Request>) => app.fetch(new Request(...sent)),
  {
    preconnect: fetch.preconnect,
  },
);
const { v1 } = treaty<App>('http://localhost', {
  // Times are strings, as in the contract.
  parseDate: false,
  fetcher,
  headers: { authorization: `Bearer ${key}` },
});
const { posts } = v1({ organizationId: 'org_a' });

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type List = Awaited<ReturnType<typeof posts.get>>;
type Sent = NonNullable<NonNullable<Parameters<typeof posts.get>[0]>['query']>;
type Refusal = NonNullable<List['error']>;

const isTyped: [
  posts: Same<NonNullable<List['data']>['posts'], Post[]>,
  pagination: Same<NonNullable<List['data']>['pagination'], Pagination>,
  query: Same<Sent['status'], (typeof ListQuery)['static']['status']>,
  sort: Same<Sent['sort'], 'asc' | 'desc' | undefined>,
  refusals: Same<Refusal['status'], 400 | 401 | 403 | 422 | 429 | 500 | 503>,
  message: Same<Extract<Refusal, { status: 401 }>['value'], { error: string }>,
] = [true, true, true, true, true, true];

test('a list has the types of the routes', async () => {
  expect(isTyped).not.toContain(false as never);
  const { data, status } = await posts.get({ query: { status: ['draft', 'published'], limit: 1, page: 2 } });
  expect(status).toBe(200);
  expect(data?.posts.map(({ id }) => id)).toEqual(['post_1']);
  expect(data?.pagination).toMatchObject({ currentPage: 2, totalItems: 2, nextPage: null });
});

test('one post, or null', async () => {
  const [found, draft] = await Promise.all(['post_1', 'post_2'].map((postId) => posts({ postId }).get()));
  expect(found?.data?.post).toMatchObject({ title: 'Post 1', createdAt: '2026-01-01T00:01:00.000Z' });
  expect(draft?.data).toEqual({ post: null });
});

test('a refusal has its status and its message', async () => {
  const { error, data } = await posts.get({ query: { limit: 0 } });
  expect(data).toBeNull();
  expect(error?.status).toBe(400);
  expect(error?.value).toEqual({ error: 'Invalid query parameters' });
  const foreign = await v1({ organizationId: 'org_b' }).posts.get();
  expect(foreign.error?.value).toEqual({ error: 'Forbidden: organization access denied' });
  // @ts-expect-error the compiler knows the choices
  expect((await posts.get({ query: { sort: 'newest' } })).status).toBe(400);
});
