import { test } from 'bun:test';
import { basename } from 'node:path';
import { type SQL, sql } from 'drizzle-orm';
import type { Database, Engine, Storage } from '../../db/engine.ts';
import { openPostgres } from '../../db/postgres/client.ts';
import { migrate, migrations } from '../../db/postgres/migrate.ts';
import { openDatabase } from '../../db/sqlite/client.ts';
import { type Databases, sharedPostgres } from './postgres-server.ts';

// Databases for tests, on either engine: SQLite in memory, or with TEST_ENGINE=postgres a database of a real server.

export const testEngine: Engine = process.env.TEST_ENGINE === 'postgres' ? 'postgres' : 'sqlite';

/** Databases that the present test opened, and those that were opened before it. */
let ofTest: Database[] | null = null;
const ofFile: Database[] = [];

/**
 * A fresh database with the whole schema, of the engine that this run tests. It is closed after the test, or after the
 * file when it was opened outside of one.
 */
export function openTestDatabase(): Database {
  if (testEngine === 'sqlite') return openDatabase(':memory:');
  const db = lazyPostgres();
  (ofTest ?? ofFile).push(db);
  return db;
}

/** Hooks of all tests; see `preload.ts`. */
export const databaseHooks = {
  beforeTest() {
    ofTest = [];
  },
  async afterTest() {
    for (const db of ofTest ?? []) await db.close();
    ofTest = null;
  },
  async afterFile() {
    for (const db of ofFile.splice(0)) await db.close();
  },
};

/** A database of its own on the shared server, created at first use. */
function lazyPostgres(): Database {
  let opened: Promise<{ db: Database; drop: () => Promise<void> }> | null = null;
  const open = async () => {
    opened ??= createPostgres();
    return (await opened).db;
  };
  return {
    engine: 'postgres',
    read: async (...given) => (await open()).read(...given),
    write: async (...given) => (await open()).write(...given),
    lease: async (names) => (await open()).lease(names),
    health: async () => (await open()).health(),
    sizes: async () => (await open()).sizes(),
    async close() {
      if (opened === null) return;
      const { db, drop } = await opened;
      await db.close();
      await drop();
    },
  };
}

/** Generous, because the machine may be busy with other tests. */
const LIMITS = { answerMs: 120_000, giveUpMs: 120_000 };

async function createPostgres(): Promise<{ db: Database; drop: () => Promise<void> }> {
  const url = await createPostgresDatabase();
  const { dropDatabase } = await sharedPostgres();
  const db = await openPostgres(url, 'server', { poolSize: 4, limits: LIMITS });
  return { db, drop: () => dropDatabase(url) };
}

/** Creates a database with the schema on the shared server, and returns its URL. */
export async function createPostgresDatabase(): Promise<string> {
  const server = await sharedPostgres();
  template ??= prepareTemplate(server);
  const url = server.url(`test_${Bun.randomUUIDv7('hex').replaceAll('-', '')}`);
  await runOn(server, `CREATE DATABASE ${nameOf(url)} TEMPLATE ${await template}`);
  return url;
}

let template: Promise<string> | null = null;

/** A database with the schema, to copy. All test processes on a server use the same. */
async function prepareTemplate(server: Databases): Promise<string> {
  const name = `template_${Bun.hash(migrations.join()).toString(36)}`;
  await using connection = new Bun.SQL(server.url('postgres'), { max: 1 });
  await connection.begin(async (tx) => {
    await tx`SELECT pg_advisory_xact_lock(1)`;
    const [existing] = await tx`SELECT datistemplate FROM pg_database WHERE datname = ${name}`;
    if (existing?.datistemplate) return;
    await runOn(server, `DROP DATABASE IF EXISTS ${name}`);
    await runOn(server, `CREATE DATABASE ${name} TEMPLATE template0`);
    await using empty = new Bun.SQL(server.url(name), { max: 1 });
    await migrate(empty);
    await empty.close();
    await runOn(server, `ALTER DATABASE ${name} IS_TEMPLATE true`);
  });
  return name;
}

async function runOn(server: Databases, statement: string): Promise<void> {
  await using connection = new Bun.SQL(server.url('postgres'), { max: 1 });
  await connection.unsafe(statement);
}

const nameOf = (url: string) => basename(new URL(url).pathname);

/** Tests what SQLite alone does; skipped on PostgreSQL. */
export const testSqlite = test.if(testEngine === 'sqlite');

/** Tests what PostgreSQL alone does; skipped on SQLite. */
export const testPostgres = test.if(testEngine === 'postgres');

/** Runs one statement that returns nothing, in a transaction of its own. */
export async function execute(db: Storage, statement: SQL | string): Promise<void> {
  await db.write(async (tx) => {
    await tx.run(toSql(statement));
  });
}

/** The rows of one query, each a list of its values. */
export function valuesOf<Row extends unknown[] = unknown[]>(
  db: Storage,
  query: SQL | string,
): Promise<Row[]> {
  return db.read((tx) => tx.values<Row>(toSql(query)));
}

function toSql(text: SQL | string): SQL {
  return typeof text === 'string' ? sql.raw(text) : text;
}
