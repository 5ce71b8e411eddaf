import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { createMetrics } from '../../src/lib/metrics.ts';
import { createRepeats } from '../../src/posts/routes.ts';
import { savePosts } from '../../src/posts/service.ts';
import { createSharedDatabase, testSqlite } from '../support/database.ts';
import { rounds } from '../support/rounds.ts';
import { appWithOrganization, createTestApp, examplePost } from '../support/test-app.ts';

// Responses that are given again, against a plain model, while a second process writes to the database.

const HOUR_MS = 3_600_000;

const ids = ['p1', 'p2', 'p3'];
const queries = ['', '?limit=2&sort=asc', ...ids.map((id) => `/${id}`)];

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('read' as const),
      query: fc.constantFrom(...queries),
      key: fc.nat(2),
      coding: fc.constantFrom('identity', 'gzip'),
      knows: fc.boolean(),
      times: fc.integer({ min: 1, max: 5 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('write' as const),
      isOther: fc.boolean(),
      id: fc.constantFrom(...ids),
      title: fc.string({ minLength: 1, maxLength: 5 }),
      status: fc.constantFrom('published' as const, 'draft' as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('revoke' as const), isOther: fc.boolean(), key: fc.nat(1) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('wait' as const), hours: fc.constant(5) }),
  },
);

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;
type Shown = string | null | { titles: string[]; total: number };

test('no response outlives a changed post, a revoked key or an expired one, whichever process writes', async () => {
  const shared = createSharedDatabase();
  const app = await appWithOrganization({ db: shared.open('server') });
  const other = createTestApp({ db: shared.open(), clock: app.clock });
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: app.fetch });
  let runs = 0;

  async function run(steps: Step[]): Promise<void> {
    const organizationId = `org_${++runs}`;
    await app.addOrganization(organizationId);
    const endsAt = app.clock.now().getTime() + 4 * HOUR_MS;
    const expiresAt = new Date(endsAt).toISOString();
    const ending = { organizationId, name: 'Ends', permissions: ['api.read'], expiresAt };
    const keys = [
      await app.addKey(organizationId),
      await app.addKey(organizationId),
      await app.deps.keys.createKey(ending),
    ];
    const revoked = new Set<number>();
    const stored = new Map<string, { id: string; title: string; status: string }>();
    /** The list behind each tag, and the tags that the client has. */
    const shownBy = new Map<string, Shown>();
    const known = new Map<string, string>();

    const isValid = (key: number) => !revoked.has(key) && (key !== 2 || app.clock.now().getTime() < endsAt);
    const expected = (query: string): Shown => {
      const published = [...stored.values()].filter(({ status }) => status === 'published');
      if (query.startsWith('/')) return published.find(({ id }) => `/${id}` === query)?.title ?? null;
      const sorted = published.sort((a, b) => (a.id < b.id ? 1 : -1));
      const listed = query.includes('asc') ? sorted.toReversed().slice(0, 2) : sorted;
      return { titles: listed.map(({ title }) => title), total: sorted.length };
    };

    async function read({ query, key, coding, knows }: Extract<Step, { kind: 'read' }>): Promise<void> {
      const path = query.startsWith('/') ? `/${organizationId}-${query.slice(1)}` : query;
      const tag = known.get(`${query} ${coding}`);
      const headers = {
        authorization: `Bearer ${keys[key]?.key}`,
        'accept-encoding': coding,
        ...(knows && tag !== undefined && { 'if-none-match': tag }),
      };
      const response = await fetch(new URL(`/v1/${organizationId}/posts${path}`, server.url), { headers });
      if (!isValid(key)) {
        expect(response.status).toBe(401);
        return;
      }
      const etag = response.headers.get('etag') ?? '';
      if (coding === 'identity') expect(etag).not.toContain('gzip');
      if (response.status === 304) {
        expect(etag).toBe(headers['if-none-match'] ?? 'nothing');
        expect(shownBy.get(etag) as Shown).toEqual(expected(query));
        return;
      }
      expect(response.status).toBe(200);
      const shown = shownIn((await response.json()) as Body);
      expect(shown).toEqual(expected(query));
      shownBy.set(etag, shown);
      known.set(`${query} ${coding}`, etag);
    }

    for (const each of steps) {
      if (each.kind === 'read') {
        for (let time = 0; time < each.times; time++) await read(each);
      } else if (each.kind === 'write') {
        const { id, title, status, isOther } = each;
        const createdAt = `2026-01-0${ids.indexOf(id) + 1}T00:00:00.000Z`;
        const post = {
          ...examplePost(0),
          markdown: 'quieter engines '.repeat(100),
          id: `${organizationId}-${id}`,
          title,
          status,
          createdAt,
          organizationId,
        };
        await savePosts((isOther ? other : app).db, [post]);
        stored.set(id, { id, title, status });
      } else if (each.kind === 'revoke') {
        await (each.isOther ? other : app).deps.keys.revokeKey(keys[each.key]?.id ?? '');
        revoked.add(each.key);
      } else {
        app.clock.advance(each.hours * HOUR_MS);
      }
    }
  }

  try {
    await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), run), {
      numRuns: rounds(60, 2_000),
    });
  } finally {
    await server.stop(true);
  }
}, 300_000);

interface Body {
  post?: { title: string } | null;
  posts?: { title: string }[];
  pagination?: { totalItems: number };
}

function shownIn({ post, posts, pagination }: Body): Shown {
  if (posts === undefined) return post?.title ?? null;
  return { titles: posts.map(({ title }) => title), total: pagination?.totalItems ?? 0 };
}

testSqlite(
  'a response that is asked for again is given without a read, until something is committed',
  async () => {
    const app = await appWithOrganization();
    await app.addPosts('org_a', { id: 'p1' });
    const key = await app.addKey('org_a');
    const reads = () => app.deps.metrics.verifications.valid.value;
    expect(reads()).toBe(0);
    const repeats = createRepeats(app.db, createMetrics());
    const request = new Request('http://localhost/v1/org_a/posts', {
      headers: { authorization: `Bearer ${key.key}` },
    });
    const version = app.db.version() ?? Number.NaN;
    const answer = {
      version,
      route: '/',
      repeatVerdict: () => true,
      response: new Response('body'),
      bodyBytes: 4,
    };
    expect(repeats.find(request)).toBeNull();
    repeats.keep(request, answer);
    for (const _ of [1, 2, 3]) expect(await repeats.find(request)?.response.text()).toBe('body');
    await app.addPosts('org_a', { id: 'p2' });
    expect(repeats.find(request)).toBeNull();
  },
);

testSqlite('the oldest responses leave when there is no room for another', async () => {
  const { db } = await appWithOrganization();
  const repeats = createRepeats(db, createMetrics(), 20_000);
  const version = db.version() ?? Number.NaN;
  const requests = Array.from({ length: 8 }, (_, index) => new Request(`http://localhost/${index}`));
  for (const request of requests) {
    const response = new Response('x'.repeat(3_000));
    repeats.keep(request, { version, route: '/', repeatVerdict: () => true, response, bodyBytes: 3_000 });
  }
  const isKept = requests.map((request) => repeats.find(request) !== null);
  expect(isKept).toEqual([false, false, false, false, false, true, true, true]);
});

testSqlite('the requests of kept responses take room too', async () => {
  const { db } = await appWithOrganization();
  const repeats = createRepeats(db, createMetrics(), 20_000);
  const version = db.version() ?? Number.NaN;
  const requests = Array.from(
    { length: 8 },
    (_, index) => new Request(`http://localhost/${index}?${'x'.repeat(3_000)}`),
  );
  for (const request of requests) {
    repeats.keep(request, {
      version,
      route: '/',
      repeatVerdict: () => true,
      response: new Response(),
      bodyBytes: 0,
    });
  }
  const isKept = requests.map((request) => repeats.find(request) !== null);
  expect(isKept).toEqual([false, false, false, false, false, true, true, true]);
});
