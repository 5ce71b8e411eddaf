import { is } from 'drizzle-orm';
import { getTableConfig, SQLiteTable } from 'drizzle-orm/sqlite-core';
import * as integrations from './schema/integrations.ts';
import * as media from './schema/media.ts';
import * as organizations from './schema/organizations.ts';
import * as posts from './schema/posts.ts';
import * as processes from './schema/processes.ts';
import * as publicSchema from './schema/public.ts';
import * as triggers from './schema/triggers.ts';

// The tables of the schema, for code that treats all of them alike.

export interface Table {
  readonly name: string;
  readonly columns: readonly Column[];
  /** The positions of the primary key's columns in `columns`. */
  readonly key: readonly number[];
}

export interface Column {
  readonly name: string;
  readonly type: 'blob' | 'integer' | 'text';
  /** The database makes its value. */
  readonly isGenerated: boolean;
}

/** Tables that are not copied to another database, and why. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  post_counts: 'SQL triggers fill it when posts are written',
  delivery_counts: 'SQL triggers fill it when log entries are written',
  leases: 'it is about processes that have ended',
  elapsed_time: 'it is about the machine of the server that wrote it',
  throttles: 'limits on guessing start from zero',
  form_marks: 'forms that are open during the copy must be opened again',
};

/** Tables without a reference to another one that are copied after it all the same, and why. */
const COPIED_AFTER: Readonly<Record<string, string>> = {
  // Otherwise the SQL triggers on posts would announce each copied post.
  rebuild_hooks: 'posts',
};

const configs = [integrations, media, organizations, posts, processes, publicSchema, triggers]
  .flatMap((schema) => Object.values<unknown>(schema))
  .filter((value) => is(value, SQLiteTable))
  .map((table) => getTableConfig(table));

export const tableNames: readonly string[] = configs.map(({ name }) => name).sort();

/** The tables that are copied to another database. Each comes after those that it refers to. */
export const copiedTables: readonly Table[] = inOrder(configs.filter(({ name }) => !(name in LEFT_OUT))).map(
  ({ name, columns, primaryKeys }) => {
    const key = primaryKeys[0]?.columns ?? columns.filter(({ primary }) => primary);
    return {
      name,
      columns: columns.map((column) => ({
        name: column.name,
        type: column.getSQLType() as Column['type'],
        isGenerated: column.generated !== undefined,
      })),
      key: key.map((column) => columns.findIndex(({ name }) => name === column.name)),
    };
  },
);

type TableConfig = ReturnType<typeof getTableConfig>;

/** Sorts by name, and each table after those that it refers to. */
function inOrder(tables: readonly TableConfig[]): TableConfig[] {
  const byName = new Map(tables.map((table) => [table.name, table]));
  const ordered = new Set<TableConfig>();
  const add = (table: TableConfig) => {
    const parents = table.foreignKeys.map(({ reference }) => getTableConfig(reference().foreignTable).name);
    for (const name of [...parents, COPIED_AFTER[table.name] ?? '']) {
      const parent = byName.get(name);
      if (parent !== undefined && parent !== table) add(parent);
    }
    ordered.add(table);
  };
  for (const name of [...byName.keys()].sort()) {
    const table = byName.get(name);
    if (table !== undefined) add(table);
  }
  return [...ordered];
}
