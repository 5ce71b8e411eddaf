import type { Database, Storage } from '../../db/engine.ts';
import { openTestDatabase, sqliteOf } from './database.ts';

/** How SQLite goes about each statement that the work prepares. */
export async function plansOf(
  work: (db: Storage) => Promise<unknown>,
  database: Database = openTestDatabase(),
): Promise<string[]> {
  const db = sqliteOf(database);
  const statements: string[] = [];
  const { prepare } = db.$client;
  db.$client.prepare = ((sql: string) => {
    statements.push(sql);
    return prepare.call(db.$client, sql);
  }) as typeof prepare;
  await work(db);
  return statements.map((sql) =>
    prepare
      .call(db.$client, `EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map((row) => (row as { detail: string }).detail)
      .join(),
  );
}
