import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { AddressError, parseAddress } from '../../../db/postgres/address.ts';
import { openPostgres } from '../../../db/postgres/client.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres-server.ts';

const tls = (file: string) => join(import.meta.dir, '../../fixtures/tls', file);
const readTls = (file: string) => Bun.file(tls(file)).text();

describe('the parts of an address', () => {
  test.each([
    ['postgres://ann@db.example.com/app', 'db.example.com:5432/app'],
    ['postgresql://ann@db.example.com:6543/app', 'db.example.com:6543/app'],
    ['postgres://ann@db.example.com', 'db.example.com:5432/ann'],
    ['postgres://ann@[::1]:5433/app', '::1:5433/app'],
    ['postgres://ann@/app?host=/run/postgresql', '/run/postgresql/.s.PGSQL.5432/app'],
    ['postgres:///app?host=/run/postgresql&port=5433&user=ann', '/run/postgresql/.s.PGSQL.5433/app'],
    ['postgres://%2Frun%2Fpostgresql/app?user=ann', '/run/postgresql/.s.PGSQL.5432/app'],
    ['postgres://?host=db&dbname=app&user=ann', 'db:5432/app'],
  ])('%s', (address, name) => {
    const { name: actual, ways } = parseAddress(address);
    expect(actual).toBe(name);
    for (const way of ways) expect(way).toMatchObject({ username: 'ann' });
  });

  test('user and password are percent-decoded', () => {
    const [way] = parseAddress('postgres://a%40b:s%2Fc%3Ar%25#+@db/app').ways;
    expect(way).toMatchObject({ username: 'a@b', password: 's/c:r%#+', hostname: 'db', database: 'app' });
  });

  test('the program names itself, unless the address does', () => {
    expect(parseAddress('postgres://u@h/d').ways[0]).toMatchObject({
      connection: { application_name: 'tidings' },
    });
    const named = parseAddress('postgres://u@h/d?application_name=blog&options=-c%20work_mem%3D8MB');
    expect(named.ways[0]).toMatchObject({
      connection: { application_name: 'blog', options: '-c work_mem=8MB' },
    });
  });

  test('connect_timeout is in seconds, and 0 is none', () => {
    expect(parseAddress('postgres://u@h/d').connectMs).toBeNull();
    expect(parseAddress('postgres://u@h/d?connect_timeout=7').connectMs).toBe(7_000);
    expect(parseAddress('postgres://u@h/d?connect_timeout=0').connectMs).toBeNull();
  });
});

test.each<[address: string, message: string]>([
  ['mysql://u:secret@h/d', 'does not have the form'],
  ['postgres://u:sec/ret@h/d', 'does not have the form'],
  ['postgres://u:p@sec/ret@h/d', 'must be percent-encoded'],
  ['postgres://u:secret@h:port/d', 'does not have the form'],
  ['postgres://u:secret@a,b/d', 'several hosts'],
  ['postgres://u:secret@a:1,b:2/d', 'several hosts'],
  ['postgres://u:secret@/d?host=a,b', 'several hosts'],
  ['postgres://u:%E0%A4%A@h/d', 'password is not percent-encoded'],
  ['postgres://u:secret@h/d?pgbouncer=true', 'does not know the parameter "pgbouncer"'],
  ['postgres://u:secret@h/d?target_session_attrs=read-write', 'the parameter "target_session_attrs"'],
  ['postgres://u:secret@h/d?sslmode=maybe', '"sslmode" must be one of disable, allow'],
  ['postgres://u:secret@h/d?connect_timeout=soon', '"connect_timeout" must be a number'],
  ['postgres://u:secret@/d?host=h&port=99999', '"port" must be a number from 1 to 65535'],
  ['postgres://u:secret@h/d?sslmode=verify-ca', 'needs the parameter "sslrootcert"'],
  ['postgres://u:secret@h/d?sslmode=verify-ca&sslrootcert=system', 'needs the parameter "sslrootcert"'],
  ['postgres://u:secret@h/d?sslmode=require&sslrootcert=/no/such.crt', 'cannot be read: /no/such.crt'],
  ['postgres://u:secret@h/d?sslmode=require&sslcert=/no/such.crt', '"sslcert" and "sslkey"'],
])('%s is refused, without its password', (address, message) => {
  const refusal = () => parseAddress(address);
  expect(refusal).toThrow(AddressError);
  expect(refusal).toThrow(message);
  expect(refusal).not.toThrow(/secret|ret@|E0/);
});

describe('sslmode', () => {
  let secured: PostgresServer;
  let plain: PostgresServer;

  beforeAll(async () => {
    const files = {
      'server.crt': await readTls('server.crt'),
      'server.key': await readTls('server.key'),
      'authority.crt': await readTls('authority.crt'),
      // Users who may connect in one way alone.
      'pg_hba.conf': [
        'hostssl all with_tls all trust',
        'hostnossl all without_tls all trust',
        'host all postgres all trust',
        'local all postgres trust',
      ].join('\n'),
    };
    const settings = { ssl: 'on', ssl_ca_file: 'authority.crt' };
    [secured, plain] = await Promise.all([startPostgres(settings, { files }), startPostgres()]);
    await using admin = new Bun.SQL(secured.url('postgres'), { max: 1 });
    await admin.unsafe('CREATE ROLE with_tls SUPERUSER LOGIN');
    await admin.unsafe('CREATE ROLE without_tls SUPERUSER LOGIN');
  }, 120_000);

  afterAll(async () => {
    await Promise.all([secured.stop(), plain.stop()]);
  });

  /** True when the connection is encrypted, false when it is not; throws when there is none. */
  async function connects(
    { port }: PostgresServer,
    parameters: string,
    { host = 'localhost', user = 'postgres' } = {},
  ): Promise<boolean> {
    const url = `postgres://${user}@${host}:${port}/postgres?connect_timeout=60&${parameters}`;
    const { ways } = parseAddress(url);
    let failure: unknown;
    for (const way of ways) {
      try {
        await using sql = new Bun.SQL({ ...way, adapter: 'postgres', max: 1 });
        const [row] = await sql`SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()`;
        return row.ssl;
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  const root = `sslrootcert=${tls('authority.crt')}`;
  const wrongRoot = `sslrootcert=${tls('other.crt')}`;

  test.each<[parameters: string, withTls: boolean | 'fails', without: boolean | 'fails']>([
    ['sslmode=disable', false, false],
    ['sslmode=allow', false, false],
    ['', true, false],
    ['sslmode=prefer', true, false],
    ['sslmode=require', true, 'fails'],
    [`sslmode=verify-ca&${root}`, true, 'fails'],
    [`sslmode=verify-full&${root}`, true, 'fails'],
    // No public authority signed the certificate.
    ['sslmode=verify-full', 'fails', 'fails'],
    ['sslmode=verify-full&sslrootcert=system', 'fails', 'fails'],
    [`sslmode=verify-ca&${wrongRoot}`, 'fails', 'fails'],
    [`sslmode=verify-full&${wrongRoot}`, 'fails', 'fails'],
    [`sslmode=require&${root}`, true, 'fails'],
    [`sslmode=require&${wrongRoot}`, 'fails', 'fails'],
  ])(
    '%s',
    async (parameters, withTls, without) => {
      for (const [server, expected] of [
        [secured, withTls],
        [plain, without],
      ] as const) {
        const connection = connects(server, parameters);
        if (expected === 'fails') await expect(connection).rejects.toThrow();
        else expect(await connection).toBe(expected);
      }
    },
    120_000,
  );

  test('verify-ca checks the chain alone, verify-full the name too', async () => {
    const byNumber = { host: '127.0.0.1' };
    expect(await connects(secured, `sslmode=verify-ca&${root}`, byNumber)).toBe(true);
    expect(await connects(secured, `sslmode=require&${root}`, byNumber)).toBe(true);
    await expect(connects(secured, `sslmode=verify-full&${root}`, byNumber)).rejects.toThrow();
  }, 120_000);

  test('allow and prefer try the other way for a user whom the server refuses', async () => {
    expect(await connects(secured, 'sslmode=allow', { user: 'with_tls' })).toBe(true);
    expect(await connects(secured, 'sslmode=prefer', { user: 'without_tls' })).toBe(false);
    await expect(connects(secured, 'sslmode=disable', { user: 'with_tls' })).rejects.toThrow();
    const refused = `postgres://with_tls@localhost:${secured.port}/postgres?sslmode=disable`;
    await expect(openPostgres(refused)).rejects.toThrow('Allow this connection in pg_hba.conf');
    await expect(connects(secured, 'sslmode=require', { user: 'without_tls' })).rejects.toThrow();
  }, 120_000);

  test('a client certificate is sent', async () => {
    const certificate = `sslcert=${tls('client.crt')}&sslkey=${tls('client.key')}`;
    const { port } = secured;
    await secured.restart({
      files: { 'pg_hba.conf': 'hostssl all postgres all cert\nlocal all postgres trust' },
    });
    expect(port).toBe(secured.port);
    expect(await connects(secured, `sslmode=verify-full&${root}&${certificate}`)).toBe(true);
    await expect(connects(secured, `sslmode=verify-full&${root}`)).rejects.toThrow(/certificate/);
  }, 120_000);

  test('a Unix socket needs no TLS', async () => {
    const url = `postgres://postgres@/postgres?host=${secured.socketFolder}&port=${secured.port}&sslmode=verify-full`;
    await using sql = new Bun.SQL({ ...parseAddress(url).ways[0], adapter: 'postgres', max: 1 });
    expect((await sql`SELECT 1 AS one`)[0].one).toBe(1);
  }, 120_000);

  test('a refused certificate says what to look at', async () => {
    const url = `postgres://postgres@127.0.0.1:${secured.port}/postgres?sslmode=verify-full&${root}`;
    await expect(openPostgres(url)).rejects.toThrow('Check sslmode and sslrootcert in DATABASE_URL.');
  }, 120_000);
});
