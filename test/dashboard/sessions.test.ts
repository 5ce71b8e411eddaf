import { describe, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { DAY_MS } from '../../src/lib/time.ts';
import { createUser } from '../../src/people/accounts.ts';
import { createGuard } from '../../src/people/guard.ts';
import { createPasswordLink } from '../../src/people/links.ts';
import { hashOf } from '../../src/people/passwords.ts';
import { signIn as signInAs } from '../../src/people/sessions.ts';
import { createApp } from '../../src/server/app.ts';
import { sweep } from '../../src/server/sweep.ts';
import {
  appWithAnn,
  cookieOf,
  EMAIL,
  form,
  hostile,
  isHarmed,
  PASSWORD,
  signedIn,
  visitor,
} from '../support/dashboard.ts';
import { execute, executeBeforeNextWrite } from '../support/database.ts';
import { compose } from '../support/drafts.ts';
import { allRows } from '../support/rows.ts';
import type { TestApp } from '../support/test-app.ts';

const ACCOUNT = '/dashboard/~/account';
const HOUR_MS = 3_600_000;
const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
const IPHONE =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1';

async function signIn(app: TestApp, headers: Record<string, string> = {}) {
  const init = form({ email: EMAIL, password: PASSWORD });
  const response = await visitor(app)('/dashboard/~/sign-in', { ...init, headers });
  expect(response.status).toBe(303);
  const cookie = cookieOf(response) ?? '';
  const visit = visitor(app, cookie);
  return { response, cookie, visit, hash: hashOf(cookie.split('=')[1] ?? '') };
}

const isIn = async (visit: ReturnType<typeof visitor>) => (await visit(ACCOUNT)).status === 200;
const cookiesIn = (response: Response) => response.headers.getSetCookie();
const sessionsOf = async (app: TestApp) => (await allRows(app.db)).sessions ?? [];

describe('the session cookie', () => {
  test('belongs to this host over https, and is read under that name alone', async () => {
    const app = await appWithAnn();
    const { response, cookie } = await signIn(app);
    const [header = ''] = cookiesIn(response);
    expect(header).toStartWith('__Host-tidings_session=');
    for (const attribute of ['HttpOnly', 'SameSite=Lax', 'Secure', 'Path=/', 'Max-Age=2592000']) {
      expect(header).toContain(`; ${attribute}`);
    }
    expect(header).not.toContain('Domain');
    // A subdomain could set a cookie of another name.
    expect(await isIn(visitor(app, cookie.replace('__Host-', '')))).toBe(false);
  });

  test('has no prefix over http, where a browser would drop it', async () => {
    const app = await appWithAnn();
    const plain = createApp({ ...app.deps, compose, publicUrl: () => 'http://localhost:3000' });
    const init = form({ email: EMAIL, password: PASSWORD });
    const response = await plain.fetch(new Request('http://localhost/dashboard/~/sign-in', init));
    const cookie = cookieOf(response) ?? '';
    expect(cookie).toStartWith('tidings_session=');
    expect(cookiesIn(response)[0]).toContain('; HttpOnly');
    expect(cookiesIn(response)[0]).not.toContain('Secure');
    const request = new Request(`http://localhost${ACCOUNT}`, { headers: { cookie } });
    expect((await plain.fetch(request)).status).toBe(200);
  });

  test('is sent again when the session is extended, at most once an hour', async () => {
    const app = await appWithAnn();
    const { visit, cookie } = await signIn(app);
    app.clock.advance(HOUR_MS - 1);
    const before = await allRows(app.db);
    expect(cookiesIn(await visit(ACCOUNT))).toEqual([]);
    expect(await allRows(app.db)).toEqual(before);
    app.clock.advance(1);
    const [again = ''] = cookiesIn(await visit(ACCOUNT));
    expect(again).toStartWith(cookie);
    expect(again).toContain('Max-Age=2592000');
    expect(await sessionsOf(app)).toMatchObject([{ expires_at: app.clock.now().getTime() + 30 * DAY_MS }]);
    expect(cookiesIn(await visit(ACCOUNT))).toEqual([]);
  });

  test.each([
    ['a redirect', '/dashboard', 303],
    ['a piece of a page', '/dashboard/org_a/deliveries?after=2026-01-01T00:00:00.000Z_x', 200],
    ['a page that is missing', '/dashboard/org_a/nothing', 404],
  ])('is sent again with %s', async (_, path, status) => {
    const app = await appWithAnn();
    const { visit, cookie } = await signIn(app);
    app.clock.advance(HOUR_MS);
    const response = await visit(path);
    expect([response.status, cookieOf(response)]).toEqual([status, cookie]);
  });

  test('lasts no longer than its session', async () => {
    const app = await appWithAnn();
    const { visit } = await signIn(app);
    for (let days = 0; days < 80; days += 20) {
      app.clock.advance(20 * DAY_MS);
      await isIn(visit);
    }
    app.clock.advance(HOUR_MS);
    const [cookie] = cookiesIn(await visit(ACCOUNT));
    expect(cookie).toContain(`Max-Age=${10 * 86_400 - 3600};`);
  });

  test('is not sent again when the visit signs out', async () => {
    const app = await appWithAnn();
    const { visit } = await signIn(app);
    app.clock.advance(HOUR_MS);
    const out = await visit('/dashboard/~/sign-out', form());
    expect(cookiesIn(out).filter((each) => each.includes('tidings_session'))).toEqual([
      expect.stringMatching(/^__Host-tidings_session=; .*Max-Age=0(?:;|$)/),
    ]);
    expect(await sessionsOf(app)).toEqual([]);
  });
});

describe('a session', () => {
  test('ends when its browser signs in again, and no other does', async () => {
    const app = await appWithAnn();
    const [elsewhere, first] = [await signIn(app), await signIn(app)];
    const again = await signIn(app, { cookie: first.cookie });
    expect(await isIn(first.visit)).toBe(false);
    for (const { visit } of [elsewhere, again]) expect(await isIn(visit)).toBe(true);
    expect((await sessionsOf(app)).map(({ hash }) => hash).sort()).toEqual(
      [elsewhere.hash, again.hash].sort(),
    );
    const ended = (await allRows(app.db)).audit_events?.filter(({ action }) => action === 'session.ended');
    expect(ended).toMatchObject([{ actor_name: EMAIL, summary: 'signed in again' }]);
  });

  test('stays when the sign-in of its browser is refused', async () => {
    const app = await appWithAnn();
    const { visit, cookie } = await signIn(app);
    const init = form({ email: EMAIL, password: 'not the password' });
    const refused = await visitor(app)('/dashboard/~/sign-in', { ...init, headers: { cookie } });
    expect(refused.status).toBe(401);
    expect(await isIn(visit)).toBe(true);
  });

  test('ends 90 days after the sign-in, however often it is used', async () => {
    const app = await appWithAnn();
    const { visit } = await signIn(app);
    for (let day = 0; day < 89; day++) {
      app.clock.advance(DAY_MS);
      expect(await isIn(visit)).toBe(true);
    }
    app.clock.advance(DAY_MS - 1);
    expect(await isIn(visit)).toBe(true);
    app.clock.advance(1);
    expect(await isIn(visit)).toBe(false);
    expect(await sweep(app.deps, { confirmed: app.clock.now() })).toMatchObject({ sessions: 1 });
    expect(await sessionsOf(app)).toEqual([]);
  });

  test('of years ago is not extended, whatever its expiry says', async () => {
    const app = await appWithAnn();
    const { visit } = await signIn(app);
    await execute(app.db, "update sessions set created_at = '2016-01-01T00:00:00.000Z', last_used_at = 0");
    const before = await allRows(app.db);
    const response = await visit(ACCOUNT);
    expect([response.status, cookiesIn(response)]).toEqual([303, []]);
    expect(await allRows(app.db)).toEqual(before);
  });

  test('remembers the browser that uses it', async () => {
    const app = await appWithAnn();
    const { visit } = await signIn(app, { 'user-agent': FIREFOX });
    expect(await sessionsOf(app)).toMatchObject([{ user_agent: FIREFOX, address: null }]);
    app.clock.advance(HOUR_MS);
    await visit(ACCOUNT, { headers: { 'user-agent': 'x'.repeat(5000) } });
    expect(await sessionsOf(app)).toMatchObject([
      { user_agent: 'x'.repeat(200), last_used_at: app.clock.now().getTime() },
    ]);
  });

  test('remembers the address that it is used from', async () => {
    const app = await appWithAnn();
    const behindProxy = createApp({ ...app.deps, compose, clientIpHeader: 'X-Real-IP' });
    const { cookie } = await signIn(app);
    app.clock.advance(HOUR_MS);
    const headers = { cookie, 'x-real-ip': '203.0.113.7' };
    const response = await behindProxy.fetch(new Request(`http://localhost${ACCOUNT}`, { headers }));
    expect(await response.text()).toContain('203.0.113.7');
    expect(await sessionsOf(app)).toMatchObject([{ address: '203.0.113.7' }]);
  });

  test.each([
    ['is changed', "update users set password_hash = 'another'"],
    ['is disabled with its account', "update users set disabled_at = '2026-11-20T12:00:00.000Z'"],
    ['is deleted with its account', 'delete from users'],
  ])('does not begin when the password %s while it is verified', async (_, change) => {
    const app = await appWithAnn();
    executeBeforeNextWrite(app.db, change);
    const attempt = signInAs(app.deps, {
      email: EMAIL,
      password: PASSWORD,
      source: 'unknown',
      browser: null,
      guard: createGuard(app.deps),
      signal: new AbortController().signal,
    });
    await expect(attempt).rejects.toThrow('The email address or the password is wrong.');
    expect(await sessionsOf(app)).toEqual([]);
  });
});

describe('the list of sessions', () => {
  const END = `${ACCOUNT}/sessions/end`;

  test('tells the browsers apart, and marks this one', async () => {
    const app = await appWithAnn();
    await signIn(app, { 'user-agent': IPHONE });
    app.clock.advance(2 * HOUR_MS);
    const { visit } = await signIn(app, { 'user-agent': FIREFOX });
    const rows = (await (await visit(ACCOUNT)).text()).match(/<li data-session.*?<\/li>/gs) ?? [];
    expect(rows).toHaveLength(2);
    expect(rows[0]).toContain('Firefox on Linux');
    expect(rows[0]).toContain('This browser');
    expect(rows[1]).toContain('Safari on iPhone');
    expect(rows[1]).toContain('2 h ago');
    expect(rows[1]).not.toContain('This browser');
  });

  test.each([
    [FIREFOX, 'Firefox on Linux'],
    [IPHONE, 'Safari on iPhone'],
    [
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0',
      'Edge on Windows',
    ],
    [
      'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36',
      'Chrome on Android',
    ],
    [
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15',
      'Safari on macOS',
    ],
    [
      'Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36',
      'Chrome on ChromeOS',
    ],
    ['curl/8.5.0', 'Unknown browser'],
    ['', 'Unknown browser'],
  ])('names %j', async (agent, name) => {
    const app = await appWithAnn();
    const { visit } = await signIn(app, { 'user-agent': agent });
    expect(await (await visit(ACCOUNT)).text()).toContain(name);
  });

  test('ends one of them', async () => {
    const app = await appWithAnn();
    const { visit } = await signIn(app);
    const { visit: elsewhere, hash } = await signIn(app);
    const ended = await visit(END, form({ session: hash }));
    expect([ended.status, ended.headers.get('location')]).toEqual([303, ACCOUNT]);
    expect([await isIn(visit), await isIn(elsewhere)]).toEqual([true, false]);
  });

  test('ends this one, which signs out', async () => {
    const app = await appWithAnn();
    const { visit, hash } = await signIn(app);
    const ended = await visit(END, form({ session: hash }));
    expect([ended.status, ended.headers.get('location')]).toEqual([303, '/dashboard/~/sign-in']);
    expect(cookiesIn(ended).join()).toContain('tidings_session=; ');
    expect(await sessionsOf(app)).toEqual([]);
  });

  test("ends nobody else's", async () => {
    const app = await appWithAnn();
    const { visit, hash } = await signIn(app);
    const eve = await signedIn(app, { organizationId: 'org_a', email: 'eve@acme.example' });
    const before = await allRows(app.db);
    for (const session of [hash, 'none', '']) expect((await eve(END, form({ session }))).status).toBe(303);
    expect(await allRows(app.db)).toEqual(before);
    expect(await isIn(visit)).toBe(true);
    expect(await (await eve(ACCOUNT)).text()).not.toContain(hash);
  });

  test('shows fifty at most, and no expired one', async () => {
    const app = await appWithAnn();
    await signIn(app, { 'user-agent': IPHONE });
    app.clock.advance(31 * DAY_MS);
    const { visit } = await signIn(app);
    const count = async () => ((await (await visit(ACCOUNT)).text()).match(/<li data-session/g) ?? []).length;
    expect(await count()).toBe(1);
    const now = app.clock.now();
    for (let number = 0; number < 60; number++) {
      await execute(
        app.db,
        sql`insert into sessions (hash, user_id, created_at, expires_at)
        select ${`hash${number}`}, id, ${now.toISOString()}, ${now.getTime() + DAY_MS} from users`,
      );
    }
    expect(await count()).toBe(50);
    // This browser is first, though it was not used last.
    await execute(
      app.db,
      sql`update sessions set last_used_at = ${now.getTime() + 1} where hash like 'hash%'`,
    );
    expect(await (await visit(ACCOUNT)).text()).toMatch(/<li data-session.{0,300}This browser/s);
  });

  test('shows a hostile browser as text', async () => {
    const app = await appWithAnn();
    const { visit } = await signIn(app, { 'user-agent': hostile });
    expect(isHarmed(await (await visit(ACCOUNT)).text())).toBe(false);
  });
});

const NEXT = 'a longer sentence';

test('of two password changes at once, one is refused', async () => {
  const app = await appWithAnn();
  const { visit } = await signIn(app);
  const change = (password: string) => visit(`${ACCOUNT}/password`, form({ current: PASSWORD, password }));
  const responses = await Promise.all([change(NEXT), change(`${NEXT}, by somebody else`)]);
  expect(responses.map(({ status }) => status).sort()).toEqual([303, 400]);
});

describe('a password link', () => {
  test('ends when the person changes the password', async () => {
    const app = await appWithAnn();
    const { visit } = await signIn(app);
    const { path } = await createPasswordLink(app.deps, EMAIL);
    const wrong = await visit(`${ACCOUNT}/password`, form({ current: 'wrong', password: NEXT }));
    expect([wrong.status, (await visitor(app)(path)).status]).toEqual([400, 200]);
    const changed = await visit(`${ACCOUNT}/password`, form({ current: PASSWORD, password: NEXT }));
    expect([changed.status, (await visitor(app)(path)).status]).toEqual([303, 404]);
    expect((await allRows(app.db)).one_time_links).toEqual([]);
  });

  test('ends every other link of its person, and of nobody else', async () => {
    const app = await appWithAnn();
    const { path } = await createPasswordLink(app.deps, EMAIL);
    const [{ id } = { id: '' }] = (await allRows(app.db)).users ?? [];
    const insert = (hash: string, userId: unknown) =>
      execute(
        app.db,
        sql`insert into one_time_links (hash, purpose, user_id, created_at, expires_at)
        values (${hash}, 'password', ${userId}, '2026', 9000000000000000)`,
      );
    await createUser(app.deps, { email: 'bob@acme.example' });
    const bob = (await allRows(app.db)).users?.find(({ email }) => email === 'bob@acme.example');
    await insert('another', id);
    await insert('of bob', bob?.id);
    const token = new URL(path, 'http://x').searchParams.get('token') ?? '';
    const chosen = await visitor(app)('/dashboard/~/password', form({ token, password: NEXT }));
    expect(chosen.status).toBe(303);
    expect((await allRows(app.db)).one_time_links).toMatchObject([{ hash: 'of bob' }]);
  });
});
