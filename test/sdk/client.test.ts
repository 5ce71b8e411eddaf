import { afterAll, beforeAll, describe, expect, setSystemTime, test } from 'bun:test';
import { type CreateOptions, createClient, type Post, TidingsError } from '../../sdk/client.ts';
import { embeddedKeys, KeyServiceUnavailable } from '../../src/people/keys/store.ts';
import { createTestApp } from '../support/test-app.ts';

const ORGANIZATION = 'org_a';
const app = createTestApp();
/** Each request since the last test, as `200 /v1/…`. */
let requests: string[] = [];
const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request) {
    const response = await app.fetch(request);
    const { pathname, search } = new URL(request.url);
    requests.push(`${response.status} ${pathname}${search}`);
    return response;
  },
});
let key = '';

beforeAll(async () => {
  await app.addOrganization(ORGANIZATION);
  await app.addOrganization('org_b');
  await app.addPosts(
    ORGANIZATION,
    { id: 'p1' },
    { id: 'p2', contentType: 'linkedin_post' },
    { id: 'p3', status: 'draft', sourceMetadata: { author: 'ann' } },
  );
  ({ key } = await app.addKey(ORGANIZATION));
});

afterAll(() => server.stop(true));

const noWait = async () => undefined;

function clientOf(options: Partial<CreateOptions> = {}) {
  requests = [];
  return createClient({
    baseUrl: server.url,
    organizationId: ORGANIZATION,
    key,
    sleep: noWait,
    ...options,
  });
}

const idsOf = (posts: readonly Post[]) => posts.map(({ id }) => id);

/** The error of a promise. Fails the test when it was not a `TidingsError`. */
async function problemOf(promise: Promise<unknown>): Promise<TidingsError> {
  const error = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error instanceof TidingsError) return error;
  throw new Error(`expected a TidingsError, not ${error}`);
}

describe('the running service', () => {
  test('lists posts with filters, pages and order', async () => {
    const tidings = clientOf();
    expect(await tidings.listPosts()).toMatchObject({
      posts: [{ id: 'p2' }, { id: 'p1' }],
      pagination: { limit: 10, currentPage: 1, nextPage: null, totalItems: 2 },
    });
    const page = await tidings.listPosts({
      status: ['draft', 'published'],
      contentType: 'changelog',
      limit: 1,
      page: 2,
      sort: 'asc',
    });
    expect(idsOf(page.posts)).toEqual(['p3']);
    expect(page.pagination.previousPage).toBe(1);
  });

  test('gets a post, or null', async () => {
    const tidings = clientOf();
    expect(await tidings.getPost('p1')).toMatchObject({ title: 'Post 1', markdown: '**Text** 1' });
    expect(await tidings.getPost('p3')).toBeNull();
    const draft = await tidings.getPost('p3', { status: 'draft' });
    expect(draft?.sourceMetadata).toEqual({ author: 'ann' });
    expect(await tidings.getPost('none')).toBeNull();
  });

  test.each([
    [400, 'Invalid query parameters', {}, { limit: 0 }],
    [401, 'INVALID_KEY', { key: 'tdk_unknown' }, {}],
    [403, 'Forbidden: organization access denied', { organizationId: 'org_b' }, {}],
  ])('throws a TidingsError for a %i, after one request', async (status, message, options, query) => {
    const error = await problemOf(clientOf(options).listPosts(query));
    expect(error).toMatchObject({ name: 'TidingsError', status, message });
    expect(requests).toHaveLength(1);
  });

  test('throws a TidingsError for a key without the permission', async () => {
    const weak = await app.addKey(ORGANIZATION, []);
    expect(await problemOf(clientOf({ key: weak.key }).listPosts())).toMatchObject({
      status: 403,
      message: 'Forbidden',
    });
  });

  test('retries while keys cannot be checked, and then throws a TidingsError with the id of the request', async () => {
    const away = createTestApp({
      keys: (base) => ({
        ...embeddedKeys(base),
        verifyKey: () => Promise.reject(new KeyServiceUnavailable(new Error('away'))),
      }),
    });
    const fetch = (url: string, init: RequestInit) => Promise.resolve(away.fetch(new Request(url, init)));
    const delays: number[] = [];
    const tidings = clientOf({ fetch, sleep: async (ms) => void delays.push(ms) });
    const error = await problemOf(tidings.listPosts());
    expect(error).toMatchObject({ status: 503, message: 'Authentication service unavailable' });
    expect(error.requestId).toMatch(/^[\w-]{8,}$/);
    // The service sends `Retry-After: 1`.
    expect(delays).toEqual([1_000, 1_000, 1_000]);
  });

  test('a 304 returns the kept response, and a change a new one', async () => {
    const tidings = clientOf();
    const first = await tidings.listPosts({ contentType: 'changelog' });
    first.posts.pop();
    const second = await tidings.listPosts({ contentType: 'changelog' });
    expect(idsOf(second.posts)).toEqual(['p1']);
    await app.addPosts(ORGANIZATION, { id: 'p1', title: 'Edited', createdAt: '2026-01-01T00:01:00.000Z' });
    expect((await tidings.listPosts({ contentType: 'changelog' })).posts[0]?.title).toBe('Edited');
    expect(requests.map((each) => each.slice(0, 3))).toEqual(['200', '304', '200']);
  });

  test('responses that were saved are reused by another client of the same server and organization', async () => {
    const kept = new Map();
    await clientOf({ kept }).listPosts();
    const saved: typeof kept = new Map(JSON.parse(JSON.stringify([...kept])));
    expect(idsOf((await clientOf({ kept: saved }).listPosts()).posts)).toEqual(['p2', 'p1']);
    expect(requests).toEqual(['304 /v1/org_a/posts']);
    await problemOf(clientOf({ kept: saved, organizationId: 'org_b' }).listPosts());
    expect(requests).toEqual(['403 /v1/org_b/posts']);
  });

  test('keeps responses up to the bound, and drops the one that was used longest ago', async () => {
    const everything = { status: ['draft', 'published'] } as const;
    const { length } = JSON.stringify(await clientOf().listPosts({ ...everything, limit: 1 }));
    const tidings = clientOf({ maxKeptLength: length * 2 + 30 });
    for (const page of [1, 2, 1, 3, 1, 2]) await tidings.listPosts({ ...everything, limit: 1, page });
    // One that is too long drops no other.
    await tidings.listPosts(everything);
    await tidings.listPosts({ ...everything, limit: 1, page: 2 });
    const statuses = requests.map((each) => Number(each.slice(0, 3)));
    expect(statuses).toEqual([200, 200, 304, 200, 304, 200, 200, 304]);
    const keepsNone = clientOf({ maxKeptLength: 0 });
    await keepsNone.listPosts();
    await keepsNone.listPosts();
    expect(requests.map((each) => each.slice(0, 3))).toEqual(['200', '200']);
  });
});

describe('a server that fails on cue', () => {
  type Cue = (request: Request) => Response | Promise<Response>;

  /** Responds with each cue once, in order, and then as the service. */
  async function failing(
    cues: Cue[],
    run: (baseUrl: string, seen: Request[]) => Promise<void>,
  ): Promise<void> {
    const seen: Request[] = [];
    const stand = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch(request) {
        seen.push(request);
        return cues[seen.length - 1]?.(request) ?? app.fetch(request);
      },
    });
    try {
      await run(stand.url.href, seen);
    } finally {
      await stand.stop(true);
    }
  }

  const status =
    (code: number, body: unknown = { error: `Error ${code}` }, headers: Record<string, string> = {}): Cue =>
    () =>
      new Response(typeof body === 'string' ? body : JSON.stringify(body), { status: code, headers });

  function waits() {
    const delays: number[] = [];
    return { delays, sleep: async (ms: number) => void delays.push(ms) };
  }

  test.each([500, 502, 503, 504])('retries a %i after 1, 2 and 4 seconds', async (code) => {
    const { delays, sleep } = waits();
    await failing([status(code), status(code), status(code)], async (baseUrl, seen) => {
      expect(idsOf((await clientOf({ baseUrl, sleep }).listPosts()).posts)).toEqual(['p2', 'p1']);
      expect([seen.length, delays]).toEqual([4, [1_000, 2_000, 4_000]]);
    });
  });

  test('gives up after three retries, with the last error', async () => {
    const { delays, sleep } = waits();
    const last = status(503, { error: 'Authentication service unavailable' });
    await failing([status(500), status(502), status(503), last], async (baseUrl, seen) => {
      const error = await problemOf(clientOf({ baseUrl, sleep }).getPost('p1'));
      expect(error).toMatchObject({ status: 503, message: 'Authentication service unavailable' });
      expect([seen.length, delays.length]).toEqual([4, 3]);
    });
  });

  test.each([400, 401, 403, 404, 413, 429])('never retries a %i', async (code) => {
    const { delays, sleep } = waits();
    await failing([status(code, undefined, { 'retry-after': '1' })], async (baseUrl, seen) => {
      const error = await problemOf(clientOf({ baseUrl, sleep }).listPosts());
      expect(error).toMatchObject({ status: code, message: `Error ${code}` });
      expect([seen.length, delays]).toEqual([1, []]);
    });
  });

  test('waits for Retry-After, a minute at most', async () => {
    const { delays, sleep } = waits();
    const cues = ['7', '86400', 'soon'].map((value) => status(503, undefined, { 'retry-after': value }));
    await failing(cues, async (baseUrl) => {
      await clientOf({ baseUrl, sleep }).listPosts();
      expect(delays).toEqual([7_000, 60_000, 4_000]);
    });
  });

  test('reads Retry-After as a date too', async () => {
    const { delays, sleep } = waits();
    setSystemTime(new Date('2026-11-20T12:00:00Z'));
    const cues = ['Fri, 20 Nov 2026 12:00:30 GMT', 'Fri, 20 Nov 2026 11:00:00 GMT', '2027'].map((value) =>
      status(503, undefined, { 'retry-after': value }),
    );
    try {
      await failing(cues, async (baseUrl) => {
        await clientOf({ baseUrl, sleep }).listPosts();
        expect(delays).toEqual([30_000, 0, 60_000]);
      });
    } finally {
      setSystemTime();
    }
  });

  test('tells when the server asks to try again', async () => {
    await failing([status(429, undefined, { 'retry-after': '120' }), status(429)], async (baseUrl) => {
      expect((await problemOf(clientOf({ baseUrl }).listPosts())).retryAfter).toBe(120);
      expect((await problemOf(clientOf({ baseUrl }).listPosts())).retryAfter).toBeNull();
    });
  });

  test('retries a response that was cut off', async () => {
    const json = { 'content-type': 'application/json' };
    const { delays, sleep } = waits();
    await failing([status(200, '{"posts":[{"id":"p', json), status(200, '', json)], async (baseUrl) => {
      expect(idsOf((await clientOf({ baseUrl, sleep }).listPosts()).posts)).toEqual(['p2', 'p1']);
      expect(delays).toEqual([1_000, 2_000]);
    });
    await failing(
      Array.from({ length: 4 }, () => status(200, '{', json)),
      async (baseUrl) => {
        const error = await problemOf(clientOf({ baseUrl, sleep }).listPosts());
        expect(error).toMatchObject({ status: 0, message: 'The response was cut off.' });
      },
    );
  });

  test('explains a 304 that nobody asked for', async () => {
    await failing([status(304, null)], async (baseUrl, seen) => {
      const error = await problemOf(clientOf({ baseUrl }).listPosts());
      expect([error.status, error.message]).toEqual([
        304,
        'The server responded with 304 to a request without `If-None-Match`. Check the cache in front of it.',
      ]);
      expect(seen).toHaveLength(1);
    });
  });

  test.each([
    { posts: [null], pagination: { nextPage: null } },
    { posts: [{ id: 1 }], pagination: { nextPage: null } },
    { posts: [], pagination: null },
    { posts: {} },
    { posts: [], pagination: {} },
    { posts: [], pagination: { nextPage: '2' } },
    { posts: [], pagination: { nextPage: 1.5 } },
  ])('refuses a body that is no list of posts: %j', async (body) => {
    await failing([status(200, body)], async (baseUrl) => {
      const error = await problemOf(clientOf({ baseUrl }).listPosts());
      expect(error.message).toBe('The response is not from Tidings. Check `baseUrl`.');
    });
  });

  test('retries when nobody listens', async () => {
    const gone = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() });
    const { href: baseUrl, host } = gone.url;
    await gone.stop(true);
    const { delays, sleep } = waits();
    const error = await problemOf(clientOf({ baseUrl, sleep }).listPosts());
    expect(error).toMatchObject({ status: 0, message: expect.stringContaining(`Cannot reach ${host}`) });
    expect(error.cause).toBeInstanceOf(Error);
    expect(delays).toEqual([1_000, 2_000, 4_000]);
  });

  test('a response that does not come ends with the timeout, and is retried', async () => {
    const silent: Cue = () => new Promise(() => undefined);
    const halfway: Cue = () =>
      new Response(
        new ReadableStream({
          start: (controller) => controller.enqueue(new TextEncoder().encode('{"posts":')),
        }),
      );
    const { delays, sleep } = waits();
    await failing([silent, halfway, silent, silent], async (baseUrl) => {
      const error = await problemOf(clientOf({ baseUrl, sleep, timeoutMs: 20 }).listPosts());
      const { host } = new URL(baseUrl);
      expect(error).toMatchObject({ status: 0, message: `${host} did not respond within 20 ms.` });
      expect(delays).toHaveLength(3);
    });
  });

  test('the signal cancels a request', async () => {
    const controller = new AbortController();
    const reason = new Error('no longer needed');
    let sent = 0;
    async function fetch(_: string, { signal }: RequestInit): Promise<Response> {
      sent++;
      controller.abort(reason);
      signal?.throwIfAborted();
      return Response.json({});
    }
    const tidings = clientOf({ fetch });
    await expect(tidings.listPosts({}, { signal: controller.signal })).rejects.toBe(reason);
    await expect(tidings.getPost('p1', {}, { signal: controller.signal })).rejects.toBe(reason);
    expect(sent).toBe(1);
  });

  test('the signal cancels the wait before a retry', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    await failing([status(503, undefined, { 'retry-after': '60' })], async (baseUrl, seen) => {
      // The client's own wait, which is a minute here.
      const listed = clientOf({ baseUrl, sleep: undefined }).posts({}, { signal }).next();
      while (seen.length === 0) await Promise.race([listed, new Promise(setImmediate)]);
      controller.abort();
      await expect(listed).rejects.toMatchObject({ name: 'AbortError' });
      expect(seen).toHaveLength(1);
    });
  });

  test.each([301, 302, 307, 308])('does not follow a %i with the key', async (code) => {
    await failing([], async (other, received) => {
      const location = `${other}v1/elsewhere`;
      await failing([status(code, '', { location })], async (baseUrl, seen) => {
        const error = await problemOf(clientOf({ baseUrl }).listPosts());
        expect(error).toMatchObject({ status: code, message: expect.stringContaining(location) });
        expect([seen.length, received.length]).toEqual([1, 0]);
      });
    });
  });

  test.each([
    ['HTML', '<!doctype html>'],
    ['another JSON', { data: [] }],
    ['no object', 'null'],
    ['no pagination', '{"posts":[],"pagination":null}'],
  ])('a 200 with %s is not from Tidings', async (_, body) => {
    await failing([status(200, body), status(200, body)], async (baseUrl) => {
      const tidings = clientOf({ baseUrl });
      const wrong = { status: 200, message: 'The response is not from Tidings. Check `baseUrl`.' };
      expect(await problemOf(tidings.listPosts())).toMatchObject(wrong);
      expect(await problemOf(tidings.getPost('p1'))).toMatchObject(wrong);
    });
  });

  test("a proxy's error page gives its status", async () => {
    await failing([status(404, '<h1>Not here</h1>')], async (baseUrl) => {
      const error = await problemOf(clientOf({ baseUrl }).listPosts());
      expect(error).toMatchObject({ status: 404, message: 'The server responded with 404.' });
    });
  });
});

describe('the options', () => {
  test.each([
    ['http://tidings.example.com', 'must start with https://'],
    ['http://10.0.0.7:3000', 'must start with https://'],
    ['http://localhost.example.com', 'must start with https://'],
    ['http://127.0.0.1.example.com', 'must start with https://'],
    ['tidings.example.com', 'must be a URL'],
    ['file:///etc', 'must be a URL'],
    ['https://ann:secret@tidings.example.com', 'no user, password'],
    ['https://tidings.example.com/?a=1', 'no user, password, query'],
  ])('refuse the base URL %s', (baseUrl, message) => {
    expect(() => clientOf({ baseUrl })).toThrow(message);
  });

  test.each([
    ['https://tidings.example.com', {}, 'https://tidings.example.com/v1/org_a/posts'],
    ['https://example.com/tidings/', {}, 'https://example.com/tidings/v1/org_a/posts'],
    ['http://localhost:3000', {}, 'http://localhost:3000/v1/org_a/posts'],
    ['http://[::1]:3000', {}, 'http://[::1]:3000/v1/org_a/posts'],
    ['http://tidings:3000', { allowHttp: true }, 'http://tidings:3000/v1/org_a/posts'],
  ])('take the base URL %s', async (baseUrl, options, url) => {
    const urls: string[] = [];
    const fetch = (requested: string, { headers }: RequestInit) => {
      urls.push(requested);
      return Promise.resolve(
        app.fetch(new Request(`http://localhost/v1/org_a/posts`, headers ? { headers } : {})),
      );
    };
    await clientOf({ baseUrl, fetch, ...options }).listPosts();
    expect(urls).toEqual([url]);
  });

  test.each([undefined, '', 'tdk_a b', 'tdk_a\r\nX-Evil: 1'])(
    'refuse the key %p, without repeating it',
    (bad) => {
      const create = () => clientOf({ key: bad });
      expect(create).toThrow('`key` is not set');
      expect(create).not.toThrow(/tdk_/);
    },
  );

  test('refuse ids that would change the path', async () => {
    expect(() => clientOf({ organizationId: '../org_b' })).toThrow('organizationId');
    for (const id of ['', '..', 'a/b', 'a?b'])
      await expect(clientOf().getPost(id)).rejects.toThrow('post id');
    expect(requests).toEqual([]);
  });

  test('the key stands in no property of the client', () => {
    expect(Bun.inspect(clientOf(), { depth: 10 })).not.toContain(key);
  });
});
