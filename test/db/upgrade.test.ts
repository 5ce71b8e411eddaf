import { Database as Sqlite } from 'bun:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { closeDatabase, openDatabase } from '../../db/sqlite/client.ts';
import { migrations } from '../../db/sqlite/migrate.ts';
import { cli, temporaryFolder } from '../support/cli.ts';
import { fixtureOf, olderSchemas } from '../support/schema-fixtures.ts';

let folder: ReturnType<typeof temporaryFolder>;

beforeEach(() => {
  folder = temporaryFolder();
});

afterEach(() => folder.remove());

const file = () => join(folder.path, 'tidings.db');

type Rows = Record<string, Record<string, unknown>[]>;

function read<Result>(path: string, work: (sqlite: Sqlite) => Result): Result {
  const sqlite = new Sqlite(path, { readonly: true });
  try {
    return work(sqlite);
  } finally {
    sqlite.close();
  }
}

/** Every row of the tables that hold what people and providers gave, but for those of the search index. */
const rowsOf = (sqlite: Sqlite): Rows => {
  const names = sqlite
    .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table'")
    .all()
    .filter(({ name }) => !/^(post_search|post_counts|post_numbers|sqlite_)/.test(name));
  return Object.fromEntries(
    names.map(({ name }) => [
      name,
      sqlite.query<Record<string, unknown>, []>(`SELECT * FROM "${name}" ORDER BY 1, 2`).all(),
    ]),
  );
};

const schemaOf = (sqlite: Sqlite) =>
  sqlite.query('SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name').all();

function loadFixture(schema: number): void {
  const sqlite = new Sqlite(file(), { create: true });
  sqlite.run('PRAGMA foreign_keys = ON');
  sqlite.run(fixtureOf(schema));
  sqlite.close();
}

test('no migration that came before another one was changed since', () => {
  const hashes = migrations.slice(0, -1).map((migration) => Bun.SHA256.hash(migration, 'hex').slice(0, 16));
  expect(hashes).toEqual([
    '7f4f6d7b37538790',
    '41a3c8f733acc7a0',
    '029cb59165065d5f',
    '5a190e3827caa9f8',
    '3bd47d46960ea4b1',
  ]);
});

describe('every schema that there was', () => {
  test.each(olderSchemas)('schema %i is brought up to date, and nothing is lost', async (schema) => {
    loadFixture(schema);
    const before = read(file(), rowsOf);
    expect(Object.values(before).every((rows) => rows.length === 2)).toBe(true);
    expect(Object.keys(before).length).toBeGreaterThan(2);

    closeDatabase(openDatabase(file()));

    read(file(), (sqlite) => {
      const after = rowsOf(sqlite);
      for (const [table, rows] of Object.entries(before)) {
        expect(after[table]).toHaveLength(rows.length);
        // Existing values are unchanged; later columns may exist.
        for (const [index, row] of rows.entries()) {
          const columns = Object.keys(after[table]?.[index] ?? {}).filter((name) => name in row);
          for (const column of columns)
            expect([table, column, after[table]?.[index]?.[column]]).toEqual([table, column, row[column]]);
        }
      }
      expect(sqlite.query('PRAGMA integrity_check').values()).toEqual([['ok']]);
      expect(sqlite.query('PRAGMA foreign_key_check').values()).toEqual([]);
      expect(sqlite.query('PRAGMA user_version').values()).toEqual([[migrations.length]]);
      const fresh = openDatabase(':memory:');
      expect(schemaOf(sqlite)).toEqual(schemaOf(fresh.$client));
    });
  });
});

describe('an upgrade', () => {
  test('keeps the database from before it, and only the newest such', async () => {
    loadFixture(1);
    writeFileSync(`${file()}.before-upgrade-0`, 'older');
    const before = read(file(), (sqlite) => [schemaOf(sqlite), rowsOf(sqlite)]);
    closeDatabase(openDatabase(file()));
    expect(readdirSync(folder.path).filter((name) => /upgrade/.test(name))).toEqual([
      'tidings.db.before-upgrade-1',
    ]);
    expect(read(`${file()}.before-upgrade-1`, (sqlite) => [schemaOf(sqlite), rowsOf(sqlite)])).toEqual(
      before,
    );
    // A second start has nothing to do, and leaves the copy.
    closeDatabase(openDatabase(file()));
    expect(readdirSync(folder.path)).toContain('tidings.db.before-upgrade-1');
  });

  test('that fails on the copy leaves the database alone, in one line that says what to do', async () => {
    loadFixture(1);
    const broken = new Sqlite(file());
    broken.run('CREATE TABLE former_slugs (in_the, way)');
    const before = [schemaOf(broken), rowsOf(broken)];
    broken.close();
    const { exitCode, stderr } = await cli(folder.path, ['organization', 'list']);
    expect(exitCode).toBe(1);
    expect(stderr.split('\n')).toHaveLength(2);
    expect(stderr).toStartWith(
      `error: The data folder ${folder.path} cannot be used: the upgrade of the database from schema 1 to ${migrations.length} was tried on a copy and failed: `,
    );
    expect(stderr).toContain('The database is unchanged. Keep using the old version of Tidings');
    expect(read(file(), (sqlite) => [schemaOf(sqlite), rowsOf(sqlite)])).toEqual(before);
    expect(readdirSync(folder.path).filter((name) => /upgrade/.test(name))).toEqual([]);
  });

  test('a row that refers to nothing is found on the copy', async () => {
    loadFixture(1);
    const broken = new Sqlite(file());
    broken.run('DELETE FROM users');
    broken.close();
    expect(() => openDatabase(file())).toThrow(/tried on a copy and failed: \d+ rows refer to missing rows/);
    expect(read(file(), (sqlite) => sqlite.query('PRAGMA user_version').values())).toEqual([[1]]);
  });

  test('does not begin when it is not allowed to', async () => {
    loadFixture(1);
    const refuse = () => {
      throw new Error('not now');
    };
    expect(() => openDatabase(file(), 'command', { beforeUpgrade: refuse })).toThrow('not now');
    expect(read(file(), (sqlite) => sqlite.query('PRAGMA user_version').values())).toEqual([[1]]);
  });
});

test("another program's database is not migrated", () => {
  const other = new Sqlite(file(), { create: true });
  other.run('CREATE TABLE notes (x)');
  other.close();
  expect(() => openDatabase(file())).toThrow('tidings.db is a database, but not one of Tidings');
  expect(read(file(), schemaOf)).toHaveLength(1);
});

test('a database of a newer version is refused in one line', async () => {
  closeDatabase(openDatabase(file()));
  const newer = new Sqlite(file());
  newer.run(`PRAGMA user_version = ${migrations.length + 1}`);
  newer.close();
  const { exitCode, stderr } = await cli(folder.path, ['organization', 'list']);
  expect(exitCode).toBe(1);
  expect(stderr).toBe(
    `error: The data folder ${folder.path} cannot be used: The database was written by a newer Tidings (schema ${migrations.length + 1}; this version supports ${migrations.length}). Start that version or a newer one. To use another folder, set DATA_DIR.\n`,
  );
});
