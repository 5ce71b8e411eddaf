import { describe, expect, test } from 'bun:test';
import { Elysia } from 'elysia';
import { deferred } from '../../src/http/deferred.ts';
import { type MatchedRoute, UploadBudget, withRequestHandling } from '../../src/http/request.ts';
import { plainText } from '../../src/http/respond.ts';
import { createTestApp } from '../support/test-app.ts';

/** An app with one feature below `/late`, whose load the test controls. */
function appWithFeature(load: () => Promise<unknown>) {
  const { deps, logged } = createTestApp();
  const matched: MatchedRoute = { current: { route: null } };
  const uploadBudget = new UploadBudget(30 * 1024 * 1024);
  const context = { log: deps.log, matched, uploadBudget };
  let loads = 0;
  const feature = deferred(context, ['/late', '/late/*'], async () => {
    loads++;
    await load();
    const late = new Elysia()
      .get('/late', () => plainText('top'))
      .get('/late/:id', ({ params }) => plainText(params.id))
      .post('/late/:id', async ({ request }) => plainText(await request.text()), { parse: 'none' });
    return [late];
  });
  const soon = deferred(context, ['/soon/*'], async () => [
    new Elysia().get('/soon/:id', ({ params }) => plainText(params.id)),
  ]);
  const dispatch = (request: Request) =>
    (feature.owns(new URL(request.url).pathname) ? feature : soon).fetch(request);
  const fetch = withRequestHandling(dispatch, { ...deps, matched, findRepeated: () => null });
  return {
    logged,
    waitingBytes: () => uploadBudget.bytes,
    loads: () => loads,
    load: feature.load,
    request: async (path: string, init?: RequestInit) => fetch(new Request(`http://localhost${path}`, init)),
    async counted(): Promise<string[]> {
      const text = await deps.metrics.registry.render();
      return Array.from(
        text.matchAll(/^tidings_http_requests_total\{(.*)\} \d+$/gm),
        ([, labels = '']) => labels,
      );
    },
  };
}

describe('a deferred feature', () => {
  test('loads at its first request, once for all that come meanwhile', async () => {
    const ready = Promise.withResolvers<void>();
    const app = appWithFeature(() => ready.promise);
    expect(await (await app.request('/soon/a')).text()).toBe('a');
    expect(app.loads()).toBe(0);
    const responses = ['/late', '/late/a', '/late/b'].map((path) => app.request(path));
    expect(await (await app.request('/soon/b')).text()).toBe('b');
    ready.resolve();
    const texts = (await Promise.all(responses)).map((response) => response.text());
    expect(await Promise.all(texts)).toEqual(['top', 'a', 'b']);
    expect(await (await app.request('/late/c', { method: 'POST', body: 'sent' })).text()).toBe('sent');
    expect(app.loads()).toBe(1);
  });

  test('holds a bounded amount of bodies while it loads', async () => {
    const ready = Promise.withResolvers<void>();
    const app = appWithFeature(() => ready.promise);
    const post = (headers: Record<string, string>) =>
      app.request('/late/a', { method: 'POST', body: 'sent', headers });
    const sized = post({ 'content-length': '4' });
    const unsized = [post({ 'transfer-encoding': 'chunked' }), post({ 'transfer-encoding': 'chunked' })];
    const refused = await Promise.race(unsized);
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(await refused.json()).toEqual({ error: 'Too many uploads' });
    expect(app.waitingBytes()).toBe(4 + 25 * 1024 * 1024);
    ready.resolve();
    expect(await (await sized).text()).toBe('sent');
    expect((await Promise.all(unsized)).map(({ status }) => status).sort()).toEqual([200, 503]);
    expect(app.waitingBytes()).toBe(0);
  });

  test('may load before its first request', async () => {
    const app = appWithFeature(async () => undefined);
    const [early] = await Promise.all([app.load(), app.request('/late')]);
    expect(early.routes.length).toBeGreaterThan(0);
    expect(await (await app.request('/late/a')).text()).toBe('a');
    expect(app.loads()).toBe(1);
  });

  test('counts each request by its own route, from the first', async () => {
    const ready = Promise.withResolvers<void>();
    const app = appWithFeature(() => ready.promise);
    const responses = ['/late', '/late/a', '/late/a/b'].map((path) => app.request(path));
    await app.request('/soon/a');
    ready.resolve();
    await Promise.all(responses);
    expect(await app.counted()).toEqual([
      'route="/soon/{id}",method="GET",status="200"',
      'route="/late",method="GET",status="200"',
      'route="/late/{id}",method="GET",status="200"',
      'route="none",method="GET",status="404"',
    ]);
  });

  test('has its own 404 and 405, and HEAD like GET', async () => {
    const app = appWithFeature(async () => undefined);
    const statusOf = async (path: string, method: string) => {
      const { status, headers } = await app.request(path, { method });
      return [status, headers.get('allow')];
    };
    expect(await statusOf('/late/', 'GET')).toEqual([404, null]);
    expect(await statusOf('/late/a/b', 'GET')).toEqual([404, null]);
    expect(await statusOf('/late', 'POST')).toEqual([405, 'GET, HEAD']);
    expect(await statusOf('/late/a', 'PUT')).toEqual([405, 'GET, HEAD, POST']);
    for (const path of ['/late', '/late/abc']) {
      const head = await app.request(path, { method: 'HEAD' });
      expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '3', '']);
    }
  });

  test('that cannot be loaded is 503, and the next request tries again', async () => {
    let isBroken = true;
    const app = appWithFeature(async () => {
      if (isBroken) throw new Error('out of file descriptors');
    });
    const refused = await app.request('/late');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await refused.json()).toEqual({ error: 'This part of Tidings could not be loaded' });
    expect(app.logged.find(({ msg }) => msg === 'request failed')).toMatchObject({
      err: { cause: { message: 'out of file descriptors' } },
    });
    isBroken = false;
    expect(await (await app.request('/late')).text()).toBe('top');
    expect(app.loads()).toBe(2);
  });
});
