import { describe, expect, test } from 'bun:test';
import { createHandler } from '../../src/dashboard/handle.ts';
import type { Page } from '../../src/dashboard/page.ts';
import { pages } from '../../src/dashboard/routes.ts';
import { UploadBudget } from '../../src/http/request.ts';
import { createGuard } from '../../src/people/guard.ts';
import { suggestChange } from '../../src/posts/suggestions.ts';
import { createHook } from '../../src/readers/hooks/service.ts';
import { form, hostile, isHarmed, signedIn, visitor } from '../support/dashboard.ts';
import { valuesOf } from '../support/database.ts';
import { connectGithub } from '../support/deliveries.ts';
import { allRows } from '../support/rows.ts';
import { appWithOrganization, type TestApp } from '../support/test-app.ts';

// Access to every page. A new page is covered as soon as it is listed.

const named = (page: Page) => [`${page.method} ${page.path}`, page] as const;
const posts = pages.filter(({ method }) => method === 'POST').map(named);
const inside = pages.filter(({ access }) => access === 'member' || access === 'owner').map(named);
const ownersOnly = pages.filter(({ access }) => access === 'owner').map(named);
const signedInOnly = pages.filter(({ access }) => access !== 'anyone').map(named);

async function idIn(app: TestApp, table: string): Promise<string> {
  const [[id] = []] = await valuesOf(app.db, `SELECT id FROM ${table}`);
  expect(id, table).toBeString();
  return String(id);
}

/** Something that an organization has, for each place in a path that stands for one. */
async function createWorld() {
  const app = await appWithOrganization({ organizations: ['org_a', 'org_b'] });
  const { id: keyId } = await app.addKey('org_a');
  const [post] = await app.addPosts('org_a', { status: 'draft' });
  const { integrationId } = await connectGithub(app, 'org_a');
  const postId = post?.id ?? '';
  const url = 'https://hooks.test/secret';
  const hook = await createHook(app.deps, { organizationId: 'org_a', name: 'Site', kind: 'signed', url });
  await app.addPosts('org_a', { status: 'published' });
  const suggested = { id: postId, title: 'Suggested' };
  await suggestChange(app.deps, 'org_a', { keyId, name: 'Agent' }, suggested);
  const owner = await signedIn(app, { organizationId: 'org_a' });
  const things: Record<string, string> = {
    organizationId: 'org_a',
    keyId,
    postId,
    integrationId,
    hookId: hook.id,
    messageId: await idIn(app, 'hook_messages'),
    suggestionId: await idIn(app, 'post_suggestions'),
    userId: owner.user.id,
  };
  const pathOf = ({ path }: Page) => path.replaceAll(/:(\w+)/g, (_, name: string) => things[name] ?? 'thing');
  const [ownPost] = await app.addPosts('org_b', { status: 'draft' });
  const own: Record<string, string> = {
    organizationId: 'org_b',
    postId: ownPost?.id ?? '',
    integrationId: (await connectGithub(app, 'org_b')).integrationId,
    hookId: (await createHook(app.deps, { organizationId: 'org_b', name: 'Site', kind: 'signed', url })).id,
  };
  /** In `org_b`, with the last id of `org_a`. */
  const mixedPathOf = ({ path }: Page) =>
    path.replaceAll(
      /:(\w+)/g,
      (_, name: string, at: number) => (path.indexOf('/:', at) === -1 ? things[name] : own[name]) ?? 'thing',
    );
  return { app, owner, pathOf, mixedPathOf };
}

/** For tests of requests that change nothing. */
const world = await createWorld();

const initOf = ({ method }: Page, headers: Record<string, string> = {}): RequestInit =>
  method === 'POST' ? { ...form({ name: 'Changed', plan: 'pro', role: 'owner' }), headers } : { headers };

test('there are pages to ask', () => {
  for (const some of [posts, inside, ownersOnly]) expect(some.length).toBeGreaterThan(3);
});

describe('a form that another site sends is refused, and changes nothing:', () => {
  test.each(posts)('%s', async (_, page) => {
    const { app, owner, pathOf } = world;
    const before = await allRows(app.db);
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
    expect(await allRows(app.db)).toEqual(before);
  });
});

describe("another organization's person finds nothing, and changes nothing:", () => {
  test.each(inside)('%s', async (_, page) => {
    const { app, pathOf } = world;
    const other = await signedIn(app, { organizationId: 'org_b' });
    const before = await allRows(app.db);
    const response = await other(pathOf(page), initOf(page));
    expect(response.status).toBe(404);
    expect(await response.text()).not.toContain('Organization org_a');
    expect(await allRows(app.db)).toEqual(before);
  });
});

describe('an id of another organization is found nowhere else, and changes nothing:', () => {
  const some = inside.filter(([, { path }]) => /:(?!organizationId)/.test(path));
  test.each(some)('%s', async (_, page) => {
    const { app, pathOf } = world;
    const other = await signedIn(app, { organizationId: 'org_b' });
    const before = await allRows(app.db);
    const response = await other(pathOf(page).replace('/org_a', '/org_b'), initOf(page));
    expect(response.status).toBe(404);
    expect(await allRows(app.db)).toEqual(before);
  });

  const nested = some.filter(([, { path }]) => path.split('/:').length > 3);
  test.each(nested)('%s, below an own one', async (_, page) => {
    const { app, mixedPathOf } = world;
    const other = await signedIn(app, { organizationId: 'org_b' });
    const before = await allRows(app.db);
    const { status } = await other(mixedPathOf(page), initOf(page));
    // A suggestion that is gone leads back to its post.
    expect(status).toBe(page.method === 'POST' && page.path.endsWith('/:suggestionId') ? 303 : 404);
    expect(await allRows(app.db)).toEqual(before);
  });
});

describe("a member is refused on owners' pages, and changes nothing:", () => {
  test.each(ownersOnly)('%s', async (_, page) => {
    const { app, pathOf } = world;
    const member = await signedIn(app, { organizationId: 'org_a', role: 'member' });
    const before = await allRows(app.db);
    expect((await member(pathOf(page), initOf(page))).status).toBe(403);
    expect(await allRows(app.db)).toEqual(before);
  });
});

describe('a stranger is led to the sign-in, keeps the fields of the form, and changes nothing:', () => {
  test.each(signedInOnly)('%s', async (_, page) => {
    const { app, pathOf } = world;
    const before = await allRows(app.db);
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
    expect(await allRows(app.db)).toEqual(before);
  });
});

test('a form from before the session ended can be sent again; passwords are not written into the page', async () => {
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
  const before = await allRows(app.db);
  const json = { method: 'POST', body: '{"name":"x"}', headers: { 'content-type': 'application/json' } };
  expect((await owner('/dashboard/org_a/settings', json)).status).toBe(415);
  const large = form({ name: 'x'.repeat(2 * 1024 * 1024) });
  expect((await owner('/dashboard/org_a/settings', large)).status).toBe(413);
  expect(await allRows(app.db)).toEqual(before);
});

test.each([
  ['of one name', 'a&'.repeat(1_000_000)],
  ['without a name', '&'.repeat(2_000_000)],
  ['of many names', Array.from({ length: 200_000 }, (_, index) => `n${index}=`).join('&')],
  ['after the real ones', `name=New${'&name=x'.repeat(1_001)}`],
])('a form with very many fields %s is refused in plain words', async (_, body) => {
  const { owner, app } = await createWorld();
  const before = await allRows(app.db);
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const response = await owner('/dashboard/org_a/settings', { method: 'POST', body, headers });
  expect(response.status).toBe(413);
  expect(await response.text()).toContain('The form has more than 1,000 fields. Nothing was saved.');
  expect(await allRows(app.db)).toEqual(before);
});

describe('the session is checked before the form is read:', () => {
  /** A form whose bytes come as they are read, and how many were. */
  function measuredForm(bytes: number) {
    let read = 0;
    const chunk = new Uint8Array(8 * 1024).fill(97);
    const body = new ReadableStream(
      {
        pull(controller) {
          if (read >= bytes) return controller.close();
          read += chunk.byteLength;
          controller.enqueue(chunk);
        },
      },
      { highWaterMark: 0 },
    );
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    return { init: { ...form(), body, headers } as RequestInit, read: () => read };
  }

  test.each(posts)("%s reads at most a few KiB of a stranger's form", async (_, page) => {
    const { app, pathOf } = world;
    for (const cookie of [undefined, 'tidings_session=guessed']) {
      const sent = measuredForm(1024 * 1024);
      const response = await visitor(app, cookie)(pathOf(page), sent.init);
      expect(response.status).toBe(page.access === 'anyone' ? 413 : 401);
      expect(sent.read()).toBeLessThanOrEqual(24 * 1024);
    }
  });

  const forms = inside.filter(([, { method }]) => method === 'POST');
  test.each(forms)("%s reads nothing of a form of another organization's person", async (_, page) => {
    const { app, pathOf } = world;
    const sent = measuredForm(1024 * 1024);
    const other = await signedIn(app, { organizationId: 'org_b' });
    expect((await other(pathOf(page), sent.init)).status).toBe(404);
    expect(sent.read()).toBe(0);
  });

  test('text that is too long to be kept without a session is not lost silently', async () => {
    const { app } = await createWorld();
    const text = form({ title: 'T', markdown: 'x'.repeat(20_000) });
    const response = await visitor(app)('/dashboard/org_a/posts/new', text);
    expect(response.status).toBe(401);
    const html = await response.text();
    expect(html).toContain('Your text is too long to keep on this page, but your browser still has it:');
    expect(html).not.toContain('Your text is not lost');
    expect(html).not.toContain('<form');
  });

  test('a form that is cut off is a refusal, not a failure of the service', async () => {
    const { app, owner } = await createWorld();
    const cutOff = () => {
      const body = new ReadableStream({ pull: (controller) => controller.error(new Error('closed')) });
      return { ...form(), body, headers: { 'content-type': 'application/x-www-form-urlencoded' } };
    };
    expect((await owner('/dashboard/org_a/settings', cutOff())).status).toBe(400);
    expect((await visitor(app)('/dashboard/org_a/settings', cutOff())).status).toBe(400);
    expect((await visitor(app)('/dashboard/~/sign-in', cutOff())).status).toBe(400);
    expect(app.logged.filter(({ level }) => level !== 'debug' && level !== 'info')).toEqual([]);
  });

  /** The pages, with a budget that a stranger's form exceeds, and the cookies of requests with the long time limit. */
  function createHandlerOf(app: TestApp) {
    const extended: string[] = [];
    const nothing = () => Promise.reject(new Error('unused'));
    const uploadBudget = new UploadBudget(10);
    const extendTimeout = ({ headers }: Request) => void extended.push(headers.get('cookie') ?? '');
    const network = { peerAddress: () => null, clientIpHeader: undefined, uploadBudget, extendTimeout };
    const deps = { ...app.deps, ...network, compose: nothing, self: nothing };
    return { handle: createHandler(deps, createGuard(app.deps)), extended };
  }

  test('only people who may open a page that waits for a provider get the long time limit', async () => {
    const { app, owner, pathOf } = await createWorld();
    const { handle, extended } = createHandlerOf(app);
    const waiting = pages.filter(({ method, path }) => method === 'GET' && path.endsWith('/check'));
    expect(waiting).toHaveLength(1);
    for (const page of [...waiting, ...pages.filter(({ path }) => path === '/dashboard/~/account')]) {
      for (const cookie of ['', 'tidings_session=guessed', owner.cookie]) {
        const request = new Request(`http://localhost${pathOf(page)}`, { headers: { cookie } });
        await handle(page)({ request, params: { organizationId: 'org_a' } });
      }
    }
    expect(extended).toEqual([owner.cookie]);
  });

  test("a stranger's form that finds no memory is asked to come again, and is no failure of the service", async () => {
    const { app } = await createWorld();
    const [page] = pages.filter(({ method, path }) => method === 'POST' && path === '/dashboard/~/sign-in');
    if (page === undefined) throw new Error('there is no sign-in');
    const headers = { 'sec-fetch-site': 'same-origin' };
    const request = new Request('http://localhost/dashboard/~/sign-in', {
      ...form({ email: 'a@b.example' }),
      headers,
    });
    const response = await createHandlerOf(app).handle(page)({ request, params: {} });
    expect(response.status).toBe(503);
    expect(await response.text()).toContain('Wait a few seconds, then send the form again.');
    expect(app.logged.filter(({ level }) => level === 'error')).toEqual([]);
  });
});
