import { Database as Sqlite } from 'bun:sqlite';
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { cli, cliJson, temporaryFolder } from '../support/cli.ts';
import { type ServerProcess, startTidings } from '../support/server.ts';
import { until } from '../support/until.ts';

// After a stop that was not clean, the server checks its database.

let folder: ReturnType<typeof temporaryFolder>;
let server: ServerProcess;

beforeEach(() => {
  folder = temporaryFolder();
});

afterEach(async () => {
  await server.stop('SIGKILL');
  folder.remove();
});

const INTACT = 'the database was not closed cleanly, and is intact';
const DAMAGED = 'the database is damaged; restore a backup';

const logged = (text: string) =>
  until(
    async () => server.log(),
    (log) => log.includes(text),
  );
const ready = async () => {
  const response = await fetch(`${server.url}/ready`);
  return [response.status, await response.json()];
};
const metric = async () =>
  /^tidings_database_damaged (\d)$/m.exec(await (await fetch(`${server.url}/metrics`)).text())?.[1];

test('an old log beside a newer database is told until a backup is restored, also after a clean stop', async () => {
  await cliJson(folder.path, ['organization', 'create', '--name', 'Acme', '--id', 'acme']);
  await cliJson(folder.path, ['backup', join(folder.path, 'good.backup')]);
  const file = join(folder.path, 'tidings.db');
  const old = join(folder.path, 'old-wal');
  const write = (work: (sqlite: Sqlite) => void) => {
    using sqlite = new Sqlite(file);
    work(sqlite);
    sqlite.run('PRAGMA wal_checkpoint(TRUNCATE)');
  };
  const fill = (table: string, rows: number) =>
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows})
    INSERT INTO ${table} SELECT i, hex(randomblob(100)) FROM n`;
  write((sqlite) => {
    sqlite.run('CREATE TABLE one (i, text)');
    sqlite.run('CREATE TABLE two (i, text)');
  });
  write((sqlite) => {
    sqlite.run(fill('one', 100));
    copyFileSync(`${file}-wal`, old);
  });
  write((sqlite) => sqlite.run(fill('two', 5_000)));
  // This process may still have the files open.
  const dataDir = join(folder.path, 'damaged');
  mkdirSync(dataDir);
  for (const name of ['tidings.db', 'secret.key']) copyFileSync(join(folder.path, name), join(dataDir, name));
  copyFileSync(old, join(dataDir, 'tidings.db-wal'));

  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    server = await startTidings(dataDir);
    await logged(DAMAGED);
    expect(await ready()).toEqual([503, { error: 'The database is damaged. Restore a backup' }]);
    expect(await metric()).toBe('1');
    expect((await fetch(`${server.url}/ping`)).status).toBe(200);
    await server.stop(signal);
  }
  const { exitCode, stdout } = await cli(dataDir, ['doctor', '--offline', '--json']);
  expect(exitCode).toBe(1);
  expect(JSON.parse(stdout).checks).toContainEqual(
    expect.objectContaining({ name: 'integrity', status: 'failed' }),
  );
  const restored = await cli(dataDir, ['restore', '--force', join(folder.path, 'good.backup')]);
  expect(restored).toMatchObject({ exitCode: 0 });
  server = await startTidings(dataDir);
  expect(await logged(INTACT)).not.toContain(DAMAGED);
  expect(await ready()).toEqual([200, { ready: true }]);
}, 60_000);

test('a server that was killed checks its database once, and one that stopped cleanly does not', async () => {
  server = await startTidings(folder.path);
  expect(await metric()).toBeUndefined();
  await server.stop('SIGKILL');
  server = await startTidings(folder.path);
  await logged(INTACT);
  expect(await metric()).toBe('0');
  expect(await ready()).toEqual([200, { ready: true }]);
  expect(await server.stop()).toBe(0);
  server = await startTidings(folder.path);
  expect(await server.stop()).toBe(0);
  expect(server.log()).not.toContain(INTACT);
}, 60_000);
