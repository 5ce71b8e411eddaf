import { test } from 'bun:test';
import { type SQL, sql } from 'drizzle-orm';
import type { Database, Engine, Storage } from '../../db/engine.ts';
import { openDatabase } from '../../db/sqlite/client.ts';

// Databases for tests, on either engine: SQLite in memory, or with TEST_ENGINE=postgres a database of a real server.

export const testEngine: Engine = process.env.TEST_ENGINE === 'postgres' ? 'postgres' : 'sqlite';

/** A fresh database with the whole schema, of the engine that this run tests. */
export function openTestDatabase(): Database {
  return openDatabase(':memory:');
}

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
