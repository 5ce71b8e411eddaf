import { expect, test } from 'bun:test';
import type { LoaderContext } from 'astro/loaders';
import { type TidingsLoaderOptions, tidingsLoader } from '../../sdk/astro.ts';
import { createTestApp } from '../support/test-app.ts';

// The loader beside a store that outlives a build. `bun run test:sites` builds whole sites with Astro.

/** Astro keeps these entries between two builds. */
function createCollection() {
  const entries = new Map<string, Parameters<LoaderContext['store']['set']>[0]>();
  const meta = new Map<string, string>();
  const context: LoaderContext = {
    store: {
      get: (id) => entries.get(id),
      set: (entry) => entries.set(entry.id, entry).has(entry.id),
      has: (id) => entries.has(id),
      delete: (id) => void entries.delete(id),
      keys: () => [...entries.keys()],
    },
    meta: {
      get: (key) => meta.get(key),
      set: (key, value) => void meta.set(key, value),
      delete: (key) => void meta.delete(key),
    },
    logger: { info: () => undefined, warn: () => undefined },
    parseData: async ({ data }) => data,
    renderMarkdown: async (markdown) => ({ html: markdown }),
    generateDigest: (data) => Bun.hash(data).toString(36),
  };
  return {
    context,
    ids: () => context.store.keys().toSorted(),
    bodyOf: (id: string) => entries.get(id)?.body,
  };
}

test('a loader with other options does not reuse the pages of the last build', async () => {
  const app = createTestApp();
  for (const id of ['org_a', 'org_b']) await app.addOrganization(id);
  await app.addPosts(
    'org_a',
    { id: 'a1' },
    { id: 'a2', contentType: 'linkedin_post' },
    { id: 'a3', status: 'draft' },
  );
  await app.addPosts('org_b', { id: 'b1' });
  const keys = { org_a: (await app.addKey('org_a')).key, org_b: (await app.addKey('org_b')).key };
  const sent: number[] = [];
  /** Entity tags tell versions of one URL apart (RFC 9110, section 8.8.3). This cache has the same for all URLs. */
  async function fetch(url: string, init: RequestInit): Promise<Response> {
    const isKnown = new Headers(init.headers).get('if-none-match') === '"1"';
    const response = await app.fetch(new Request(url, init));
    sent.push(isKnown ? 304 : response.status);
    if (isKnown) return new Response(null, { status: 304 });
    return new Response(response.body, { headers: { 'content-type': 'application/json', etag: '"1"' } });
  }
  const { context, ids } = createCollection();
  async function load(organizationId: keyof typeof keys, options: Partial<TidingsLoaderOptions> = {}) {
    sent.length = 0;
    const baseUrl = 'http://localhost';
    await tidingsLoader({ baseUrl, organizationId, key: keys[organizationId], fetch, ...options }).load(
      context,
    );
    return [ids(), ...sent];
  }

  expect(await load('org_a')).toEqual([['a1'], 200]);
  expect(await load('org_a')).toEqual([['a1'], 304]);
  expect(await load('org_a', { contentType: 'linkedin_post' })).toEqual([['a2'], 200]);
  expect(await load('org_a', { status: 'draft' })).toEqual([['a3'], 200]);
  expect(await load('org_a', { baseUrl: 'http://localhost:81' })).toEqual([['a1'], 200]);
  expect(await load('org_b')).toEqual([['b1'], 200]);
});

test('a post whose date moves it to a page that was already read is in the build', async () => {
  const app = createTestApp();
  await app.addOrganization('org_moves');
  const { key } = await app.addKey('org_moves');
  const postOf = (number: number, hour = number) => ({
    id: `m${number}`,
    createdAt: new Date(Date.UTC(2026, 0, 1, hour)).toISOString(),
  });
  const posts = Array.from({ length: 150 }, (_, index) => postOf(index));
  await app.addPosts('org_moves', ...posts);
  const statuses: number[] = [];
  async function fetch(url: string, init: RequestInit): Promise<Response> {
    const response = await app.fetch(new Request(url, init));
    if (statuses.length === 0) await app.addPosts('org_moves', postOf(0, 200));
    statuses.push(response.status);
    return response;
  }
  const { context, ids } = createCollection();
  const loader = tidingsLoader({ baseUrl: 'http://localhost', organizationId: 'org_moves', key, fetch });
  await loader.load(context);
  expect(ids()).toEqual(posts.map(({ id }) => id).toSorted());
  expect(statuses.splice(0)).toEqual([200, 200, 200, 304, 304, 304]);

  statuses.push(0);
  await loader.load(context);
  expect(ids()).toHaveLength(150);
  expect(statuses).toEqual([0, 304, 304, 304, 304]);
});

test('a build that is cut off leaves no entry that later pages do not have', async () => {
  const app = createTestApp();
  await app.addOrganization('org_cut');
  const { key } = await app.addKey('org_cut');
  const postOf = (number: number, markdown: string) => ({
    ...{ id: `c${number}`, title: 'Title', content: 'Text', markdown },
    createdAt: new Date(Date.UTC(2026, 0, 1, number)).toISOString(),
    updatedAt: '2026-11-20T12:00:00.000Z',
  });
  const posts = Array.from({ length: 101 }, (_, number) => postOf(number, 'First'));
  await app.addPosts('org_cut', ...posts);
  let failsAt = Number.POSITIVE_INFINITY;
  let sent = 0;
  const fetch = async (url: string, init: RequestInit) =>
    ++sent === failsAt ? new Response('{}', { status: 400 }) : app.fetch(new Request(url, init));
  const { context, bodyOf } = createCollection();
  const loader = tidingsLoader({ baseUrl: 'http://localhost', organizationId: 'org_cut', key, fetch });
  await loader.load(context);
  await app.addPosts('org_cut', postOf(100, 'Second'));
  failsAt = sent + 2;
  await expect(loader.load(context)).rejects.toThrow('400');
  expect(bodyOf('c100')).toBe('Second');
  // As it was, so the list has the entity tag of the first build.
  await app.addPosts('org_cut', postOf(100, 'First'));
  await loader.load(context);
  expect(bodyOf('c100')).toBe('First');
});
