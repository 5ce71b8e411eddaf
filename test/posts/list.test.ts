import { beforeEach, describe, expect, test } from 'bun:test';
import { execute } from '../support/database.ts';
import { appWithOrganization, bearer, type TestApp } from '../support/test-app.ts';

interface PostList {
  posts: { id: string; status: string; contentType: string }[];
  pagination: Record<string, number | null>;
}

let app: TestApp;
let auth: ReturnType<typeof bearer>;

beforeEach(async () => {
  app = await appWithOrganization();
  auth = bearer(await app.addKey('org_a'));
});

const get = (query = '') => app.request(`/v1/org_a/posts${query}`, auth);
const list = async (query = '') => (await (await get(query)).json()) as PostList;
const ids = async (query = '') => (await list(query)).posts.map(({ id }) => id);

/** Twelve posts: every third is a draft, every fourth is for LinkedIn. */
async function addTwelve(): Promise<void> {
  await app.addPosts(
    'org_a',
    ...Array.from({ length: 12 }, (_, index) => ({
      id: `p${String(index + 1).padStart(2, '0')}`,
      status: (index + 1) % 3 === 0 ? ('draft' as const) : ('published' as const),
      contentType: (index + 1) % 4 === 0 ? ('linkedin_post' as const) : ('changelog' as const),
    })),
  );
}

describe('a post', () => {
  test('has every field of the contract, as it was stored', async () => {
    await app.addPosts('org_a', {
      id: 'post_x',
      title: 'A “title” with \\ and\nmore ✓',
      content: 'Text\twith\u2028separators',
      markdown: '**Text** 😀',
      sourceMetadata: { author: 'ann', nested: { list: [1, null, true] }, big: 1e21 },
      createdAt: '2026-01-02T03:04:05.006Z',
      updatedAt: '2026-02-03T04:05:06.007Z',
    });
    expect((await list()).posts as unknown[]).toEqual([
      {
        id: 'post_x',
        title: 'A “title” with \\ and\nmore ✓',
        content: 'Text\twith\u2028separators',
        markdown: '**Text** 😀',
        contentType: 'changelog',
        sourceMetadata: { author: 'ann', nested: { list: [1, null, true] }, big: 1e21 },
        status: 'published',
        createdAt: '2026-01-02T03:04:05.006Z',
        updatedAt: '2026-02-03T04:05:06.007Z',
      },
    ]);
  });

  test('has null for metadata that it does not have', async () => {
    await app.addPosts('org_a', { sourceMetadata: null });
    expect((await list()).posts).toMatchObject([{ sourceMetadata: null }]);
  });
});

describe('filters', () => {
  beforeEach(addTwelve);

  test.each([
    ['only published by default', '', ['p11', 'p10', 'p08', 'p07', 'p05', 'p04', 'p02', 'p01']],
    ['drafts', '?status=draft', ['p12', 'p09', 'p06', 'p03']],
    ['every status', '?status=draft&status=published&limit=3', ['p12', 'p11', 'p10']],
    ['one type', '?contentType=linkedin_post', ['p08', 'p04']],
    ['both types are all types', '?contentType=linkedin_post&contentType=changelog&limit=2', ['p11', 'p10']],
    ['status and type', '?status=draft&contentType=linkedin_post', ['p12']],
    ['a value given twice counts once', '?status=draft&status=draft', ['p12', 'p09', 'p06', 'p03']],
    [
      'unrelated parameters are ignored',
      '?utm_source=x&_=1&cb&=&stat=draft&filter[status]=draft&limit=1',
      ['p11'],
    ],
    ['encoded names and values', '?st%61tus=dr%61ft&limit=1', ['p12']],
  ])('%s', async (_, query, expected) => {
    expect(await ids(query)).toEqual(expected);
  });

  test('a filter that nothing matches gives an empty list', async () => {
    const other = await appWithOrganization();
    await other.addPosts('org_a', { contentType: 'changelog' });
    const response = await other.request(
      '/v1/org_a/posts?contentType=linkedin_post',
      bearer(await other.addKey('org_a')),
    );
    expect(await response.json()).toEqual({
      posts: [],
      pagination: {
        limit: 10,
        currentPage: 1,
        nextPage: null,
        previousPage: null,
        totalPages: 1,
        totalItems: 0,
      },
    });
  });
});

describe('order', () => {
  test('newest first, oldest first with sort=asc', async () => {
    await addTwelve();
    expect(await ids('?limit=2&sort=desc')).toEqual(['p11', 'p10']);
    expect(await ids('?limit=2&sort=asc')).toEqual(['p01', 'p02']);
  });

  test('equal dates are ordered by id, in the direction of the sort', async () => {
    const createdAt = '2026-01-01T00:00:00.000Z';
    await app.addPosts('org_a', ...['b', 'B', '_', 'a', '-'].map((id) => ({ id, createdAt })));
    expect(await ids('?sort=asc')).toEqual(['-', 'B', '_', 'a', 'b']);
    expect(await ids('?sort=desc')).toEqual(['b', 'a', '_', 'B', '-']);
  });
});

describe('pages', () => {
  beforeEach(addTwelve);

  test.each([
    ['the first', '?limit=3', { currentPage: 1, nextPage: 2, previousPage: null }],
    ['a middle one', '?limit=3&page=2', { currentPage: 2, nextPage: 3, previousPage: 1 }],
    ['the last, not full', '?limit=3&page=3', { currentPage: 3, nextPage: null, previousPage: 2 }],
    ['one past the end', '?limit=3&page=4', { currentPage: 4, nextPage: null, previousPage: 3 }],
    ['one far past the end', '?limit=3&page=1000000000', { currentPage: 1e9, previousPage: 999_999_999 }],
  ])('%s', async (_, query, expected) => {
    expect((await list(query)).pagination).toMatchObject({
      limit: 3,
      totalPages: 3,
      totalItems: 8,
      ...expected,
    });
  });

  test('together hold every post once', async () => {
    const pages = await Promise.all([1, 2, 3, 4].map((page) => ids(`?limit=3&page=${page}`)));
    expect(pages.map((page) => page.length)).toEqual([3, 3, 2, 0]);
    expect(pages.flat()).toEqual(await ids('?limit=100'));
  });

  test('ten posts by default, a hundred at most', async () => {
    await app.addPosts('org_a', ...Array.from({ length: 120 }, () => ({})));
    expect((await list()).posts).toHaveLength(10);
    expect((await list('?limit=100')).posts).toHaveLength(100);
  });
});

describe('invalid parameters', () => {
  test.each([
    [
      'limit',
      [
        '0',
        '-1',
        '101',
        '1.0',
        '1.5',
        '0x10',
        '1e2',
        '+5',
        '%2B5',
        '',
        '%205',
        '5%20',
        '007',
        'ten',
        'NaN',
        '१',
      ],
    ],
    ['page', ['0', '-1', '1000000001', '1.0', '0x1', '1e0', '+1', '', '99999999999999999999', 'one']],
    ['sort', ['', 'ASC', 'Desc', 'newest', 'asc,desc']],
    ['status', ['', 'Draft', 'archived', 'draft,published', '[draft]', 'published%20', 'null']],
    ['contentType', ['', 'article', 'video', 'podcast', 'changelog,linkedin_post', '["changelog"]']],
  ])('%s', async (name, values) => {
    for (const value of values) {
      const response = await get(`?${name}=${value}`);
      expect(await response.json(), `${name}=${value}`).toEqual({ error: 'Invalid query parameters' });
      expect(response.status).toBe(400);
    }
  });

  test.each([
    'status[]=draft',
    'status[0]=draft',
    'status%5B%5D=draft',
    'status[=draft',
    'contenttype=changelog',
    'content_type=changelog',
    'content-type[]=changelog',
    'ContentType=changelog',
    'Limit=5',
    'LIMIT=5',
    '$limit=5',
    '%20limit=5',
    '+limit=5',
    'page[number]=2',
    'Page',
    'Sort=asc',
    'limit=5&Limit=5',
    'Limit=5&limit=5',
  ])('a known name in another spelling: %s', async (query) => {
    const response = await get(`?${query}`);
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({ error: 'Invalid query parameters' });
  });

  test.each(['limit=5&limit=5', 'page=1&page=2', 'sort=asc&sort=asc', 'status=draft&status=nope'])(
    'repeated: %s',
    async (query) => {
      expect((await get(`?${query}`)).status).toBe(400);
    },
  );
});

describe('caching', () => {
  test('an unchanged page is 304, without a body; a changed one is sent', async () => {
    await addTwelve();
    const first = await get();
    const etag = first.headers.get('etag') ?? '';
    expect(etag).toMatch(/^"[^"]+"$/);
    expect(first.headers.get('cache-control')).toBe('private, no-cache');

    const ifNoneMatch = (tag: string) =>
      app.request('/v1/org_a/posts', { headers: { ...auth.headers, 'if-none-match': tag } });
    for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const again = await ifNoneMatch(tag);
      expect(again.status).toBe(304);
      expect(again.headers.get('etag')).toBe(etag);
      expect(await again.text()).toBe('');
    }
    expect((await ifNoneMatch('"other"')).status).toBe(200);

    await app.addPosts('org_a', {});
    const changed = await ifNoneMatch(etag);
    expect(changed.status).toBe(200);
    expect(changed.headers.get('etag')).not.toBe(etag);
  });

  test('every way of changing a post shows in the next answer', async () => {
    await addTwelve();
    const { deletePost, editPost } = await import('../../src/posts/service.ts');
    expect(await ids('?limit=2')).toEqual(['p11', 'p10']);
    await editPost(app.deps, 'p12', { status: 'published' });
    expect(await ids('?limit=2')).toEqual(['p12', 'p11']);
    await deletePost(app.deps, 'p11');
    expect(await ids('?limit=2')).toEqual(['p12', 'p10']);
    await app.addPosts('org_a', { id: 'p12', title: 'Renamed', createdAt: '2030-01-01T00:00:00.000Z' });
    expect((await list('?limit=1')).posts).toMatchObject([{ id: 'p12', title: 'Renamed' }]);
    await execute(app.db, "UPDATE posts SET title = 'By hand' WHERE id = 'p12'");
    expect((await list('?limit=1')).posts).toMatchObject([{ title: 'By hand' }]);
    expect((await list()).pagination.totalItems).toBe(8);
  });
});

test('no rate is limited, and none is reported', async () => {
  await addTwelve();
  const responses = await Promise.all(Array.from({ length: 500 }, () => get()));
  for (const { status, headers } of responses) {
    expect(status).toBe(200);
    expect([...headers.keys()].filter((name) => name.startsWith('x-ratelimit'))).toEqual([]);
  }
});
