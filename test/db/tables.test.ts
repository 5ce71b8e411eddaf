import { expect, test } from 'bun:test';
import { copiedTables, LEFT_OUT } from '../../db/move.ts';
import { openDatabase } from '../../db/sqlite/client.ts';

const db = openDatabase(':memory:');
const { $client: sqlite } = db;

test('every table is copied to another database, or left out for a reason', () => {
  // The tables of the search and of blocks are made from the posts.
  const present = sqlite
    .query<{ name: string }, []>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT GLOB 'post_search*' AND name <> 'post_numbers'",
    )
    .all();
  expect([...copiedTables.map(({ name }) => name), ...Object.keys(LEFT_OUT)].sort()).toEqual(
    present.map(({ name }) => name).sort(),
  );
});

test('a table comes after those that it refers to', () => {
  const names = copiedTables.map(({ name }) => name);
  for (const [at, name] of names.entries()) {
    const parents = sqlite.query<{ table: string }, []>(`PRAGMA foreign_key_list("${name}")`).all();
    expect(names.slice(0, at)).toEqual(expect.arrayContaining(parents.map(({ table }) => table)));
  }
});

test('a table has the columns and the primary key of the database', () => {
  for (const { name, columns, key } of copiedTables) {
    const present = sqlite
      .query<{ name: string; type: string; pk: number; hidden: number }, []>(`PRAGMA table_xinfo("${name}")`)
      .all();
    expect(columns.toSorted(byName)).toEqual(
      present
        .map((column) => ({
          name: column.name,
          type: column.type.toLowerCase() as 'text',
          isGenerated: column.hidden !== 0,
        }))
        .toSorted(byName),
    );
    const inKey = present.filter(({ pk }) => pk > 0).toSorted((a, b) => a.pk - b.pk);
    expect(key.map((at) => columns[at]?.name)).toEqual(inKey.map((column) => column.name));
  }
});

function byName(a: { name: string }, b: { name: string }): number {
  return a.name < b.name ? -1 : 1;
}
