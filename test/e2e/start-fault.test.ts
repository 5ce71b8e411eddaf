import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cli, cliJson, temporaryFolder } from '../support/cli.ts';
import { ping, postSigned } from '../support/fleet.ts';
import { program, root, type ServerProcess, startTidings } from '../support/server.ts';
import { mayMount, startOnMount } from '../support/small-disk.ts';

let folder: ReturnType<typeof temporaryFolder>;
const running: ServerProcess[] = [];

beforeEach(() => {
  folder = temporaryFolder();
});

afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.stop('SIGKILL')));
  folder.remove();
});

const dataDir = () => join(folder.path, 'data');

function mountPoint(): string {
  const path = join(folder.path, 'mount');
  mkdirSync(path);
  return path;
}

/** Takes the write lock of the database. Returns a function that releases it. */
function holdWriteLock(): () => void {
  const sqlite = new Database(join(dataDir(), 'tidings.db'));
  sqlite.run('BEGIN IMMEDIATE');
  return () => sqlite.close();
}

/** Output of a failed start: `ended with CODE: stdout + stderr`. Fails when the server listens. */
async function failedStart(start: () => Promise<ServerProcess>): Promise<string> {
  try {
    const server = await start();
    running.push(server);
    return `listens on ${server.url}`;
  } catch (error) {
    return (error as Error).message;
  }
}

interface Connection {
  webhookUrl: string;
  secret: string;
}

/** Runs a command as a process of its own: one that runs here keeps the index of the log open after it closes it. */
function command(...words: string[]) {
  const { stdout, stderr } = Bun.spawnSync([...program, ...words, '--json'], {
    env: { PATH: Bun.env.PATH, HOME: Bun.env.HOME, DATA_DIR: dataDir(), LOG_LEVEL: 'error' },
  });
  expect(stderr.toString()).toBe('');
  return JSON.parse(stdout.toString());
}

/** Connects a repository. */
function connect(): Connection {
  command('organization', 'create', '--name', 'Acme', '--id', 'acme');
  return command('integration', 'connect', 'github', '--organization', 'acme', '--repository', 'a/b');
}

/** The provider's ids of the deliveries in the log. */
const logged = (): string[] =>
  command('delivery', 'list', '--organization', 'acme')
    .map(({ referenceId }: { referenceId: string }) => referenceId)
    .sort();

/** Sends a ping. */
async function deliver(server: ServerProcess, webhookUrl: string, secret: string, id: string) {
  const response = await postSigned(`${server.url}${new URL(webhookUrl).pathname}`, secret, ping(id));
  return { status: response.status, body: await response.json() };
}

describe('a server that cannot write to its database exits with one line and never says that it listens', () => {
  test('while another process holds the write lock', async () => {
    await cliJson(dataDir(), ['organization', 'create', '--name', 'Acme']);
    const release = holdWriteLock();
    try {
      expect(await failedStart(() => startTidings(dataDir()))).toBe(
        'ended with 1: error: The database is busy: another process has been writing to it for 5 seconds. Run the command again.\n',
      );
    } finally {
      release();
    }
  }, 60_000);

  test('while another process holds the write lock, with an account and so without a setup link', async () => {
    await cliJson(dataDir(), ['user', 'create', '--email', 'ann@acme.example']);
    const release = holdWriteLock();
    try {
      expect(await failedStart(() => startTidings(dataDir()))).toStartWith(
        'ended with 1: error: The database is busy',
      );
    } finally {
      release();
    }
  }, 60_000);

  const onMount = test.skipIf(!mayMount);

  onMount(
    'on a disk with no room left',
    async () => {
      const seed = join(folder.path, 'seed');
      await cliJson(seed, ['organization', 'create', '--name', 'Acme']);
      const message = await failedStart(() => startOnMount(mountPoint(), seed, { reserve: '4m' }));
      expect(message).toMatch(/^ended with 1: error: [^\n]*disk is full[^\n]*\n$/);
    },
    60_000,
  );

  onMount(
    'with a database file that is read-only',
    async () => {
      const seed = join(folder.path, 'seed');
      await cliJson(seed, ['user', 'create', '--email', 'ann@acme.example']);
      const message = await failedStart(() => startOnMount(mountPoint(), seed, { writableDatabase: false }));
      expect(message).toMatch(/^ended with 1: error: [^\n]*cannot be written to[^\n]*tidings.db[^\n]*\n$/);
    },
    60_000,
  );
});

test('a server whose database another process locks still stops with 0', async () => {
  const server = await startTidings(dataDir());
  running.push(server);
  const release = holdWriteLock();
  try {
    expect(await server.stop('SIGTERM')).toBe(0);
  } finally {
    release();
  }
}, 60_000);

test('a delivery to a locked database is answered with 503, also by a server that stops with 0', async () => {
  const server = await startTidings(dataDir());
  running.push(server);
  const { webhookUrl, secret } = connect();
  const failed = { status: 503, body: { error: 'The database is busy' } };
  const release = holdWriteLock();
  try {
    expect(await deliver(server, webhookUrl, secret, 'one')).toEqual(failed);
    const late = deliver(server, webhookUrl, secret, 'two');
    await fetch(`${server.url}/ping`);
    const stopped = server.stop('SIGTERM');
    expect((await late).status).toBe(503);
    expect(await stopped).toBe(0);
  } finally {
    release();
  }
  expect(logged()).toEqual([]);
}, 60_000);

describe('a server that loses a file of its database answers no delivery with 200, and ends with one line', () => {
  /** Null: the server ended before. */
  const statusOf = async (server: ServerProcess, id: string, { webhookUrl, secret }: Connection) =>
    (await deliver(server, webhookUrl, secret, id).catch(() => null))?.status ?? null;

  async function loseFile(lose: () => unknown) {
    const server = await startTidings(dataDir());
    running.push(server);
    const connection = connect();
    expect(await statusOf(server, 'before', connection)).toBe(200);
    await lose();
    expect([503, null]).toContain(await statusOf(server, 'after', connection));
    const exitCode = await server.exited;
    const lines = (await server.stderr()).split('\n').filter((line) => !/^(\{.*)?$/.test(line));
    return { connection, exitCode, lines };
  }

  const path = (suffix: string) => join(dataDir(), `tidings.db${suffix}`);

  test.each<[string, () => void]>([
    ['the log', () => rmSync(path('-wal'))],
    ['the index of the log', () => rmSync(path('-shm'))],
    ['the lock', () => rmSync(join(dataDir(), 'tidings.lock'))],
  ])(
    '%s: the next start has everything',
    async (_, lose) => {
      const { connection, exitCode, lines } = await loseFile(lose);
      expect(lines).toEqual([
        expect.stringMatching(
          /^error: .* was deleted or replaced, in .* Nothing that was acknowledged is lost\./,
        ),
      ]);
      expect(exitCode).toBe(1);
      const next = await startTidings(dataDir());
      running.push(next);
      expect(await statusOf(next, 'after', connection)).toBe(200);
      expect(logged()).toEqual(['after', 'before']);
    },
    60_000,
  );

  test('the index of the log, which another process still has: the next start waits for its end', async () => {
    const read = `const db = new (require('bun:sqlite').Database)(process.argv[1]); db.query('SELECT * FROM sqlite_schema').all(); console.log('open'); await Bun.stdin.text(); db.close();`;
    const start = () =>
      Bun.spawn([process.execPath, '-e', read, path('')], { stdin: 'pipe', stdout: 'pipe' });
    let other = null as ReturnType<typeof start> | null;
    const { connection, exitCode } = await loseFile(async () => {
      other = start();
      await other.stdout.getReader().read();
      rmSync(path('-shm'));
    });
    expect(exitCode).toBe(1);
    const refusal = `tidings.db-shm was deleted while process ${other?.pid} has tidings.db open. Stop every process that has it open, such as Litestream, then start again`;
    expect(await failedStart(() => startTidings(dataDir()))).toContain(refusal);
    const { exitCode: code, stderr } = await cli(dataDir(), ['organization', 'list']);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(refusal) });
    other?.kill();
    await other?.exited;
    const next = await startTidings(dataDir());
    running.push(next);
    expect(await statusOf(next, 'after', connection)).toBe(200);
    expect(logged()).toEqual(['after', 'before']);
  }, 60_000);

  test.skipIf(process.platform !== 'linux')(
    'the index of the log, which SQLite deletes as another process closes the database: a start waits',
    async () => {
      await cli(dataDir(), ['organization', 'list']);
      // As the close of the last one: first the index goes, then the locks. It ends once the start holds the folder.
      const close = `const { takeLock } = require(process.argv[2]);
        const db = new (require('bun:sqlite').Database)(process.argv[1]);
        db.query('SELECT * FROM sqlite_schema').all();
        require('node:fs').rmSync(process.argv[1] + '-shm');
        console.log('open');
        let release;
        while ((release = takeLock(process.argv[3], 'server', 0)) !== null) { release(); Bun.sleepSync(10); }
        Bun.sleepSync(100);
        db.close();`;
      const lock = join(root, 'db/sqlite/lock.ts');
      const words = [process.execPath, '-e', close, path(''), lock, join(dataDir(), 'tidings.lock')];
      const other = Bun.spawn(words, { stdout: 'pipe' });
      await other.stdout.getReader().read();
      const next = await startTidings(dataDir());
      running.push(next);
      expect(await other.exited).toBe(0);
    },
    60_000,
  );

  test('the database: the next start names the copy that was saved', async () => {
    const { connection, exitCode, lines } = await loseFile(() => rmSync(path('')));
    expect(lines).toEqual([expect.stringContaining('The database file was deleted or replaced')]);
    expect(exitCode).toBe(1);
    const message = await failedStart(() => startTidings(dataDir()));
    expect(message).toMatch(
      /^ended with 1: error: [^\n]*tidings\.db is missing, but its secret\.key exists[^\n]*\n$/,
    );
    const [copy = ''] = /tidings\.db\.rescued-\w+/.exec(message) ?? [];
    renameSync(join(dataDir(), copy), path(''));
    const next = await startTidings(dataDir());
    running.push(next);
    const { webhookUrl, secret } = connection;
    expect(await deliver(next, webhookUrl, secret, 'before')).toMatchObject({
      status: 200,
      body: { message: expect.stringContaining('Duplicate') },
    });
  }, 60_000);
});

test('a command does not begin a new index beside the one of a server', async () => {
  const server = await startTidings(dataDir());
  running.push(server);
  // It can't notice.
  process.kill(server.pid, 'SIGSTOP');
  try {
    rmSync(join(dataDir(), 'tidings.db-shm'));
    const { exitCode, stderr } = await cli(dataDir(), ['organization', 'list']);
    expect(stderr).toContain('tidings.db-shm was deleted while its server runs. Restart the server first');
    expect(exitCode).toBe(1);
  } finally {
    process.kill(server.pid, 'SIGCONT');
  }
  expect(await server.exited).toBe(1);
}, 60_000);

test('a server on damaged pages says that it is not ready once three verified deliveries have failed', async () => {
  const first = await startTidings(dataDir());
  running.push(first);
  const { secret, webhookUrl } = connect();
  expect(await deliver(first, webhookUrl, secret, 'before')).toMatchObject({ status: 200 });
  await first.stop();
  const repair = damage('deliveries_by_reference');

  const server = await startTidings(dataDir());
  running.push(server);
  const ready = async () => {
    const response = await fetch(`${server.url}/ready`);
    return { status: response.status, body: await response.json() };
  };
  for (const id of ['a', 'b', 'c']) {
    expect(await deliver(server, webhookUrl, 'a guess', id)).toMatchObject({ status: 401 });
  }
  for (const id of ['one', 'two']) {
    expect(await deliver(server, webhookUrl, secret, id)).toMatchObject({ status: 500 });
    expect(await ready()).toEqual({ status: 200, body: { ready: true } });
  }
  expect(await deliver(server, webhookUrl, secret, 'three')).toMatchObject({ status: 500 });
  expect(await ready()).toEqual({ status: 503, body: { error: 'The last 3 deliveries failed' } });
  expect(await server.stop('SIGTERM')).toBe(0);

  repair();
  const mended = await startTidings(dataDir());
  running.push(mended);
  expect(await deliver(mended, webhookUrl, secret, 'one')).toMatchObject({ status: 200 });
}, 60_000);

test('a start that meets damaged pages is one line', async () => {
  await cliJson(dataDir(), ['organization', 'create', '--name', 'Acme']);
  damage('server_runs');
  expect(await failedStart(() => startTidings(dataDir()))).toMatch(
    /^ended with 1: error: The database is damaged \([^\n]*\n$/,
  );
});

/** Overwrites the first page of these tables and indexes. Returns a function that puts the pages back. */
function damage(...names: string[]): () => void {
  const path = join(dataDir(), 'tidings.db');
  const sqlite = new Database(path);
  const read = (sql: string, ...values: string[]) => {
    using statement = sqlite.prepare(sql);
    return statement.values(...values) as [number][];
  };
  const sizes = read('PRAGMA page_size') as [[number]];
  const places = names.map(() => '?').join();
  const pages = read(`SELECT rootpage FROM sqlite_schema WHERE name IN (${places})`, ...names);
  // Removes the log: beside one, the next server looks for damage by itself.
  sqlite.close(true);
  const whole = readFileSync(path);
  const [[size]] = sizes;
  const damaged = Buffer.from(whole);
  for (const [page] of pages) damaged.fill(0xa5, (page - 1) * size, page * size);
  writeFileSync(path, damaged);
  return () => writeFileSync(path, whole);
}
