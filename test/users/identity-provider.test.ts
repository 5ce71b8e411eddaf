import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { disableAccount } from '../../src/people/accounts.ts';
import { createPasswordLink, invite } from '../../src/people/links.ts';
import { setRole } from '../../src/people/members.ts';
import type { ProviderSettings } from '../../src/people/oidc/provider.ts';
import type { Rule } from '../../src/people/oidc/rules.ts';
import { endOtherSessions } from '../../src/people/oidc/sign-in.ts';
import {
  addAnn,
  cookieOf,
  EMAIL,
  form,
  PASSWORD,
  setPassword,
  signedIn,
  tokenIn,
  visitor,
} from '../support/dashboard.ts';
import { contentOf, execute, valuesOf } from '../support/database.ts';
import {
  CLIENT,
  type SignInOptions,
  startIdentityProvider,
  type TestProvider,
} from '../support/identity-provider.ts';
import { allRows } from '../support/rows.ts';
import { appWithOrganization, type TestApp } from '../support/test-app.ts';

// Sign-in through an identity provider, and what a hostile one can't do. `real-identity-provider.test.ts` has a real one.

const START = '/dashboard/~/oidc';
const CALLBACK = `${START}/callback`;
const CONFIRM = `${START}/confirm`;
const LOGOUT = `${START}/logout`;
const SIGN_IN = '/dashboard/~/sign-in';
const ACCOUNT = '/dashboard/~/account';

const memberRule: Rule = { organization: 'org_a', role: 'member', domain: 'acme.example' };

let provider: TestProvider;
beforeEach(async () => {
  provider = await startIdentityProvider();
});
afterEach(() => provider[Symbol.dispose]());

const appOf = (rules: readonly Rule[] = [memberRule], more?: Partial<ProviderSettings>) =>
  appWithOrganization({ identityProvider: provider.service(rules, more), organizations: ['org_a', 'org_b'] });

/** A browser that keeps its cookies. */
function browser(app: TestApp, first?: string) {
  const jar = new Map<string, string>();
  const keep = (pair: string) => {
    const at = pair.indexOf('=');
    jar.set(pair.slice(0, at), pair.slice(at + 1));
  };
  if (first !== undefined) keep(first);
  const visit = visitor(app);
  return Object.assign(
    async (address: string, init: RequestInit = {}) => {
      const cookie = Array.from(jar, (pair) => pair.join('=')).join('; ');
      const url = new URL(address, 'http://x');
      const headers = { ...(init.headers as object), ...(cookie !== '' && { cookie }) };
      const response = await visit(url.pathname + url.search, { ...init, headers });
      for (const set of response.headers.getSetCookie()) keep(set.split(';')[0] ?? '');
      return response;
    },
    { jar },
  );
}

type TestBrowser = ReturnType<typeof browser>;

const locationOf = (response: Response) => response.headers.get('location') ?? '';

/** Opens the start, and returns where the provider sends the browser. */
async function answered(visit: TestBrowser, options: SignInOptions = {}, query = ''): Promise<string> {
  const started = await visit(START + query);
  expect(started.status).toBe(303);
  return provider.answerTo(locationOf(started), options);
}

const enter = async (visit: TestBrowser, options: SignInOptions = {}, query = '') =>
  visit(await answered(visit, options, query));

const isIn = async (visit: TestBrowser) => (await visit(ACCOUNT)).status === 200;

const rolesOf = (app: TestApp, email = EMAIL) =>
  valuesOf(
    app.db,
    sql`select organization_id, role, by_rule from memberships
      join users on users.id = user_id where email = ${email} order by organization_id`,
  );

const auditOf = async (app: TestApp) =>
  (await valuesOf<[string]>(app.db, 'select summary from audit_events order by id')).flat();

/** Everything but counters and marks, which a refusal may write. */
async function stateOf(app: TestApp) {
  const {
    throttles: _,
    form_marks: __,
    audit_events: ___,
    sqlite_sequence: ____,
    ...rows
  } = await allRows(app.db);
  return rows;
}

test('without the settings there is no button and no page, and nothing loads', async () => {
  const app = await appWithOrganization();
  const visit = visitor(app);
  expect(await (await visit(SIGN_IN)).text()).not.toContain('Continue with');
  for (const path of [START, CALLBACK, CONFIRM]) expect((await visit(path)).status).toBe(404);
  expect((await visit(LOGOUT, form({ logout_token: 'x' }))).status).toBe(404);
  expect(provider.requests).toEqual([]);
});

describe('signing in', () => {
  test('asks for a code with PKCE, a state and a nonce, and keeps them sealed in the browser', async () => {
    const app = await appOf();
    const response = await browser(app)(START);
    const url = new URL(locationOf(response));
    expect(url.origin + url.pathname).toBe(`${provider.issuer}/authorize`);
    const { state, nonce, code_challenge, ...rest } = Object.fromEntries(url.searchParams);
    expect(rest).toEqual({
      client_id: 'tidings',
      response_type: 'code',
      scope: 'openid email',
      code_challenge_method: 'S256',
      redirect_uri: `https://tidings.test${CALLBACK}`,
    });
    for (const value of [state, nonce, code_challenge]) expect(value?.length).toBeGreaterThanOrEqual(43);
    const [cookie = ''] = response.headers.getSetCookie();
    expect(cookie).toMatch(
      /^__Host-tidings_flow=\S+; Path=\/; Max-Age=600; Secure; HttpOnly; SameSite=Lax$/i,
    );
    expect(Buffer.from(cookie, 'base64url').toString()).not.toContain(state ?? '');
  });

  test('makes an account by a rule, with its role, and leads back to the page', async () => {
    const app = await appOf();
    const visit = browser(app);
    const response = await enter(visit, {}, `?to=${encodeURIComponent('/dashboard/org_a/settings')}`);
    expect([response.status, locationOf(response)]).toEqual([303, '/dashboard/org_a/settings']);
    expect(await isIn(visit)).toBe(true);
    expect(await rolesOf(app)).toEqual([['org_a', 'member', 1]]);
    expect(await auditOf(app)).toEqual([
      ...['created the organization “Organization org_a”', 'created the organization “Organization org_b”'],
      'created an account through Acme SSO',
      'linked ann@acme.example of Acme SSO',
      'added ann@acme.example as a publisher by a rule of the identity provider',
      'signed in through Acme SSO',
    ]);
    // The cookie of the steps is gone, and no token is in the database as it came.
    expect(visit.jar.get('__Host-tidings_flow')).toBe('');
    expect(await contentOf(app.db)).not.toContain('eyJ');
    // The second time it is the same account.
    expect((await enter(browser(app))).status).toBe(303);
    expect(await valuesOf(app.db, 'select count(*) from users')).toEqual([[1]]);
  });

  test('never leads to another site', async () => {
    const app = await appOf();
    for (const to of [
      'https://evil.example/dashboard/x',
      '//evil.example/dashboard/x',
      '/\\evil.example/dashboard/x',
      '/dashboard/..//evil.example',
      '/dashboard/%2e%2e//evil.example',
      'javascript:alert(1)//dashboard/x',
      '\t//evil.example/dashboard/x',
      'http:evil.example',
    ]) {
      const response = await enter(browser(app), {}, `?to=${encodeURIComponent(to)}`);
      expect([to, locationOf(response)]).toEqual([to, '/dashboard']);
    }
  });

  test('begins a session of its own, whatever cookie the browser brings, and ends the one of the cookie', async () => {
    const app = await appOf();
    const planted = 'planted'.repeat(6);
    const visit = browser(app, `__Host-tidings_session=${planted}`);
    await enter(visit);
    expect(visit.jar.get('__Host-tidings_session')).not.toBe(planted);
    const other = await signedIn(app, { organizationId: 'org_b', email: 'mallory@acme.example' });
    const [name = '', token = ''] = other.cookie.split('=');
    const again = browser(app, other.cookie);
    await enter(again);
    expect(again.jar.get(name)).not.toBe(token);
    expect(await (await again(ACCOUNT)).text()).toContain('You are signed in as ann@acme.example');
    expect((await other(ACCOUNT)).status).toBe(303);
  });

  test('an address of the user info endpoint does not borrow what the token says about another one', async () => {
    const leads: Rule = { ...memberRule, claim: 'groups', value: 'leads' };
    const told = { sub: 'ann', groups: ['leads'] };
    for (const [inToken, inUserInfo] of <Record<string, unknown>[][]>[
      [
        { email: EMAIL, email_verified: undefined },
        { email: 'ann@other.example', email_verified: true },
      ],
      [{ email: EMAIL, email_verified: undefined }, { email_verified: true }],
      [{ email: undefined, email_verified: true }, { email: EMAIL }],
      [
        { email: EMAIL, email_verified: false },
        { email: EMAIL, email_verified: true },
      ],
    ]) {
      provider.tell({ ...told, ...inUserInfo });
      expect((await enter(browser(await appOf([leads])), { claims: inToken ?? {} })).status).toBe(403);
    }
    provider.tell({ ...told, email: EMAIL, email_verified: true });
    const claims = { email: undefined, email_verified: undefined };
    expect((await enter(browser(await appOf([leads])), { claims })).status).toBe(303);
  });

  test('a claim of the user info endpoint counts as one of the token', async () => {
    const app = await appOf([{ organization: 'org_b', role: 'owner', claim: 'groups', value: 'leads' }]);
    provider.tell({ sub: 'ann', groups: ['staff', 'leads'] });
    await enter(browser(app));
    expect(await rolesOf(app)).toEqual([['org_b', 'owner', 1]]);
    // About somebody else, it is refused.
    provider.tell({ sub: 'mallory', groups: ['leads'] });
    expect((await enter(browser(app))).status).toBe(400);
  });

  test('nobody enters without a rule, and the page says who can help', async () => {
    const app = await appOf([{ ...memberRule, domain: 'other.example' }]);
    const before = await stateOf(app);
    const response = await enter(browser(app));
    expect(response.status).toBe(403);
    expect(await response.text()).toContain(
      'You are signed in at Acme SSO as ann@acme.example, but no rule of this server lets you in.',
    );
    expect(await stateOf(app)).toEqual(before);
    expect((await auditOf(app)).at(-1)).toBe('failed to sign in');
  });

  test.each([
    ['not verified', { email_verified: false }],
    ['said to be verified by a text', { email_verified: 'true' }],
    ['not said to be verified', { email_verified: undefined }],
    ['missing', { email: undefined }],
    ['no address', { email: 'ann' }],
    ['hidden characters', { email: 'ann\u200b@acme.example' }],
    ['letters that look like others', { email: 'an\u212a@acme.example' }],
    ['verified by one statement and not by the other', { email_verified: false, xms_edov: true }],
  ])('an address that is %s makes no account and asks for no password', async (_, claims) => {
    const app = await appOf([
      memberRule,
      { organization: 'org_a', role: 'owner', claim: 'sub', value: 'ann' },
    ]);
    await addAnn(app);
    const before = await stateOf(app);
    const response = await enter(browser(app), { claims });
    expect(response.status).toBe(403);
    expect(await response.text()).toContain('sent no email address that it has verified');
    expect(await stateOf(app)).toEqual(before);
  });

  test('a provider that verifies the owner of the domain has verified the address', async () => {
    const app = await appOf();
    const claims = { email_verified: undefined, xms_edov: true };
    expect((await enter(browser(app), { claims })).status).toBe(303);
  });

  test('a disabled account stays out, and disabling ends its sessions', async () => {
    const app = await appOf();
    const visit = browser(app);
    await enter(visit);
    await disableAccount(app.deps, EMAIL);
    expect(await isIn(visit)).toBe(false);
    const response = await enter(browser(app));
    expect(response.status).toBe(403);
    expect(await response.text()).toContain('This account is disabled.');
  });

  test('an invitation lets in a person whom no rule does', async () => {
    const app = await appOf([]);
    const token = tokenIn(await invite(app.deps, 'org_b', 'owner'));
    const visit = browser(app);
    const page = await (await visit(`/dashboard/~/invitation?token=${token}`)).text();
    const [, link = ''] = /href="(\/dashboard\/~\/oidc\?[^"]*)"/.exec(page) ?? [];
    const started = await visit(link.replaceAll('&amp;', '&'));
    const response = await visit(provider.answerTo(locationOf(started)));
    expect(locationOf(response)).toBe('/dashboard/org_b');
    // A person decided, so no rule takes it away.
    expect(await rolesOf(app)).toEqual([['org_b', 'owner', 0]]);
    const again = await enter(
      browser(app),
      { claims: { sub: 'bob', email: 'bob@acme.example' } },
      `?invitation=${token}`,
    );
    expect(again.status).toBe(403);
  });
});

describe('an address that has an account', () => {
  test('is linked after its password, once', async () => {
    const app = await appOf();
    await addAnn(app);
    const visit = browser(app);
    const response = await enter(visit, {}, '?to=/dashboard/org_a/posts');
    expect(locationOf(response)).toBe(CONFIRM);
    expect(await isIn(visit)).toBe(false);
    expect(await (await visit(CONFIRM)).text()).toContain(
      'Tidings already has an account for ann@acme.example',
    );
    const wrong = await visit(CONFIRM, form({ password: 'wrong' }));
    expect([wrong.status, await isIn(visit)]).toEqual([400, false]);
    expect(await valuesOf(app.db, 'select count(*) from identities')).toEqual([[0]]);
    const right = await visit(CONFIRM, form({ password: PASSWORD }));
    expect([right.status, locationOf(right), await isIn(visit)]).toEqual([
      303,
      '/dashboard/org_a/posts',
      true,
    ]);
    // Her role was given by a person, and a rule for members leaves it.
    expect(await rolesOf(app)).toEqual([['org_a', 'owner', 0]]);
    expect((await enter(browser(app))).headers.get('location')).toBe('/dashboard');
    // The step is over.
    expect((await browser(app)(CONFIRM)).status).toBe(400);
  });

  test('is linked with many memberships, which the next sign-in completes', async () => {
    const ids = Array.from({ length: 60 }, (_, index) => `org_${index}_${'x'.repeat(50)}`);
    const rules = ids.map((organization): Rule => ({ ...memberRule, organization }));
    const app = await appWithOrganization({
      identityProvider: provider.service(rules),
      organizations: ['org_a', ...ids],
    });
    await addAnn(app);
    const visit = browser(app);
    await enter(visit);
    expect((visit.jar.get('__Host-tidings_flow') ?? '').length).toBeLessThanOrEqual(4_000);
    await visit(CONFIRM, form({ password: PASSWORD }));
    await enter(browser(app));
    expect(await rolesOf(app)).toHaveLength(61);
  });

  test.each([
    [true, 'Sign in with a passkey, then'],
    [false, 'Ask the administrator of this server for a link that signs you in, then'],
  ])('and passkeys is not linked by the password alone (passwords: %s)', async (hasPasswords, advice) => {
    const app = await appOf([memberRule], { hasPasswords });
    const { id } = await addAnn(app);
    await execute(
      app.db,
      sql`insert into passkeys (id, user_id, name, public_key, counter, transports, created_at)
        values ('key', ${id}, 'Laptop', ${Buffer.alloc(1)}, 0, '', '2026-01-01')`,
    );
    const visit = browser(app);
    await enter(visit);
    const response = await visit(CONFIRM, form({ password: PASSWORD }));
    expect([response.status, await isIn(visit)]).toEqual([403, false]);
    expect(await response.text()).toContain(advice);
    expect(await valuesOf(app.db, 'select count(*) from identities')).toEqual([[0]]);
  });

  test('limits guesses as the sign-in does', async () => {
    const app = await appOf();
    await addAnn(app);
    const visit = browser(app);
    await enter(visit);
    const said: number[] = [];
    for (let guess = 0; guess < 6; guess++)
      said.push((await visit(CONFIRM, form({ password: `no ${guess}` }))).status);
    expect(said).toEqual([400, 400, 400, 400, 400, 429]);
  });

  test('another browser cannot confirm, and not after ten minutes', async () => {
    const app = await appOf();
    await addAnn(app);
    const visit = browser(app);
    await enter(visit);
    expect((await browser(app)(CONFIRM, form({ password: PASSWORD }))).status).toBe(400);
    app.clock.advance(600_001);
    expect((await visit(CONFIRM, form({ password: PASSWORD }))).status).toBe(400);
    expect(await valuesOf(app.db, 'select count(*) from identities')).toEqual([[0]]);
  });
});

describe('an account of a person who is signed in', () => {
  async function linked(app: TestApp) {
    const { cookie, user } = await signedIn(app, {
      organizationId: 'org_a',
      email: 'annie@elsewhere.example',
    });
    await setPassword(app, user);
    const visit = browser(app, cookie);
    const started = await visit(`${START}/link`);
    const answer = await visit(provider.answerTo(locationOf(started)));
    return { visit, user, answer };
  }

  test('is linked after its password, with any address, and unlinked again', async () => {
    const app = await appOf([]);
    const { visit, answer, user } = await linked(app);
    expect(locationOf(answer)).toBe(CONFIRM);
    expect(locationOf(await visit(CONFIRM, form({ password: PASSWORD })))).toBe(ACCOUNT);
    const other = browser(app);
    await enter(other);
    expect(await (await other(ACCOUNT)).text()).toContain('You are signed in as annie@elsewhere.example');
    const page = await (await visit(ACCOUNT)).text();
    expect(page).toContain('ann@acme.example');
    const key = { issuer: provider.issuer, subject: 'ann' };
    expect((await visit(`${ACCOUNT}/identities/unlink`, form(key))).status).toBe(303);
    // Sessions that began with it end, and it signs nobody in.
    expect([await isIn(visit), await isIn(other)]).toEqual([true, false]);
    expect((await enter(browser(app))).status).toBe(403);
    expect((await auditOf(app)).filter((each) => each.includes('linked'))).toEqual([
      'linked ann@acme.example of Acme SSO',
      'unlinked their account of the identity provider',
    ]);
    expect(user.email).toBe('annie@elsewhere.example');
  });

  test('needs its password where it has one', async () => {
    const app = await appOf([]);
    const { visit } = await linked(app);
    expect((await visit(`${CONFIRM}/link`, form())).status).toBe(403);
    expect(await valuesOf(app.db, 'select count(*) from identities')).toEqual([[0]]);
  });

  test('is not taken from another account', async () => {
    const app = await appOf();
    await enter(browser(app));
    const { answer } = await linked(app);
    expect(answer.status).toBe(409);
    expect(await answer.text()).toContain(
      'This account of Acme SSO already signs in as another person of Tidings.',
    );
  });

  test('stays linked when it is the only way in', async () => {
    const app = await appOf();
    const visit = browser(app);
    await enter(visit);
    const key = { issuer: provider.issuer, subject: 'ann' };
    expect((await visit(`${ACCOUNT}/identities/unlink`, form(key))).status).toBe(409);
    expect(await valuesOf(app.db, 'select count(*) from identities')).toEqual([[1]]);
  });
});

describe('rules', () => {
  const owners: Rule = { organization: 'org_b', role: 'owner', claim: 'groups', value: 'leads' };
  const groups = (...names: string[]) => ({ claims: { groups: names } });

  test('give and take what they gave, at each sign-in', async () => {
    const app = await appOf([memberRule, owners]);
    await signedIn(app, { organizationId: 'org_b' });
    const roles = async (...names: string[]) => {
      await enter(browser(app), groups(...names));
      return rolesOf(app);
    };
    expect(await roles()).toEqual([['org_a', 'member', 1]]);
    expect(await roles('leads')).toEqual([
      ['org_a', 'member', 1],
      ['org_b', 'owner', 1],
    ]);
    const link = tokenIn(await invite(app.deps, 'org_b', 'owner'));
    expect(await roles('others')).toEqual([['org_a', 'member', 1]]);
    // She may have kept a link that an owner makes.
    expect((await visitor(app)(`/dashboard/~/invitation?token=${link}`)).status).toBe(404);
    expect((await auditOf(app)).at(-2)).toBe(
      'removed ann@acme.example, whom no rule of the identity provider lets in any more',
    );
  });

  test('leave the last owner, and what a person has decided', async () => {
    const app = await appOf([owners]);
    await enter(browser(app), groups('leads'));
    await enter(browser(app), groups());
    expect(await rolesOf(app)).toEqual([['org_b', 'owner', 1]]);
    const { user } = await signedIn(app, { organizationId: 'org_b' });
    const [[ann = ''] = []] = await valuesOf<[string]>(
      app.db,
      sql`select id from users where email = ${EMAIL}`,
    );
    await setRole({ ...app.deps, actor: { ...app.deps.actor, id: user.id } }, ann, 'org_b', 'member');
    await enter(browser(app), groups('leads'));
    expect(await rolesOf(app)).toEqual([['org_b', 'member', 0]]);
  });

  test('about an organization that does not exist give nothing, and let nobody in', async () => {
    const gone = { ...memberRule, organization: 'gone' };
    const app = await appOf([memberRule, gone]);
    await enter(browser(app));
    expect(await rolesOf(app)).toEqual([['org_a', 'member', 1]]);
    expect((await enter(browser(await appOf([gone])))).status).toBe(403);
  });

  test('give each of the roles, and the highest of several', async () => {
    const rule = (role: Rule['role'], value: string): Rule => ({ ...owners, role, value });
    const app = await appOf([rule('member', 'editors'), rule('writer', 'staff'), rule('owner', 'leads')]);
    await signedIn(app, { organizationId: 'org_b' });
    for (const [names, role] of [
      [['staff'], 'writer'],
      [['staff', 'editors'], 'member'],
      [['leads', 'staff'], 'owner'],
      [['staff'], 'writer'],
    ] as const) {
      await enter(browser(app), groups(...names));
      expect(await rolesOf(app)).toEqual([['org_b', role, 1]]);
    }
  });

  test.each<[email: string, isIn: boolean]>([
    ['ANN@ACME.Example', true],
    ['ann@acme.example.', false],
    ['ann@sub.acme.example', false],
    ['ann@evilacme.example', false],
    ['ann@acme.example.evil.example', false],
    ['ann@evil.example@acme.example', false],
    ['"ann@evil.example"@acme.example', false],
    ['ann@\u0430cme.example', false],
    ['ann@xn--cme-5cd.example', false],
    ['ann@acme\u3002example', false],
    ['ann@\uff41cme.example', false],
    ['acme.example', false],
  ])('about a domain decide on %s', async (email, isIn) => {
    const app = await appOf();
    expect((await enter(browser(app), { claims: { email } })).status).toBe(isIn ? 303 : 403);
    expect(await rolesOf(app, EMAIL)).toEqual(isIn ? [['org_a', 'member', 1]] : []);
  });

  test('compare a claim as a whole, and take no claim from anywhere else', async () => {
    const rule = (claim: string, value: string): Rule => ({ ...owners, role: 'member', claim, value });
    const app = await appOf([rule('groups', 'leads'), rule('__proto__', 'leads'), rule('toString', 'leads')]);
    let person = 0;
    const statusOf = async (claims: Record<string, unknown>) => {
      const sub = `person-${++person}`;
      provider.tell({ sub });
      const who = { sub, email: `${sub}@acme.example` };
      return (await enter(browser(app), { claims: { ...who, ...claims } })).status;
    };
    const own = (name: string, value: unknown) => JSON.parse(`{"${name}":${JSON.stringify(value)}}`);
    for (const groups of ['leads', ['staff', 'leads'], Array(20_000).fill('x').concat('leads')])
      expect(await statusOf({ groups })).toBe(303);
    expect(await statusOf(own('__proto__', 'leads'))).toBe(303);
    for (const groups of ['misleads', 'staff leads', 'Leads', [['leads']], { leads: true }, null, [], true])
      expect(await statusOf({ groups })).toBe(403);
    expect(await statusOf(own('__proto__', { groups: 'leads' }))).toBe(403);
  });

  test('about an address ask for one that is verified', async () => {
    const boss: Rule = { organization: 'org_b', role: 'owner', claim: 'email', value: 'Boss@acme.example' };
    const app = await appOf([memberRule, boss]);
    await enter(browser(app));
    // She enters another address at the provider, which has not verified it.
    await enter(browser(app), { claims: { email: 'boss@acme.example', email_verified: false } });
    expect(await rolesOf(app)).toEqual([]);
    await enter(browser(app), { claims: { email: 'BOSS@acme.example' } });
    expect(await rolesOf(app)).toEqual([
      ['org_a', 'member', 1],
      ['org_b', 'owner', 1],
    ]);
  });
});

describe('a hostile or broken answer signs nobody in:', () => {
  const REFUSED = 'The response of Acme SSO failed a security check, so you are not signed in.';
  const LOST = 'This sign-in has expired, was already used, or began in another browser.';

  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const unsigned = (alg: string) => (claims: Record<string, unknown>) => `${part({ alg })}.${part(claims)}.`;
  const withSecret = (secret: string) => (claims: Record<string, unknown>) => {
    const signed = `${part({ alg: 'HS256', kid: 'first' })}.${part(claims)}`;
    return `${signed}.${new Bun.CryptoHasher('sha256', secret).update(signed).digest('base64url')}`;
  };
  const withOwnKey = async (claims: Record<string, unknown>) => {
    const { publicKey, privateKey } = await generateKeyPair('RS256');
    const header = { alg: 'RS256', jwk: await exportJWK(publicKey), jku: 'https://evil.example/keys' };
    return new SignJWT(claims).setProtectedHeader(header).sign(privateKey);
  };
  const hashOf = (accessToken: string) =>
    new Bun.CryptoHasher('sha256').update(accessToken).digest().subarray(0, 16).toString('base64url');
  const seconds = () => Math.floor(Date.now() / 1000);
  const late = (by: number) => ({ iat: seconds() - 300 - by, exp: seconds() - by });

  test.each<[name: string, options: () => SignInOptions]>([
    ['an unsigned token', () => ({ idToken: unsigned('none') })],
    ['an unsigned token in other letters', () => ({ idToken: unsigned('nOnE') })],
    ['a token signed with the client secret', () => ({ idToken: withSecret(CLIENT.clientSecret) })],
    ['a token signed with the public key', () => ({ idToken: withSecret(provider.publicKey) })],
    ['a token that brings its key', () => ({ idToken: withOwnKey })],
    ['a token with another access token', () => ({ claims: { at_hash: hashOf('other') } })],
    [
      'a token for several clients that another asked for',
      () => ({ claims: { aud: ['tidings', 'other'], azp: 'other' } }),
    ],
    ['a token of another issuer', () => ({ claims: { iss: 'https://evil.example' } })],
    ['a token for another client', () => ({ claims: { aud: 'other' } })],
    ['a token for several clients that names none', () => ({ claims: { aud: ['tidings', 'other'] } })],
    ['a token that another client asked for', () => ({ claims: { azp: 'other' } })],
    ['a token of another sign-in', () => ({ claims: { nonce: 'other' } })],
    ['a token without a nonce', () => ({ claims: { nonce: undefined } })],
    ['a token that expired two minutes ago', () => ({ claims: late(120) })],
    ['a token without an end', () => ({ claims: { exp: undefined } })],
    ['a token without a person', () => ({ claims: { sub: undefined } })],
    ['a person with an endless ID', () => ({ claims: { sub: 'x'.repeat(256) } })],
    ['a person with half a character', () => ({ claims: { sub: 'ann\ud800' } })],
    ['a person with a zero byte', () => ({ claims: { sub: 'ann\u0000' } })],
    ['a token of an hour ago', () => ({ claims: { iat: seconds() - 3_600 } })],
    ['a token of the next hour', () => ({ claims: { iat: seconds() + 3_600, exp: seconds() + 7_200 } })],
    ['a token with an unknown key', () => ({ header: { kid: 'unknown' } })],
    ['a token that says nothing', () => ({ idToken: () => 'x.y.z' })],
    [
      'a changed token',
      () => ({
        idToken: async (claims) => `${(await provider.sign(claims)).slice(0, -20)}${'A'.repeat(20)}`,
      }),
    ],
  ])('%s', async (_, options) => {
    const app = await appOf();
    const before = await stateOf(app);
    const visit = browser(app);
    const response = await enter(visit, options());
    expect(response.status).toBe(400);
    expect(await response.text()).toContain(REFUSED);
    expect(await stateOf(app)).toEqual(before);
    expect(await isIn(visit)).toBe(false);
    const warned = app.logged.find(({ msg }) => msg === 'a sign-in through the identity provider failed');
    expect(warned?.cause).toBeString();
  });

  test('clocks may differ by a minute', async () => {
    expect((await enter(browser(await appOf()), { claims: late(45) })).status).toBe(303);
    const now = seconds();
    const early = { iat: now + 45, nbf: now + 45, exp: now + 345 };
    expect((await enter(browser(await appOf()), { claims: early })).status).toBe(303);
  });

  test('several audiences and the hash of the access token are fine where they are right', async () => {
    const claims = { aud: ['other', 'tidings'], azp: 'tidings', at_hash: hashOf('access') };
    expect((await enter(browser(await appOf()), { claims })).status).toBe(303);
  });

  test('a token that somebody signed with a key of their own', async () => {
    const app = await appOf();
    await provider.rotate('first', false);
    expect((await enter(browser(app))).status).toBe(400);
  });

  test('an answer of another issuer, or one that names none', async () => {
    const app = await appOf();
    for (const iss of ['https://evil.example', null]) {
      const visit = browser(app);
      const url = new URL(await answered(visit));
      if (iss === null) url.searchParams.delete('iss');
      else url.searchParams.set('iss', iss);
      const response = await visit(url.href);
      expect(response.status).toBe(400);
      expect(await response.text()).toContain(REFUSED);
    }
    expect(provider.requests.filter((each) => each.includes('token'))).toEqual([]);
  });

  test('an answer that says something twice, or brings a token by itself', async () => {
    const app = await appOf();
    for (const [name, value] of [
      ['code', 'other'],
      ['state', 'other'],
      ['iss', 'https://evil.example'],
      ['response', 'eyJ'],
      ['id_token', 'eyJ'],
    ] as const) {
      const visit = browser(app);
      const url = new URL(await answered(visit));
      url.searchParams.append(name, value);
      expect((await visit(url.href)).status).toBe(400);
      expect(await isIn(visit)).toBe(false);
    }
  });

  test('an issuer that is named where the provider does not promise it', async () => {
    provider.describe({ authorization_response_iss_parameter_supported: undefined });
    const visit = browser(await appOf());
    const url = new URL(await answered(visit));
    url.searchParams.set('iss', 'https://evil.example');
    expect((await visit(url.href)).status).toBe(400);
  });

  test('a second use of a code or a state', async () => {
    const app = await appOf();
    const visit = browser(app);
    const url = await answered(visit);
    const flow = visit.jar.get('__Host-tidings_flow') ?? '';
    expect((await visit(url)).status).toBe(303);
    // The same browser, with the cookie that it should have dropped.
    const again = browser(app, `__Host-tidings_flow=${flow}`);
    const response = await again(url);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain(LOST);
    // The code in another attempt.
    const other = browser(app);
    const next = new URL(await answered(other));
    next.searchParams.set('code', new URL(url).searchParams.get('code') ?? '');
    expect((await other(next.href)).status).toBe(400);
    expect(await isIn(other)).toBe(false);
  });

  test('an answer for another browser, a changed state, and a late answer', async () => {
    const app = await appOf();
    const visit = browser(app);
    const url = await answered(visit);
    const tokens = () => provider.requests.filter((each) => each.includes('token')).length;
    expect((await browser(app)(url)).status).toBe(400);
    const other = browser(app);
    await other(START);
    expect((await other(url)).status).toBe(400);
    app.clock.advance(600_001);
    const response = await visit(url);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain(LOST);
    expect(tokens()).toBe(0);
  });

  test('two tabs at once each come back to their page', async () => {
    const app = await appOf();
    const visit = browser(app);
    const pages = ['/dashboard/org_a/posts', '/dashboard/org_a/settings', '/dashboard/org_a/keys'];
    const urls: string[] = [];
    for (const to of pages) urls.push(await answered(visit, {}, `?to=${to}`));
    const back: string[] = [];
    for (const url of [urls[1], urls[2], urls[0]]) back.push(locationOf(await visit(url ?? '')));
    expect(back).toEqual([pages[1] ?? '', pages[2] ?? '', pages[0] ?? '']);
    expect(visit.jar.get('__Host-tidings_flow')).toBe('');
  });

  test('a browser that begins again and again, with long addresses, keeps what a cookie has room for', async () => {
    const app = await appOf();
    const visit = browser(app);
    const long = `/dashboard/org_a/posts?q=${'x'.repeat(1_900)}`;
    for (let tab = 0; tab < 12; tab++) await answered(visit, {}, `?to=${encodeURIComponent(long)}`);
    expect((visit.jar.get('__Host-tidings_flow') ?? '').length).toBeLessThanOrEqual(4_000);
    expect(locationOf(await enter(visit, {}, `?to=${encodeURIComponent(long)}`))).toBe('/dashboard');
  });

  test('a refusal of the provider', async () => {
    const visit = browser(await appOf());
    const url = new URL(await answered(visit));
    url.searchParams.delete('code');
    url.searchParams.set('error', 'access_denied');
    url.searchParams.set('error_description', '<script>alert(1)</script>');
    const page = await (await visit(url.href)).text();
    expect(page).toContain('Acme SSO did not sign you in: you canceled, or you may not use Tidings.');
    expect(page).not.toContain('alert(1)');
  });

  test('returns beyond a bound for each client', async () => {
    const visit = browser(await appOf());
    const said: number[] = [];
    for (let attempt = 0; attempt < 31; attempt++)
      said.push((await enter(visit, { claims: { aud: 'x' } })).status);
    expect([said.slice(0, 30).every((status) => status === 400), said[30]]).toEqual([true, 429]);
  });
});

describe('keys that the provider changed', () => {
  test('are asked for when a token needs them', async () => {
    const app = await appOf();
    await enter(browser(app));
    await provider.rotate('second');
    // The library may have asked a moment ago. A fresh process, or five seconds later, asks again.
    const next = await appWithOrganization({
      db: app.db,
      identityProvider: provider.service(),
      organizations: [],
    });
    expect((await enter(browser(next))).status).toBe(303);
  });
});

describe('a provider that is away or describes itself badly', () => {
  const AWAY = 'Acme SSO does not respond as it should. Try again in a minute.';
  const WELL_KNOWN = '/.well-known/openid-configuration';

  test.each<[name: string, prepare: () => void]>([
    ['fails', () => void provider.answers.set(WELL_KNOWN, () => new Response('', { status: 500 }))],
    ['says it is another issuer', () => provider.describe({ issuer: 'https://evil.example' })],
    [
      'redirects',
      () => void provider.answers.set(WELL_KNOWN, () => Response.redirect(`${provider.issuer}/keys`)),
    ],
    ['sends no JSON', () => void provider.answers.set(WELL_KNOWN, () => new Response('<html>'))],
    [
      'sends two megabytes',
      () => void provider.answers.set(WELL_KNOWN, () => Response.json('x'.repeat(2 ** 21))),
    ],
    [
      'has a page over plain http',
      () => provider.describe({ authorization_endpoint: 'http://evil.example/' }),
    ],
    [
      'has a page that is a script',
      () => provider.describe({ authorization_endpoint: 'javascript:alert(1)' }),
    ],
  ])('that %s is reported in plain words, and asked again', async (_, prepare) => {
    prepare();
    const visit = browser(await appOf());
    const response = await visit(START);
    expect(response.status).toBe(502);
    const page = await response.text();
    expect(page).toContain(AWAY);
    // The password still works.
    expect(page).toContain('Current password'.slice(8));
    provider.answers.clear();
    provider.describe({});
  });

  test('is asked again after a failure', async () => {
    const visit = browser(await appOf());
    provider.answers.set(WELL_KNOWN, () => new Response('', { status: 500 }));
    expect((await visit(START)).status).toBe(502);
    provider.answers.clear();
    expect((await visit(START)).status).toBe(303);
  });

  test.each(['token_endpoint', 'jwks_uri', 'userinfo_endpoint'])(
    'cannot lead %s inward',
    async (endpoint) => {
      let asked = 0;
      using inside = Bun.serve({
        hostname: '127.0.0.1',
        port: 0,
        fetch: () => {
          asked++;
          return Response.json({});
        },
      });
      for (const address of [
        `http://127.0.0.1:${inside.port}/x`,
        `http://localhost:${inside.port}/x`,
        'https://10.0.0.1/x',
      ]) {
        provider.describe({ [endpoint]: address });
        const rule: Rule = { ...memberRule, claim: 'groups', value: 'x' };
        const response = await enter(browser(await appOf([memberRule, rule])));
        expect(response.status).toBe(502);
      }
      expect(asked).toBe(0);
    },
  );

  /** Never ends. */
  const endless = () =>
    new Response(
      new ReadableStream({
        pull: (stream) => stream.enqueue(new Uint8Array(65_536).fill(32)),
      }),
      { headers: { 'content-type': 'application/json' } },
    );

  test.each([WELL_KNOWN, '/keys', '/token', '/userinfo'])('cannot send without end: %s', async (path) => {
    provider.answers.set(path, endless);
    const visit = browser(await appOf([{ ...memberRule, claim: 'groups', value: 'x' }]));
    const started = await visit(START);
    const response = started.status === 303 ? await visit(provider.answerTo(locationOf(started))) : started;
    expect(response.status).toBe(502);
  });

  test.each<[name: string, answer: () => Response]>([
    ['fail', () => new Response('', { status: 500 })],
    ['redirect', () => Response.redirect(`${provider.issuer}/other-keys`)],
    ['are no keys', () => Response.json({ keys: 'none' })],
  ])('whose keys %s is away, and asked again', async (_, answer) => {
    const app = await appOf();
    provider.answers.set('/keys', answer);
    const response = await enter(browser(app));
    expect([response.status, (await response.text()).includes(AWAY)]).toEqual([502, true]);
    const token = await provider.logoutToken();
    const send = () =>
      app.request(LOGOUT, { method: 'POST', body: new URLSearchParams({ logout_token: token }) });
    // It may send the token again.
    expect((await send()).status).toBe(503);
    provider.answers.clear();
    expect((await send()).status).toBe(200);
  });

  test('cannot redirect a request of the server', async () => {
    let asked = 0;
    using inside = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response(String(++asked)) });
    const app = await appOf();
    provider.answers.set('/token', () => Response.redirect(`http://127.0.0.1:${inside.port}/`, 307));
    expect((await enter(browser(app))).status).toBe(502);
    expect(asked).toBe(0);
  });
});

describe('signing out', () => {
  test('offers to sign out at the provider too', async () => {
    const app = await appOf();
    const visit = browser(app);
    await enter(visit);
    const page = await (await visit('/dashboard/~/sign-out', form())).text();
    const [, link = ''] = /href="(http[^"]*\/sign-out\?[^"]*)"/.exec(page) ?? [];
    const url = new URL(link.replaceAll('&amp;', '&'));
    expect(url.origin).toBe(provider.issuer);
    expect(url.searchParams.get('post_logout_redirect_uri')).toBe(`https://tidings.test${SIGN_IN}`);
    expect(url.searchParams.get('id_token_hint')).toStartWith('eyJ');
    expect(await isIn(visit)).toBe(false);
    expect(await valuesOf(app.db, 'select count(*) from provider_sessions')).toEqual([[0]]);
  });

  test('of a session with a password, or where the provider offers none, leads to the sign-in page', async () => {
    const app = await appOf();
    const { cookie } = await signedIn(app, { organizationId: 'org_a' });
    expect(locationOf(await browser(app, cookie)('/dashboard/~/sign-out', form()))).toBe(SIGN_IN);
    provider.describe({ end_session_endpoint: undefined });
    const other = await appOf();
    const visit = browser(other);
    await enter(visit);
    expect(locationOf(await visit('/dashboard/~/sign-out', form()))).toBe(SIGN_IN);
    expect(await isIn(visit)).toBe(false);
  });
});

describe('a logout token of the provider', () => {
  /** Sends it as the provider's server does. */
  const send = (app: TestApp, token: string) =>
    app.request(LOGOUT, { method: 'POST', body: new URLSearchParams({ logout_token: token }) });

  test('ends the sessions of the person at once, and no other', async () => {
    const app = await appOf();
    const [one, two, other] = [browser(app), browser(app), browser(app)];
    await enter(one);
    await enter(two, { claims: { sid: 'session-2' } });
    await enter(other, { claims: { sub: 'bob', email: 'bob@acme.example' } });
    const response = await send(app, await provider.logoutToken());
    expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect([await isIn(one), await isIn(two), await isIn(other)]).toEqual([false, false, true]);
    expect((await auditOf(app)).at(-1)).toBe(
      'signed out ann@acme.example, because the identity provider ended the session',
    );
  });

  test('with a session ends that one alone', async () => {
    const app = await appOf();
    const [one, two] = [browser(app), browser(app)];
    await enter(one);
    await enter(two, { claims: { sid: 'session-2' } });
    expect((await send(app, await provider.logoutToken({ sub: undefined, sid: 'session-2' }))).status).toBe(
      200,
    );
    expect([await isIn(one), await isIn(two)]).toEqual([true, false]);
  });

  const EVENT = 'http://schemas.openid.net/event/backchannel-logout';
  const minutesAgo = (minutes: number) => Math.floor(Date.now() / 1000) - minutes * 60;

  test.each<[name: string, make: () => Promise<string> | string]>([
    ['an ID token', () => provider.sign({ ...provider.claims(), jti: 'x' })],
    ['one with a nonce', () => provider.logoutToken({ nonce: 'x' })],
    ['one for another client', () => provider.logoutToken({ aud: 'other' })],
    ['one of another issuer', () => provider.logoutToken({ iss: 'https://evil.example' })],
    ['one without an ID', () => provider.logoutToken({ jti: undefined })],
    ['one without its time', () => provider.logoutToken({ iat: undefined })],
    ['an old one', () => provider.logoutToken({ iat: minutesAgo(12), exp: undefined })],
    ['one that has ended', () => provider.logoutToken({ exp: minutesAgo(2) })],
    ['one with an event that says nothing', () => provider.logoutToken({ events: { [EVENT]: true } })],
    ['one whose events are a list', () => provider.logoutToken({ events: [EVENT] })],
    ['one with an endless ID', () => provider.logoutToken({ jti: 'x'.repeat(256) })],
    ['one of the next hour', () => provider.logoutToken({ iat: minutesAgo(-60), exp: minutesAgo(-70) })],
    ['one about another event', () => provider.logoutToken({ events: { 'http://x.example': {} } })],
    ['one without events', () => provider.logoutToken({ events: undefined })],
    ['one about nobody', () => provider.logoutToken({ sub: undefined })],
    ['one with an unknown key', () => provider.logoutToken({}, { kid: 'unknown' })],
    [
      'an unsigned one',
      async () => {
        const [, body] = (await provider.logoutToken()).split('.');
        return `${Buffer.from('{"alg":"none"}').toString('base64url')}.${body}.`;
      },
    ],
    ['no token', () => ''],
  ])('is refused: %s', async (_, make) => {
    const app = await appOf();
    const visit = browser(app);
    await enter(visit);
    const response = await send(app, await make());
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: 'invalid_request' });
    expect(await isIn(visit)).toBe(true);
  });

  test('works once', async () => {
    const app = await appOf();
    const visit = browser(app);
    await enter(visit);
    const token = await provider.logoutToken();
    expect((await send(app, token)).status).toBe(200);
    await enter(visit);
    expect((await send(app, token)).status).toBe(400);
    expect(await isIn(visit)).toBe(true);
  });
});

describe('without passwords', () => {
  const app = () => appOf([memberRule], { hasPasswords: false });

  test('nobody signs in with one, chooses one, or makes a link for one', async () => {
    const world = await app();
    await addAnn(world);
    const visit = visitor(world);
    const page = await (await visit(SIGN_IN)).text();
    expect(page).toContain('Continue with Acme SSO');
    expect(page).not.toContain('type="password"');
    expect((await visit(SIGN_IN, form({ email: EMAIL, password: PASSWORD }))).status).toBe(403);
    const owner = await signedIn(world, { organizationId: 'org_a' });
    expect(await (await owner(ACCOUNT)).text()).not.toContain('type="password"');
    const change = form({ current: PASSWORD, password: 'quiet orange ladder wind' });
    expect((await owner(`${ACCOUNT}/password`, change)).status).toBe(403);
    const [[ann = ''] = []] = await valuesOf<[string]>(
      world.db,
      sql`select id from users where email = ${EMAIL}`,
    );
    const members = '/dashboard/org_a/settings/members';
    expect((await owner(`${members}/${ann}/password-link`, form())).status).toBe(403);
    expect(await (await owner(members)).text()).not.toContain('Reset password');
    const token = tokenIn(await invite(world.deps, 'org_a', 'member'));
    const invitation = form({ token, email: 'new@acme.example', password: 'quiet orange ladder wind' });
    expect((await visit('/dashboard/~/invitation', invitation)).status).toBe(403);
    expect(await valuesOf(world.db, "select count(*) from users where email = 'new@acme.example'")).toEqual([
      [0],
    ]);
  });

  test('a start ends the sessions that did not begin at the provider', async () => {
    const world = await app();
    const visit = browser(world);
    await enter(visit);
    const owner = await signedIn(world, { organizationId: 'org_a', email: 'owner@acme.example' });
    await endOtherSessions({ ...world.deps, identityProvider: provider.service() });
    expect((await owner(ACCOUNT)).status).toBe(200);
    await endOtherSessions(world.deps);
    expect([(await owner(ACCOUNT)).status, await isIn(visit)]).toEqual([303, true]);
    expect((await auditOf(world)).at(-1)).toBe(
      'signed out owner@acme.example, because passwords were turned off',
    );
    // Not again and again.
    const before = await auditOf(world);
    await endOtherSessions(world.deps);
    expect(await auditOf(world)).toEqual(before);
  });

  test('a link of the command line signs the last owner in, once, although the provider is away', async () => {
    const world = await app();
    await addAnn(world);
    provider[Symbol.dispose]();
    const { path } = await createPasswordLink(world.deps, EMAIL);
    const visit = browser(world);
    expect(await (await visit(path)).text()).toContain('This link signs you in once');
    const token = tokenIn(path);
    // Not to choose a password.
    const choose = form({ token, password: 'quiet orange ladder wind' });
    expect((await visit('/dashboard/~/password', choose)).status).toBe(403);
    const response = await visit('/dashboard/~/password/sign-in', form({ token }));
    expect([response.status, await isIn(visit)]).toEqual([303, true]);
    expect((await browser(world)('/dashboard/~/password/sign-in', form({ token }))).status).toBe(404);
    expect((await auditOf(world)).at(-1)).toBe('signed in by a one-time link');
  });

  test('who signed in a moment ago by a link may link an account, and later not', async () => {
    const world = await appOf([], { hasPasswords: false });
    await addAnn(world);
    const linkAfter = async (ms: number) => {
      const visit = browser(world);
      const token = tokenIn((await createPasswordLink(world.deps, EMAIL)).path);
      await visit('/dashboard/~/password/sign-in', form({ token }));
      const started = await visit(`${START}/link`);
      await visit(provider.answerTo(locationOf(started)));
      expect(await (await visit(CONFIRM)).text()).not.toContain('type="password"');
      world.clock.advance(ms);
      return (await visit(`${CONFIRM}/link`, form())).status;
    };
    expect(await linkAfter(599_999)).toBe(303);
    expect((await enter(browser(world))).status).toBe(303);
    await execute(world.db, 'delete from identities');
    // The cookie of the step has ended by then.
    expect(await linkAfter(600_000)).toBe(400);
    expect(await valuesOf(world.db, 'select count(*) from identities')).toEqual([[0]]);
  });

  test('a link of an owner does not sign in, nor does one where passwords work', async () => {
    const world = await app();
    await addAnn(world);
    const { path } = await createPasswordLink(world.deps, EMAIL);
    await execute(world.db, "update one_time_links set organization_id = 'org_a'");
    const token = tokenIn(path);
    expect((await visitor(world)('/dashboard/~/password/sign-in', form({ token }))).status).toBe(404);
    const usual = await appOf();
    await addAnn(usual);
    const other = tokenIn((await createPasswordLink(usual.deps, EMAIL)).path);
    expect((await visitor(usual)('/dashboard/~/password/sign-in', form({ token: other }))).status).toBe(404);
    expect(cookieOf(await visitor(usual)(SIGN_IN))).toBeUndefined();
  });
});
