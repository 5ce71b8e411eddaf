import { Database as Sqlite } from 'bun:sqlite';
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { cpSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fillFolder, rowsIn, withoutIndex } from '../support/backups.ts';
import { cli, cliJson, temporaryFolder } from '../support/cli.ts';
import { S3_ACCESS, type S3Fault, type S3Server, startS3Server } from '../support/s3-server.ts';
import { program } from '../support/server.ts';

let folder: ReturnType<typeof temporaryFolder>;
let store: S3Server;

const dataDir = () => join(folder.path, 'data');
const other = () => join(folder.path, 'other');
const environment = () => ({ BACKUP_S3_ENDPOINT: store.url, ...S3_ACCESS });
const URL_OF_ONE = 's3://backups/team/a.backup';
/** Without those that SQLite keeps until a connection is collected as garbage. */
const filesIn = (into: string) => readdirSync(into).filter((name) => !/-(?:wal|shm)$/.test(name));
const run = (into: string, ...words: string[]) => cli(into, words, { environment: environment() });

beforeEach(async () => {
  folder = temporaryFolder();
  store = startS3Server();
  await fillFolder(dataDir());
});

afterEach(() => {
  store[Symbol.dispose]();
  folder.remove();
});

test('a backup goes to the store and comes back whole', async () => {
  const told = await cliJson(dataDir(), ['backup', URL_OF_ONE, '--with-key'], { environment: environment() });
  const stored = store.objects.get('team/a.backup') ?? Buffer.alloc(0);
  expect(told).toMatchObject({ file: URL_OF_ONE, bytes: stored.length, includesKey: true });
  expect(told.sha256).toBe(new Bun.CryptoHasher('sha256').update(stored).digest('hex'));
  // It was read back after it was written, and nothing of it stayed here.
  expect(store.requests.at(-1)).toBe('GET');
  expect(readdirSync(dataDir()).filter((name) => name.includes('partial'))).toEqual([]);

  mkdirSync(other());
  cpSync(join(dataDir(), 'secret.key'), join(other(), 'secret.key'));
  const restored = await cliJson(other(), ['restore', URL_OF_ONE], { environment: environment() });
  expect(restored).toMatchObject({ isVerified: true });
  expect(await rowsIn(other())).toEqual(await rowsIn(dataDir()));
  expect(readdirSync(other()).sort()).toEqual(['secret.key', 'tidings.db', 'tidings.lock']);
});

test('a large one goes in parts', async () => {
  const sqlite = new Sqlite(join(dataDir(), 'tidings.db'));
  sqlite.run("UPDATE posts SET source_metadata = json_object('noise', hex(randomblob(1000000)))");
  sqlite.close();
  const { bytes } = await cliJson(dataDir(), ['backup', URL_OF_ONE, '--with-key'], {
    environment: environment(),
  });
  expect(bytes).toBeGreaterThan(16 * 1024 * 1024);
  expect(store.requests.filter((request) => request === 'PUT partNumber').length).toBeGreaterThan(2);
  await cliJson(other(), ['restore', URL_OF_ONE, '--unverified'], { environment: environment() });
  expect(withoutIndex(await rowsIn(other()))).toEqual(withoutIndex(await rowsIn(dataDir())));
}, 300_000);

test("AWS's own variables in the environment change neither the store nor its region", async () => {
  let signature = '';
  using elsewhere = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch({ headers }) {
      signature = headers.get('authorization') ?? '';
      return new Response(null, { status: 404 });
    },
  });
  const server = `http://127.0.0.1:${elsewhere.port}`;
  const variables = { AWS_ENDPOINT: store.url, AWS_REGION: 'mars-1', AWS_BUCKET: 'theirs' };
  const child = Bun.spawn([...program, 'restore', URL_OF_ONE], {
    env: {
      ...variables,
      ...environment(),
      BACKUP_S3_ENDPOINT: server,
      DATA_DIR: other(),
      PATH: Bun.env.PATH,
    },
    stderr: 'ignore',
  });
  expect(await child.exited).toBe(1);
  expect(signature).toContain('/auto/s3/aws4_request');
  expect(store.requests).toEqual([]);
}, 60_000);

test('replaces no object without --force', async () => {
  store.objects.set('team/a.backup', Buffer.from('mine'));
  const { exitCode, stderr } = await run(dataDir(), 'backup', URL_OF_ONE);
  expect({ exitCode, stderr }).toEqual({
    exitCode: 1,
    stderr: `error: ${URL_OF_ONE} already exists. Use --force to replace it\n`,
  });
  expect(store.objects.get('team/a.backup')?.toString()).toBe('mine');
  expect((await run(dataDir(), 'backup', URL_OF_ONE, '--force')).exitCode).toBe(0);
});

test.each<[string, S3Fault, string]>([
  ['backup', 'denies', `${URL_OF_ONE}: the store rejected the request or could not be reached (`],
  [
    'backup',
    'hangs up on uploads',
    `${URL_OF_ONE}: the store rejected the request or could not be reached (`,
  ],
  [
    'backup',
    'stores another byte',
    `The stored copy of ${URL_OF_ONE} differs from the upload, so Tidings deleted it`,
  ],
  ['backup', 'sends half', `The stored copy of ${URL_OF_ONE} differs from the upload, so Tidings deleted it`],
  ['restore', 'denies', `${URL_OF_ONE}: the store rejected the request or could not be reached (`],
  [
    'restore',
    'hangs up on downloads',
    `${URL_OF_ONE}: the store rejected the request or could not be reached (`,
  ],
  ['restore', 'sends half', `${URL_OF_ONE} is damaged or incomplete: its checksum does not match`],
])(
  '%s, when the store %s, is one clear line and leaves nothing',
  async (command, fault, message) => {
    if (command === 'restore') await run(dataDir(), 'backup', URL_OF_ONE, '--with-key');
    store.fault = fault;
    const into = command === 'restore' ? other() : dataDir();
    const before = command === 'restore' ? ['tidings.lock'] : filesIn(into);
    const { exitCode, stderr } = await run(into, command, URL_OF_ONE);
    expect(exitCode).toBe(1);
    expect(stderr.split('\n')).toHaveLength(2);
    expect(stderr).toStartWith(`error: ${message}`);
    expect(stderr).not.toContain('test-secret');
    expect(filesIn(into)).toEqual(before);
    if (command === 'backup') expect(store.objects.size).toBe(0);
  },
  300_000,
);

test('an object larger than the disk is not downloaded', async () => {
  const head = ['HTTP/1.1 200 OK', `content-length: ${1e15}`];
  using vast = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: { data: (socket) => void socket.write(`${head.join('\r\n')}\r\n\r\nits first bytes`) },
  });
  const { exitCode, stderr } = await cli(other(), ['restore', URL_OF_ONE], {
    environment: { ...environment(), BACKUP_S3_ENDPOINT: `http://127.0.0.1:${vast.port}` },
  });
  expect({ exitCode, stderr }).toEqual({
    exitCode: 1,
    stderr: expect.stringContaining('error: The backup needs 1000000.0 GB, but '),
  });
  expect(filesIn(other())).toEqual(['tidings.lock']);
});

test('a store that is overloaded is asked three times', async () => {
  let requests = 0;
  using busy = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch() {
      requests++;
      return new Response('<Error><Code>SlowDown</Code><Message>Wait &amp; see</Message></Error>', {
        status: 503,
      });
    },
  });
  const { stderr } = await cli(other(), ['restore', URL_OF_ONE], {
    environment: { ...environment(), BACKUP_S3_ENDPOINT: `http://127.0.0.1:${busy.port}` },
  });
  expect(stderr).toContain('(SlowDown: Wait & see)');
  // And once for the reason, which a response to HEAD does not hold.
  expect(requests).toBe(4);
});

test('an upload in parts that fails leaves no object at the store', async () => {
  const sqlite = new Sqlite(join(dataDir(), 'tidings.db'));
  sqlite.run("UPDATE posts SET source_metadata = json_object('noise', hex(randomblob(800000)))");
  sqlite.close();
  store.fault = 'refuses the last part';
  const { exitCode, stderr } = await run(dataDir(), 'backup', URL_OF_ONE);
  expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringContaining('(EntityTooSmall: ') });
  expect([...store.objects.keys()]).toEqual([]);
}, 300_000);

test.each([
  ['s3://nope/a.backup', {}, 'NoSuchBucket'],
  ['s3://backups', {}, 'does not name a backup. Use the form s3://bucket/key'],
  ['s3://backups/', {}, 'does not name a backup. Use the form s3://bucket/key'],
  ['s3://backups/..', {}, 'does not name a backup. Use the form s3://bucket/key'],
  [
    URL_OF_ONE,
    { BACKUP_S3_ACCESS_KEY_ID: '', BACKUP_S3_SECRET_ACCESS_KEY: '' },
    'needs BACKUP_S3_ACCESS_KEY_ID and BACKUP_S3_SECRET_ACCESS_KEY',
  ],
])('%s %p is refused', async (url, change, message) => {
  const options = { environment: { ...environment(), ...change } };
  for (const [into, command] of [
    [dataDir(), 'backup'],
    [other(), 'restore'],
  ] as const) {
    const { exitCode, stderr } = await cli(into, [command, url], options);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(message);
  }
});
