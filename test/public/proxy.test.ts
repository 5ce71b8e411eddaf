import { afterAll, expect, test } from 'bun:test';
import { appWithPage, attributesOf } from '../support/public-page.ts';

// A team's own domain: a proxy that puts `/changelog/acme` in front of each path, as nginx and Caddy do.

async function behindProxy(prefix: string) {
  const { app, change } = await appWithPage();
  const proxy = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch(request) {
      const { pathname, search } = new URL(request.url);
      if (!pathname.startsWith(prefix)) return new Response('another site', { status: 404 });
      const path = `/changelog/acme${pathname.slice(prefix.length)}${search}`;
      return app.fetch(new Request(`http://tidings.internal${path}`, request));
    },
  });
  afterAll(() => proxy.stop(true));
  const address = `${proxy.url.origin}${prefix}`;
  await change({ address, isFeedOn: true });
  await app.addPosts('org_acme', ...Array.from({ length: 11 }, (_, at) => ({ id: `p${at}` })));
  await app.addPosts('org_acme', { id: 'old', createdAt: '2025-12-24T00:00:00.000Z' });
  return { address };
}

test.each(['', '/changes'])('every link leads back to the proxy at "%s/", and works', async (prefix) => {
  const { address } = await behindProxy(prefix);
  const seen = new Map<string, number>();
  const queue = [
    address,
    `${address}/`,
    `${address}/sitemap.xml`,
    `${address}/llms.txt`,
    `${address}/?q=text`,
  ];
  for (let url = queue.pop(); url !== undefined; url = queue.pop()) {
    if (seen.has(url)) continue;
    const response = await fetch(url);
    seen.set(url, response.status);
    const text = await response.text();
    expect(text, url).not.toMatch(/tidings\.test|tidings\.internal|"\/changelog/);
    const links = [
      ...['href', 'src', 'action'].flatMap((name) => attributesOf(text, name)),
      ...[...text.matchAll(/<loc>([^<]*)|\]\(([^)]*)\)/g)].map(([, loc, link]) => loc ?? link ?? ''),
    ];
    // Feeds and previews have tests of their own.
    queue.push(...links.filter((link) => !/^#|\/feed\.|card\.png/.test(link)));
  }
  const failed = [...seen].filter(([, status]) => status !== 200);
  expect(failed).toEqual([]);
  const paths = seen.keys().map((url) => url.slice(address.length));
  expect([...paths]).toEqual(
    expect.arrayContaining(['', '/p0', '/p10.md', '?page=2', '/index.md', '/archive/2026-01', '/icon.svg']),
  );
  const home = await fetch(address);
  expect(home.headers.get('content-security-policy')).toContain(`form-action ${new URL(address).origin};`);
  expect(await home.text()).toContain(`<link rel="canonical" href="${address}"/>`);
});
