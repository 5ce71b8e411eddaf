import { Database as Sqlite } from 'bun:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Connected } from '../../src/integrations/words.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { createApp } from '../../src/server/app.ts';
import { readConfig } from '../../src/server/config.ts';
import { openServices } from '../../src/server/services.ts';
import { fillFolder } from '../support/backups.ts';
import { cli, cliJson, temporaryFolder } from '../support/cli.ts';
import { githubRequest } from '../support/deliveries.ts';
import { compose } from '../support/drafts.ts';
import { ping, postSigned } from '../support/fleet.ts';
import { changed } from '../support/payloads.ts';
import { fixtureOf } from '../support/schema-fixtures.ts';
import { type ServerProcess, startTidings } from '../support/server.ts';
import { fillUp, insideOf, mayMount, startOnMount } from '../support/small-disk.ts';
import { until } from '../support/until.ts';

let folder: ReturnType<typeof temporaryFolder>;
const running: ServerProcess[] = [];

const dataDir = () => join(folder.path, 'data');
const database = () => join(dataDir(), 'tidings.db');

beforeEach(() => {
  folder = temporaryFolder();
});

afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.stop('SIGKILL')));
  folder.remove();
});

async function kept(starting: Promise<ServerProcess>): Promise<ServerProcess> {
  const server = await starting;
  running.push(server);
  return server;
}

/** How a start that is refused ends: exit 1, and one line. Fails the test when it is not. */
async function refusalOf(starting: Promise<ServerProcess>): Promise<string> {
  const { message } = await kept(starting).then(
    () => new Error('it started'),
    (error: Error) => error,
  );
  expect(message).toStartWith('ended with 1: error: ');
  expect(message.trimEnd().split('\n')).toHaveLength(1);
  return message.slice('ended with 1: error: '.length);
}

/** Files of the folder, without lock files and SQLite's per-process files. */
const contents = () =>
  readdirSync(dataDir())
    .filter((name) => !/^tidings\.(lock|db-wal|db-shm)$/.test(name))
    .map((name) => `${name} ${Bun.hash(readFileSync(join(dataDir(), name)))}`);

describe('a database that cannot be used stops the start, and is left as it is', () => {
  test.each<[string, () => void, string]>([
    [
      'garbage',
      () => writeFileSync(database(), 'garbage'.repeat(2000)),
      'tidings.db is damaged or not a database (file is not a database). Restore a backup with --force',
    ],
    [
      'cut short',
      () => truncateSync(database(), 40_000),
      'tidings.db is damaged or not a database (database disk image is malformed). Restore a backup with --force',
    ],
    [
      'empty',
      () => truncateSync(database(), 0),
      'tidings.db is an empty file. Restore a backup with --force, or delete the file',
    ],
    [
      "another program's",
      () => {
        rmSync(database());
        const sqlite = new Sqlite(database(), { create: true });
        sqlite.run('PRAGMA journal_mode = WAL');
        sqlite.run('CREATE TABLE notes (x)');
        sqlite.close();
      },
      'tidings.db is a database, but not one of Tidings',
    ],
    [
      'without its key',
      () => rmSync(join(dataDir(), 'secret.key')),
      'its secret.key is missing, and SECRET_KEY is not set',
    ],
    [
      'with another key',
      () => writeFileSync(join(dataDir(), 'secret.key'), `${Buffer.alloc(32, 5).toString('base64')}\n`),
      'secret.key in it is not the key that its secrets were encrypted with. Put the right key back',
    ],
    [
      'with half a key',
      () => truncateSync(join(dataDir(), 'secret.key'), 20),
      'secret.key does not contain 32 bytes in base64',
    ],
  ])('%s', async (_, damage, message) => {
    await fillFolder(dataDir());
    damage();
    const before = contents();
    expect(await refusalOf(startTidings(dataDir()))).toStartWith(
      `The data folder ${dataDir()} cannot be used: ${message}`,
    );
    expect(contents()).toEqual(before);
  });

  test('with another SECRET_KEY: commands are refused too, before they mix two keys', async () => {
    await fillFolder(dataDir());
    const environment = { SECRET_KEY: Buffer.alloc(32, 5).toString('base64') };
    const message = 'SECRET_KEY is not the key that its secrets were encrypted with';
    expect(await refusalOf(startTidings(dataDir(), [], { environment }))).toContain(message);
    const words = ['integration', 'connect', 'linear', '--organization', 'acme'];
    const { exitCode, stderr } = await cli(dataDir(), words, { environment });
    expect(exitCode).toBe(1);
    expect(stderr).toContain(message);
    expect(await cliJson(dataDir(), ['integration', 'list'])).toHaveLength(1);
  });
});

test('a second server on the folder is refused; commands are not; after kill -9 the next one starts', async () => {
  const first = await kept(startTidings(dataDir()));
  const refusal = await refusalOf(startTidings(dataDir()));
  expect(refusal).toStartWith(`The data folder ${dataDir()} cannot be used: another server uses it`);
  await cliJson(dataDir(), ['organization', 'create', '--name', 'Acme', '--id', 'acme']);
  expect((await fetch(`${first.url}/ping`)).status).toBe(200);

  const file = join(folder.path, 'a.backup');
  await cliJson(dataDir(), ['backup', file]);
  const { exitCode, stderr } = await cli(dataDir(), ['restore', file, '--force']);
  expect({ exitCode, stderr }).toEqual({
    exitCode: 1,
    stderr: `error: The data folder ${dataDir()} is in use by a server or another command. Stop the server, then restore the backup\n`,
  });

  await first.stop('SIGKILL');
  const second = await kept(startTidings(dataDir()));
  expect((await fetch(`${second.url}/ping`)).status).toBe(200);
});

test('a port that is taken is one line that names it and says how to choose another', async () => {
  const first = await kept(startTidings(dataDir()));
  const { port } = new URL(first.url);
  const refusal = await refusalOf(startTidings(join(folder.path, 'other'), ['--port', port]));
  expect(refusal).toContain(port);
  expect(refusal).toContain(
    'is in use. Stop the other process, or set PORT to another port; 0 picks a free one.',
  );
});

// Permissions do not bind root, for whom a mount stands below.
test.skipIf(process.getuid?.() === 0)('a folder of somebody else is one line', async () => {
  mkdirSync(dataDir(), { mode: 0o555 });
  expect(await refusalOf(startTidings(dataDir()))).toStartWith(
    `The data folder ${dataDir()} cannot be used: user `,
  );
});

describe.skipIf(!mayMount)('on a disk of its own (needs the right to mount)', () => {
  test('a folder that cannot be written to is one line', async () => {
    await fillFolder(dataDir());
    const mount = join(folder.path, 'mount');
    mkdirSync(mount);
    const refusal = await refusalOf(startOnMount(mount, dataDir(), { writable: false }));
    expect(refusal).toStartWith(`The data folder ${mount} cannot be used: it cannot be written to (EROFS`);
    const missing = join(folder.path, 'empty');
    mkdirSync(missing);
    mkdirSync(join(folder.path, 'nothing'));
    expect(
      await refusalOf(startOnMount(missing, join(folder.path, 'nothing'), { writable: false })),
    ).toContain('it cannot be written to');
  });

  test('a full disk at the first start is one line, and once there is room it starts', async () => {
    const mount = join(folder.path, 'mount');
    const nothing = join(folder.path, 'nothing');
    mkdirSync(mount);
    mkdirSync(nothing);
    expect(await refusalOf(startOnMount(mount, nothing, { size: '300k', reserve: '290k' }))).toStartWith(
      `The data folder ${mount} cannot be used: the disk is full (`,
    );
    // The leftovers of such a start do not stop the next one.
    for (const name of ['tidings.db', 'tidings.lock']) writeFileSync(join(nothing, name), '');
    const server = await kept(startOnMount(mount, nothing));
    expect((await fetch(`${server.url}/ping`)).status).toBe(200);
  });

  test('an upgrade that has no room for its copies is one line, and does not begin', async () => {
    const seed = join(folder.path, 'seed');
    const mount = join(folder.path, 'mount');
    mkdirSync(seed);
    mkdirSync(mount);
    const sqlite = new Sqlite(join(seed, 'tidings.db'), { create: true });
    sqlite.run(fixtureOf(1));
    sqlite.close();
    expect(await refusalOf(startOnMount(mount, seed))).toMatch(
      /^The data folder \S+ cannot be used: the upgrade of the database from schema 1 to \d+ needs \d+ MB of free disk space, but only [1-4] MB are free\. Free up/,
    );
  });

  test('a disk that fills up while it runs: 503, not 200; reads go on; with room again all is as before', async () => {
    const { secret, webhookUrl } = await fillFolder(dataDir());
    const { key } = await cliJson(dataDir(), ['key', 'create', '--organization', 'acme', '--name', 'A']);
    const mount = join(folder.path, 'mount');
    mkdirSync(mount);
    const server = await kept(startOnMount(mount, dataDir()));
    const inside = insideOf(server, mount);
    const read = async () => {
      const response = await fetch(`${server.url}/v1/acme/posts`, {
        headers: { authorization: `Bearer ${key}` },
      });
      return [response.status, ((await response.json()) as { posts: unknown[] }).posts.length];
    };
    const acknowledged = new Set<string>();
    const refused = new Set<string>();
    let sent = 0;
    const deliverOne = async () => {
      const id = `d-${sent++}`;
      const status = await deliver(server, webhookUrl, secret, id, 20_000);
      expect([200, 503]).toContain(status);
      (status === 200 ? acknowledged : refused).add(id);
    };
    for (let n = 0; n < 5; n++) await deliverOne();
    expect(refused.size).toBe(0);

    const makeRoom = fillUp(inside);
    while (refused.size < 5 && sent < 500) await deliverOne();
    expect(refused.size).toBe(5);
    expect(await read()).toEqual([200, 10]);

    makeRoom();
    for (const id of refused) {
      expect(
        await until(
          () => deliver(server, webhookUrl, secret, id, 20_000),
          (status) => status === 200,
        ),
      ).toBe(200);
      acknowledged.add(id);
    }
    expect(await read()).toEqual([200, 10]);
    // As it would be found if the process were killed now. SQLite would not take the path into the mount.
    const after = join(folder.path, 'after');
    cpSync(inside, after, { recursive: true });
    const log = await cliJson(after, ['delivery', 'list', '--organization', 'acme', '--limit', '1000']);
    const processed = log
      .filter(({ status }: { status: string }) => status === 'processed')
      .map(({ referenceId }: { referenceId: string }) => referenceId);
    expect(processed.sort()).toEqual([...acknowledged].sort());
    expect(await server.stop()).toBe(0);
  }, 300_000);

  test('a draft that does not fit on the disk is made by itself once there is room', async () => {
    const { integrationId, ...connected } = await fillFolder(dataDir());
    const create = ['trigger', 'create', '--integration', integrationId, '--event', 'release'];
    await cliJson(dataDir(), [...create, '--content-type', 'changelog']);
    await queueRelease(connected.webhookUrl, connected.secret, 'word '.repeat(100_000));

    const mount = join(folder.path, 'mount');
    mkdirSync(mount);
    const used = readdirSync(dataDir()).reduce((sum, name) => sum + statSync(join(dataDir(), name)).size, 0);
    const size = 16 * 1024 * 1024;
    const reserve = String(size - used - 512 * 1024);
    const server = await kept(startOnMount(mount, dataDir(), { size: String(size), reserve }));
    const passes = async () => {
      const metrics = await (await fetch(`${server.url}/metrics`)).text();
      return Number(
        /^tidings_job_runs_total\{job="run-triggers",outcome="done"\} (\d+)$/m.exec(metrics)?.[1] ?? 0,
      );
    };
    const inside = async (...words: string[]) => {
      const copy = join(folder.path, crypto.randomUUID());
      cpSync(insideOf(server, mount), copy, { recursive: true });
      return cliJson(copy, words);
    };
    const drafts = () => inside('post', 'list', '--organization', 'acme', '--status', 'draft');
    await until(passes, (count) => count > 1);
    expect(await drafts()).toEqual([]);
    expect(await inside('trigger', 'runs')).toMatchObject([{ status: 'queued', attempts: 0 }]);

    rmSync(join(insideOf(server, mount), 'fill'));
    expect(await until(drafts, ({ length }) => length > 0)).toHaveLength(1);
    expect(await server.stop()).toBe(0);
    const warnings = (await server.stderr()).split('\n').filter((line) => line.includes('"level":"warn"'));
    const logged = warnings.map((line) => JSON.parse(line));
    // The server also says that it needs attention.
    const failures = logged.filter(({ item }) => item === undefined).map(({ err }) => err.message);
    expect(failures).toEqual(['database or disk is full']);
  }, 300_000);
});

async function deliver(
  server: ServerProcess,
  webhookUrl: string,
  secret: string,
  id: string,
  bytes = 0,
): Promise<number> {
  const url = `${server.url}${new URL(webhookUrl).pathname}`;
  const response = await postSigned(url, secret, ping(id, ` ${'x'.repeat(bytes)}`));
  await response.arrayBuffer();
  return response.status;
}

/** Takes a release without making its draft, as a server does that is killed in between. */
async function queueRelease(webhookUrl: string, secret: string, notes: string): Promise<void> {
  const services = await openServices(readConfig({ DATA_DIR: dataDir() }, { LOG_LEVEL: 'silent' }));
  const app = createApp({ ...services, compose, publicUrl: () => new URL(webhookUrl).origin });
  const sample = samplePayload('github', 'release', { repository: 'a/b', now: new Date() }) ?? {};
  const connected = { webhookUrl, secret } as Connected;
  const [, init] = githubRequest(connected, changed(sample, { 'release.body': notes }), { event: 'release' });
  expect((await app.fetch(new Request(webhookUrl, init))).status).toBe(200);
  await services.close();
}
