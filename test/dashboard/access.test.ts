import { describe, expect, test } from 'bun:test';
import type { Page } from '../../src/dashboard/page.ts';
import { pages } from '../../src/dashboard/pages/index.ts';
import { form, hostile, isHarmed, signedIn, visitor } from '../support/dashboard.ts';
import { connectGithub } from '../support/deliveries.ts';
import { allRows } from '../support/rows.ts';
import { createTestApp } from '../support/test-app.ts';

// Who may open what, of every page that there is. A page that is added is covered as soon as it is listed.

const named = (page: Page) => [`${page.method} ${page.path}`, page] as const;
const posts = pages.filter(({ method }) => method === 'POST').map(named);
const inside = pages.filter(({ access }) => access === 'member' || access === 'owner').map(named);
const ownersOnly = pages.filter(({ access }) => access === 'owner').map(named);
const signedInOnly = pages.filter(({ access }) => access !== 'anyone').map(named);

/** Something that an organization has, for each place in a path that stands for one. */
async function createWorld() {
  const app = createTestApp();
  await app.addOrganization('org_a');
  await app.addOrganization('org_b');
  const { id: keyId } = await app.addKey('org_a');
  const [post] = await app.addPosts('org_a', { status: 'draft' });
  const { integrationId } = await connectGithub(app, 'org_a');
  const owner = await signedIn(app, { organizationId: 'org_a' });
  const things: Record<string, string> = {
    organizationId: 'org_a',
    keyId,
    postId: post?.id ?? '',
    integrationId,
    userId: owner.user.id,
  };
  const pathOf = ({ path }: Page) => path.replaceAll(/:(\w+)/g, (_, name: string) => things[name] ?? 'thing');
  return { app, owner, pathOf };
}

const initOf = ({ method }: Page, headers: Record<string, string> = {}): RequestInit =>
  method === 'POST' ? { ...form({ name: 'Changed', plan: 'pro', role: 'owner' }), headers } : { headers };

test('there are pages to ask', () => {
  for (const some of [posts, inside, ownersOnly]) expect(some.length).toBeGreaterThan(3);
});

describe('a form that another site sends is refused, and changes nothing:', () => {
  test.each(posts)('%s', async (_, page) => {
    const { app, owner, pathOf } = await createWorld();
    const before = allRows(app.db);
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'cross-site', origin: 'http://localhost', host: 'localhost' },
    ]) {
      const response = await owner(pathOf(page), initOf(page, headers));
      expect(response.status).toBe(403);
      expect(response.headers.getSetCookie()).toEqual([]);
    }
    for (const origin of ['https://evil.example', 'null', 'http://localhost.evil.example', 'x']) {
      const headers = { origin, host: 'localhost', cookie: owner.cookie };
      const response = await app.request(pathOf(page), initOf(page, headers));
      expect(response.status).toBe(403);
    }
    expect(allRows(app.db)).toEqual(before);
  });
});

describe("another organization's person finds nothing, and changes nothing:", () => {
  test.each(inside)('%s', async (_, page) => {
    const { app, pathOf } = await createWorld();
    const other = await signedIn(app, { organizationId: 'org_b' });
    const before = allRows(app.db);
    const response = await other(pathOf(page), initOf(page));
    expect(response.status).toBe(404);
    expect(await response.text()).not.toContain('Organization org_a');
    expect(allRows(app.db)).toEqual(before);
  });
});

describe('a member is refused what is for owners, and changes nothing:', () => {
  test.each(ownersOnly)('%s', async (_, page) => {
    const { app, pathOf } = await createWorld();
    const member = await signedIn(app, { organizationId: 'org_a', role: 'member' });
    const before = allRows(app.db);
    expect((await member(pathOf(page), initOf(page))).status).toBe(403);
    expect(allRows(app.db)).toEqual(before);
  });
});

describe('a stranger is led to the sign-in, keeps what was typed, and changes nothing:', () => {
  test.each(signedInOnly)('%s', async (_, page) => {
    const { app, pathOf } = await createWorld();
    const before = allRows(app.db);
    for (const cookie of [undefined, '__Host-tidings_session=guessed', '__Host-tidings_session=']) {
      const response = await visitor(app, cookie)(pathOf(page), initOf(page));
      if (page.method === 'GET') {
        expect(response.status).toBe(303);
        expect(response.headers.get('location')).toStartWith('/dashboard/~/sign-in?to=');
      } else {
        expect(response.status).toBe(401);
        const html = await response.text();
        expect(html).toContain('href="/dashboard/~/sign-in"');
        expect(html).toContain(`<form method="post" action="${pathOf(page)}">`);
        expect(html).toContain('<input type="hidden" name="name" value="Changed"/>');
      }
    }
    expect(allRows(app.db)).toEqual(before);
  });
});

test('what was typed before the session ended can be sent again; passwords are not written into the page', async () => {
  const { app } = await createWorld();
  const markdown = `\r\n\r\n- "a" ${hostile}`;
  const text = await visitor(app)('/dashboard/org_a/posts/p?x=1', form({ title: 'T', markdown }));
  const html = await text.text();
  expect(isHarmed(html)).toBe(false);
  const kept = new URLSearchParams();
  const rewriter = new HTMLRewriter().on('input', {
    element: (input) =>
      kept.append(decoded(input.getAttribute('name')), decoded(input.getAttribute('value'))),
  });
  rewriter.transform(html);
  expect([...kept]).toEqual([
    ['title', 'T'],
    ['markdown', markdown],
  ]);
  const secret = await visitor(app)(
    '/dashboard/~/account/password',
    form({ current: 'Secret', password: 'New' }),
  );
  expect(secret.status).toBe(401);
  expect(await secret.text()).not.toMatch(/Secret|New|<form/);
});

/** An attribute as a browser reads it, of the few entities that the renderer writes. */
function decoded(attribute: string | null): string {
  const entities: Record<string, string> = { '&quot;': '"', '&lt;': '<', '&amp;': '&' };
  return (attribute ?? '').replaceAll(/&(?:quot|lt|amp);/g, (entity) => entities[entity] ?? entity);
}

test('a form that is no form, or too large, is refused', async () => {
  const { owner, app } = await createWorld();
  const before = allRows(app.db);
  const json = { method: 'POST', body: '{"name":"x"}', headers: { 'content-type': 'application/json' } };
  expect((await owner('/dashboard/org_a/settings', json)).status).toBe(415);
  const large = form({ name: 'x'.repeat(2 * 1024 * 1024) });
  expect((await owner('/dashboard/org_a/settings', large)).status).toBe(413);
  expect(allRows(app.db)).toEqual(before);
});
