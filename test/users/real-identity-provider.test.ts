import { afterAll, beforeAll, expect, test } from 'bun:test';
import { systemClock } from '../../src/lib/time.ts';
import { identityProvider } from '../../src/people/oidc/provider.ts';
import { openTestDatabase, valuesOf } from '../support/database.ts';
import { REAL_CLIENT, startRealProvider } from '../support/real-identity-provider.ts';
import { appWithOrganization, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

// The whole way through a real OpenID provider over real HTTP: sign-in, its user info, sign-out from either side.

// Its database lives as long as the file.
const db = openTestDatabase();
let app: TestApp;
let provider: Awaited<ReturnType<typeof startRealProvider>>;
const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: (request) => app.fetch(request) });
const publicUrl = `http://127.0.0.1:${server.port}`;

beforeAll(async () => {
  provider = await startRealProvider(publicUrl);
  app = await appWithOrganization({
    db,
    publicUrl: () => publicUrl,
    identityProvider: identityProvider(
      {
        ...REAL_CLIENT,
        issuer: provider.issuer,
        name: 'Acme SSO',
        scopes: 'openid email groups',
        rules: [{ organization: 'org_a', role: 'owner', claim: 'groups', value: 'leads' }],
        hasPasswords: true,
      },
      { clock: systemClock },
    ),
  });
});
afterAll(async () => {
  provider[Symbol.dispose]();
  await server.stop(true);
});

/** A browser: it follows redirects, keeps the cookies of each site, and sends the forms of the provider. */
function browser() {
  const jars = new Map<string, Map<string, string>>();
  async function open(
    address: string,
    init: RequestInit = {},
  ): Promise<{ url: string; status: number; html: string }> {
    const { origin } = new URL(address);
    const jar = jars.get(origin) ?? new Map<string, string>();
    jars.set(origin, jar);
    const cookie = Array.from(jar, (pair) => pair.join('=')).join('; ');
    const response = await fetch(address, {
      ...init,
      redirect: 'manual',
      headers: { ...init.headers, cookie },
    });
    for (const set of response.headers.getSetCookie()) {
      const [pair = ''] = set.split(';');
      jar.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));
    }
    const location = response.headers.get('location');
    if (location !== null) return open(new URL(location, address).href);
    return { url: address, status: response.status, html: await response.text() };
  }
  const submit = (page: { url: string; html: string }, fields: Record<string, string> = {}) => {
    const [, action = ''] = /<form[^>]*action="([^"]+)"/.exec(page.html) ?? [];
    const hidden = Array.from(
      page.html.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g),
      ([, name = '', value = '']) => [name, value],
    );
    const body = new URLSearchParams([...hidden, ...Object.entries(fields)]);
    return open(new URL(action, page.url).href, { method: 'POST', body });
  };
  return {
    open,
    submit,
    /** Signs in at the provider and consents. */
    async enter(login: string) {
      let page = await open(`${publicUrl}/dashboard/~/oidc`);
      for (let step = 0; page.url.startsWith(provider.issuer) && step < 3; step++) {
        const isLogin = page.html.includes('name="login"');
        page = await submit(page, isLogin ? { login, password: 'any' } : {});
      }
      return page;
    },
    isIn: async () => (await open(`${publicUrl}/dashboard/~/account`)).url.endsWith('/account'),
  };
}

test('a person signs in with a role by the group that the provider tells of', async () => {
  const visit = browser();
  const page = await visit.enter('ann');
  expect([page.url, page.status]).toEqual([`${publicUrl}/dashboard/org_a/posts`, 200]);
  expect(await valuesOf(app.db, 'select organization_id, role, by_rule from memberships')).toEqual([
    ['org_a', 'owner', 1],
  ]);
});

test('a person whom no rule lets in stays out', async () => {
  const visit = browser();
  const page = await visit.enter('bob');
  expect(page.status).toBe(403);
  expect(page.html).toContain('as bob@other.example, but no rule of this server lets you in');
  expect(await visit.isIn()).toBe(false);
});

test('signing out here leads to the sign-out there, which leads back and ends the sessions of all browsers', async () => {
  const visit = browser();
  await visit.enter('ann');
  const signedOut = await visit.open(`${publicUrl}/dashboard/~/sign-out`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
  expect(signedOut.html).toContain('Sign out of Acme SSO too');
  expect(await visit.isIn()).toBe(false);
  // In again without a password there, because the person is still signed in at the provider.
  expect((await visit.enter('ann')).url).toBe(`${publicUrl}/dashboard/org_a/posts`);
  const [, link = ''] = /href="(http[^"]*session\/end[^"]*)"/.exec(signedOut.html) ?? [];
  const asked = await visit.open(link.replaceAll('&amp;', '&'));
  const back = await visit.submit(asked, { logout: 'yes' });
  expect(back.url.split('?')[0]).toBe(`${publicUrl}/dashboard/~/sign-in`);
  // The provider told the server of Tidings, which ended the second session too.
  await until(
    async () => provider.notices,
    ({ length }) => length > 0,
  );
  expect(provider.notices).toEqual(['told']);
  expect(await visit.isIn()).toBe(false);
});
