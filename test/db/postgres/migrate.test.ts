import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { migrate, migrations } from '../../../db/postgres/migrate.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres-server.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(async () => {
  await server.stop();
});

async function connect(url?: string): Promise<SQL> {
  return new SQL(url ?? (await server.createEmptyDatabase()), { max: 1 });
}

const readVersion = async (connection: SQL) => Array.from(await connection`SELECT * FROM tidings`);

/** Migrations of a small schema. */
const first =
  'CREATE TABLE tidings (schema int, oldest_compatible int, key_fingerprint bigint); INSERT INTO tidings VALUES (0, 0);';
const second = 'CREATE TABLE added (id integer);';
const compatible = `-- oldest compatible: 2\n${second.replace('added', 'also_added')}`;

test('no migration of a release was changed since', () => {
  const released = migrations.slice(0, 2);
  expect(released.map((migration) => Bun.SHA256.hash(migration, 'hex').slice(0, 16))).toEqual([
    '2b871b68b401c63a',
    '46b0da2bfe557d89',
  ]);
});

describe('a database', () => {
  test('that is empty gets the schema, and keeps its rows at the next start', async () => {
    await using connection = await connect();
    await migrate(connection);
    await connection`UPDATE tidings SET key_fingerprint = 42`;
    await migrate(connection);
    expect(await readVersion(connection)).toEqual([
      {
        schema: String(migrations.length),
        oldest_compatible: /^-- oldest compatible: (\d+)/.exec(migrations.at(-1) ?? '')?.[1] ?? '',
        key_fingerprint: '42',
      },
    ]);
  });

  test('is migrated once when several processes start on it', async () => {
    const url = await server.createEmptyDatabase();
    const connections = await Promise.all(Array.from({ length: 5 }, () => connect(url)));
    await Promise.all(connections.map((connection) => migrate(connection)));
    const [connection] = connections;
    expect(connection && (await readVersion(connection))).toHaveLength(1);
    await Promise.all(connections.map((each) => each.close()));
  });

  test('of an older version gets the migrations that it lacks', async () => {
    await using connection = await connect();
    await migrate(connection, [first]);
    await migrate(connection, [first, second, compatible]);
    expect(await readVersion(connection)).toEqual([
      { schema: 3, oldest_compatible: 2, key_fingerprint: null },
    ]);
    expect(Array.from(await connection`SELECT * FROM added, also_added`)).toEqual([]);
  });

  test('is unchanged when a migration fails', async () => {
    await using connection = await connect();
    await migrate(connection, [first]);
    await expect(migrate(connection, [first, second, 'SELECT 1 / 0;'])).rejects.toThrow('division by zero');
    expect(await readVersion(connection)).toEqual([
      { schema: 1, oldest_compatible: 1, key_fingerprint: null },
    ]);
    await migrate(connection, [first, second]);
    expect(await readVersion(connection)).toMatchObject([{ schema: 2 }]);
  });

  test('of a newer version is used as it is when this version works with it', async () => {
    await using connection = await connect();
    await migrate(connection, [first, second, compatible]);
    await migrate(connection, [first, second]);
    expect(await readVersion(connection)).toMatchObject([{ schema: 3 }]);
  });

  test('of a newer version is refused otherwise', async () => {
    await using connection = await connect();
    await migrate(connection, [first, second, compatible]);
    await expect(migrate(connection, [first])).rejects.toThrow(
      'The database was upgraded by a newer Tidings (schema 3; this version supports 1). Start that version or a newer one.',
    );
  });

  test('of another program is refused', async () => {
    await using connection = await connect();
    await connection`CREATE TABLE customers (id integer)`;
    await expect(migrate(connection)).rejects.toThrow('The database has tables of another program.');
    expect(Array.from(await connection`SELECT * FROM customers`)).toEqual([]);
  });

  test('of another program in another schema does not matter', async () => {
    await using connection = await connect();
    await connection`CREATE SCHEMA shop`;
    await connection`CREATE TABLE shop.customers (id integer)`;
    await migrate(connection);
    expect(await readVersion(connection)).toHaveLength(1);
  });

  test('with another encoding than UTF8 is refused', async () => {
    await using admin = await connect(server.url('postgres'));
    await admin`CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0`;
    await using connection = await connect(server.url('latin'));
    await expect(migrate(connection)).rejects.toThrow(
      "The database has the encoding LATIN1. Create one with CREATE DATABASE … TEMPLATE template0 ENCODING 'UTF8', and set DATABASE_URL to it.",
    );
  });

  test('of a server that is too old is refused', async () => {
    const connection = { unsafe: () => Promise.resolve([{ version: 14, encoding: 'UTF8' }]) };
    await expect(migrate(connection as unknown as SQL)).rejects.toThrow(
      'PostgreSQL 14 is too old. Upgrade the server to PostgreSQL 15 or newer.',
    );
  });
});

test('ids of audit events grow, also after rows with given ids', async () => {
  await using connection = await connect(await server.createDatabase());
  const insert = async (id: number | null) => {
    const [row] = await connection`
      INSERT INTO audit_events (id, action, actor_type, summary, count, created_at, expires_at)
      VALUES (${id}, 'post.create', 'user', '', 1, '', 0) RETURNING id`;
    return Number(row.id);
  };
  expect([
    await insert(null),
    await insert(null),
    await insert(9),
    await insert(5),
    await insert(null),
  ]).toEqual([1, 2, 9, 5, 10]);
  await connection`DELETE FROM audit_events WHERE id = 10`;
  expect(await insert(null)).toBe(11);
});
