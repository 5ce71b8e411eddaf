import { expect, test } from 'bun:test';
import { toPostgresSql, toPostgresValue } from '../../../db/postgres/dialect.ts';

test.each([
  ['placeholders are numbered', 'select ?, ? from t limit ?', 'select $1, $2 from t limit $3'],
  [
    'those in texts and names are none',
    `select '?', 'it''s ?', "a""?", ?`,
    `select '?', 'it''s ?', "a""?", $1`,
  ],
  ['those in comments are none', 'select 1 -- ?\n, ? /* ? */', 'select 1 -- ?\n, $1 /* ? */'],
  [
    'the target of a conflict is unqualified',
    'insert into "t" ("a", "b") values (?, ?) on conflict ("t"."a","t"."b") do update set "b" = excluded.b where "t"."a" = ?',
    'insert into "t" ("a", "b") values ($1, $2) on conflict ("a","b") do update set "b" = excluded.b where "t"."a" = $3',
  ],
  [
    'a conflict without a target stays',
    'on conflict do nothing returning "t"."a"',
    'on conflict do nothing returning "t"."a"',
  ],
])('%s', (_, sqlite, postgres) => {
  expect(toPostgresSql(sqlite)).toBe(postgres);
  expect(toPostgresSql(sqlite)).toBe(postgres);
});

test('integers have one type, so that each statement is prepared once', () => {
  expect([1, 2 ** 40, true, false, 1.5, null, undefined].map(toPostgresValue)).toEqual([
    1n,
    2n ** 40n,
    1n,
    0n,
    1.5,
    null,
    null,
  ]);
});
