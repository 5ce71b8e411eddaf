import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { createTrigger } from '../../src/drafting/triggers/service.ts';
import { insertRepository, updateIntegration } from '../../src/integrations/store.ts';
import { imageAccess, sealToken } from '../../src/integrations/token.ts';
import type { Connected } from '../../src/integrations/words.ts';
import { isPublicAddress } from '../../src/lib/public-fetch.ts';
import { copyImages } from '../../src/posts/media/copies.ts';
import { queueCopies } from '../../src/posts/media/store.ts';
import { imagePlace } from '../../src/providers/github/provider.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { signedIn } from '../support/dashboard.ts';
import { execute, valuesOf } from '../support/database.ts';
import { appWithGithub, githubRequest } from '../support/deliveries.ts';
import { postsOf, runAll } from '../support/drafts.ts';
import { type ImageHost, startImageHost } from '../support/image-host.ts';
import { imageFixture, type TestMedia, testMedia } from '../support/media.ts';
import { changed } from '../support/payloads.ts';
import { PUBLIC_URL, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

let app: TestApp;
let connected: Connected;
let host: ImageHost;
let media: TestMedia;

const releaseTrigger = {
  event: 'release',
  contentType: 'changelog',
  bodyTemplate: '{{ release.notes }}',
} as const;

beforeEach(async () => {
  media = testMedia();
  host = startImageHost();
  ({ app, connected } = await appWithGithub({ media: media.place }));
  const { integrationId } = connected;
  await createTrigger(app.deps, { integrationId, ...releaseTrigger });
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

test('a draft waits for a minute after a failure at most, and then links to the original', async () => {
  host.answers.set('/photo.png', [() => new Response('later', { status: 503 })]);
  await release(`![A](${host.at('/photo.png')})`);
  await copy();
  app.clock.advance(59_000);
  await runAll(app);
  expect(await postsOf(app)).toEqual([]);
  app.clock.advance(2_000);
  await runAll(app);
  expect(await textOf()).toContain(host.at('/photo.png'));
});

test('a draft waits longer for an image whose turn has not come', async () => {
  await release(`![A](${host.at('/photo.png')})`);
  app.clock.advance(14 * 60_000);
  await runAll(app);
  expect(await postsOf(app)).toEqual([]);
  app.clock.advance(61_000);
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

test('a store that is away once is tried again', async () => {
  const { files } = media.place;
  const write = files.write.bind(files);
  files.write = async () => {
    files.write = write;
    throw new Error('The disk is full');
  };
  await release(`![A](${host.at('/photo.png')})`);
  await copy();
  expect(await copies()).toEqual([
    [host.at('/photo.png'), 'queued', 1, 'Images are not available right now'],
  ]);
  app.clock.advance(2_000);
  await copy();
  expect((await copies())[0]?.[1]).toBe('done');
  await runAll(app);
  expect(await textOf()).not.toContain('images.example');
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

describe('several downloads', () => {
  /** Queues images of this host for an organization. */
  const queue = (organizationId: string, ...paths: string[]) =>
    app.db.write((tx) =>
      queueCopies(
        tx,
        { integrationId: `int_${organizationId}`, organizationId },
        paths.map((path) => host.at(path)),
        app.clock.now(),
      ),
    );
  const requested = (count: number) =>
    until(
      async () => host.requests.length,
      (requests) => requests >= count,
    );
  const many = (name: string, count: number) => Array.from({ length: count }, (_, n) => `/${name}${n}.png`);

  test('an organization with many images takes half of the places', async () => {
    for (const id of ['org_b', 'org_c', 'org_d', 'org_e', 'org_f']) await app.addOrganization(id);
    const paths = many('a', 20);
    for (const path of [...paths, '/b.png', '/c.png', '/d.png', '/e.png', '/f.png']) {
      host.answers.set(path, [() => new Response(imageFixture('photo.png'))]);
    }
    await queue('org_a', ...paths);
    app.clock.advance(1_000);
    for (const id of 'bcdef') await queue(`org_${id}`, `/${id}.png`);
    expect(await copy()).toBe(25);
    const turns = host.requests.map((request) => request.replace('images.example/', '').charAt(0));
    // Those with one image each need not wait for all of the one with many.
    expect(new Set(turns)).toEqual(new Set('abcdef'));
    expect(turns.at(-1)).toBe('a');
  });

  test('an organization whose host is slow leaves room for others', async () => {
    await app.addOrganization('org_b');
    const stuck = Promise.withResolvers<Response>();
    for (const path of many('a', 10)) host.answers.set(path, [() => stuck.promise]);
    host.answers.set('/b.png', [() => new Response(imageFixture('photo.png'))]);
    await queue('org_a', ...many('a', 10));
    const abort = new AbortController();
    const copying = copyImages(app.deps, host.options, abort.signal);
    await requested(2);
    await queue('org_b', '/b.png');
    await until(copies, (rows) =>
      rows.some(([url, status]) => url === host.at('/b.png') && status === 'done'),
    );
    expect(host.requests.length).toBe(3);
    abort.abort();
    await copying;
  });

  test('a stop ends the downloads at once, and the next start repeats them', async () => {
    const stuck = Promise.withResolvers<Response>();
    host.answers.set('/a.png', [() => stuck.promise, () => new Response(imageFixture('photo.png'))]);
    await queue('org_a', '/a.png');
    const abort = new AbortController();
    const copying = copyImages(app.deps, host.options, abort.signal);
    await requested(1);
    abort.abort();
    await copying;
    expect(await copies()).toEqual([[host.at('/a.png'), 'queued', 0, null]]);
    await copy();
    expect(await copies()).toEqual([[host.at('/a.png'), 'done', 0, null]]);
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

describe("the integration's token", () => {
  const ASSET = '/user-attachments/assets/0f1e2d3c-0000-4000-8000-0123456789ab';

  /** An app whose GitHub is the image host, with a token and two repositories. */
  async function withToken() {
    const providerUrls = { github: `${new URL(host.at('/')).origin}/api/v3` };
    ({ app, connected } = await appWithGithub({ media: media.place, providerUrls }));
    const { integrationId } = connected;
    await createTrigger(app.deps, { integrationId, ...releaseTrigger });
    const token = sealToken(app.deps, integrationId, 'secret');
    const repository = { providerId: null, createdAt: app.clock.now().toISOString() };
    await app.db.write(async (tx) => {
      await updateIntegration(tx, integrationId, { token });
      await insertRepository(tx, { ...repository, id: 'repo_b', integrationId, fullName: 'acme/private' });
    });
  }
  const copyWithToken = () =>
    copy({
      accessOf: ({ integrationId, url }: Record<'integrationId' | 'url', string>) =>
        imageAccess(app.deps, integrationId, url),
    });
  const answer = (path: string, to?: string) =>
    host.answers.set(path, [
      () => (to === undefined ? new Response(imageFixture('photo.png')) : Response.redirect(to)),
    ]);

  beforeEach(withToken);

  test('is sent for attachments and for the repository of the event, and never to another host', async () => {
    answer(ASSET, host.at('/photo.png', 'storage.example'));
    answer('/Acme/Rocket/raw/main/a.png', host.at('/acme/rocket/raw/b.png'));
    answer('/acme/rocket/raw/b.png');
    await release(`![A](${host.at(ASSET)}) ![B](${host.at('/Acme/Rocket/raw/main/a.png')})`);
    await copyWithToken();
    expect(host.requests.sort()).toEqual([
      'images.example/Acme/Rocket/raw/main/a.png Bearer secret',
      'images.example/acme/rocket/raw/b.png Bearer secret',
      `images.example${ASSET} Bearer secret`,
      'storage.example/photo.png',
    ]);
  });

  test('reads no image of another repository, which stays a link', async () => {
    const paths = [
      '/acme/private/raw/main/a.png',
      '/acme/unconnected/raw/main/a.png',
      '/user-attachments/files/1/a.png',
      '/acme/rocket/..%2Fprivate/a.png',
      '/acme/rocket/../private/a.png',
      '/avatar.png',
    ];
    for (const path of paths) answer(path);
    // The other repository's own notes have copied the image.
    await app.db.write((tx) =>
      queueCopies(
        tx,
        { integrationId: connected.integrationId, organizationId: 'org_a' },
        [host.at(paths[0] ?? '')],
        app.clock.now(),
      ),
    );
    await copyWithToken();
    host.requests.length = 0;
    await release(paths.map((path) => `![A](${host.at(path)})`).join('\n\n'));
    expect(await copyWithToken()).toBe(0);
    expect(host.requests).toEqual([]);
    await runAll(app);
    expect(await textOf()).toContain(`![A](${host.at('/acme/private/raw/main/a.png')})`);
    expect(await textOf()).not.toContain('/media/');
  });

  test('does not follow a redirect into a repository', async () => {
    answer('/elsewhere.png', host.at('/acme/private/raw/main/a.png'));
    answer('/acme/rocket/raw/a.png', host.at('/acme/private/raw/main/b.png'));
    for (const name of 'abc') answer(`/acme/private/raw/main/${name}.png`);
    answer(ASSET, host.at('/acme/private/raw/main/c.png'));
    await release(
      `![A](${host.at('/elsewhere.png', 'storage.example')}) ![B](${host.at('/acme/rocket/raw/a.png')}) ![C](${host.at(ASSET)})`,
    );
    await copyWithToken();
    expect(host.requests.filter((request) => request.includes('private')).sort()).toEqual([
      'images.example/acme/private/raw/main/a.png',
      'images.example/acme/private/raw/main/b.png',
      'images.example/acme/private/raw/main/c.png',
    ]);
  });

  test('is not sent for a repository that was removed since', async () => {
    answer('/acme/rocket/raw/a.png');
    await release(`![A](${host.at('/acme/rocket/raw/a.png')})`);
    await execute(
      app.db,
      "update repositories set full_name = 'acme/renamed' where full_name = 'acme/rocket'",
    );
    await copyWithToken();
    expect(host.requests).toEqual(['images.example/acme/rocket/raw/a.png']);
  });
});

test.each([
  ['https://github.com/user-attachments/assets/0f1e2d3c-0000-4000-8000-0123456789ab', 'attachments'],
  ['https://github.com/user-attachments/files/123/a.png', 'user-attachments/files'],
  ['https://github.com/Acme/Rocket/assets/1/2', 'acme/rocket'],
  ['https://raw.githubusercontent.com/acme/rocket/main/a.png', 'acme/rocket'],
  ['https://github.com/acme/rocket/%2e%2e/private/a.png', 'acme/private'],
  ['https://github.com/acme/rocket/..%2fprivate/a.png', ''],
  ['https://github.com//acme/rocket/a.png', ''],
  ['https://private-user-images.githubusercontent.com/1.png?jwt=x', null],
  ['https://github.com.evil.example/acme/rocket/x', null],
  ['https://evil.example/github.com/acme/rocket', null],
  ['https://github.com:8443/acme/rocket/x', null],
  ['http://github.com/acme/rocket/x', null],
])('%s is in %p', (address, place) => {
  expect(imagePlace(new URL(address))).toBe(place);
});

test.each([
  ['https://api.sub.ghe.com', 'https://sub.ghe.com/acme/rocket/assets/1', 'acme/rocket'],
  ['https://git.example/api/v3', 'https://git.example/acme/rocket/raw/a.png', 'acme/rocket'],
  ['https://git.example/api/v3', 'https://github.com/acme/rocket/raw/a.png', null],
])('with the API %s, %s is in %p', (apiUrl, address, place) => {
  expect(imagePlace(new URL(address), apiUrl)).toBe(place);
});
