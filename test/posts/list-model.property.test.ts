import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { ContentType, PostStatus } from '../../src/posts/model.ts';
import { rounds } from '../support/rounds.ts';
import { appWithOrganization, bearer } from '../support/test-app.ts';

interface ModelPost {
  id: string;
  status: PostStatus;
  contentType: ContentType;
  createdAt: string;
}

const statuses: PostStatus[] = ['draft', 'published'];
const types: ContentType[] = ['changelog', 'linkedin_post'];

// Few instants, so that many posts share one.
const post = fc.record<ModelPost>({
  id: fc.stringMatching(/^[A-Za-z0-9_-]{1,6}$/),
  status: fc.constantFrom(...statuses),
  contentType: fc.constantFrom(...types),
  createdAt: fc.integer({ min: 0, max: 4 }).map((day) => new Date(Date.UTC(2026, 0, 1 + day)).toISOString()),
});

const query = fc.record({
  limit: fc.option(fc.integer({ min: 1, max: 12 })),
  page: fc.option(fc.integer({ min: 1, max: 8 })),
  sort: fc.option(fc.constantFrom('asc', 'desc')),
  status: fc.subarray(statuses),
  contentType: fc.subarray(types),
});

type Query = typeof query extends fc.Arbitrary<infer Value> ? Value : never;

/** The contract, written down as plainly as it can be: filter, sort, cut. */
function expectedPage(all: ModelPost[], { limit, page, sort, status, contentType }: Query) {
  const wanted = status.length === 0 ? ['published'] : status;
  const found = all
    .filter((each) => wanted.includes(each.status))
    .filter((each) => contentType.length === 0 || contentType.includes(each.contentType))
    .sort((a, b) =>
      a.createdAt === b.createdAt ? (a.id < b.id ? -1 : 1) : a.createdAt < b.createdAt ? -1 : 1,
    );
  if (sort !== 'asc') found.reverse();
  const size = limit ?? 10;
  const current = page ?? 1;
  const totalPages = Math.max(1, Math.ceil(found.length / size));
  return {
    ids: found.slice((current - 1) * size, current * size).map(({ id }) => id),
    pagination: {
      limit: size,
      currentPage: current,
      nextPage: current < totalPages ? current + 1 : null,
      previousPage: current > 1 ? current - 1 : null,
      totalPages,
      totalItems: found.length,
    },
  };
}

function queryString({ limit, page, sort, status, contentType }: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries({ limit, page, sort })) {
    if (value !== null) parameters.set(name, String(value));
  }
  for (const value of status) parameters.append('status', value);
  for (const value of contentType) parameters.append('contentType', value);
  return parameters.toString();
}

test('the list agrees with a plain model, for any posts, filters, sorts and pages', async () => {
  const posts = fc.uniqueArray(post, { selector: ({ id }) => id, maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(
      posts,
      posts,
      fc.array(query, { minLength: 3, maxLength: 6 }),
      async (before, after, queries) => {
        const app = await appWithOrganization({ organizations: ['org_a', 'org_b'] });
        const auth = bearer(await app.addKey('org_a'));
        await app.addPosts('org_b', { id: 'of_another_organization' });
        // Written in two parts with reads between them: a kept response must not outlive a change.
        const stored = new Map<string, ModelPost>();
        for (const written of [before, after]) {
          await app.addPosts('org_a', ...written);
          for (const each of written) stored.set(each.id, each);
          for (const each of queries) {
            const response = await app.request(`/v1/org_a/posts?${queryString(each)}`, auth);
            const body = (await response.json()) as { posts: ModelPost[]; pagination: object };
            const expected = expectedPage([...stored.values()], each);
            expect(body.posts.map(({ id }) => id)).toEqual(expected.ids);
            expect(body.pagination).toEqual(expected.pagination);
          }
        }
        await app.db.close();
      },
    ),
    { numRuns: rounds(30, 1_000) },
  );
});
