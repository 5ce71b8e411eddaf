import { expect, test } from 'bun:test';
import { composeDraft } from '../../src/drafting/compose.ts';
import { createApp } from '../../src/server/app.ts';
import { appWithOrganization, bearer } from '../support/test-app.ts';

/** The content API, and how often it has read posts. */
async function setUp() {
  const app = await appWithOrganization({ organizations: ['org_a', 'org_b'] });
  await app.addPosts('org_a', { id: 'known' });
  let reads = 0;
  const contentDb: Pick<typeof app.db, 'read'> = {
    read(work, options) {
      reads++;
      return app.db.read(work, options);
    },
  };
  const { fetch } = createApp({
    ...app.deps,
    contentDb,
    compose: async (recipe, material) => composeDraft(recipe, material),
    organizationCreation: 'owners',
  });
  const get = async (path: string, key: Parameters<typeof bearer>[0] | null) => {
    const before = reads;
    const { status } = await fetch(new Request(`http://localhost${path}`, key === null ? {} : bearer(key)));
    return { status, reads: reads - before };
  };
  return { app, get };
}

const paths = ['/v1/org_a/posts', '/v1/org_a/posts/known', '/v1/org_a/posts/unknown'];

test('a request that is refused reads no posts, so its time tells nothing about them', async () => {
  const { app, get } = await setUp();
  const foreign = await app.addKey('org_b');
  const powerless = await app.addKey('org_a', []);
  // One that reads its own posts.
  expect(await get('/v1/org_b/posts', foreign)).toMatchObject({ status: 200 });
  for (const path of paths) {
    expect(await get(path, null)).toEqual({ status: 401, reads: 0 });
    expect(await get(path, 'tdk_unknown')).toEqual({ status: 401, reads: 0 });
    expect(await get(path, powerless)).toEqual({ status: 403, reads: 0 });
    expect(await get(path, foreign)).toEqual({ status: 403, reads: 0 });
  }
});

test('a key that was revoked is refused on the next request, and reads nothing after that', async () => {
  const { app, get } = await setUp();
  const key = await app.addKey('org_a');
  for (const path of paths) expect(await get(path, key)).toMatchObject({ status: 200 });
  await app.deps.keys.revokeKey(key.id);
  expect(await get('/v1/org_a/posts/known', key)).toMatchObject({ status: 401 });
  for (const path of paths) expect(await get(path, key)).toEqual({ status: 401, reads: 0 });
});

test('a query that is wrong is refused only after the key', async () => {
  const { app, get } = await setUp();
  const key = await app.addKey('org_a');
  for (const _ of [1, 2]) {
    expect(await get('/v1/org_a/posts?limit=0', key)).toMatchObject({ status: 400 });
    expect(await get('/v1/org_a/posts/a%20b', key)).toMatchObject({ status: 400 });
  }
  await app.deps.keys.revokeKey(key.id);
  expect(await get('/v1/org_a/posts?limit=0', key)).toMatchObject({ status: 401 });
});
