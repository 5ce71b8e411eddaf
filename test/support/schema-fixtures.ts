import { Database as Sqlite } from 'bun:sqlite';
import { migrations } from '../../db/sqlite/migrate.ts';

/** The schemas before the current one, each the number of its migrations. */
export const olderSchemas = Array.from(migrations.keys()).slice(1);

/** SQL triggers write these, when posts and log entries are written. */
const MADE_BY_TRIGGERS = /^(delivery_counts|post_counts|post_numbers|post_search.*)$/;

/** Columns of JSON, and others that need a certain value. A public post would have messages for hooks. */
const given: Record<string, string> = {
  permissions: '["api.read"]',
  filters: '{}',
  event_keys: '[]',
  lines: '[]',
  rewrites: '[]',
  data: '{"isPrerelease":false}',
  is_public: '0',
};

interface Column {
  name: string;
  type: string;
  notnull: number;
  pk: number;
  /** Other than 0: the database makes its value. */
  hidden: number;
}

/** SQL that makes an empty file a database of that schema, with two rows in each table. */
export function fixtureOf(schema: number): string {
  const sqlite = new Sqlite(':memory:');
  for (const migration of migrations.slice(0, schema)) {
    for (const statement of migration.split('--> statement-breakpoint')) sqlite.run(statement);
  }
  const made = sqlite
    .query<{ type: string; name: string; sql: string }, []>(
      'SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid',
    )
    .all()
    .filter(({ name }) => !/^(post_search_|sqlite_)/.test(name));
  const tables = made.filter(({ type, name }) => type === 'table' && !MADE_BY_TRIGGERS.test(name));
  const rows = tables.flatMap(({ name, sql }) => [0, 1].map((row) => insert(sqlite, name, sql, row)));
  return [
    ...made.map(({ sql }) => sql),
    'BEGIN',
    'PRAGMA defer_foreign_keys = ON',
    ...rows,
    'COMMIT',
    `PRAGMA user_version = ${schema}`,
  ]
    .map((statement) => `${statement};\n`)
    .join('');
}

function insert(sqlite: Sqlite, table: string, sql: string, row: number): string {
  const columns = sqlite
    .query<Column, []>(`PRAGMA table_xinfo("${table}")`)
    .all()
    .filter(({ hidden }) => hidden === 0);
  const parents = sqlite
    .query<{ from: string; table: string }, []>(`PRAGMA foreign_key_list("${table}")`)
    .all();
  const values = columns.map((column) => {
    const parent = parents.find(({ from }) => from === column.name);
    return parent === undefined ? valueFor(table, column, sql, row) : `'${keyOf(parent.table, row)}'`;
  });
  return `INSERT INTO "${table}" (${columns.map(({ name }) => `"${name}"`).join(', ')}) VALUES (${values.join(', ')})`;
}

/** The id of an image is part of the name of its file. */
const keyOf = (table: string, row: number) => (table === 'media' ? `img_${row}` : `${table} ${row}`);

/** The first row has everything; the second has nothing where nothing may be. */
function valueFor(table: string, { name, type, notnull, pk }: Column, sql: string, row: number): string {
  const affinity = type.toLowerCase();
  if (row === 1 && notnull === 0 && pk === 0) return 'NULL';
  const [, choices] = new RegExp(`"${name}" in \\(([^)]+)\\)`).exec(sql) ?? [];
  if (choices !== undefined) return choices.split(', ')[row] ?? 'NULL';
  if (name in given) return `'${given[name]}'`;
  if (affinity === 'integer') return name.endsWith('_at') ? '1795000000000' : String(row);
  if (affinity === 'blob') return `X'00ff0${row}'`;
  if (name.endsWith('_at')) return `'2026-11-2${row}T12:00:00.000Z'`;
  if (name === 'source_metadata' || name === 'headers') return `'{"a":"b"}'`;
  if (pk > 0) return `'${keyOf(table, row)}'`;
  return `'It''s the ${name} of ${table}, Ümläut 🚀 ${row}'`;
}
