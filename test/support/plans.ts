import { expect } from 'bun:test';
import type { Database, Storage } from '../../db/engine.ts';
import { openTestDatabase, sqliteOf } from './database.ts';

/** How SQLite goes about each statement that the work runs. */
export async function plansOf(
  work: (db: Storage) => Promise<unknown>,
  database: Database = openTestDatabase(),
): Promise<string[]> {
  const db = sqliteOf(database);
  const statements: string[] = [];
  const { query } = db.$client;
  db.$client.query = ((sql: string) => {
    statements.push(sql);
    return query.call(db.$client, sql);
  }) as typeof query;
  await work(db);
  expect(statements).not.toEqual([]);
  return statements.map((sql) =>
    query
      .call(db.$client, `EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map((row) => (row as { detail: string }).detail)
      .join(),
  );
}
