import { Database as Sqlite } from 'bun:sqlite';
import { afterAll, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type SQL, sql } from 'drizzle-orm';
import type { Database, Engine, Pace, Role, Storage } from '../../db/engine.ts';
import { openConnection, openDatabase, type SqliteDatabase } from '../../db/sqlite/client.ts';
import { newFolder } from './folder.ts';
import { createSharedPostgres, openPooledPostgres } from './postgres-databases.ts';
import { allRows } from './rows.ts';

// Databases for tests, on either engine: SQLite in memory, or with TEST_ENGINE=postgres a database of a real server.

export const testEngine: Engine = process.env.TEST_ENGINE === 'postgres' ? 'postgres' : 'sqlite';

/**
 * A fresh database with the whole schema, of the engine that this run tests. It is closed at the end of the scope that
 * opens it: a test, `beforeEach`, `describe`, or the file. In `beforeAll` it would be closed after that hook. A test that
 * opens many closes each itself, because connections are limited.
 */
export function openTestDatabase(): Database {
  if (testEngine === 'sqlite') return copyOfEmpty();
  const db = openPooledPostgres();
  afterAll(db.close);
  return db;
}

/** Work that takes many commits then does one step in each. */
export const oneStep: Pace = { holdMs: 0, restMs: 0, stepRows: 10 };

/** An empty database as a file. To copy it costs a hundredth of running all migrations. */
let empty: Buffer | null = null;

function copyOfEmpty(): SqliteDatabase {
  empty ??= openDatabase(':memory:').$client.serialize();
  return openConnection(Sqlite.deserialize(empty, { strict: true }));
}

export interface SharedDatabase {
  /** Connects as another process would. The connection is closed with the scope that creates the database. */
  open(role?: Role): Database;
}

/** As `openTestDatabase`, for several processes. */
export function createSharedDatabase(): SharedDatabase {
  const { open, remove } = testEngine === 'sqlite' ? sqliteFile() : createSharedPostgres();
  const opened: Database[] = [];
  afterAll(async () => {
    for (const db of opened) await db.close();
    await remove();
  });
  return {
    open(role) {
      const db = open(role);
      opened.push(db);
      return db;
    },
  };
}

function sqliteFile() {
  const folder = newFolder('database');
  return {
    open: (role?: Role): Database => openDatabase(join(folder, 'tidings.db'), role),
    remove: async () => rmSync(folder, { recursive: true }),
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

/** Runs a statement, as another process may, right before the next write, or the one of this number. */
export function executeBeforeNextWrite(db: Database, statement: SQL | string, number = 1): void {
  const write = db.write.bind(db);
  let left = number;
  db.write = async (work, options) => {
    if (--left === 0) {
      db.write = write;
      await execute(db, statement);
    }
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

/** The contents of the database, to search for text that must not be in it: SQLite's whole file, or all rows. */
export async function contentOf(db: Database): Promise<string> {
  if (db.engine === 'sqlite') return Buffer.from(sqliteOf(db).$client.serialize()).toString('latin1');
  return JSON.stringify(await allRows(db, 'latin1'));
}
