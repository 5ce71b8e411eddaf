import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { DAY_MS } from '../../src/lib/time.ts';
import { sweepFiles } from '../../src/posts/media/service.ts';
import { form, signedIn, type Visit } from '../support/dashboard.ts';
import { execute, valuesOf } from '../support/database.ts';
import { imageFixture, scriptUploadOf, type TestMedia, testMedia, uploadOf } from '../support/media.ts';
import { appWithOrganization, PUBLIC_URL, type TestApp } from '../support/test-app.ts';

describe.each(['folder', 'bucket'] as const)('images in a %s', (kind) => {
  let media: TestMedia;
  let app: TestApp;
  let visit: Visit;

  beforeEach(async () => {
    media = testMedia(kind, 10_000);
    app = await appWithOrganization({ media: media.place, organizations: ['org_a', 'org_b'] });
    visit = await signedIn(app, { organizationId: 'org_a', role: 'member' });
  });
  afterEach(() => media[Symbol.dispose]());

  const upload = async (name = 'photo.png') => {
    const response = await visit('/dashboard/org_a/media', scriptUploadOf(name, imageFixture(name)));
    const text = await response.text();
    if (!response.ok) throw new Error(`the upload was refused with ${response.status}: ${text}`);
    return JSON.parse(text) as { id: string; alt: string; path: string; markdown: string };
  };
  const stored = async () => (await media.place.files.list()).map(({ name }) => name).sort();
  const addressOf = ({ markdown }: { markdown: string }) =>
    /\((.*)\)/.exec(markdown)?.[1]?.replace(PUBLIC_URL, '') ?? '';

  test('an upload is stored without metadata, and everybody can read it', async () => {
    const image = await upload('photo.jpg');
    expect(image).toEqual({
      id: 'img_2',
      alt: 'photo',
      path: '/media/img_2.jpg',
      markdown: `![photo](${PUBLIC_URL}/media/img_2.jpg)`,
    });
    const response = await app.request('/media/img_2.jpg');
    expect(response.status).toBe(200);
    const bytes = Buffer.from(await response.bytes());
    expect(bytes.includes('Secret Person')).toBe(false);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'image/jpeg',
      'content-length': String(bytes.length),
      'cache-control': 'public, max-age=31536000, immutable',
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
      etag: '"img_2"',
    });
    expect(
      await valuesOf(app.db, sql`select organization_id, type, bytes, width, height, name, alt from media`),
    ).toEqual([['org_a', 'image/jpeg', bytes.length, 40, 24, 'photo.jpg', 'photo']]);
  });

  test('a client asks for the headers, for what it has, and for a part', async () => {
    const path = addressOf(await upload());
    const whole = await (await app.request(path)).bytes();
    const ask = (headers: Record<string, string>, method = 'GET') =>
      app.fetch(new Request(`http://localhost${path}`, { method, headers }));
    const head = await ask({}, 'HEAD');
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([
      200,
      String(whole.length),
      '',
    ]);
    expect(head.headers.get('cross-origin-resource-policy')).toBe('cross-origin');
    const etag = head.headers.get('etag') ?? '';
    expect((await ask({ 'if-none-match': etag })).status).toBe(304);
    const part = await ask({ range: 'bytes=1-3' });
    expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes 1-3/${whole.length}`]);
    expect(await part.text()).toBe('PNG');
    expect(await (await ask({ range: 'bytes=-4' })).bytes()).toEqual(whole.slice(-4));
    expect((await ask({ range: 'bytes=99999-' })).status).toBe(416);
    expect((await ask({ range: 'bytes=1-3', 'if-range': '"other"' })).status).toBe(200);
  });

  test('other paths below /media are not found', async () => {
    await upload();
    await media.place.files.write('logo.png', Buffer.from('x'));
    for (const name of [
      'img_2.jpg',
      'img_9.png',
      'logo.png',
      '..%2Ftidings.db',
      '%2e%2e%2fsecret.key',
      'img_2.png%00',
      'x',
    ]) {
      const response = await app.fetch(new Request(`http://localhost/media/${name}`));
      expect(response.status).toBe(404);
      expect(await response.json()).toEqual({ error: 'Not found' });
    }
  });

  test('the same image is stored once for an organization, and apart for another', async () => {
    const first = await upload();
    expect((await upload()).id).toBe(first.id);
    expect(await stored()).toHaveLength(1);
    const other = await signedIn(app, { organizationId: 'org_b' });
    await other('/dashboard/org_b/media', scriptUploadOf('photo.png', imageFixture('photo.png')));
    expect(await stored()).toHaveLength(2);
  });

  test('an image over the quota is refused, and nothing is stored', async () => {
    await upload('photo.png');
    await upload('anim.gif');
    const big = await visit(
      '/dashboard/org_a/media',
      scriptUploadOf('big.gif', Buffer.concat([withComment(imageFixture('anim.gif'))])),
    );
    // Without its comment it is the same image.
    expect(big.status).toBe(200);
    media = Object.assign(media, { place: Object.assign(media.place, { quotaBytes: 6_000 }) });
    const response = await visit(
      '/dashboard/org_a/media',
      scriptUploadOf('photo.avif', imageFixture('photo.avif')),
    );
    expect(response.status).toBe(413);
    expect(((await response.json()) as { error: string }).error).toContain('MB of images. Delete some first');
    expect(await stored()).toHaveLength(2);
  });

  test('a failed commit leaves neither a row nor a file', async () => {
    await execute(app.db, sql`alter table media rename to media_away`);
    expect(
      (await visit('/dashboard/org_a/media', uploadOf('photo.png', imageFixture('photo.png')))).status,
    ).toBe(500);
    await execute(app.db, sql`alter table media_away rename to media`);
    expect(await stored()).toEqual([]);
  });

  test('a file without a row goes after a day', async () => {
    await upload();
    await media.place.files.write('img_lost.png', Buffer.from('x'));
    await media.place.files.write('notes.txt', Buffer.from('x'));
    // The bucket may hold other images too.
    await media.place.files.write('logo.png', Buffer.from('x'));
    app.clock.set(new Date(Date.now() + DAY_MS / 2).toISOString());
    expect(await sweepFiles(app.deps, app.clock.now())).toBe(kind === 'bucket' ? 1 : 0);
    app.clock.set(new Date(Date.now() + 2 * DAY_MS).toISOString());
    await sweepFiles(app.deps, app.clock.now());
    expect(await stored()).toEqual(['img_2.png', 'logo.png', 'notes.txt']);
  });

  test('a person changes the description, and deletes the image', async () => {
    const image = await upload();
    await app.addPosts('org_a', { title: 'With <b>it</b>', markdown: `See\n\n${image.markdown}` });
    const path = `/dashboard/org_a/media/${image.id}`;
    expect((await visit(path, form({ alt: 'A [quiet] engine' }))).status).toBe(303);
    const page = await (await visit(path)).text();
    expect(page).toContain(`![A \\[quiet\\] engine](${PUBLIC_URL}/media/${image.id}.png)`);
    expect(page).toContain('With &lt;b>it&lt;/b>');
    expect(page).toContain('1 post will show a gap in its place.');
    expect((await visit(path, form({ alt: 'x'.repeat(501) }))).status).toBe(400);
    expect((await visit(`${path}/delete`, form())).status).toBe(303);
    expect(await stored()).toEqual([]);
    expect((await app.request(addressOf(image))).status).toBe(404);
    expect(
      await valuesOf(app.db, sql`select action, summary from audit_events where action = 'image.deleted'`),
    ).toEqual([['image.deleted', 'deleted the image “photo.png”']]);
  });

  test('the script changes the description, and gets the new Markdown', async () => {
    const { id } = await upload();
    const path = `/dashboard/org_a/media/${id}`;
    const send = async (alt: string) => {
      const headers = { accept: 'application/json' };
      const response = await visit(path, { ...form({ alt }), headers });
      return [response.status, await response.json()];
    };
    expect(await send('An [engine]')).toEqual([
      200,
      {
        alt: 'An [engine]',
        path: `/media/${id}.png`,
        markdown: `![An \\[engine\\]](${PUBLIC_URL}/media/${id}.png)`,
      },
    ]);
    expect(await send('x'.repeat(501))).toEqual([400, { error: expect.any(String) }]);
    expect(await valuesOf(app.db, sql`select alt from media`)).toEqual([['An [engine]']]);
  });

  test("another organization's images are out of reach", async () => {
    const image = await upload();
    const stranger = await signedIn(app, { organizationId: 'org_b' });
    for (const [path, body] of [
      [`/dashboard/org_b/media/${image.id}`, undefined],
      [`/dashboard/org_b/media/${image.id}`, form({ alt: 'x' })],
      [`/dashboard/org_b/media/${image.id}/delete`, form()],
      [`/dashboard/org_a/media`, undefined],
      [`/dashboard/org_a/media`, uploadOf('photo.png', imageFixture('photo.png'))],
    ] as const) {
      expect((await stranger(path, body)).status).toBe(404);
    }
    expect(await (await stranger('/dashboard/org_b/media')).text()).not.toContain('photo.png');
    expect(await stored()).toHaveLength(1);
  });
});

/** A GIF with a comment that makes it another file. */
function withComment(gif: Buffer): Buffer<ArrayBuffer> {
  const comment = Buffer.concat([Buffer.from([0x21, 0xfe, 5]), Buffer.from('hello'), Buffer.from([0])]);
  return Buffer.concat([gif.subarray(0, -1), comment, gif.subarray(-1)]);
}

describe('the page', () => {
  let media: TestMedia;
  let app: TestApp;
  let visit: Visit;

  beforeEach(async () => {
    media = testMedia();
    app = await appWithOrganization({ media: media.place });
    visit = await signedIn(app, { organizationId: 'org_a', role: 'member' });
  });
  afterEach(() => media[Symbol.dispose]());

  test('a form uploads without a script, and shows its error', async () => {
    const response = await visit(
      '/dashboard/org_a/media',
      uploadOf('photo.webp', imageFixture('photo.webp'), 'An engine'),
    );
    expect(response.headers.get('location')).toBe('/dashboard/org_a/media/img_2');
    const list = await (await visit('/dashboard/org_a/media')).text();
    expect(list).toContain(`![An engine](${PUBLIC_URL}/media/img_2.webp)`);
    expect(list).toContain('<img src="/media/img_2.webp" alt="An engine" width="40" height="24"');
    for (const [name, bytes, status, words] of [
      ['x.svg', Buffer.from('<svg/>'), 400, 'The file is not a PNG, JPEG, GIF, WebP or AVIF image.'],
      ['cut.png', imageFixture('photo.png').subarray(0, 500), 400, 'The image is damaged'],
      ['none', Buffer.alloc(0), 400, 'Choose an image to upload.'],
      ['big.png', Buffer.alloc(11 * 1024 * 1024), 413, 'The image is larger than 10 MB.'],
    ] as const) {
      const refused = await visit('/dashboard/org_a/media', uploadOf(name, bytes));
      expect(refused.status).toBe(status);
      expect(await refused.text()).toContain(words);
    }
    expect(await media.place.files.list()).toHaveLength(1);
  });

  test.each([
    ['--y', 'y'],
    ['--y', '"y"'],
    ['--y', 'y; boundary=z'],
  ])('a form with 51 parts after %s is refused, with the boundary %s', async (start, boundary) => {
    for (const end of ['\r\n', '\n']) {
      const part = [start, 'Content-Disposition: form-data; name="alt"', '', 'x', ''].join(end);
      const response = await visit('/dashboard/org_a/media', {
        method: 'POST',
        body: `${part.repeat(51)}--y--${end}`,
        headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
      });
      expect([response.status, await response.text()]).toEqual([
        413,
        expect.stringContaining('The form has more than 50 fields. Nothing was saved.'),
      ]);
    }
  });

  test('other bodies, other sites and strangers are refused', async () => {
    expect((await visit('/dashboard/org_a/media', form({ alt: 'x' }))).status).toBe(415);
    const upload = uploadOf('photo.png', imageFixture('photo.png'));
    const elsewhere = { ...upload, headers: { 'sec-fetch-site': 'cross-site' } };
    expect((await visit('/dashboard/org_a/media', elsewhere)).status).toBe(403);
    const broken = {
      method: 'POST',
      body: 'x',
      headers: { 'content-type': 'multipart/form-data; boundary=y' },
    };
    expect((await visit('/dashboard/org_a/media', broken)).status).toBe(400);
    const signedOut = await app.request('/dashboard/org_a/media', {
      ...upload,
      headers: { 'sec-fetch-site': 'same-origin' },
    });
    expect(signedOut.status).toBe(401);
    expect(await media.place.files.list()).toEqual([]);
  });

  test('a preview shows our own images, and links to others', async () => {
    const markdown = `![Ours](${PUBLIC_URL}/media/img_1.png "Title")\n\n![Theirs](https://other.example/media/img_1.png)\n\n![Short](/media/img_1.gif)\n\n![Bad](/dashboard/org_a)`;
    const html = await (
      await visit('/dashboard/org_a/posts/~/preview', form({ markdown, contentType: 'changelog' }))
    ).text();
    expect(html).toContain('<img src="/media/img_1.png" alt="Ours" title="Title" loading="lazy" />');
    expect(html).toContain('<img src="/media/img_1.gif" alt="Short" loading="lazy" />');
    expect(html).toContain(
      '<a href="https://other.example/media/img_1.png" rel="noopener nofollow">Theirs</a>',
    );
    expect(html.match(/<img/g)).toHaveLength(2);
  });

  test('without a place for images it says what to do, and uploads are off', async () => {
    const place = { files: null, whyOff: 'Set MEDIA_DIR', quotaBytes: 1 };
    const other = await appWithOrganization({ media: place });
    const person = await signedIn(other, { organizationId: 'org_a' });
    expect(await (await person('/dashboard/org_a/media')).text()).toContain('Set MEDIA_DIR.');
    const refused = await person(
      '/dashboard/org_a/media',
      scriptUploadOf('photo.png', imageFixture('photo.png')),
    );
    expect([refused.status, await refused.json()]).toEqual([503, { error: 'Set MEDIA_DIR.' }]);
    expect((await other.request('/media/img_1.png')).status).toBe(404);
    expect(await (await person('/dashboard/org_a/posts/~/new')).text()).not.toContain('data-images=');
  });
});
