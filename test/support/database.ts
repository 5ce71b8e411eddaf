import { afterAll, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type SQL, sql } from 'drizzle-orm';
import type { Database, Engine, Storage } from '../../db/engine.ts';
import { openPostgres } from '../../db/postgres/client.ts';
import { openDatabase, type SqliteDatabase } from '../../db/sqlite/client.ts';
import { giveBackDatabase, type TestDatabase, takeDatabase } from './postgres-databases.ts';
import { allRows } from './rows.ts';

// Databases for tests, on either engine: SQLite in memory, or with TEST_ENGINE=postgres a database of a real server.

export const testEngine: Engine = process.env.TEST_ENGINE === 'postgres' ? 'postgres' : 'sqlite';

/**
 * A fresh database with the whole schema, of the engine that this run tests. It is closed at the end of the scope that
 * opens it: a test, `beforeEach`, `describe`, or the file. In `beforeAll` it would be closed after that hook. A test that
 * opens many closes each itself, because connections are limited.
 */
export function openTestDatabase(): Database {
  if (testEngine === 'sqlite') return openDatabase(':memory:');
  const { open, remove } = postgresDatabase();
  const db = open();
  const close = db.close.bind(db);
  let closed: Promise<void> | null = null;
  db.close = () => {
    closed ??= close().then(remove);
    return closed;
  };
  afterAll(db.close);
  return db;
}

export interface SharedDatabase {
  /** Connects as another process would. The connection is closed with the scope that creates the database. */
  open(): Database;
}

/** As `openTestDatabase`, for several processes. */
export function createSharedDatabase(): SharedDatabase {
  const { open, remove } = testEngine === 'sqlite' ? sqliteFile() : postgresDatabase();
  const opened: Database[] = [];
  afterAll(async () => {
    for (const db of opened) await db.close();
    await remove();
  });
  return {
    open() {
      const db = open();
      opened.push(db);
      return db;
    },
  };
}

interface Fresh {
  open(): Database;
  remove(): Promise<void>;
}

function sqliteFile(): Fresh {
  const folder = mkdtempSync(join(tmpdir(), 'tidings-database-'));
  return {
    open: () => openDatabase(join(folder, 'tidings.db')),
    remove: async () => rmSync(folder, { recursive: true }),
  };
}

/** A database on the shared server, taken at first use. */
function postgresDatabase(): Fresh {
  let taken: Promise<TestDatabase> | null = null;
  return {
    open: () =>
      lazily(async () => {
        taken ??= takeDatabase();
        return openPostgres((await taken).url, 'server', { poolSize: 4, limits: LIMITS });
      }),
    async remove() {
      if (taken !== null) await giveBackDatabase(await taken);
    },
  };
}

/** Generous, because the machine may be busy with other tests. */
const LIMITS = { answerMs: 120_000, giveUpMs: 120_000 };

/** A database that is opened at first use, because opening SQLite's takes no waiting and tests rely on it. */
function lazily(open: () => Promise<Database>): Database {
  let opened: Promise<Database> | null = null;
  const ready = () => {
    opened ??= open();
    return opened;
  };
  return {
    engine: 'postgres',
    read: async (...given) => (await ready()).read(...given),
    write: async (...given) => (await ready()).write(...given),
    lease: async (names) => (await ready()).lease(names),
    health: async () => (await ready()).health(),
    sizes: async () => (await ready()).sizes(),
    close: async () => (await opened)?.close(),
  };
}

/** Tests what SQLite alone does; skipped on PostgreSQL. */
export const testSqlite = test.if(testEngine === 'sqlite');

/** Tests what PostgreSQL alone does; skipped on SQLite. */
export const testPostgres = test.if(testEngine === 'postgres');

/** The database as SQLite's engine knows it, for `testSqlite`. */
export function sqliteOf(db: Database): SqliteDatabase {
  if (db.engine !== 'sqlite') throw new Error(`the database is of ${db.engine}`);
  return db as SqliteDatabase;
}

/** Runs one statement that returns nothing, in a transaction of its own. */
export async function execute(db: Storage, statement: SQL | string): Promise<void> {
  await db.write(async (tx) => {
    await tx.run(toSql(statement));
  });
}

/** Runs a statement, as another process may, right before the next write. */
export function executeBeforeNextWrite(db: Database, statement: SQL | string): void {
  const write = db.write.bind(db);
  db.write = async (work, options) => {
    db.write = write;
    await execute(db, statement);
    return write(work, options);
  };
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

/** What the database holds, to search for text that must not be in it: SQLite's whole file, or all rows. */
export async function contentOf(db: Database): Promise<string> {
  if (db.engine === 'sqlite') return Buffer.from(sqliteOf(db).$client.serialize()).toString('latin1');
  return JSON.stringify(await allRows(db, 'latin1'));
}
