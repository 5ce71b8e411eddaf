import { describe, expect, test } from 'bun:test';
import { readPublication } from '../../src/readers/public/service.ts';
import { sweep } from '../../src/server/sweep.ts';
import { execute, valuesOf } from '../support/database.ts';
import { appWithPage } from '../support/public-page.ts';
import { PUBLIC_URL, type TestApp } from '../support/test-app.ts';

const DAY_MS = 86_400_000;

/** Status and `Location` below `/changelog`. */
const at =
  (app: TestApp) =>
  async (path: string, init: RequestInit = {}) => {
    const response = await app.fetch(new Request(`http://localhost/changelog/${path}`, init));
    return [
      response.status,
      response.headers.get('location')?.replace(`${PUBLIC_URL}/changelog/`, '') ?? null,
    ];
  };

async function world() {
  const { app, change } = await appWithPage({ organizations: ['org_other'] });
  await change({ isFeedOn: true });
  await app.addPosts('org_acme', { id: 'one' });
  const former = () => valuesOf(app.db, 'SELECT slug FROM former_slugs ORDER BY slug');
  return { app, change, former, get: at(app) };
}

describe('after a change of the slug', () => {
  const paths = [
    '',
    '/',
    '.md',
    '?page=2&q=a%20b',
    '/one',
    '/one.md',
    '/one.png',
    '/card.png',
    '/archive/2026-11',
  ];
  const files = [
    '/llms.txt',
    '/sitemap.xml',
    '/media/img_1.png',
    '/feed.atom',
    '/feed.rss?limit=5',
    '/feed.json',
    '/widget.js',
  ];
  test.each([...paths, ...files])('the old address of "%s" redirects', async (rest) => {
    const { change, get } = await world();
    await change({ slug: 'new' });
    expect(await get(`acme${rest}`)).toEqual([301, `new${rest}`]);
    expect(await get(`acme${rest}`, { headers: { accept: 'text/html' } })).toEqual([301, `new${rest}`]);
    expect(await get(`acme${rest}`, { method: 'HEAD' })).toEqual([301, `new${rest}`]);
  });

  test('scripts of other sites may follow, and caches ask again', async () => {
    const { app, change } = await world();
    await change({ slug: 'new' });
    const response = await app.request('/changelog/acme/feed.json');
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(response.headers.get('cache-control')).toBe('public, no-cache');
    const widget = await app.fetch(new Request('http://localhost/changelog/acme/widget.js'));
    expect(widget.headers.get('cross-origin-resource-policy')).toBe('cross-origin');
  });

  test('all former slugs lead straight to the current one, and a reclaimed one is current', async () => {
    const { change, former, get } = await world();
    for (const slug of ['b', 'c']) await change({ slug });
    expect(await get('acme/one')).toEqual([301, 'c/one']);
    expect(await get('b/one')).toEqual([301, 'c/one']);
    await change({ slug: 'acme' });
    expect(await get('acme/one')).toEqual([200, null]);
    expect(await get('c/one')).toEqual([301, 'acme/one']);
    expect(await former()).toEqual([['b'], ['c']]);
  });

  test('a custom domain does not redirect to itself', async () => {
    const { change, get } = await world();
    await change({ slug: 'new', address: 'https://news.acme.test' });
    expect(await get('acme/feed.atom')).toEqual([301, 'new/feed.atom']);
  });

  test('a switch of the page and of the feeds holds for the old address too', async () => {
    const { change, get } = await world();
    await change({ slug: 'new', isPageOn: false });
    expect(await get('acme/one')).toEqual([404, null]);
    expect(await get('acme/feed.atom')).toEqual([301, 'new/feed.atom']);
    await change({ isPageOn: true, isFeedOn: false });
    expect(await get('acme/one')).toEqual([301, 'new/one']);
    for (const file of ['feed.atom', 'feed.rss', 'feed.json', 'widget.js']) {
      expect(await get(`acme/${file}`)).toEqual([404, null]);
    }
  });
});

test.each([true, false])(
  'a slug that another organization took leads only to it (its page is on: %p)',
  async (isOn) => {
    const { app, change, former, get } = await world();
    await change({ slug: 'new' });
    await change({ slug: 'acme', isPageOn: isOn, isFeedOn: isOn }, 'org_other');
    for (const path of ['acme', 'acme/feed.atom', 'acme/llms.txt']) {
      expect(await get(path)).toEqual([isOn ? 200 : 404, null]);
    }
    expect(await get('acme/one')).toEqual([404, null]);
    expect(await former()).toEqual([]);
    await expect(change({ slug: 'acme' })).rejects.toMatchObject({ code: 'slug_taken' });

    await change({ slug: 'theirs', isPageOn: true }, 'org_other');
    expect(await get('acme/one')).toEqual([301, 'theirs/one']);
    await execute(app.db, "DELETE FROM organizations WHERE id = 'org_other'");
    expect(await get('acme/one')).toEqual([404, null]);
    expect(await former()).toEqual([]);
  },
);

test('an organization that sets up its page does not get the former slug of another', async () => {
  const { app, change } = await world();
  await change({ slug: 'org-other' });
  await change({ slug: 'new' });
  const initial = await app.db.read((tx) => readPublication(tx, 'org_other'));
  expect(initial.slug).not.toBe('org-other');
});

test('a change of other settings and a refused change leave no redirect', async () => {
  const { change, former } = await world();
  await change({ title: 'News' });
  await change({ slug: 'theirs' }, 'org_other');
  await expect(change({ slug: 'theirs' })).rejects.toMatchObject({ code: 'slug_taken' });
  await expect(change({ slug: 'Not a slug' })).rejects.toMatchObject({ status: 400 });
  expect(await former()).toEqual([]);
});

test('a year later the sweep removes it, and the address is unknown', async () => {
  const { app, change, former, get } = await world();
  await change({ slug: 'new' });
  const inDays = (days: number) => new Date(app.clock.now().getTime() + days * DAY_MS);
  await sweep(app.deps, { confirmed: inDays(364) });
  expect(await get('acme/feed.atom')).toEqual([301, 'new/feed.atom']);
  await sweep(app.deps, { confirmed: inDays(365) });
  expect(await former()).toEqual([]);
  expect(await get('acme/feed.atom')).toEqual([404, null]);
});
