import { describe, expect, test } from 'bun:test';
import { DAY_MS } from '../../src/lib/time.ts';
import { createUser } from '../../src/people/accounts.ts';
import { createGuard } from '../../src/people/guard.ts';
import { acceptInvitation, createPasswordLink, createSetupLink, invite } from '../../src/people/links.ts';
import {
  appWithAnn,
  cookieOf,
  EMAIL,
  form,
  hostile,
  isHarmed,
  PASSWORD,
  tokenIn,
  visitor,
} from '../support/dashboard.ts';
import { execute } from '../support/database.ts';
import { allRows } from '../support/rows.ts';
import { appWithOrganization, createTestApp, type TestApp } from '../support/test-app.ts';

const SIGN_IN = '/dashboard/~/sign-in';
const ACCOUNT = '/dashboard/~/account';

async function signIn(app: TestApp, fields: Record<string, string> = {}) {
  const response = await visitor(app)(SIGN_IN, form({ email: EMAIL, password: PASSWORD, ...fields }));
  return { response, visit: visitor(app, cookieOf(response) ?? '__Host-tidings_session=none') };
}

const isIn = async (visit: ReturnType<typeof visitor>) => (await visit(ACCOUNT)).status === 200;

describe('signing in', () => {
  test('leads to the organization, or back to the requested page', async () => {
    const app = await appWithAnn();
    const { response, visit } = await signIn(app, { email: ' ANN@Acme.example ' });
    expect([response.status, response.headers.get('location')]).toEqual([303, '/dashboard']);
    expect((await visit('/dashboard')).headers.get('location')).toBe('/dashboard/org_a');
    const back = await signIn(app, { to: '/dashboard/org_a/settings/keys?page=2' });
    expect(back.response.headers.get('location')).toBe('/dashboard/org_a/settings/keys?page=2');
  });

  test.each([
    'https://evil.example',
    '//evil.example',
    '/dashboard/\\evil.example',
    '/v1/x',
    '/dashboard//x',
    '/dashboard/../v1/x',
    '/dashboard/%2e%2e/v1/x',
    '/\n/evil.example/dashboard/x',
    '/dashboardx',
    '//[',
    'javascript:alert(1)//dashboard/x',
    `/dashboard/${'x'.repeat(5000)}`,
  ])('never leads away: %j', async (to) => {
    const { response } = await signIn(await appWithAnn(), { to });
    expect(response.headers.get('location')).toBe('/dashboard');
  });

  test.each([
    ['/dashboard/org_a\u0000\r\nSet-Cookie: a=b', '/dashboard/org_a%00Set-Cookie:%20a=b'],
    ['/dashboard/org_a/posts?q=日\u0007本', '/dashboard/org_a/posts?q=%E6%97%A5%07%E6%9C%AC'],
    ['/dashboard/org_a\ud800', '/dashboard/org_a%EF%BF%BD'],
  ])('leads to %j as a valid address', async (to, location) => {
    const { response } = await signIn(await appWithAnn(), { to });
    expect([response.status, response.headers.get('location')]).toEqual([303, location]);
    expect(cookieOf(response)).toBeDefined();
  });

  test('is for search engines at its own address alone', async () => {
    const app = await appWithAnn();
    const open = async (query: string) => (await app.request(`${SIGN_IN}${query}`)).text();
    const noindex = '<meta name="robots" content="noindex"/>';
    expect(await open('')).not.toContain(noindex);
    expect(await open('')).toContain('<meta name="description" content="Sign in to review drafts');
    expect(await open('?to=%2Fdashboard%2Forg_a')).toContain(noindex);
  });

  test('shows the same error for a wrong password and an unknown address, and keeps the address', async () => {
    const app = await appWithAnn();
    const said: string[] = [];
    for (const fields of [{ password: 'wrong' }, { email: 'bob@acme.example' }, { password: '' }]) {
      const { response } = await signIn(app, fields);
      expect(response.status).toBe(401);
      expect(response.headers.getSetCookie()).toEqual([]);
      const html = await response.text();
      said.push(/role="alert">([^<]+)/.exec(html)?.[1] ?? '');
      expect(html).not.toContain(PASSWORD);
    }
    expect(new Set(said)).toEqual(new Set(['The email address or the password is wrong.']));
    expect(isHarmed(await (await signIn(app, { email: hostile })).response.text())).toBe(false);
  });
});

describe('the cookie', () => {
  test('cannot be used by a reader of the database', async () => {
    const app = await appWithAnn();
    const { response } = await signIn(app);
    const token = cookieOf(response)?.split('=')[1] ?? '';
    expect(token.length).toBeGreaterThan(40);
    expect(JSON.stringify(await allRows(app.db))).not.toContain(token);
    expect(JSON.stringify(app.logged)).not.toContain(token);
  });
});

describe('a session', () => {
  test('ends after 30 days without a visit', async () => {
    const app = await appWithAnn();
    const { visit } = await signIn(app);
    app.clock.advance(30 * DAY_MS - 1);
    expect(await isIn(visit)).toBe(true);
    app.clock.advance(30 * DAY_MS);
    expect(await isIn(visit)).toBe(false);
  });

  test('ends with signing out, here and nowhere else', async () => {
    const app = await appWithAnn();
    const { visit } = await signIn(app);
    const { visit: elsewhere } = await signIn(app);
    const out = await visit('/dashboard/~/sign-out', form());
    expect(out.headers.getSetCookie().join()).toContain('__Host-tidings_session=; ');
    expect([await isIn(visit), await isIn(elsewhere)]).toEqual([false, true]);
  });

  test('ends everywhere when one signs out everywhere', async () => {
    const app = await appWithAnn();
    const { visit } = await signIn(app);
    const { visit: elsewhere } = await signIn(app);
    expect((await visit(`${ACCOUNT}/sign-out-everywhere`, form())).status).toBe(303);
    expect([await isIn(visit), await isIn(elsewhere)]).toEqual([false, false]);
  });
});

describe('a new password', () => {
  const NEXT = 'a longer sentence';

  test('ends the old one, and every other session', async () => {
    const app = await appWithAnn();
    const { visit } = await signIn(app);
    const { visit: elsewhere } = await signIn(app);
    const changed = await visit(`${ACCOUNT}/password`, form({ current: PASSWORD, password: NEXT }));
    expect(changed.status).toBe(303);
    expect([await isIn(visit), await isIn(elsewhere)]).toEqual([true, false]);
    expect((await signIn(app)).response.status).toBe(401);
    expect((await signIn(app, { password: NEXT })).response.status).toBe(303);
  });

  test.each([
    ['the current one is wrong', { current: 'wrong', password: NEXT }, 'The current password is wrong'],
    ['it is short', { current: PASSWORD, password: 'short' }, '10 to 200 characters'],
    ['it is long', { current: PASSWORD, password: 'x'.repeat(201) }, '10 to 200 characters'],
  ])('is refused when %s', async (_, fields, message) => {
    const app = await appWithAnn();
    const { visit } = await signIn(app);
    const before = await allRows(app.db);
    const refused = await visit(`${ACCOUNT}/password`, form(fields));
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain(message);
    expect(await allRows(app.db)).toEqual({ ...before, throttles: [expect.anything()] });
  });

  test('is chosen through a link once, which ends every session', async () => {
    const app = await appWithAnn();
    const { visit } = await signIn(app);
    const { path } = await createPasswordLink(app.deps, EMAIL);
    const token = tokenIn(path);
    const stranger = visitor(app);
    expect((await stranger(path)).status).toBe(200);
    const choose = (password: string) => stranger('/dashboard/~/password', form({ token, password }));
    // A refused one does not use the link up.
    expect((await choose('short')).status).toBe(400);
    const chosen = await choose(NEXT);
    expect(chosen.status).toBe(303);
    expect(await isIn(visitor(app, cookieOf(chosen)))).toBe(true);
    expect(await isIn(visit)).toBe(false);
    expect([(await choose(NEXT)).status, (await stranger(path)).status]).toEqual([404, 404]);
    expect(JSON.stringify(app.logged)).not.toContain(token);
  });

  test('a link for it works for a day, and the newest alone', async () => {
    const app = await appWithAnn();
    const { path: older } = await createPasswordLink(app.deps, EMAIL);
    const { path } = await createPasswordLink(app.deps, EMAIL);
    const stranger = visitor(app);
    expect([(await stranger(older)).status, (await stranger(path)).status]).toEqual([404, 200]);
    app.clock.advance(DAY_MS);
    expect((await stranger(path)).status).toBe(404);
  });
});

describe('setting up', () => {
  const fields = { email: EMAIL, password: PASSWORD, organization: 'Acme Rockets' };

  test('makes the first owner, once', async () => {
    const app = createTestApp();
    const path = (await createSetupLink(app.deps)) ?? '';
    const token = tokenIn(path);
    const stranger = visitor(app);
    expect((await stranger(path)).status).toBe(200);
    expect((await stranger('/setup', form({ ...fields, token, email: 'x' }))).status).toBe(400);
    const done = await stranger('/setup', form({ ...fields, token }));
    expect(done.headers.get('location')).toMatch(/^\/dashboard\/org_\w+\/start$/);
    const start = await visitor(app, cookieOf(done))(done.headers.get('location') ?? '');
    expect(await start.text()).toContain('First steps');

    expect((await stranger(path)).status).toBe(404);
    const again = await stranger('/setup', form({ ...fields, token, email: 'eve@evil.example' }));
    expect([again.status, (await allRows(app.db)).users?.length]).toEqual([404, 1]);
    expect(await createSetupLink(app.deps)).toBeNull();
  });

  test.each(['', 'guessed', 'x'.repeat(10_000)])('needs the link: %p is none', async (token) => {
    const app = createTestApp();
    await createSetupLink(app.deps);
    const response = await visitor(app)('/setup', form({ ...fields, token }));
    expect([response.status, (await allRows(app.db)).users?.length]).toEqual([404, 0]);
  });

  test('works for a day', async () => {
    const app = createTestApp();
    const path = (await createSetupLink(app.deps)) ?? '';
    app.clock.advance(DAY_MS);
    expect((await visitor(app)(path)).status).toBe(404);
  });

  test.each([
    ['a command', (app: TestApp) => createUser(app.deps, { email: EMAIL, organizationId: 'org_a' })],
    [
      'an invitation',
      async (app: TestApp) => {
        const path = await invite(app.deps, 'org_a', 'owner');
        await acceptInvitation(app.deps, tokenIn(path), {
          email: EMAIL,
          password: PASSWORD,
          guard: createGuard(app.deps),
          signal: new AbortController().signal,
        });
      },
    ],
    [
      'a row of another program',
      async (app: TestApp) => {
        await execute(
          app.db,
          "insert into users (id, email, created_at) values ('usr_x', 'x@x.example', '2026')",
        );
      },
    ],
  ])('ends with the first account, made by %s', async (_, makeUser) => {
    const app = await appWithOrganization();
    const path = (await createSetupLink(app.deps)) ?? '';
    await makeUser(app);
    const { users, memberships, sessions } = await allRows(app.db);
    const attempt = await visitor(app)(
      '/setup',
      form({ ...fields, email: 'eve@x.example', token: tokenIn(path) }),
    );
    expect(attempt.status).toBe(404);
    expect(await allRows(app.db)).toMatchObject({ users, memberships, sessions });
    expect(users).toHaveLength(1);
    // The next start leaves none behind either.
    expect(await createSetupLink(app.deps)).toBeNull();
    expect((await allRows(app.db)).one_time_links).toEqual([]);
    expect((await visitor(app)(path)).status).toBe(404);
  });

  test('ends while the first account is made at the same time', async () => {
    const app = await appWithOrganization();
    const token = tokenIn((await createSetupLink(app.deps)) ?? '');
    // The password takes longer to hash than the account takes to insert.
    const attempt = visitor(app)('/setup', form({ ...fields, email: 'eve@evil.example', token }));
    await createUser(app.deps, { email: EMAIL, organizationId: 'org_a' });
    expect((await attempt).status).toBe(404);
    expect((await allRows(app.db)).users).toMatchObject([{ email: EMAIL }]);
  });

  test('has one link: each start replaces the one before', async () => {
    const app = createTestApp();
    const older = (await createSetupLink(app.deps)) ?? '';
    const path = (await createSetupLink(app.deps)) ?? '';
    const stranger = visitor(app);
    expect([(await stranger(older)).status, (await stranger(path)).status]).toEqual([404, 200]);
    expect((await allRows(app.db)).one_time_links).toHaveLength(1);
  });

  test('has a link for each process that shares the database, and the first account ends them all', async () => {
    const app = createTestApp();
    const start = async () => tokenIn((await createSetupLink(app.deps, { keepsEarlier: true })) ?? '');
    const [first, second] = [await start(), await start()];
    expect((await visitor(app)('/setup', form({ ...fields, token: first }))).status).toBe(303);
    const eve = form({ ...fields, email: 'eve@evil.example', token: second });
    expect((await visitor(app)('/setup', eve)).status).toBe(404);
    const { users, one_time_links } = await allRows(app.db);
    expect(users).toMatchObject([{ email: EMAIL }]);
    expect(one_time_links).toEqual([]);
  });
});
