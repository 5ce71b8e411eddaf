import { describe, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { DAY_MS } from '../../src/lib/time.ts';
import { createPasswordLink, createSetupLink } from '../../src/people/links.ts';
import { findKnownBrowser } from '../../src/people/sessions.ts';
import { findCredentials } from '../../src/people/store.ts';
import {
  appWithAnn,
  cookieOf,
  EMAIL,
  form,
  PASSWORD,
  setPassword,
  signedIn,
  tokenIn,
  visitor,
} from '../support/dashboard.ts';
import { execute } from '../support/database.ts';
import { allRows } from '../support/rows.ts';
import { appWithOrganization, createTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

// Limits on guessing passwords, and the browsers that they spare.

const SIGN_IN = '/dashboard/~/sign-in';
const ACCOUNT = '/dashboard/~/account';
const HOME = '198.51.100.1';
const EVIL = '203.0.113.66';

/** The app with Ann, behind a proxy that names the client. */
const withAnn = (email = EMAIL) => appWithAnn({ clientIpHeader: 'x-forwarded-for', email });

interface From {
  address?: string;
  /** The cookies of the browser. */
  cookie?: string | undefined;
  email?: string;
}

function send(app: TestApp, password: string, { address = HOME, cookie, email = EMAIL }: From = {}) {
  const headers = { 'x-forwarded-for': address };
  return visitor(app, cookie)(SIGN_IN, { ...form({ email, password }), headers });
}

const statusOf = async (...given: Parameters<typeof send>) => (await send(...given)).status;
const guess = (app: TestApp, from?: From) => statusOf(app, 'wrong', from);
const signIn = (app: TestApp, from?: From) => statusOf(app, PASSWORD, from);

/** The cookie that makes a browser known after a sign-in, as the browser sends it back. */
async function knownBrowser(app: TestApp, from?: From): Promise<string> {
  const response = await send(app, PASSWORD, from);
  expect(response.status).toBe(303);
  return cookieOf(response, 'tidings_browser') ?? 'none';
}

const hashes = (app: TestApp) => app.deps.metrics.passwordHashes.done.value;

describe('somebody who guesses', () => {
  test('from one address never holds up a known browser there, or other addresses', async () => {
    const app = await withAnn();
    const cookie = await knownBrowser(app, { address: EVIL });
    const seen = { known: 0, elsewhere: 0, guessed: 0 };
    for (let round = 0; round < 99; round++) {
      if ((await guess(app, { address: EVIL })) === 401) seen.guessed++;
      if ((await signIn(app, { address: EVIL, cookie })) === 303) seen.known++;
      if ((await signIn(app)) === 303) seen.elsewhere++;
    }
    expect(seen).toEqual({ known: 99, elsewhere: 99, guessed: 5 });
    expect(hashes(app)).toBe(1 + 5 + 99 + 99);
  });

  test('gets 429 with the time to wait, and costs no hash', async () => {
    const app = await withAnn();
    for (let attempt = 0; attempt < 5; attempt++) expect(await guess(app)).toBe(401);
    app.clock.advance(19_000);
    const refused = await send(app, PASSWORD);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
    expect(await refused.text()).toContain('Too many attempts. Try again in 1 second.');
    expect(hashes(app)).toBe(5);
    app.clock.advance(1_000);
    expect(await guess(app)).toBe(401);
    expect((await send(app, PASSWORD)).headers.get('retry-after')).toBe('20');
    app.clock.advance(20_000);
    expect(await signIn(app)).toBe(303);
    expect(await guess(app)).toBe(401);
  });

  test('at many accounts from one address gets thirty attempts, and an IPv6 network is one address', async () => {
    const app = await withAnn();
    const ipv6 = (host: number) => `2001:db8:1:2::${host.toString(16)}`;
    for (let attempt = 1; attempt <= 30; attempt++) {
      const email = `person${attempt}@acme.example`;
      // Bun's real hash is slow: an account with a cheap hash stands for the others.
      await execute(app.db, sql`update users set email = ${email}`);
      expect(await guess(app, { address: ipv6(attempt), email })).toBe(401);
    }
    await execute(app.db, sql`update users set email = ${EMAIL}`);
    const refused = await send(app, PASSWORD, { address: ipv6(99) });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '4']);
    expect(hashes(app)).toBe(30);
    expect(await signIn(app, { address: '2001:db8:1:3::1' })).toBe(303);
    app.clock.advance(4_000);
    expect(await signIn(app, { address: ipv6(99) })).toBe(303);
  });

  test('from many addresses at one account gets a hundred attempts, then one in ten seconds', async () => {
    const app = await withAnn();
    const cookie = await knownBrowser(app);
    const address = (number: number) => `10.0.${number >> 8}.${number & 255}`;
    const statuses = [];
    for (let number = 0; number < 300; number++)
      statuses.push(await guess(app, { address: address(number) }));
    expect(statuses.filter((status) => status === 401)).toHaveLength(100);
    expect(hashes(app)).toBe(101);
    expect([await signIn(app), await signIn(app, { cookie })]).toEqual([429, 303]);
    app.clock.advance(10_000);
    expect(await signIn(app)).toBe(303);
    // A right password is no guess: it takes nothing from the account's limit.
    expect(await signIn(app, { address: address(999) })).toBe(303);
  });

  test('meets the same limit at an address without an account', async () => {
    const app = await withAnn();
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 6; attempt++)
      statuses.push(await guess(app, { email: 'eve@acme.example' }));
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429]);
  });
});

describe('a flood of sign-ins', () => {
  test('from one address runs three hashes before a right sign-in from another', async () => {
    const app = await withAnn();
    const flood = Array.from({ length: 60 }, (_, number) =>
      guess(app, { address: EVIL, email: `nobody${number}@acme.example` }),
    );
    expect(await signIn(app)).toBe(303);
    expect(hashes(app)).toBeLessThanOrEqual(4);
    const statuses = await Promise.all(flood);
    expect(statuses.filter((status) => status === 401)).toHaveLength(3);
    // Refused for the queue alone: it counts as no attempt.
    expect(await guess(app, { address: EVIL, email: 'nobody99@acme.example' })).toBe(401);
  });

  test('whose connections close is dropped, and counts as no attempt', async () => {
    const app = await withAnn();
    const running = guess(app, { address: EVIL, email: 'nobody@acme.example' });
    const closing = new AbortController();
    const headers = { 'x-forwarded-for': HOME, 'sec-fetch-site': 'same-origin' };
    const dropped = Array.from({ length: 30 }, () => {
      const init = { ...form({ email: EMAIL, password: 'wrong' }), headers, signal: closing.signal };
      return app.fetch(new Request(`http://localhost${SIGN_IN}`, init));
    });
    closing.abort();
    for (const response of dropped) expect((await response).status).not.toBe(401);
    expect(await running).toBe(401);
    expect(hashes(app)).toBe(1);
    // An attempt that is dropped leaves room for the next one, so none met the limit.
    expect(app.deps.metrics.passwordHashes.dropped.value).toBe(30);
    for (let attempt = 0; attempt < 5; attempt++) expect(await guess(app)).toBe(401);
    expect(await guess(app)).toBe(429);
  });
});

/** Every row, without those that count attempts. */
async function rowsBesideLimits(app: TestApp) {
  const { throttles: _, ...others } = await allRows(app.db);
  return others;
}

/** Takes a second to verify, on a fast machine. Nobody knows the password. */
const SLOW_HASH =
  '$argon2id$v=19$m=65536,t=20,p=1$KA5Uq1PG3xHA89d8fNgLcsdSyI+s2BLe+DNSAt63yoQ$NGTYP/nMbvy95ui4DhpNpKK5M+44hubA+R8FEZHBxAY';

describe('a password that changes while a request waits for its hash', () => {
  async function changedMeanwhile(ask: (app: TestApp, session: string) => Promise<Response>) {
    const app = await withAnn();
    const session = cookieOf(await send(app, PASSWORD)) ?? '';
    // A slow hash keeps the queue busy. The fourth request is refused once three others wait.
    const email = 'slow@acme.example';
    await signedIn(app, { email });
    await execute(app.db, sql`update users set password_hash = ${SLOW_HASH} where email = ${email}`);
    const hashed = hashes(app);
    const slow = guess(app, { address: EVIL, email });
    await until(
      async () => hashes(app),
      (count) => count > hashed,
    );
    const asked = Array.from({ length: 4 }, () => ask(app, session));
    expect((await Promise.race(asked)).status).toBe(429);
    await setPassword(app, { password: 'a longer sentence' });
    // Refused sign-ins are counted, also in the audit log, and change nothing else.
    const rows = async () => {
      const { audit_events = [], sessions = [], sqlite_sequence: _, ...others } = await rowsBesideLimits(app);
      const audit = audit_events.filter(({ action }) => action !== 'sign_in.refused');
      // The address of a session's last use may be written after the response.
      return { ...others, audit, sessions: sessions.map(({ hash }) => hash) };
    };
    const before = await rows();
    const responses = await Promise.all(asked);
    expect(await slow).toBe(401);
    expect(await rows()).toEqual(before);
    return responses.filter(({ status }) => status !== 429);
  }

  test('signs nobody in', async () => {
    const responses = await changedMeanwhile((app) => send(app, PASSWORD));
    expect(responses.map(({ status }) => status)).toEqual([401, 401, 401]);
    expect(responses.flatMap(({ headers }) => headers.getSetCookie())).toEqual([]);
  });

  test('is not changed by the old one', async () => {
    const fields = { current: PASSWORD, password: 'another sentence' };
    const responses = await changedMeanwhile((app, session) =>
      visitor(app, session)(`${ACCOUNT}/password`, form(fields)),
    );
    expect(responses.map(({ status }) => status)).toEqual([400, 400, 400]);
    for (const response of responses) {
      expect(await response.text()).toContain('The current password is wrong.');
    }
  });
});

describe('a known browser', () => {
  /** True if the browser with these cookies may sign in although its address may not. */
  async function isSpared(app: TestApp, cookie: string | undefined, from: From = {}) {
    while ((await guess(app, { ...from, address: EVIL })) !== 429);
    return (await guess(app, { ...from, address: EVIL, cookie })) === 401;
  }

  test('is one that signed in, for a year, with a cookie that no script reads', async () => {
    const app = await withAnn();
    const response = await send(app, PASSWORD);
    const header =
      response.headers.getSetCookie().find((each) => each.startsWith('__Host-tidings_browser=')) ?? '';
    for (const attribute of ['HttpOnly', 'SameSite=Lax', 'Secure', 'Path=/', 'Max-Age=31536000']) {
      expect(header).toContain(attribute);
    }
    const cookie = cookieOf(response, 'tidings_browser') ?? '';
    expect(await isSpared(app, cookie)).toBe(true);
    expect(JSON.stringify([await allRows(app.db), app.logged])).not.toContain(cookie.split('=')[1] ?? '');
    app.clock.advance(365 * DAY_MS - 1);
    expect(await isSpared(app, cookie)).toBe(true);
    app.clock.advance(1);
    expect(await isSpared(app, cookie)).toBe(false);
  });

  test('has five attempts of its own, too', async () => {
    const app = await withAnn();
    const cookie = await knownBrowser(app);
    for (let attempt = 0; attempt < 5; attempt++) expect(await guess(app, { cookie })).toBe(401);
    expect([await signIn(app, { cookie }), await signIn(app)]).toEqual([429, 303]);
    app.clock.advance(20_000);
    expect(await signIn(app, { cookie })).toBe(303);
  });

  test('does not sign in by itself', async () => {
    const app = await withAnn();
    const cookie = await knownBrowser(app);
    expect((await visitor(app, cookie)(ACCOUNT)).status).toBe(303);
  });

  test.each([
    ['empty', ''],
    ['short', 'x'],
    ['long', 'A'.repeat(5000)],
  ])('is none with a cookie that is %s', async (_, token) => {
    expect(await isSpared(await withAnn(), `tidings_browser=${token}`)).toBe(false);
  });

  test('is known to one person alone', async () => {
    const app = await withAnn('bob@acme.example');
    const cookie = await knownBrowser(app, { email: 'bob@acme.example' });
    await signedIn(app, { organizationId: 'org_a', email: EMAIL });
    const sameHash = 'update users set password_hash = (select max(password_hash) from users)';
    await execute(app.db, sameHash);
    expect(await isSpared(app, cookie)).toBe(false);
    expect(await isSpared(app, cookie, { email: 'bob@acme.example' })).toBe(true);
  });

  test('is known no longer after another password was chosen, but where that was done', async () => {
    const app = await withAnn();
    const before = await knownBrowser(app);
    const { path } = await createPasswordLink(app.deps, EMAIL);
    const token = tokenIn(path);
    const chosen = await visitor(app)(
      '/dashboard/~/password',
      form({ token, password: 'a longer sentence' }),
    );
    const session = cookieOf(chosen) ?? '';
    const linked = cookieOf(chosen, 'tidings_browser');
    expect([await isSpared(app, before), await isSpared(app, linked)]).toEqual([false, true]);

    const fields = { current: 'a longer sentence', password: 'another sentence' };
    const changed = await visitor(app, session)(`${ACCOUNT}/password`, form(fields));
    const here = cookieOf(changed, 'tidings_browser');
    expect([await isSpared(app, linked), await isSpared(app, here)]).toEqual([false, true]);
  });

  test('begins with the set-up and with an invitation for somebody new', async () => {
    const app = createTestApp();
    const isKnown = async (response: Response, email: string) => {
      const [, token = null] = cookieOf(response, 'tidings_browser')?.split('=') ?? [];
      return (
        findKnownBrowser(app.deps, token, await app.db.read((tx) => findCredentials(tx, email))) !== null
      );
    };
    const setup = (await createSetupLink(app.deps)) ?? '';
    const ann = { email: EMAIL, password: PASSWORD, organization: 'Rockets', token: tokenIn(setup) };
    const done = await visitor(app)('/setup', form(ann));
    expect(await isKnown(done, EMAIL)).toBe(true);

    const [home = ''] = /^\/dashboard\/\w+/.exec(done.headers.get('location') ?? '') ?? [];
    const owner = visitor(app, cookieOf(done));
    const invited = await owner(`${home}/settings/members/invitations`, form({ role: 'member' }));
    const [, token = ''] = /invitation\?token=(\w+)/.exec(await invited.text()) ?? [];
    const bob = { email: 'bob@acme.example', password: PASSWORD, token };
    const joined = await visitor(app)('/dashboard/~/invitation', form(bob));
    expect(joined.status).toBe(303);
    expect([await isKnown(joined, bob.email), await isKnown(joined, EMAIL)]).toEqual([true, false]);
  });
});

describe('changing a password', () => {
  test('is limited for each session, and says when to try again', async () => {
    const app = await withAnn();
    const sessions = [cookieOf(await send(app, PASSWORD)), cookieOf(await send(app, PASSWORD))];
    const change = (session: string | undefined, current: string, password = 'a longer sentence') =>
      visitor(app, session)(`${ACCOUNT}/password`, form({ current, password }));
    for (let attempt = 0; attempt < 5; attempt++) {
      expect((await change(sessions[0], 'wrong')).status).toBe(400);
    }
    const before = await allRows(app.db);
    const refused = await change(sessions[0], PASSWORD);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '20']);
    expect(await refused.text()).toContain('role="alert">Too many attempts. Try again in 20 seconds.');
    expect(await allRows(app.db)).toEqual(before);
    expect(await signIn(app)).toBe(303);
    expect((await change(sessions[1], PASSWORD)).status).toBe(303);
  });

  test('by a link is limited too', async () => {
    const app = await withAnn();
    const { path } = await createPasswordLink(app.deps, EMAIL);
    const token = tokenIn(path);
    const choose = (password: string) => visitor(app)('/dashboard/~/password', form({ token, password }));
    for (let attempt = 0; attempt < 5; attempt++) {
      expect((await choose('aaaaaaaaaa')).status).toBe(400);
    }
    const refused = await choose('a longer sentence');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '20']);
    expect(await refused.text()).toContain('role="alert">Too many attempts. Try again in 20 seconds.');
    expect(hashes(app)).toBe(0);
    app.clock.advance(20_000);
    expect((await choose('a longer sentence')).status).toBe(303);
  });
});

describe('a password that is easy to guess is refused', () => {
  const EASY = 'The password is too easy to guess. ';
  const OWN = `${EASY}It contains your address, your organization or &quot;tidings&quot;`;

  test('at the set-up', async () => {
    const app = createTestApp();
    const path = (await createSetupLink(app.deps)) ?? '';
    const token = tokenIn(path);
    for (const [password, message] of [
      ['aaaaaaaaaa', EASY],
      [EMAIL, OWN],
      ['Launchpad 1', OWN],
    ] as const) {
      const fields = { token, email: EMAIL, password, organization: 'Launchpad' };
      const refused = await visitor(app)('/setup', form(fields));
      expect(refused.status).toBe(400);
      expect(await refused.text()).toContain(message);
    }
    expect(await rowsBesideLimits(app)).toMatchObject({ users: [], organizations: [] });
  });

  test('when it is changed, or chosen by a link', async () => {
    const app = await withAnn();
    const session = cookieOf(await send(app, PASSWORD));
    const { path } = await createPasswordLink(app.deps, EMAIL);
    const token = tokenIn(path);
    const before = await rowsBesideLimits(app);
    for (const [password, message] of [
      ['password123', EASY],
      ['ann@acme.example1', OWN],
      ['Organization org_a', OWN],
    ] as const) {
      const changed = await visitor(app, session)(
        `${ACCOUNT}/password`,
        form({ current: PASSWORD, password }),
      );
      const chosen = await visitor(app)('/dashboard/~/password', form({ token, password }));
      for (const refused of [changed, chosen]) {
        expect(refused.status).toBe(400);
        expect(await refused.text()).toContain(message);
      }
    }
    expect(await rowsBesideLimits(app)).toEqual(before);
  });

  test('when somebody joins', async () => {
    const app = await appWithOrganization();
    const owner = await signedIn(app, { organizationId: 'org_a' });
    const invited = await owner('/dashboard/org_a/settings/members/invitations', form({ role: 'member' }));
    const [, token = ''] = /invitation\?token=(\w+)/.exec(await invited.text()) ?? [];
    const before = await rowsBesideLimits(app);
    for (const password of ['bob@acme.example', 'organization org_a']) {
      const fields = { token, email: 'bob@acme.example', password };
      const refused = await visitor(app)('/dashboard/~/invitation', form(fields));
      expect(refused.status).toBe(400);
      expect(await refused.text()).toContain(OWN);
    }
    expect(await rowsBesideLimits(app)).toEqual(before);
  });
});
