import { beforeEach, describe, expect, test } from 'bun:test';
import type { PageSelection } from '../../src/posts/model.ts';
import { createPages } from '../../src/posts/pages.ts';
import { appWithOrganization, type TestApp } from '../support/test-app.ts';

let app: TestApp;

beforeEach(async () => {
  app = await appWithOrganization({ organizations: ['org_a', 'org_b'] });
  await app.addPosts('org_a', {}, {}, {}, { status: 'draft' });
});

const published: PageSelection = {
  statuses: ['published'],
  contentTypes: ['changelog', 'linkedin_post'],
  limit: 2,
  page: 1,
  sort: 'desc',
};

/** The three pages of one post have been asked for once. */
async function pagesAskedOnce(maxKeptBytes: number): Promise<ReturnType<typeof createPages>> {
  const renderPage = createPages(app.db, maxKeptBytes);
  for (const page of [1, 2, 3]) await renderPage('org_a', { ...published, limit: 1, page });
  return renderPage;
}

test('a page that is asked for twice is kept until a post on it changes', async () => {
  const renderPage = createPages(app.db);
  const once = await renderPage('org_a', published);
  const first = await renderPage('org_a', published);
  expect(first).not.toBe(once);
  expect(first.body).toEqual(once.body);
  expect(await renderPage('org_a', published)).toBe(first);

  // A page of published posts depends neither on drafts nor on other organizations.
  await app.addPosts('org_b', {});
  await app.addPosts('org_a', { status: 'draft' });
  expect(await renderPage('org_a', published)).toBe(first);

  await app.addPosts('org_a', {});
  const second = await renderPage('org_a', published);
  expect(second).not.toBe(first);
  expect(second.etag).not.toBe(first.etag);
  expect(await renderPage('org_a', published)).toBe(second);
});

test('only a kept page is compared with the database before it is read', async () => {
  let reads = 0;
  const read: typeof app.db.read = (...given) => {
    reads++;
    return app.db.read(...given);
  };
  const renderPage = createPages({ read });
  const readsOfPage = async () => {
    reads = 0;
    await renderPage('org_a', published);
    return reads;
  };
  expect(await readsOfPage()).toBe(1);
  expect(await readsOfPage()).toBe(1);
  // Kept now.
  expect(await readsOfPage()).toBe(1);
  await app.addPosts('org_a', {});
  expect(await readsOfPage()).toBe(2);
});

test('a page is right when a post comes between its tally and its read', async () => {
  const last = { ...published, limit: 1, page: 3 };
  let early: (() => Promise<unknown>) | undefined;
  const read: typeof app.db.read = async (...given) => {
    const result = await app.db.read(...given);
    await early?.();
    early = undefined;
    return result;
  };
  const renderPage = createPages({ read });
  for (let round = 0; round < 2; round++) await renderPage('org_a', last);
  await app.addPosts('org_a', {});
  early = () => app.addPosts('org_a', {}, {}, {});
  const late = await renderPage('org_a', last);
  expect(late.body).toEqual((await createPages(app.db)('org_a', last)).body);
});

test('pages of other selections, and of other organizations, are other pages', async () => {
  const renderPage = createPages(app.db);
  const selections: [string, PageSelection][] = [
    ['org_a', published],
    ['org_b', published],
    ['org_a', { ...published, page: 2 }],
    ['org_a', { ...published, limit: 1 }],
    ['org_a', { ...published, sort: 'asc' }],
    ['org_a', { ...published, statuses: ['draft'] }],
    ['org_a', { ...published, contentTypes: ['linkedin_post'] }],
  ];
  const renderAll = () => Promise.all(selections.map(([id, selection]) => renderPage(id, selection)));
  await renderAll();
  const rendered = await renderAll();
  expect(await renderAll()).toEqual(rendered);
  expect(new Set(rendered).size).toBe(selections.length);
});

test('kept pages stay within their limit: the oldest is dropped first', async () => {
  // Room for two pages: each costs its body and a kilobyte.
  const renderPage = await pagesAskedOnce(3_500);
  const ask = (page: number) => renderPage('org_a', { ...published, limit: 1, page });
  const [first, second] = [await ask(1), await ask(2)];
  expect(await ask(1)).toBe(first);
  await ask(3);
  expect(await ask(2)).toBe(second);
  const again = await ask(1);
  expect(again).not.toBe(first);
  expect(again.body).toEqual(first.body);
});

test('a page that alone is over the bound is sent, and not kept', async () => {
  const renderPage = createPages(app.db, 10);
  const first = await renderPage('org_a', published);
  const second = await renderPage('org_a', published);
  expect(second).not.toBe(first);
  expect(second.body).toEqual(first.body);
});

test('a kept page is compressed once', async () => {
  const renderPage = createPages(app.db);
  await renderPage('org_a', published);
  const first = await renderPage('org_a', published);
  const zipped = await first.gzip();
  expect(Bun.gunzipSync(zipped)).toEqual(first.body);
  expect(await (await renderPage('org_a', published)).gzip()).toBe(zipped);
  await app.addPosts('org_a', {});
  expect(await (await renderPage('org_a', published)).gzip()).not.toBe(zipped);
});

describe('the bound, to the byte', () => {
  const ask = (renderPage: ReturnType<typeof createPages>, page: number) =>
    renderPage('org_a', { ...published, limit: 1, page });

  /** The cost of a page: its body plus a kilobyte, and its compressed body. */
  async function cost(page: number): Promise<{ body: number; zipped: number }> {
    const { body, gzip } = await ask(createPages(app.db), page);
    return { body: body.byteLength + 1024, zipped: (await gzip()).byteLength };
  }

  test('the compressed body of a kept page counts', async () => {
    const [one, two] = [await cost(1), await cost(2)];
    const renderPage = await pagesAskedOnce(one.body + two.body + two.zipped);
    const [first, second] = [await ask(renderPage, 1), await ask(renderPage, 2)];
    await second.gzip();
    expect(await ask(renderPage, 1)).toBe(first);
    await first.gzip();
    expect(await ask(renderPage, 2)).toBe(second);
    expect(await ask(renderPage, 1)).not.toBe(first);
  });

  test('a page that was dropped does not count when it is compressed later', async () => {
    const renderPage = await pagesAskedOnce((await cost(2)).body + (await cost(3)).body);
    const [first, second, third] = [
      await ask(renderPage, 1),
      await ask(renderPage, 2),
      await ask(renderPage, 3),
    ];
    await first.gzip();
    expect(await ask(renderPage, 2)).toBe(second);
    expect(await ask(renderPage, 3)).toBe(third);
  });
});

test('a large page is compressed too', async () => {
  await app.addPosts('org_a', { markdown: `${'quieter engines '.repeat(20_000)}end` });
  const { body, gzip } = await createPages(app.db)('org_a', published);
  expect(body.byteLength).toBeGreaterThan(256 * 1024);
  expect(Bun.gunzipSync(await gzip())).toEqual(body);
});
