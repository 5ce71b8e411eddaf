import { Database as Sqlite } from 'bun:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CliResult, temporaryFolder } from '../support/cli.ts';
import { breakableDisk, canBreakDisk } from '../support/disk-faults.ts';
import { ping, postSigned } from '../support/fleet.ts';
import { program, type ServerProcess, startTidings } from '../support/server.ts';
import { until } from '../support/until.ts';

// A disk that fails while the server or a command writes, and then loses its power.

const onBrokenDisk = test.skipIf(!canBreakDisk);

let folder: ReturnType<typeof temporaryFolder>;
let disk: ReturnType<typeof breakableDisk>;
let webhook: { webhookUrl: string; secret: string };
const running: ServerProcess[] = [];
const readers: Sqlite[] = [];

const dataDir = () => join(folder.path, 'data');
const afterwards = () => join(folder.path, 'after');

beforeEach(() => {
  folder = temporaryFolder();
  if (canBreakDisk) disk = breakableDisk(join(folder.path, 'disk'));
});

afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.stop('SIGKILL')));
  for (const reader of readers.splice(0)) reader.close();
  folder.remove();
});

async function start(): Promise<ServerProcess> {
  const server = await startTidings(dataDir(), [], { environment: disk.environment });
  running.push(server);
  return server;
}

/** Starts a server that has a repository. */
async function startConnected(): Promise<ServerProcess> {
  const server = await start();
  await command('organization', 'create', '--name', 'Acme', '--id', 'acme');
  const connect = ['integration', 'connect', 'github', '--organization', 'acme', '--repository', 'a/b'];
  const { stdout } = await command(...connect, '--json');
  webhook = JSON.parse(stdout);
  return server;
}

/** The status of the response to a delivery; null without one. */
const deliver = ({ url }: ServerProcess, id: string) =>
  postSigned(`${url}${new URL(webhook.webhookUrl).pathname}`, webhook.secret, ping(id)).then(
    ({ status }) => status,
    () => null,
  );

async function deliverAll(server: ServerProcess, ids: readonly string[]): Promise<void> {
  for (const id of ids) expect(await deliver(server, id)).toBe(200);
}

const named = (name: string, count: number) => Array.from({ length: count }, (_, at) => `${name}-${at}`);

/** Runs a command on the same disk. */
async function command(...words: string[]): Promise<CliResult> {
  const child = Bun.spawn([...program, ...words], {
    env: { PATH: Bun.env.PATH, DATA_DIR: dataDir(), ...disk.environment },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { exitCode: await child.exited, stdout, stderr };
}

/** Holds a read snapshot, as Litestream and a backup do. */
function read(): void {
  const reader = new Sqlite(join(dataDir(), 'tidings.db'), { readwrite: true, create: false });
  reader.run('BEGIN');
  reader.query('SELECT count(*) FROM deliveries').values();
  readers.push(reader);
}

/** Kills what runs, and returns the delivery IDs and organizations that the disk has. */
async function losePower(): Promise<{ deliveries: string[]; organizations: string[]; check: unknown }> {
  await Promise.all(running.splice(0).map((server) => server.stop('SIGKILL')));
  disk.losePower(afterwards());
  copyFileSync(join(dataDir(), 'secret.key'), join(afterwards(), 'secret.key'));
  using sqlite = new Sqlite(join(afterwards(), 'tidings.db'), { readwrite: true, create: false });
  const column = (query: string) => sqlite.query(query).values().flat().map(String);
  return {
    deliveries: column("SELECT reference_id FROM deliveries WHERE status = 'processed'"),
    organizations: column('SELECT id FROM organizations'),
    check: sqlite.query('PRAGMA integrity_check').values(),
  };
}

describe('a sync of the log', () => {
  onBrokenDisk.each(['EIO', 'ENOSPC', 'EDQUOT'] as const)(
    'that fails with %s ends the server with one line, after it has answered',
    async (error) => {
      const server = await startConnected();
      await deliverAll(server, named('before', 2));
      disk.fail('fsync', 'tidings.db-wal', error, 1);
      const answers = await Promise.all(named('failed', 20).map((id) => deliver(server, id)));
      expect(new Set(answers)).toEqual(new Set([503]));
      expect(await server.exited).toBe(1);
      const lines = (await server.stderr()).split('\n').filter((line) => !line.startsWith('{'));
      expect(lines).toEqual([expect.stringContaining(`error: The disk of ${dataDir()} failed`), '']);
      expect(lines[0]).toContain(`(${error}`);
      await deliverAll(await start(), ['failed-0', 'after']);
    },
    60_000,
  );

  onBrokenDisk(
    'that a signal interrupts is made again',
    async () => {
      const server = await startConnected();
      // SQLite syncs the header of a new log itself.
      await deliverAll(server, ['first']);
      disk.fail('fsync', 'tidings.db-wal', 'EINTR', 3);
      await deliverAll(server, named('delivery', 3));
      const ready = await fetch(`${server.url}/ready`);
      expect(ready.status).toBe(200);
      expect((await losePower()).deliveries.sort()).toEqual([...named('delivery', 3), 'first']);
    },
    60_000,
  );

  onBrokenDisk(
    'that fails in a command ends it with one line, and the next one succeeds',
    async () => {
      await command('organization', 'create', '--name', 'Acme', '--id', 'acme');
      disk.fail('fsync', 'tidings.db-wal', 'EIO', 1);
      const { exitCode, stderr } = await command('organization', 'create', '--name', 'One', '--id', 'one');
      expect(stderr).toMatch(/^error: The disk failed \(.*\)\. [^\n]*\n$/);
      expect(exitCode).toBe(1);
      expect(await command('organization', 'create', '--name', 'Two', '--id', 'two')).toMatchObject({
        exitCode: 0,
      });
      const { organizations } = await losePower();
      expect(organizations).toContain('two');
    },
    60_000,
  );
});

describe('after a sync that failed while a reader keeps the log', () => {
  onBrokenDisk.each([1, 12])(
    'the next start brings the log to the disk before anything is acknowledged (%i deliveries before)',
    async (before) => {
      const server = await startConnected();
      await deliverAll(server, named('before', before));
      read();
      await deliverAll(server, named('beside', before));
      disk.fail('fsync', 'tidings.db-wal', 'EIO', 1);
      expect(await deliver(server, 'failed')).toBe(503);
      await server.stop('SIGKILL');

      const later = named('after', 20);
      await deliverAll(await start(), later);
      const { deliveries, check } = await losePower();
      const all = [...named('before', before), ...named('beside', before), ...later];
      expect(all.filter((id) => !deliveries.includes(id))).toEqual([]);
      expect(check).toEqual([['ok']]);
    },
    60_000,
  );

  onBrokenDisk(
    'the log that no reader has yet seen the end of is brought to the disk, too',
    async () => {
      const server = await startConnected();
      await deliverAll(server, named('before', 3));
      disk.fail('fsync', 'tidings.db-wal', 'EIO', 1);
      expect(await deliver(server, 'failed')).toBe(503);
      // Its snapshot includes what the disk lacks, so a checkpoint copies all of the log and can't start it again.
      read();
      await server.stop('SIGKILL');
      const later = named('after', 5);
      await deliverAll(await start(), later);
      const { deliveries, check } = await losePower();
      expect([...named('before', 3), ...later].filter((id) => !deliveries.includes(id))).toEqual([]);
      expect(check).toEqual([['ok']]);
    },
    60_000,
  );

  onBrokenDisk(
    'what a command writes stays, too',
    async () => {
      const server = await startConnected();
      await deliverAll(server, named('before', 3));
      read();
      await deliverAll(server, named('beside', 3));
      disk.fail('fsync', 'tidings.db-wal', 'EIO', 1);
      expect(await deliver(server, 'failed')).toBe(503);
      const created: string[] = [];
      for (const id of ['one', 'two', 'three']) {
        const { exitCode } = await command('organization', 'create', '--name', id, '--id', id);
        if (exitCode === 0) created.push(id);
      }
      await server.stop('SIGKILL');
      const { deliveries, organizations, check } = await losePower();
      expect(created.filter((id) => !organizations.includes(id))).toEqual([]);
      expect([...named('before', 3), ...named('beside', 3)].filter((id) => !deliveries.includes(id))).toEqual(
        [],
      );
      expect(check).toEqual([['ok']]);
    },
    60_000,
  );
});

/** Another process makes the log so long that a checkpoint is due when the server next commits. */
async function fillLog(): Promise<void> {
  const script = `
    const sqlite = new (require('bun:sqlite').Database)(process.argv[1]);
    sqlite.run('PRAGMA wal_autocheckpoint = 0');
    sqlite.run('CREATE TABLE filler (bytes BLOB)');
    sqlite.run('INSERT INTO filler VALUES (randomblob(18000000))');
    sqlite.close();`;
  const child = Bun.spawn([process.execPath, '-e', script, join(dataDir(), 'tidings.db')], {
    env: { PATH: Bun.env.PATH, ...disk.environment },
  });
  expect(await child.exited).toBe(0);
}

onBrokenDisk(
  'checkpoints that fail are logged once and counted, lose nothing, and the server stops with 0',
  async () => {
    const server = await startConnected();
    disk.fail('pwrite', 'tidings.db', 'EIO');
    await fillLog();
    await deliverAll(server, ['one']);
    const failures = async () =>
      Number(
        /^tidings_checkpoint_failures_total (\d+)$/m.exec(
          await (await fetch(`${server.url}/metrics`)).text(),
        )?.[1],
      );
    await until(failures, (count) => count > 0);
    const logged = () =>
      server
        .log()
        .split('\n')
        .filter((line) => line.includes('the write-ahead log cannot be copied'));
    await until(
      async () => logged().length,
      (count) => count > 0,
    );
    await deliverAll(server, ['two', 'three']);
    expect(await server.stop()).toBe(0);
    expect(logged()).toEqual([expect.stringContaining('SQLITE_IOERR_WRITE')]);
    expect(
      (await server.stderr()).split('\n').filter((line) => line !== '' && !line.startsWith('{')),
    ).toEqual([]);
    disk.mend('pwrite', 'tidings.db');
    const { deliveries, check } = await losePower();
    expect(deliveries.sort()).toEqual(['one', 'three', 'two']);
    expect(check).toEqual([['ok']]);
  },
  60_000,
);
