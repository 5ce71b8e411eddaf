import { afterAll, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type SQL, sql } from 'drizzle-orm';
import type { Database, Engine, Storage } from '../../db/engine.ts';
import { openDatabase, type SqliteDatabase } from '../../db/sqlite/client.ts';
import { allRows } from './rows.ts';

// Databases for tests, on either engine: SQLite in memory, or with TEST_ENGINE=postgres a database of a real server.

export const testEngine: Engine = process.env.TEST_ENGINE === 'postgres' ? 'postgres' : 'sqlite';

/** A fresh database with the whole schema, of the engine that this run tests. */
export function openTestDatabase(): Database {
  return openDatabase(':memory:');
}

/** A fresh database that several processes share. Each `open` is one of them; all are closed after the test. */
export function createSharedDatabase(): { open(): Database } {
  const folder = mkdtempSync(join(tmpdir(), 'tidings-shared-'));
  const opened: Database[] = [];
  afterAll(async () => {
    for (const db of opened) await db.close();
    rmSync(folder, { recursive: true });
  });
  return {
    open() {
      const db = openDatabase(join(folder, 'tidings.db'));
      opened.push(db);
      return db;
    },
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
