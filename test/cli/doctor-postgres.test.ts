import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { migrations } from '../../db/postgres/migrate.ts';
import { cli, cliJson, temporaryFolder } from '../support/cli.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { pauseReplay, startStandby } from '../support/standby.ts';
import { startTcpProxy, through } from '../support/tcp-proxy.ts';

const SECRET_KEY = Buffer.alloc(32, 7).toString('base64');
const OTHER_KEY = Buffer.alloc(32, 8).toString('base64');

let server: PostgresServer;
let url: string;
let folder: ReturnType<typeof temporaryFolder>;

beforeAll(async () => {
  server = await startPostgres({ fsync: 'on' });
}, 300_000);

afterAll(() => server?.stop());

beforeEach(async () => {
  folder = temporaryFolder();
  url = await server.createEmptyDatabase();
});

afterEach(() => folder.remove());

const environment = () => ({ DATABASE_URL: url, SECRET_KEY, PORT: '0' });

/** Makes the tables, by any command. */
const setUp = () =>
  cliJson(folder.path, ['organization', 'create', '--name', 'Acme', '--id', 'acme'], {
    environment: environment(),
  });

interface Report {
  ok: boolean;
  checks: { name: string; status: string; message: string; advice?: string }[];
}

async function examine(changes: Record<string, string> = {}) {
  const { exitCode, stdout, stderr } = await cli(
    join(folder.path, 'data'),
    ['doctor', '--offline', '--json'],
    {
      environment: { ...environment(), ...changes },
    },
  );
  expect(stderr).toBe('');
  const report = JSON.parse(stdout) as Report;
  expect(exitCode).toBe(report.ok ? 0 : 1);
  return (name: string) => report.checks.find((each) => each.name === name);
}

async function run(statement: string): Promise<void> {
  await using connection = new SQL(url, { max: 1 });
  await connection.unsafe(statement);
}

// The first: the standby is a copy of all databases.
test('a read replica is measured', async () => {
  await setUp();
  const standby = await startStandby(server);
  try {
    const readUrl = new URL(url);
    readUrl.port = String(standby.port);
    const replica = async () => (await examine({ DATABASE_READ_URL: readUrl.href }))('read replica');
    expect(await replica()).toMatchObject({ status: 'ok' });
    const elsewhere = new URL('/nowhere', readUrl).href;
    expect((await examine({ DATABASE_READ_URL: elsewhere }))('read replica')).toMatchObject({
      status: 'warning',
      message: expect.stringContaining('Create the database, or correct its name in DATABASE_READ_URL.'),
    });
    await pauseReplay(standby);
    await run("UPDATE organizations SET name = 'Acme Inc.'");
    expect(await replica()).toMatchObject({
      status: 'warning',
      message: 'The read replica is more than 10 seconds behind',
      advice: 'Until it works, the content API reads from the primary',
    });
  } finally {
    await standby.stop();
  }
}, 300_000);

test('a healthy server is all well, and the data folder is not looked at', async () => {
  await setUp();
  const { stdout } = await cli(folder.path, ['doctor', '--offline', '--json'], {
    environment: environment(),
  });
  const { ok, checks } = JSON.parse(stdout) as Report;
  expect(ok).toBe(true);
  expect(checks.filter(({ status }) => status !== 'ok')).toEqual([]);
  expect(checks.map(({ name }) => name)).toEqual([
    'settings',
    'public url',
    'stored secrets',
    'clock and log',
    'database server',
    'encryption',
    'database schema',
    'secret key',
    'durability',
    'database disk',
    'connections',
    'clock and database',
    'indexes',
    'keys',
    'sweep',
    'triggers',
    'deliveries',
    'server',
  ]);
  const named = (name: string) => checks.find((each) => each.name === name)?.message;
  expect(named('database server')).toMatch(/^PostgreSQL 18\.\d+ at 127\.0\.0\.1:\d+\/test_\w+ answers$/);
  expect(named('connections')).toMatch(
    /^0 processes with up to 10 connections each; the server allows 197 and has \d+ open$/,
  );
});

test('an empty database stays empty, and nothing is made in the data folder', async () => {
  const named = await examine();
  expect(named('database schema')).toMatchObject({ status: 'warning', message: 'The database is empty' });
  await using connection = new SQL(url, { max: 1 });
  expect(await connection`SELECT FROM pg_tables WHERE schemaname = 'public'`).toBeEmpty();
  expect(existsSync(join(folder.path, 'data'))).toBe(false);
});

test('a server that does not answer is a problem, without its password', async () => {
  const address = 'postgres://tidings:hunter2@127.0.0.1:1/tidings';
  const named = await examine({ DATABASE_URL: address });
  expect(named('database server')).toMatchObject({ status: 'failed' });
  expect(named('database server')?.message).toStartWith('The database 127.0.0.1:1/tidings cannot be used: ');
  expect(JSON.stringify(named('database server'))).not.toContain('hunter2');
  expect(named('connections')).toBeUndefined();
});

test('a database that is not in UTF8 is a problem', async () => {
  const name = 'latin1';
  await run(`CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'LATIN1'`);
  const named = await examine({ DATABASE_URL: server.url(name) });
  expect(named('database server')).toMatchObject({ status: 'failed' });
  expect(named('database server')?.message).toEndWith('/latin1 has the encoding LATIN1');
});

test('a setting that is wrong leaves the database unchecked', async () => {
  const named = await examine({ DATABASE_URL: 'mysql://127.0.0.1/tidings' });
  expect(named('settings')?.status).toBe('failed');
  expect(named('database server')).toMatchObject({
    status: 'warning',
    message: 'Not checked: a DATABASE_* setting is wrong',
  });
});

test.each([
  ['CREATE TABLE theirs (id int)', 'failed', 'The database has tables of another program'],
  [
    'UPDATE tidings SET schema = schema + 1',
    'warning',
    `A newer Tidings upgraded the database (schema ${migrations.length + 1}; this version supports ${migrations.length}). This version still works with it`,
  ],
  [
    'UPDATE tidings SET schema = schema + 1, oldest_compatible = schema + 1',
    'failed',
    `A newer Tidings upgraded the database (schema ${migrations.length + 1}; this version supports ${migrations.length}), and this version can't use it`,
  ],
  ['CREATE TABLE unfinished_move ()', 'failed', 'The database has an unfinished move'],
])('the schema after %s is %s', async (statement, status, message) => {
  if (!statement.includes('theirs')) await setUp();
  await run(statement);
  expect((await examine())('database schema')).toMatchObject({ status, message });
});

test.each<[string, string, Record<string, string>, string, string, string]>([
  [
    'another key',
    'SELECT 1',
    { SECRET_KEY: OTHER_KEY },
    'secret key',
    'failed',
    'The secrets were encrypted with another key than SECRET_KEY. No process starts with it',
  ],
  [
    'synchronous_commit=off',
    `DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET synchronous_commit = off'; END $$`,
    {},
    'durability',
    'warning',
    'synchronous_commit=off: a crash of the database server can lose deliveries that were acknowledged',
  ],
  [
    'a full disk',
    // As the server refuses to extend a file.
    `CREATE FUNCTION full_disk() RETURNS event_trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$;
      CREATE EVENT TRIGGER full_disk ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION full_disk()`,
    {},
    'database disk',
    'failed',
    'The disk of the database server is full: deliveries and changes get 503',
  ],
  [
    'a read-only database',
    `DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET default_transaction_read_only = on'; END $$`,
    {},
    'database server',
    'failed',
    'is read-only',
  ],
  [
    'an index that was not built',
    `UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'audit_events_by_expiry'::regclass`,
    {},
    'indexes',
    'failed',
    'PostgreSQL does not use these indexes: audit_events_by_expiry',
  ],
  [
    'more connections than the server allows',
    `INSERT INTO server_runs (id, public_url, started_at, alive_at)
      SELECT 'run_' || n, 'http://localhost', '2026-01-01T00:00:00.000Z', '2999-01-01T00:00:00.000Z'
      FROM generate_series(1, 3) AS n`,
    { DATABASE_POOL: '70' },
    'connections',
    'warning',
    '3 processes with up to 70 connections each; the server allows 197 and has ',
  ],
  [
    'a replica that is no standby',
    'SELECT 1',
    { DATABASE_READ_URL: 'the database itself' },
    'read replica',
    'warning',
    'The read replica cannot be used: it is not a standby',
  ],
])('%s is reported', async (_, statement, changes, name, status, message) => {
  await setUp();
  await run(statement);
  const readUrl = changes.DATABASE_READ_URL === undefined ? {} : { DATABASE_READ_URL: url };
  const finding = (await examine({ ...changes, ...readUrl }))(name);
  expect(finding).toMatchObject({ status });
  expect(finding?.message).toContain(message);
});

test('a full disk is not looked for where this user may make no temporary table', async () => {
  await setUp();
  const name = new URL(url).pathname.slice(1);
  await run(`REVOKE TEMPORARY ON DATABASE ${name} FROM PUBLIC; CREATE ROLE guest LOGIN SUPERUSER`);
  await run(`ALTER ROLE guest NOSUPERUSER; GRANT SELECT ON ALL TABLES IN SCHEMA public TO guest`);
  const named = await examine({ DATABASE_URL: Object.assign(new URL(url), { username: 'guest' }).href });
  expect(named('database server')).toMatchObject({ status: 'ok' });
  expect(named('database disk')).toBeUndefined();
});

test('any number of integrations is examined in as many round trips as one', async () => {
  await setUp();
  const connect = ['integration', 'connect', 'github', '--organization', 'acme', '--repository', 'a/b'];
  await cliJson(folder.path, connect, { environment: environment() });
  await using proxy = await startTcpProxy({ port: server.port });
  const trips = async () => {
    const before = proxy.roundTrips;
    const named = await examine({ DATABASE_URL: through(proxy, url) });
    return { trips: proxy.roundTrips - before, message: named('deliveries')?.message };
  };
  const one = await trips();
  expect(one.message).toBe('No integration has problems with deliveries (1 integration)');
  await run(`CREATE TEMP TABLE more AS SELECT * FROM integrations, generate_series(1, 300) AS number;
    UPDATE more SET id = 'int_' || number;
    ALTER TABLE more DROP number;
    INSERT INTO integrations SELECT * FROM more`);
  const many = await trips();
  expect(many.message).toBe('No integration has problems with deliveries (301 integrations)');
  // A large answer may arrive in parts.
  expect(many.trips).toBeLessThan(one.trips + 30);
});

test('after a lost key, a new one and a rotation of each secret make all well', async () => {
  await setUp();
  const json = (...words: string[]) =>
    cliJson(folder.path, words, { environment: { ...environment(), SECRET_KEY: OTHER_KEY } });
  const connect = ['integration', 'connect', 'github', '--organization', 'acme', '--repository', 'a/b'];
  const { integrationId } = await cliJson(folder.path, connect, { environment: environment() });
  await run('UPDATE tidings SET key_fingerprint = NULL');
  const secrets = async () => (await examine({ SECRET_KEY: OTHER_KEY }))('stored secrets');
  expect(await secrets()).toMatchObject({ status: 'failed' });
  await json('integration', 'rotate-secret', integrationId, '--now');
  expect(await secrets()).toMatchObject({ status: 'ok' });
  expect((await examine({ SECRET_KEY: OTHER_KEY }))('secret key')).toMatchObject({ status: 'ok' });
  expect((await examine())('secret key')).toMatchObject({ status: 'failed' });
}, 120_000);

test('a server on another machine should prove its name', async () => {
  // This machine, by an address that is not known as its own.
  const remote = url.replace('127.0.0.1', '0.0.0.0');
  const plain = await examine({ DATABASE_URL: remote });
  expect(plain('encryption')).toMatchObject({
    status: 'warning',
    message: 'The connection to the database is not encrypted: the network can read posts and secrets',
  });
});
