import { beforeAll, expect, test } from 'bun:test';
import { createClient } from '../../sdk/client.ts';
import { createTestApp } from '../support/test-app.ts';

// The iterator over all pages, while the list stays as it is and while it changes.

const MANY = 'org_many';
const app = createTestApp();
/** Paths of the requests of the last client. */
let requests: string[] = [];
let statuses: number[] = [];
let manyKey = '';

beforeAll(async () => {
  await app.addOrganization(MANY);
  manyKey = (await app.addKey(MANY)).key;
});

function clientOf(organizationId = MANY, key = manyKey) {
  requests = [];
  statuses = [];
  return createClient({
    baseUrl: 'http://localhost',
    organizationId,
    key,
    async fetch(url, init) {
      const { pathname, search } = new URL(url);
      requests.push(`${pathname}${search}`);
      const response = await app.fetch(new Request(url, init));
      statuses.push(response.status);
      return response;
    },
  });
}

const idOf = (number: number) => `many_${String(number).padStart(5, '0')}`;
const dateOf = (number: number) => new Date(Date.UTC(2026, 0, 1, 0, number)).toISOString();
const add = (...numbers: number[]) =>
  app.addPosts(MANY, ...numbers.map((number) => ({ id: idOf(number), createdAt: dateOf(number) })));
const count = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);

test('reads 10,000 posts in 114 requests, each once and in order, and confirms them in as many', async () => {
  await add(...count(1, 10_000));
  const tidings = clientOf();
  const ids: string[] = [];
  for await (const { id } of tidings.posts()) ids.push(id);
  expect(ids).toEqual(count(1, 10_000).map(idOf).reverse());
  expect(requests).toHaveLength(228);
  expect(statuses).toEqual([...Array(114).fill(200), ...Array(114).fill(304)]);
});

test('requests a page only when it is needed', async () => {
  for await (const { id } of clientOf().posts({ limit: 5 })) if (id === idOf(9_995)) break;
  expect(requests).toEqual([`/v1/${MANY}/posts?limit=5&page=1`, `/v1/${MANY}/posts?limit=4&page=2`]);
});

test('posts that are added in between repeat no post and skip none', async () => {
  const before = count(9_801, 10_000).map(idOf).reverse();
  const ids: string[] = [];
  for await (const { id } of clientOf().posts({ limit: 50 })) {
    ids.push(id);
    if (ids.length === 20) await add(10_001, 10_002, 10_003);
    if (ids.length === 70) await add(10_004);
    if (ids.length === 200) break;
  }
  expect(ids).toEqual(before);
});

test('posts that are removed in between make it skip no other post', async () => {
  const unpublish = (...numbers: number[]) =>
    app.addPosts(
      MANY,
      ...numbers.map((number) => ({
        id: idOf(number),
        createdAt: dateOf(number),
        status: 'draft' as const,
      })),
    );
  const ids: string[] = [];
  for await (const { id } of clientOf().posts({ sort: 'asc', limit: 10 })) {
    ids.push(id);
    if (ids.length === 10) await unpublish(...count(1, 9));
    if (ids.length === 20) await unpublish(...count(10, 35));
    if (ids.length === 60) break;
  }
  const read = new Set(ids);
  expect(read.size).toBe(ids.length);
  expect(count(36, 60).filter((number) => !read.has(idOf(number)))).toEqual([]);
});

test('ends when the last page is gone', async () => {
  await app.addOrganization('org_few');
  const few = await app.addKey('org_few');
  await app.addPosts('org_few', { id: 'f1' }, { id: 'f2' }, { id: 'f3' });
  const ids: string[] = [];
  const tidings = clientOf('org_few', few.key);
  for await (const { id } of tidings.posts({ sort: 'asc', limit: 2 })) {
    ids.push(id);
    if (ids.length === 2) await app.addPosts('org_few', { id: 'f1', status: 'draft' });
  }
  expect(ids).toEqual(['f1', 'f2', 'f3']);
});

test('finds a post whose date moved it to a page that was already read', async () => {
  await app.addOrganization('org_moves');
  const moves = await app.addKey('org_moves');
  const numbers = count(1, 6);
  await app.addPosts(
    'org_moves',
    ...numbers.map((number) => ({ id: `m${number}`, createdAt: dateOf(number) })),
  );
  const ids: string[] = [];
  for await (const { id } of clientOf('org_moves', moves.key).posts({ limit: 3 })) {
    ids.push(id);
    if (ids.length === 3) await app.addPosts('org_moves', { id: 'm1', createdAt: dateOf(100) });
  }
  expect(ids).toEqual(['m6', 'm5', 'm4', 'm3', 'm2', 'm1']);
});
