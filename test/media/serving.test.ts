import { afterEach, expect, test } from 'bun:test';
import { readdirSync, readlinkSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { addImage } from '../../src/posts/media/service.ts';
import { imageFixture, type TestMedia, testMedia } from '../support/media.ts';
import type { S3Fault } from '../support/s3-server.ts';
import { appWithOrganization } from '../support/test-app.ts';
import { until } from '../support/until.ts';

// Images while their storage fails.

let media: TestMedia;
afterEach(() => media[Symbol.dispose]());

async function withImage(kind: 'folder' | 'bucket') {
  media = testMedia(kind);
  const app = await appWithOrganization({ media: media.place });
  const image = { organizationId: 'org_a', name: 'a.png', bytes: imageFixture('photo.png') };
  const { id } = await addImage(app.deps, image);
  return { app, path: `/media/${id}.png` };
}

const faults: readonly S3Fault[] = ['denies', 'is unavailable', 'never answers'];

test.each(faults)('a bucket that %s: 503, and the cause in the log', async (fault) => {
  const { app, path } = await withImage('bucket');
  if (media.bucket !== null) media.bucket.fault = fault;
  for (const method of ['GET', 'HEAD']) {
    const response = await app.request(path, { method });
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('5');
    if (method === 'GET')
      expect(await response.json()).toEqual({ error: 'Images are not available right now' });
  }
  const lines = app.logged.filter(({ msg }) => msg === 'request failed');
  expect(lines).toHaveLength(2);
  expect(JSON.stringify(lines[0])).toMatch(/AccessDenied|SlowDown|no answer within|503/);
  if (media.bucket !== null) media.bucket.fault = null;
  expect((await app.request(path)).status).toBe(200);
});

test('a bucket that fails between the size and the content: 503', async () => {
  const { app, path } = await withImage('bucket');
  if (media.bucket !== null) media.bucket.fault = 'hangs up on downloads';
  expect((await app.request(path, { method: 'HEAD' })).status).toBe(200);
  expect((await app.request(path)).status).toBe(503);
});

test('an upload to a bucket that fails: 503, and nothing is stored', async () => {
  const { app } = await withImage('bucket');
  if (media.bucket !== null) media.bucket.fault = 'denies';
  const image = { organizationId: 'org_a', name: 'a.jpg', bytes: imageFixture('photo.jpg') };
  const refused = await addImage(app.deps, image).catch((error) => error);
  expect(refused).toMatchObject({ status: 503, headers: { 'retry-after': '5' } });
  expect(media.bucket?.objects.size).toBe(1);
});

test('a folder that cannot be read: 503; an unknown image: 404', async () => {
  const { app, path } = await withImage('folder');
  const folder = media.place.files.place;
  const [name = ''] = readdirSync(folder);
  rmSync(join(folder, name));
  expect((await app.request(path)).status).toBe(404);
  // Root may read every file, but follows no circle of links.
  symlinkSync(name, join(folder, name));
  const response = await app.request(path);
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5']);
});

test('a client that leaves before the first byte keeps no file open', async () => {
  await withImage('folder');
  const { files } = media.place;
  const [name = ''] = readdirSync(files.place);
  const open = async () =>
    readdirSync('/proc/self/fd').filter((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`).endsWith(name);
      } catch {
        return false;
      }
    }).length;
  const read = await Promise.all(Array.from({ length: 20 }, () => files.read(name)));
  expect(await open()).toBe(20);
  // The server does this with the body of a response that nobody takes.
  for (const chunks of read) await chunks[Symbol.asyncIterator]().return?.();
  await until(open, (count) => count === 0, 20_000);
});
