import { describe, expect, test } from 'bun:test';
import { h } from 'preact';
import { createHandler } from '../../src/dashboard/handle.ts';
import { get, view } from '../../src/dashboard/page.ts';
import { pages } from '../../src/dashboard/routes.ts';
import { UploadBudget } from '../../src/http/request.ts';
import { createGuard } from '../../src/people/guard.ts';
import { isHarmed, signedIn, visitor } from '../support/dashboard.ts';
import { appWithOrganization } from '../support/test-app.ts';

async function owned() {
  const app = await appWithOrganization();
  return { app, owner: await signedIn(app, { organizationId: 'org_a' }) };
}

const inside = ['', '/', '//', '/nothing', '/posts/', '/%', '/%00', '/settings/keys/create', '/*'].map(
  (rest) => `/dashboard/org_a${rest}`,
);
const outside = [
  '//',
  '//x',
  '/~',
  '/~/',
  '/~/nothing',
  '/~/sign-in/',
  '/~/style-old.css',
  '/~/%00/x/y',
  '/%7E/account',
  '/%00',
  '/%00/posts',
  '/%',
  '/%E0%A4%A/posts',
  '/a%2Fb',
  '/__proto__',
  '/constructor/posts',
  '/:organizationId',
  '/*',
  `/${'x'.repeat(300)}`,
  `/${'x'.repeat(300)}/posts`,
  `/${'%F0%9F%9A%80'.repeat(300)}/settings`,
  '/<script>alert(1)</script>/posts',
].map((rest) => `/dashboard${rest}`);

describe('a path that leads nowhere', () => {
  test.each([...inside.slice(1), ...outside])('%s is a page for who is signed in', async (path) => {
    const { app, owner } = await owned();
    for (const method of ['GET', 'HEAD']) {
      const response = await owner(path, { method });
      expect([response.status, response.headers.get('content-type')]).toEqual([
        404,
        'text/html; charset=utf-8',
      ]);
      const html = await response.text();
      if (method === 'HEAD') expect(html).toBe('');
      else expect(html).toContain('<h1>Not found</h1>');
      expect(isHarmed(html)).toBe(false);
      if (method === 'GET') expect(html.includes('aria-label="Dashboard"')).toBe(inside.includes(path));
    }
    expect(JSON.stringify(app.logged)).not.toContain('request failed');
  });

  test.each([...inside, ...outside])('%s asks a stranger who they are', async (path) => {
    const { app } = await owned();
    const response = await visitor(app)(path);
    expect(response.status).toBe(303);
    expect(response.headers.get('location')).toStartWith('/dashboard/~/sign-in?to=%2Fdashboard%2F');
  });

  test('with a slash too many is the way in', async () => {
    const { app, owner } = await owned();
    for (const visit of [owner, visitor(app)]) {
      const response = await visit('/dashboard/');
      expect([response.status, response.headers.get('location')]).toEqual([303, '/dashboard']);
    }
  });
});

// Any text in place of an id.
describe('an id that cannot be one is a page:', () => {
  const withIds = pages.filter(({ method, path }) => method === 'GET' && /:(?!organizationId)/.test(path));

  test.each(withIds.map(({ path }) => path))('%s', async (pattern) => {
    const { app, owner } = await owned();
    for (const odd of [
      '%00',
      '%',
      '%E0%A4',
      '__proto__',
      'x'.repeat(300),
      '%F0%9F%9A%80',
      "'--",
      '*',
      '..%2F',
    ]) {
      const path = pattern.replace(':organizationId', 'org_a').replaceAll(/:\w+/g, odd);
      const response = await owner(path);
      expect([path, response.status, response.headers.get('content-type')]).toEqual([
        path,
        404,
        'text/html; charset=utf-8',
      ]);
    }
    expect(JSON.stringify(app.logged)).not.toContain('request failed');
  });
});

const nothing = () => Promise.reject(new Error('nobody asks'));

describe('an internal error is a page that says only where to look for it:', () => {
  const failing = {
    'its handler': () => Promise.reject(new Error('secret')),
    'its view': async () =>
      view(
        { title: 'Fails' },
        h(() => {
          throw new Error('secret');
        }, {}),
      ),
  };

  test.each(Object.entries(failing))('%s', async (_, handle) => {
    const { app, owner } = await owned();
    const page = get('/dashboard/:organizationId/fails', 'member', handle);
    const deps = {
      ...app.deps,
      compose: nothing,
      self: nothing,
      peerAddress: () => null,
      clientIpHeader: undefined,
      uploadBudget: new UploadBudget(1024),
    };
    const handler = createHandler(deps, createGuard(app.deps));
    const request = new Request('http://localhost/dashboard/org_a/fails', {
      headers: { cookie: owner.cookie },
    });
    const response = await handler(page)({ request, params: { organizationId: 'org_a' } });
    const html = await response.text();
    expect([response.status, response.headers.get('content-type')]).toEqual([
      500,
      'text/html; charset=utf-8',
    ]);
    expect(html).toContain('Tidings failed to process the request. Look for ');
    expect(html).not.toContain('secret');
    expect(JSON.stringify(app.logged)).toContain('request failed');
  });
});
