import { constants, Database as Sqlite } from 'bun:sqlite';
import { closeSync, openSync } from 'node:fs';
import { applyMigrations, migrations, readVersion } from './migrate.ts';

// For a file that somebody may have changed. Code in its schema would run, so it must equal ours, or only its rows are
// copied.

interface Entry {
  type: string;
  name: string;
  table: string;
  sql: string | null;
}

const entriesOf = (sqlite: Sqlite) =>
  sqlite
    .query<Entry, []>('SELECT type, name, tbl_name AS "table", sql FROM sqlite_schema ORDER BY type, name')
    .all();

/** Allow SQLite's own tables and Litestream's, which contain no code and which Tidings never reads. */
const isHarmless = ({ type, name, table, sql }: Entry) =>
  (type === 'table' && /^sqlite_(?:sequence|stat[14])$/.test(name)) ||
  (/^_litestream_\w+$/.test(table) &&
    (type === 'table' ? /^CREATE TABLE \w+ \([\w ,]+\)$/i.test(sql ?? '') : sql === null));

function create(file: string, schema: number): Sqlite {
  const flags = constants.SQLITE_OPEN_READWRITE | constants.SQLITE_OPEN_CREATE | constants.SQLITE_OPEN_URI;
  const sqlite = new Sqlite(file, flags);
  // The caller syncs the finished file, and removes an unfinished one.
  sqlite.run('PRAGMA synchronous = OFF');
  sqlite.transaction(() => applyMigrations(sqlite, migrations.slice(0, schema)))();
  return sqlite;
}

/** The first entry of the file's schema that is missing, different or added, such as `trigger x`; null without one. */
export function findForeignSchema(file: string): string | null {
  using sqlite = new Sqlite(file, { readonly: true });
  using own = create(':memory:', readVersion(sqlite));
  const describe = ({ type, name, table, sql }: Entry) => JSON.stringify([type, name, table, sql]);
  const found = entriesOf(sqlite).filter((entry) => !isHarmless(entry));
  const expected = entriesOf(own).filter((entry) => !isHarmless(entry));
  const known = new Set(expected.map(describe));
  const present = new Set(found.map(describe));
  const other =
    found.find((entry) => !known.has(describe(entry))) ??
    expected.find((entry) => !present.has(describe(entry)));
  return other === undefined ? null : `${other.type} ${other.name}`;
}

/** Copies the rows of `source`, which nobody else has open, into the schema of the migrations. Does not sync the file. */
export function rebuildFromRows(source: string, target: string): void {
  closeSync(openSync(target, 'wx', 0o600));
  using foreign = new Sqlite(source, { readonly: true });
  const schema = readVersion(foreign);
  const fingerprint = foreign.query('PRAGMA application_id').values()[0]?.[0];
  using sqlite = create(target, schema);
  // Let expressions of a foreign schema call only harmless functions.
  sqlite.run('PRAGMA trusted_schema = OFF');
  sqlite.run('ATTACH ? AS source', [`${Bun.pathToFileURL(source).href}?mode=ro&immutable=1`]);
  const ofType = (type: string, database = 'main') =>
    sqlite
      .query<{ name: string }, [string]>(
        `SELECT name FROM pragma_table_list WHERE schema = '${database}' AND type = ?`,
      )
      .all(type)
      .map(({ name }) => name);
  const given = new Set(ofType('table', 'source'));
  const tables = ofType('table').filter((name) => !name.startsWith('sqlite_'));
  const triggers = entriesOf(sqlite).filter(({ type }) => type === 'trigger');
  sqlite.transaction(() => {
    // The source already has the rows that our triggers write.
    for (const { name } of triggers) sqlite.run(`DROP TRIGGER "${name}"`);
    for (const table of tables) {
      if (!given.has(table)) throw new Error(`it has no table ${table}`);
      copyTable(sqlite, table);
    }
    for (const name of ofType('virtual')) sqlite.run(`INSERT INTO "${name}" ("${name}") VALUES ('rebuild')`);
    if (sqlite.query("SELECT 1 FROM source.sqlite_schema WHERE name = 'sqlite_sequence'").get() !== null) {
      // Never assign the id of a deleted row again.
      sqlite.run(
        "UPDATE sqlite_sequence SET seq = max(seq, coalesce((SELECT max(seq) FROM source.sqlite_sequence AS given WHERE given.name = sqlite_sequence.name AND typeof(seq) = 'integer'), 0))",
      );
    }
    for (const { sql } of triggers) sqlite.run(String(sql));
  })();
  sqlite.run('DETACH source');
  sqlite.run(`PRAGMA application_id = ${Number(fingerprint)}`);
  sqlite.run(`PRAGMA user_version = ${schema}`);
}

function copyTable(sqlite: Sqlite, table: string): void {
  const columnsIn = (schema: string) =>
    sqlite
      .query<{ name: string; hidden: number }, [string, string]>(
        'SELECT name, hidden FROM pragma_table_xinfo(?, ?)',
      )
      .all(table, schema)
      // Skip generated columns: ours are recomputed, and a foreign one is an expression.
      .filter(({ hidden }) => hidden === 0)
      .map(({ name }) => name);
  const columns = columnsIn('main');
  const missing = columns.find((name) => !columnsIn('source').includes(name));
  if (missing !== undefined) throw new Error(`its table ${table} has no column ${missing}`);
  const list = columns.map((name) => `"${name}"`).join(', ');
  sqlite.run(`DELETE FROM "${table}"`);
  sqlite.run(`INSERT INTO "${table}" (${list}) SELECT ${list} FROM source."${table}"`);
}
