import { Database as Sqlite } from 'bun:sqlite';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findForeignSchema } from '../../db/sqlite/rebuild.ts';
import { inspectDatabase } from '../../db/sqlite/snapshot.ts';
import { keyFingerprint } from '../../src/lib/secret-box.ts';
import {
  type BackupHeader,
  checkBackup,
  digestOf,
  unpackDatabase,
  writeBackup,
} from '../../src/server/backup/archive.ts';
import { fillFolder, rowsIn, withoutIndex } from '../support/backups.ts';
import { cli, cliJson, temporaryFolder } from '../support/cli.ts';
import { fixtureOf, olderSchemas } from '../support/schema-fixtures.ts';

// Backups that somebody else made or changed: access to the backup store must not give control of the server.

let folder: ReturnType<typeof temporaryFolder>;

const path = (...names: string[]) => join(folder.path, ...names);
const dataDir = () => path('data');
const other = () => path('other');
const file = () => path('a.backup');
const ANOTHER_KEY = Buffer.alloc(32, 5);

const filled = temporaryFolder();

beforeAll(() => fillFolder(filled.path));

afterAll(() => filled.remove());

beforeEach(() => {
  folder = temporaryFolder();
  cpSync(filled.path, dataDir(), { recursive: true });
  mkdirSync(other());
  cpSync(join(dataDir(), 'secret.key'), join(other(), 'secret.key'));
});

afterEach(() => folder.remove());

const backup = () => cliJson(dataDir(), ['backup', file()]);
const restore = (...flags: string[]) => cli(other(), ['restore', file(), ...flags]);
const restored = (...flags: string[]) => cliJson(other(), ['restore', file(), ...flags]);

const TRIGGER = `CREATE TRIGGER owned AFTER INSERT ON users BEGIN UPDATE users SET password_hash = 'x'; END`;

/** Changes the database in the backup, as an attacker with access to the store can, with checksums that match. */
async function tamper(
  change: readonly string[],
  { version = 3, key = ANOTHER_KEY as Buffer | undefined, header: more = {} as Partial<BackupHeader> } = {},
): Promise<void> {
  const { header } = await checkBackup(file());
  const database = path('tampered.db');
  const writer = Bun.file(database).writer();
  await unpackDatabase(file(), header, async (chunk) => void writer.write(chunk));
  await writer.end();
  const sqlite = new Sqlite(database);
  sqlite.run('PRAGMA synchronous = OFF');
  for (const statement of change) sqlite.run(statement);
  sqlite.close();
  const { tables } = inspectDatabase(database);
  const { bytes: databaseBytes, sha256: databaseSha256 } = await digestOf(Bun.file(database).stream());
  const changed = { ...header, version, tables, databaseBytes, databaseSha256, ...more } as BackupHeader;
  await Bun.file(file()).delete();
  await writeBackup(changed, database, file(), { key: version === 3 ? key : undefined });
}

const isUntouched = () => expect(readdirSync(other()).sort()).toEqual(['secret.key', 'tidings.lock']);

test('a backup of the folder with the same key is verified and restored as it is', async () => {
  expect(await backup()).toMatchObject({ isSigned: true });
  expect(await restored()).toMatchObject({ isVerified: true, key: 'same' });
  expect(await rowsIn(other())).toEqual(await rowsIn(dataDir()));
});

test('so is one with SECRET_KEY in place of the file', async () => {
  await backup();
  const SECRET_KEY = readFileSync(join(dataDir(), 'secret.key'), 'utf8').trim();
  const options = { environment: { SECRET_KEY } };
  expect(await cliJson(path('third'), ['restore', file()], options)).toMatchObject({ isVerified: true });
});

test('the command says whether the backup is signed, and counts no row of the search index', async () => {
  const signed = await cli(dataDir(), ['backup', file()]);
  expect(signed.stdout).not.toContain('not signed');
  const counts = Object.entries((await checkBackup(file())).header.tables);
  const rows = counts.filter(([name]) => !name.startsWith('post_search')).reduce((sum, [, n]) => sum + n, 0);
  expect(rows).toBeLessThan(counts.reduce((sum, [, n]) => sum + n, 0));
  expect(signed.stdout).toMatch(new RegExp(`^Rows +${rows}$`, 'm'));
  rmSync(join(dataDir(), 'secret.key'));
  const { stdout } = await cli(dataDir(), ['backup', path('b.backup')]);
  expect(stdout).toContain(
    'The backup is not signed, because its key is not here. A restore needs --unverified.',
  );
});

describe('a changed backup is refused, and nothing is written', () => {
  test.each<[string, Parameters<typeof tamper>, string]>([
    ['signed with another key', [[TRIGGER]], 'was changed after it was made'],
    [
      'with the rows of an account',
      [["UPDATE organizations SET name = 'Owned'"]],
      'was changed after it was made',
    ],
    ['without changes, signed with another key', [[]], 'was changed after it was made'],
    ['without a signature', [[TRIGGER], { version: 1 }], 'it is not signed'],
    [
      'of another key, signed with it',
      [
        [`PRAGMA application_id = ${keyFingerprint(ANOTHER_KEY)}`],
        { header: { keyFingerprint: keyFingerprint(ANOTHER_KEY) } },
      ],
      'were encrypted with a different key',
    ],
    [
      'that says that it has no secrets',
      [['PRAGMA application_id = 0'], { header: { keyFingerprint: 0 } }],
      'another secret key signed it',
    ],
  ])('%s', async (_, change, message) => {
    await backup();
    await tamper(...change);
    const { exitCode, stderr } = await restore();
    expect(exitCode).toBe(1);
    expect(stderr).toContain(message);
    isUntouched();
  });

  test('whose signature was cut off or copied from another backup', async () => {
    await backup();
    const first = readFileSync(file());
    await cliJson(dataDir(), ['organization', 'create', '--name', 'B', '--id', 'b']);
    await cliJson(dataDir(), ['backup', file(), '--force']);
    const second = readFileSync(file());
    for (const changed of [
      second.subarray(0, -32),
      Buffer.concat([second.subarray(0, -32), first.subarray(-32)]),
    ]) {
      writeFileSync(file(), changed);
      expect((await restore()).exitCode).toBe(1);
      isUntouched();
    }
  });

  test('with a key of its own, where the folder has none', async () => {
    await cliJson(dataDir(), ['backup', file(), '--with-key']);
    const { exitCode, stderr } = await cli(path('third'), ['restore', file()]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('the only key is in the backup itself');
    expect(readdirSync(path('third'))).toEqual(['tidings.lock']);
    expect(await cliJson(path('third'), ['restore', file(), '--unverified'])).toMatchObject({
      key: 'restored',
    });
  });

  test('also with --new-key alone', async () => {
    await backup();
    const environment = { SECRET_KEY: ANOTHER_KEY.toString('base64') };
    const { stderr } = await cli(path('third'), ['restore', file(), '--new-key'], { environment });
    expect(stderr).toContain('another secret key signed it');
  });
});

const FOREIGN: readonly [string, string, string][] = [
  ['trigger', TRIGGER, 'trigger owned'],
  ['view', 'CREATE VIEW extra AS SELECT 1', 'view extra'],
  ['index', 'CREATE INDEX extra ON posts (lower(title))', 'index extra'],
  ['table', 'CREATE TABLE extra (id)', 'table extra'],
  ['virtual table', 'CREATE VIRTUAL TABLE extra USING fts5(a)', 'table extra'],
  ['column', 'ALTER TABLE posts ADD COLUMN extra TEXT', 'table posts'],
  ['generated column', 'ALTER TABLE posts ADD COLUMN extra TEXT AS (hex(title))', 'table posts'],
  ['missing index', 'DROP INDEX deliveries_by_organization', 'index deliveries_by_organization'],
  ['trigger in the place of ours', 'DROP TRIGGER posts_inserted', 'trigger posts_inserted'],
  [
    'table with the name of one of Litestream',
    'CREATE TABLE _litestream_x (id AS (1), a)',
    'table _litestream_x',
  ],
  [
    'trigger on one of Litestream',
    'CREATE TRIGGER _litestream_t AFTER INSERT ON posts BEGIN SELECT 1; END',
    'trigger _litestream_t',
  ],
];

describe('a signed backup with a foreign schema', () => {
  test.each(FOREIGN)('%s: is refused, and its rows can be restored', async (_, statement, name) => {
    const sqlite = new Sqlite(join(dataDir(), 'tidings.db'));
    sqlite.run(statement);
    sqlite.close();
    await backup();
    const { exitCode, stderr } = await restore();
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`is not the one of its version of Tidings: ${name}. Use --unverified`);
    isUntouched();

    expect(await restored('--unverified')).toMatchObject({ isVerified: false });
    expect(findForeignSchema(join(other(), 'tidings.db'))).toBeNull();
    expect(await cliJson(other(), ['post', 'list', '--organization', 'acme'])).toHaveLength(20);
  });

  test('is none with the tables of Litestream', async () => {
    const sqlite = new Sqlite(join(dataDir(), 'tidings.db'));
    sqlite.run('CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)');
    sqlite.run('CREATE TABLE _litestream_lock (id INTEGER)');
    sqlite.run('ANALYZE');
    sqlite.close();
    await backup();
    expect(await restored()).toMatchObject({ isVerified: true });
  });
});

describe('--unverified', () => {
  test('takes the rows of a changed backup, and none of its code', async () => {
    await cliJson(dataDir(), ['post', 'delete', 'post_3']);
    const before = await rowsIn(dataDir());
    await backup();
    await tamper([
      TRIGGER,
      ...FOREIGN.slice(1, 8).map(([, sql]) => sql.replaceAll('extra', `extra_${Bun.hash(sql)}`)),
    ]);
    const { stdout } = await restore('--unverified');
    expect(stdout).toContain('The backup was not verified. Tidings rebuilt the database from its rows.');
    expect(findForeignSchema(join(other(), 'tidings.db'))).toBeNull();
    expect(withoutIndex(await rowsIn(other()))).toEqual(withoutIndex(before));
    expect(readdirSync(other()).sort()).toEqual(['secret.key', 'tidings.db', 'tidings.lock']);
    // The search index was made anew.
    const sqlite = new Sqlite(join(other(), 'tidings.db'), { readonly: true });
    const query = `SELECT title FROM post_search WHERE post_search MATCH '"words 7"'`;
    expect(sqlite.query(query).values()).toEqual([['Post 7']]);
    sqlite.close();
    const { checks } = await cliJson(other(), ['doctor', '--offline']);
    expect(checks.filter(({ status }: { status: string }) => status === 'failed')).toEqual([]);
  });

  test.each([
    ['a missing table', 'DROP TABLE throttles', 'it has no table throttles'],
    [
      'a view in the place of a table',
      'DROP TABLE throttles; CREATE VIEW throttles AS SELECT 1',
      'it has no table throttles',
    ],
    [
      'a missing column',
      'ALTER TABLE users RENAME COLUMN email TO mail',
      'its table users has no column email',
    ],
  ])('%s is refused', async (_, statements, message) => {
    await backup();
    await tamper(statements.split('; '));
    const { exitCode, stderr } = await restore('--unverified');
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`can't be rebuilt: ${message}`);
    isUntouched();
  });
});

test.each(olderSchemas)('the schema of version %i is the one that its migrations make', async (schema) => {
  const sqlite = new Sqlite(path('old.db'), { create: true });
  sqlite.run('PRAGMA synchronous = OFF');
  sqlite.run(fixtureOf(schema));
  sqlite.close();
  expect(findForeignSchema(path('old.db'))).toBeNull();
});
