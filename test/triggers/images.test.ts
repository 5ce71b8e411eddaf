import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import type { Connected } from '../../src/integrations/model.ts';
import { isPublicAddress } from '../../src/lib/public-fetch.ts';
import { copyImages } from '../../src/media/copies.ts';
import { providerOf, samplePayload } from '../../src/providers/index.ts';
import { createTrigger } from '../../src/triggers/service.ts';
import { signedIn } from '../support/dashboard.ts';
import { valuesOf } from '../support/database.ts';
import { appWithGithub, githubRequest } from '../support/deliveries.ts';
import { postsOf, runAll } from '../support/drafts.ts';
import { type ImageHost, startImageHost } from '../support/image-host.ts';
import { type TestMedia, testMedia } from '../support/media.ts';
import { changed } from '../support/payloads.ts';
import { PUBLIC_URL, type TestApp } from '../support/test-app.ts';

let app: TestApp;
let connected: Connected;
let host: ImageHost;
let media: TestMedia;

beforeEach(async () => {
  media = testMedia();
  host = startImageHost();
  ({ app, connected } = await appWithGithub({ media: media.place }));
  const { integrationId } = connected;
  await createTrigger(app.deps, {
    integrationId,
    event: 'release',
    contentType: 'changelog',
    bodyTemplate: '{{ release.notes }}',
  });
});
afterEach(() => {
  host[Symbol.dispose]();
  media[Symbol.dispose]();
});

/** A release with these notes arrives. */
async function release(body: string, action = 'published', updatedAt = '2026-11-20T11:59:00Z') {
  const sample = samplePayload('github', 'release', { repository: 'acme/rocket', now: app.clock.now() });
  const payload = changed(sample ?? {}, { action, 'release.body': body, 'release.updated_at': updatedAt });
  expect((await app.request(...githubRequest(connected, payload, { event: 'release' }))).status).toBe(200);
}

const copy = (options = {}) => copyImages(app.deps, { ...host.options, ...options });
const copies = () =>
  valuesOf(app.db, sql`select url, status, attempts, error from media_copies order by url`);
const textOf = async () => (await postsOf(app)).map(({ markdown }) => markdown).join();

test('a draft shows copies of the images, under our own addresses', async () => {
  await release(`New:\n\n![A](${host.at('/photo.jpg')})\n\n<img src="${host.at('/photo.png')}" alt="B">`);
  await runAll(app);
  // It waits for the copies.
  expect(await postsOf(app)).toEqual([]);
  expect(await copy()).toBe(2);
  app.clock.advance(1_000);
  await runAll(app);
  const rows = await valuesOf<[string, string]>(app.db, sql`select id, type from media order by type`);
  const [[jpeg = ''] = [], [png = ''] = []] = rows;
  const text = await textOf();
  expect(text).toContain(`![A](${PUBLIC_URL}/media/${jpeg}.jpg)`);
  expect(text).toContain(`${PUBLIC_URL}/media/${png}.png`);
  expect(text).not.toContain('images.example');
  expect((await app.request(`/media/${jpeg}.jpg`)).status).toBe(200);
  // The same event again makes the same draft, and copies nothing.
  await release(`New:\n\n![A](${host.at('/photo.jpg')})\n\n<img src="${host.at('/photo.png')}" alt="B">`);
  expect(await copy()).toBe(0);
  await runAll(app);
  expect(await textOf()).toBe(text);
});

test('a draft waits for a minute at most, and then links to the original', async () => {
  await release(`![A](${host.at('/photo.png')})`);
  app.clock.advance(59_000);
  await runAll(app);
  expect(await postsOf(app)).toEqual([]);
  app.clock.advance(2_000);
  await runAll(app);
  expect(await textOf()).toContain(host.at('/photo.png'));
});

test('a clock that is set back delays neither copies nor drafts', async () => {
  app.clock.advance(3_600_000);
  await release(`![A](${host.at('/photo.png')})`);
  app.clock.advance(-3_600_000);
  await runAll(app);
  expect(await postsOf(app)).toHaveLength(1);
  expect(await copy()).toBe(1);
  expect((await copies())[0]?.[1]).toBe('done');
});

test('an address too long for an index of PostgreSQL is left out', async () => {
  const letters = Array.from({ length: 1_900 }, (_, n) =>
    String.fromCodePoint(0x4e00 + ((n * 7_919) % 20_000)),
  );
  await release(`<img src="${host.at(`/${letters.join('')}`)}">`);
  expect(await copies()).toEqual([]);
});

test('a failure is retried, and an image that stays away is named on the page of the post', async () => {
  host.answers.set('/flaky.png', [
    () => new Response('busy', { status: 503 }),
    () => Response.redirect(host.at('/photo.png', 'storage.example')),
  ]);
  host.answers.set('/gone.png', [() => new Response('expired', { status: 403 })]);
  await release(`![A](${host.at('/flaky.png')}) ![B](${host.at('/gone.png')})`);
  await copy();
  for (const waitMs of [2_000, 8_000, 20_000, 60_000, 120_000]) {
    app.clock.advance(waitMs);
    await copy();
  }
  expect(await copies()).toEqual([
    [host.at('/flaky.png'), 'done', 1, null],
    [host.at('/gone.png'), 'failed', 6, 'images.example answered with status 403'],
  ]);
  await runAll(app);
  const [post] = await postsOf(app);
  const visit = await signedIn(app, { organizationId: 'org_a' });
  const page = await (await visit(`/dashboard/org_a/posts/${post?.id}`)).text();
  expect(page).toContain('1 image could not be copied.');
  expect(page).toContain('images.example answered with status 403');
  // A replay tries once more.
  await release(`![B](${host.at('/gone.png')})`, 'edited', '2026-11-20T12:30:00Z');
  expect((await copies())[1]).toEqual([host.at('/gone.png'), 'queued', 0, null]);
});

describe('images that are refused at once', () => {
  test.each([
    [
      'a name of the own network',
      () => host.at('/photo.png', 'inside.example'),
      'not on the public internet',
    ],
    ['a private address', () => 'http://127.0.0.1:9/photo.png', 'not on the public internet'],
    ['plain http elsewhere', () => host.at('/photo.png', 'other.example'), 'not an https address'],
    ['a redirect inside', () => host.at('/inside.png'), 'not on the public internet'],
    ['a redirect to a file', () => host.at('/file.png'), 'not an http or https address'],
    ['a circle', () => host.at('/circle.png'), 'redirects too often'],
    ['no image', () => host.at('/page.png'), 'not a PNG, JPEG, GIF, WebP or AVIF image'],
    ['a huge body', () => host.at('/huge.png'), 'larger than 10 MB'],
    ['a body without an end', () => host.at('/endless.png'), 'larger than 10 MB'],
    ['a password in the address', () => 'https://a:b@images.example/x.png', 'contains a password'],
  ])('%s', async (_, address, reason) => {
    const answer = (path: string, response: () => Response) => host.answers.set(path, [response]);
    answer('/inside.png', () => Response.redirect(host.at('/photo.png', 'inside.example')));
    answer('/file.png', () => Response.redirect('file:///etc/passwd'));
    answer('/circle.png', () => Response.redirect(host.at('/circle.png')));
    answer('/page.png', () => new Response('<html>'));
    answer('/huge.png', () => new Response(new Uint8Array(11 * 1024 * 1024)));
    answer('/endless.png', () => new Response(endless()));
    await release(`![A](${address()})`);
    const isAllowed = address().includes('127.0.0.1') ? isPublicAddress : host.options.isAllowed;
    await copy({ isAllowed });
    const [[, status, attempts, error] = []] = await copies();
    expect({ status, attempts }).toEqual({ status: 'failed', attempts: 1 });
    expect(error).toContain(reason);
    expect(await media.place.files.list()).toEqual([]);
    expect(host.requests.filter((request) => request.startsWith('inside.example'))).toEqual([]);
  });

  test('a server that never answers ends after its time', async () => {
    host.answers.set('/slow.png', [() => Promise.withResolvers<Response>().promise]);
    await release(`![A](${host.at('/slow.png')})`);
    await copy({ timeoutMs: 50 });
    expect((await copies())[0]?.slice(1)).toEqual(['queued', 1, 'no response within 0.05 seconds']);
  });
});

function endless(): ReadableStream {
  return new ReadableStream({
    pull: (controller) => controller.enqueue(new Uint8Array(256 * 1024)),
  });
}

test('at most 20 images of an event are copied, and none that no trigger uses', async () => {
  const many = Array.from({ length: 30 }, (_, n) => `![${n}](${host.at(`/${n}.png`)})`).join('\n');
  await release(many);
  expect(await copies()).toHaveLength(20);
  const other = await appWithGithub({ media: media.place });
  const payload =
    samplePayload('github', 'release', { repository: 'acme/rocket', now: app.clock.now() }) ?? {};
  const body = changed(payload, { 'release.body': many });
  await other.app.request(...githubRequest(other.connected, body, { event: 'release' }));
  expect(await valuesOf(other.app.db, sql`select url from media_copies`)).toEqual([]);
});

test("the token goes to the provider's own hosts alone, also after a redirect", async () => {
  host.answers.set('/attachment', [() => Response.redirect(host.at('/photo.png', 'storage.example'))]);
  await release(`![A](${host.at('/attachment')})`);
  const accessOf =
    async () =>
    (url: URL): Record<string, string> =>
      url.hostname === 'images.example' ? { authorization: 'Bearer secret' } : {};
  await copy({ accessOf });
  expect(host.requests).toEqual(['images.example/attachment Bearer secret', 'storage.example/photo.png']);
  const access = (address: string) =>
    providerOf('github').api?.imageAccess(new URL(address), 'https://api.github.com', 't');
  expect(access('https://github.com/user-attachments/assets/1')).toEqual({ authorization: 'Bearer t' });
  for (const address of [
    'http://github.com/user-attachments/assets/1',
    'https://github.com.evil.example/x',
    'https://evil.example/github.com/x',
    'https://private-user-images.githubusercontent.com/1.png?jwt=x',
    'https://github.com:8443/x',
  ]) {
    expect(access(address)).toBe(null);
  }
});
