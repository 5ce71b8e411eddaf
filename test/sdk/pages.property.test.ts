import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { createClient } from '../../sdk/client.ts';
import { rounds } from '../support/rounds.ts';

// The iterator over all pages beside a list that changes between any two requests.

type Sort = 'asc' | 'desc';
/** The number of a post is its place in time. An operation adds it, or removes it. */
type Change = number;

const POSTS = 60;
const dateOf = (number: number) => new Date(Date.UTC(2026, 0, 1, 0, Math.floor(number / 2))).toISOString();
const idOf = (number: number) => `p${String(number).padStart(3, '0')}`;

/** A server that applies some changes before each response. */
function changingServer(sort: Sort, present: Set<number>, changes: Change[][]) {
  /** The posts that were in the list at each response. */
  const always = new Set(present);
  let requests = 0;
  function fetch(url: string): Promise<Response> {
    for (const number of changes[requests++] ?? []) {
      if (!present.delete(number)) present.add(number);
    }
    for (const number of always) if (!present.has(number)) always.delete(number);
    const { searchParams } = new URL(url);
    const [limit, page] = [Number(searchParams.get('limit')), Number(searchParams.get('page'))];
    const list = [...present].toSorted((one, other) => (sort === 'asc' ? one - other : other - one));
    const posts = list.slice((page - 1) * limit, page * limit);
    const nextPage = page * limit < list.length ? page + 1 : null;
    return Promise.resolve(
      Response.json({
        posts: posts.map((number) => ({ id: idOf(number), createdAt: dateOf(number) })),
        pagination: { limit, currentPage: page, nextPage, totalItems: list.length },
      }),
    );
  }
  return { fetch, always, requests: () => requests };
}

test.each(['asc', 'desc'] as const)('%s: a post that is always there comes exactly once', async (sort) => {
  const number = fc.nat({ max: POSTS - 1 });
  const change = fc.array(number, { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(number),
      fc.array(change, { maxLength: 40 }),
      fc.integer({ min: 1, max: 12 }),
      async (present, changes, limit) => {
        const server = changingServer(sort, new Set(present), changes);
        const options = { baseUrl: 'http://localhost', organizationId: 'org', key: 'k', fetch: server.fetch };
        const ids: string[] = [];
        for await (const { id } of createClient(options).posts({ sort, limit })) ids.push(id);
        expect(new Set(ids).size).toBe(ids.length);
        expect([...server.always].map(idOf).filter((id) => !ids.includes(id))).toEqual([]);
      },
    ),
    { numRuns: rounds(1_000, 20_000) },
  );
});

test('a list that stays takes few more requests than it has pages', async () => {
  for (const [posts, limit] of [
    [10_000, 100],
    [2_600, 10],
    [200, 2],
  ] as const) {
    const server = changingServer('desc', new Set(Array.from({ length: posts }, (_, index) => index)), []);
    const options = { baseUrl: 'http://localhost', organizationId: 'org', key: 'k', fetch: server.fetch };
    let count = 0;
    for await (const _ of createClient(options).posts({ limit })) count++;
    expect(count).toBe(posts);
    expect(server.requests()).toBeLessThan((posts / limit) * 1.7);
  }
});
