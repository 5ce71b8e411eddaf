import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLog } from '../../src/lib/log.ts';
import { addImage } from '../../src/posts/media/service.ts';
import { backupJobs } from '../../src/server/backup/job.ts';
import { readConfig } from '../../src/server/config.ts';
import { openServices } from '../../src/server/services.ts';
import { fillFolder } from '../support/backups.ts';
import { cli, cliJson, temporaryFolder } from '../support/cli.ts';
import { fixedClock } from '../support/clock.ts';
import { imageFixture } from '../support/media.ts';
import { startS3Server } from '../support/s3-server.ts';

let folder: ReturnType<typeof temporaryFolder>;
const dataDir = () => join(folder.path, 'data');
const file = () => join(folder.path, 'a.backup');
const imagesIn = (into: string) => {
  const media = join(into, 'media');
  return Object.fromEntries(readdirSync(media).map((name) => [name, readFileSync(join(media, name), 'hex')]));
};

async function upload(environment: Record<string, string> = {}): Promise<void> {
  const config = readConfig({}, { DATA_DIR: dataDir(), LOG_LEVEL: 'silent', ...environment });
  const services = await openServices(config);
  try {
    for (const name of ['photo.jpg', 'photo.png', 'anim.gif']) {
      await addImage(services, { organizationId: 'acme', name, bytes: imageFixture(name) });
    }
  } finally {
    await services.close();
  }
}

beforeEach(async () => {
  folder = temporaryFolder();
  await fillFolder(dataDir());
});
afterEach(() => folder.remove());

test('a backup holds the images, and a restore puts them back', async () => {
  await upload();
  const before = imagesIn(dataDir());
  expect(await cliJson(dataDir(), ['backup', file(), '--with-key'])).toMatchObject({
    images: { stored: 3, missing: 0, place: null },
  });
  const other = join(folder.path, 'other');
  const { stdout } = await cli(other, ['restore', file(), '--unverified']);
  expect(stdout).toMatch(/Images +3\n/);
  expect(imagesIn(other)).toEqual(before);
  const { checks } = (await cliJson(other, ['doctor', '--offline'])) as { checks: { name: string }[] };
  expect(checks.find(({ name }) => name === 'images')).toMatchObject({ status: 'ok' });
});

test('a restore leaves images that are there, and replaces a cut one', async () => {
  await upload();
  const before = imagesIn(dataDir());
  await cliJson(dataDir(), ['backup', file()]);
  const [first = ''] = Object.keys(before);
  writeFileSync(join(dataDir(), 'media', first), 'cut');
  await cliJson(dataDir(), ['restore', file(), '--force']);
  expect(imagesIn(dataDir())).toEqual(before);
});

test('a missing file is counted, by the backup and by the doctor', async () => {
  await upload();
  const [first = ''] = readdirSync(join(dataDir(), 'media')).sort();
  rmSync(join(dataDir(), 'media', first));
  expect(await cliJson(dataDir(), ['backup', file()])).toMatchObject({ images: { stored: 2, missing: 1 } });
  const { stdout } = await cli(dataDir(), ['doctor', '--offline', '--json']);
  const { checks } = JSON.parse(stdout) as { checks: { name: string; status: string; message: string }[] };
  expect(checks.find(({ name }) => name === 'images')).toMatchObject({
    status: 'failed',
    message: expect.stringContaining(`1 image of 3 missing`),
  });
});

test('a file that cannot be read is told apart from a missing one, and named', async () => {
  await upload();
  const [first = '', second = ''] = readdirSync(join(dataDir(), 'media')).sort();
  rmSync(join(dataDir(), 'media', first));
  rmSync(join(dataDir(), 'media', second));
  mkdirSync(join(dataDir(), 'media', second));
  const { stdout } = await cli(dataDir(), ['backup', file()]);
  expect(stdout).toContain(`1; not included: 1 missing, 1 unreadable (${first}, ${second} (EISDIR))`);
  const other = join(folder.path, 'other');
  expect(await cliJson(other, ['restore', file(), '--new-key', '--unverified'])).toMatchObject({
    images: { stored: 1, missing: 1, unreadable: 1, examples: [first, `${second} (EISDIR)`] },
  });
});

test('a scheduled backup without all images is a warning', async () => {
  await upload();
  const [first = ''] = readdirSync(join(dataDir(), 'media')).sort();
  rmSync(join(dataDir(), 'media', first));
  const logged: unknown[] = [];
  const log = createLog('warn', { write: (line) => void logged.push(JSON.parse(line)) });
  const config = readConfig({}, { DATA_DIR: dataDir(), BACKUP_DIR: join(folder.path, 'backups') });
  const [job] = backupJobs(config, { clock: fixedClock(), log });
  await job?.run(new AbortController().signal);
  expect(logged).toMatchObject([
    { msg: 'the backup lacks images', missing: 1, unreadable: 0, examples: [first] },
  ]);
});

test('a flipped byte in an image is found', async () => {
  await upload();
  await cliJson(dataDir(), ['backup', file()]);
  const bytes = readFileSync(file());
  const at = bytes.length - 100;
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(file(), bytes);
  const { stderr } = await cli(join(folder.path, 'other'), ['restore', file(), '--new-key']);
  expect(stderr).toContain('is damaged');
});

test('images in a bucket are not in the backup, which says where they are', async () => {
  using store = startS3Server();
  const environment = {
    MEDIA_DIR: 's3://backups/images',
    MEDIA_S3_ENDPOINT: store.url,
    MEDIA_S3_ACCESS_KEY_ID: 'test-id',
    MEDIA_S3_SECRET_ACCESS_KEY: 'test-secret',
  };
  await upload(environment);
  expect(store.objects.size).toBe(3);
  const { stdout } = await cli(dataDir(), ['backup', file()], { environment });
  expect(stdout).toContain('not included: they are in s3://backups/images');
  expect(readFileSync(file(), 'latin1').slice(0, 40)).toContain('"version":3');
});
