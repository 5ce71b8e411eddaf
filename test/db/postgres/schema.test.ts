import { afterAll, beforeAll, expect, test } from 'bun:test';
import { openTwins, type Twins } from '../../support/twin-databases.ts';

let twins: Twins;
beforeAll(async () => {
  twins = await openTwins();
});
afterAll(async () => {
  await twins[Symbol.asyncDispose]();
});

/** Tables of PostgreSQL alone. */
const ONLY_POSTGRES = /^(tidings|post_search)\b/;

const types: Record<string, string> = { text: 'text', integer: 'bigint', blob: 'bytea' };

test('both engines have the same tables with the same columns in the same order', async () => {
  const tables = twins.sqlite
    .query<{ name: string }, []>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'post_search%' AND name <> 'post_numbers' ORDER BY name",
    )
    .all();
  const expected = tables.flatMap(({ name: table }) =>
    twins.sqlite
      .query<{ name: string; type: string; notnull: number; pk: number }, [string]>(
        'SELECT name, type, "notnull", pk FROM pragma_table_xinfo(?)',
      )
      .all(table)
      .map(
        ({ name, type, notnull, pk }) =>
          `${table}.${name} ${types[type.toLowerCase()]}${notnull || pk ? ' not null' : ''}`,
      ),
  );
  const rows: { column: string }[] = await twins.postgres`
    SELECT table_name || '.' || column_name || ' ' || data_type
      || CASE is_nullable WHEN 'NO' THEN ' not null' ELSE '' END AS column
    FROM information_schema.columns WHERE table_schema = 'public'
    ORDER BY table_name COLLATE "C", ordinal_position`;
  expect(rows.map(({ column }) => column).filter((column) => !ONLY_POSTGRES.test(column))).toEqual(expected);
});

test('both engines have the same indexes and checks', async () => {
  const indexes = twins.sqlite
    .query("SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY name")
    .values()
    .flat();
  const rows: { name: string; table: string }[] = await twins.postgres`
    SELECT indexname AS name, tablename AS table FROM pg_indexes
    WHERE schemaname = 'public' AND indexname NOT LIKE '%_pkey' ORDER BY indexname COLLATE "C"`;
  expect(rows.filter(({ table }) => !ONLY_POSTGRES.test(table)).map(({ name }) => name)).toEqual(
    indexes as string[],
  );

  const tables = twins.sqlite.query("SELECT sql FROM sqlite_schema WHERE type = 'table'").values().join('\n');
  const checks = Array.from(tables.matchAll(/CONSTRAINT "(\w+)" CHECK/g), ([, name = '']) => name);
  const constraints: { name: string }[] = await twins.postgres`
    SELECT conname AS name FROM pg_constraint WHERE contype = 'c' AND conrelid <> 0 ORDER BY conname COLLATE "C"`;
  expect(constraints.map(({ name }) => name)).toEqual(checks.sort());
});

test('text sorts by bytes, whatever the locale of the database', async () => {
  const rows: { column: string }[] = await twins.postgres`
    SELECT table_name || '.' || column_name AS column FROM information_schema.columns
    WHERE table_schema = 'public' AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C'`;
  expect(Array.from(rows)).toEqual([]);
});

test.each([
  ['{"isPrerelease":true,"notes":"\\\\u0000 \\ud800 \\" \\\\"}', '1'],
  ['{"isPrerelease":false}', '0'],
  ['{"title":"\\"isPrerelease\\":true"}', null],
])('whether a release is a prerelease is read from %p', async (data, expected) => {
  const { postgres, both } = twins;
  await both(
    "INSERT INTO organizations (id, name, plan, created_at) VALUES ('prereleases', 'A', 'free', '')",
  );
  await both(
    "INSERT INTO integrations (id, organization_id, type, enabled, secret, created_at) VALUES ('a', 'prereleases', 'github', 1, '', '')",
  );
  await both(
    "INSERT INTO events (integration_id, repository_id, type, key, occurred_at, version, delivery_id, data) VALUES ('a', '', 'release', 'v1', '', '', '', ?)",
    [data],
  );
  const found = await both('SELECT is_prerelease FROM events');
  expect(found).toEqual({ sqlite: [[expected]], postgres: [[expected]] });
  await both("DELETE FROM organizations WHERE id = 'prereleases'");
  expect(Array.from(await postgres`SELECT * FROM events`)).toEqual([]);
});

test('no two triggers have the same rule, which may be of any length', async () => {
  const { both } = twins;
  await both("INSERT INTO organizations (id, name, plan, created_at) VALUES ('rules', 'A', 'free', '')");
  await both(
    "INSERT INTO integrations (id, organization_id, type, enabled, secret, created_at) VALUES ('b', 'rules', 'github', 1, '', '')",
  );
  const rules = ['x', 'y'].map(
    (end) => Array.from({ length: 5_000 }, (_, index) => index.toString(36)) + end,
  );
  for (const rule of [...rules, ...rules]) {
    await both(
      `INSERT INTO triggers (id, integration_id, event, rule, filters, content_type, publish, enabled, created_at, updated_at)
       SELECT count(*), 'b', 'release', ?, '{}', 'changelog', 0, 1, '', '' FROM triggers WHERE true ON CONFLICT DO NOTHING`,
      [rule],
    );
  }
  const found = await both('SELECT rule FROM triggers ORDER BY id');
  expect(found.sqlite.flat()).toEqual(rules);
  expect(found.postgres).toEqual(found.sqlite);
});
