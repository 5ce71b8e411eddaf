import type { SqliteDatabase } from '../../db/sqlite/client.ts';

/** Every row of every table, to tell whether something was written. Blobs are in hex. */
export function allRows(db: Pick<SqliteDatabase, '$client'>): Record<string, Record<string, unknown>[]> {
  const tables = db.$client
    .query<{ name: string }, []>("select name from sqlite_schema where type = 'table' order by name")
    .all();
  return Object.fromEntries(
    tables.map(({ name }) => [name, db.$client.query(`select * from "${name}"`).all().map(readable)]),
  );
}

function readable(row: unknown): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row as Record<string, unknown>).map(([column, value]) => [
      column,
      value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value,
    ]),
  );
}
