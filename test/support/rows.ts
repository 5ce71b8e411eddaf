import { sql } from 'drizzle-orm';
import type { Database, ReadTx } from '../../db/engine.ts';

/** Rows by table, and values by column. */
export type Rows = Record<string, Record<string, unknown>[]>;

/** Every row of every table, to tell whether something was written. Blobs are text in `encoding`. */
export function allRows(db: Database, encoding: BufferEncoding = 'hex'): Promise<Rows> {
  return db.read(async (tx) => {
    const rows: Rows = {};
    for (const [table = '', columns = ''] of await tx.values<[string, string]>(tables[db.engine])) {
      rows[table] = await rowsOf(tx, table, columns.split(','), encoding);
    }
    return rows;
  });
}

/** Each table, and its columns with commas between. */
const tables = {
  sqlite: sql`
    select name, (select group_concat(name) from pragma_table_xinfo(t.name) where hidden <> 1)
    from sqlite_schema t where type = 'table' order by name`,
  postgres: sql`
    select relname, string_agg(attname, ',' order by attnum)
    from pg_class join pg_attribute on attrelid = pg_class.oid
    where relkind = 'r' and relnamespace = 'public'::regnamespace and attnum > 0 and not attisdropped
    group by relname order by relname`,
};

async function rowsOf(
  tx: ReadTx,
  table: string,
  columns: string[],
  encoding: BufferEncoding,
): Promise<Record<string, unknown>[]> {
  const readable = (value: unknown) =>
    value instanceof Uint8Array ? Buffer.from(value).toString(encoding) : value;
  const names = columns.map((column) => `"${column}"`).join();
  const rows = await tx.values(sql.raw(`select ${names} from "${table}"`));
  return rows.map((values) => Object.fromEntries(columns.map((column, n) => [column, readable(values[n])])));
}
