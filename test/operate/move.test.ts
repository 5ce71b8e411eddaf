import { Database as Sqlite } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import type { Progress } from '../../db/move.ts';
import { openPostgres } from '../../db/postgres/client.ts';
import { openPostgresSource } from '../../db/postgres/move.ts';
import { openDatabase } from '../../db/sqlite/client.ts';
import { openDataFolder } from '../../src/server/data-folder.ts';
import { moveDatabase } from '../../src/server/move.ts';
import { temporaryFolder } from '../support/cli.ts';
import { makeDataFolder, movedRows } from '../support/move.ts';
import { sharedPostgres } from '../support/postgres-server.ts';

const { path: folders, remove } = temporaryFolder();
afterAll(remove);

let made = 0;
const newFolder = () => join(folders, String(++made));

/** A data folder with its key, and an empty PostgreSQL. */
async function setUp({ posts = 30 } = {}) {
  const dataDir = newFolder();
  const key = makeDataFolder(dataDir, posts);
  const server = await sharedPostgres();
  return { dataDir, key, url: await server.createEmptyDatabase() };
}

type Options = Partial<Parameters<typeof moveDatabase>[0]> & { to: string };

const move = (options: Options) => moveDatabase({ dataDir: folders, report: () => undefined, ...options });

/** The message of a move that fails. */
async function refusalOf(options: Options): Promise<string> {
  try {
    await move(options);
  } catch (error) {
    expect(error).toHaveProperty('name', 'MoveError');
    return (error as Error).message;
  }
  throw new Error('the move was not refused');
}

/** A move that stops when this part of a step is done. */
async function interruptedMove(options: Options, step: Progress['step'], part: number): Promise<void> {
  const report = (progress: Progress) => {
    if (progress.step === step && progress.done >= part * progress.total) throw new Error('interrupted');
  };
  expect(await refusalOf({ ...options, report })).toContain('interrupted');
}

async function query(url: string, statement: string): Promise<Record<string, unknown>[]> {
  await using sql = new SQL(url, { max: 1 });
  return await sql.unsafe(statement);
}

describe('a move to PostgreSQL and back', () => {
  const back = newFolder();
  let source: Awaited<ReturnType<typeof setUp>>;
  let expected: Awaited<ReturnType<typeof movedRows>>;

  beforeAll(async () => {
    source = await setUp({ posts: 1_300 });
    expected = await movedRows(join(source.dataDir, 'tidings.db'));
  });

  test('takes all rows, and leaves the source as it was', async () => {
    const { dataDir, key, url } = source;
    const file = join(dataDir, 'tidings.db');
    const before = readFileSync(file);
    const moved = await move({ dataDir, to: url });
    expect(moved).toEqual({
      from: file,
      to: expect.stringMatching(/^postgres:\/\/127\.0\.0\.1:\d+\/test_/),
      tables: Object.fromEntries(Object.entries(expected).map(([name, rows]) => [name, rows.length])),
      rows: Object.values(expected).reduce((total, rows) => total + rows.length, 0),
      seconds: expect.any(Number),
      images: { copied: 0, left: 0, place: join(dataDir, 'media') },
    });
    expect(readFileSync(file).equals(before)).toBe(true);

    const returned = await move({ databaseUrl: url, secretKey: key, to: back });
    expect(returned).toEqual({
      ...moved,
      from: moved.to,
      to: join(back, 'tidings.db'),
      seconds: expect.any(Number),
      images: { copied: 0, left: 0, place: expect.any(String) },
    });
    expect(await movedRows(join(back, 'tidings.db'))).toEqual(expected);
    expect(readFileSync(join(back, 'secret.key'), 'utf8').trim()).toBe(key);
    for (const name of ['secret.key', 'tidings.db'])
      expect(statSync(join(back, name)).mode & 0o777).toBe(0o600);
  });

  test('counts posts alike on both sides', async () => {
    using sqlite = new Sqlite(join(source.dataDir, 'tidings.db'), { readonly: true });
    const counts = 'SELECT organization_id, status, content_type, count FROM post_counts ORDER BY 1, 2, 3';
    const textOf = (rows: unknown[][]) => rows.map((row) => row.map(String));
    const counted = (await query(source.url, counts)).map((row) => Object.values(row));
    expect(textOf(counted)).toEqual(textOf(sqlite.query(counts).values()));
  });

  test('gives the same key to services, which refuse another one', async () => {
    openDataFolder(back).close();
    const another = Buffer.alloc(32, 1).toString('base64');
    expect(() => openDataFolder(back, { secretKey: another })).toThrow('is not the key');
  });

  test('uses no id of a deleted audit event again, on either side', async () => {
    const insert = `INSERT INTO audit_events (action, actor_type, summary, count, created_at, expires_at)
      VALUES ('a', 'server', '', 1, '', 0) RETURNING id`;
    expect(Number((await query(source.url, insert))[0]?.id)).toBe(901);
    using sqlite = new Sqlite(join(back, 'tidings.db'));
    expect(sqlite.query(insert).get()).toEqual({ id: 901 });
  });
});

test('a move that stopped anywhere continues, in both directions', async () => {
  const { dataDir, key, url } = await setUp({ posts: 700 });
  const expected = await movedRows(join(dataDir, 'tidings.db'));
  const total = Object.values(expected).reduce((sum, rows) => sum + rows.length, 0);
  const back = newFolder();
  for (const options of [
    { dataDir, to: url },
    { databaseUrl: url, secretKey: key, to: back },
  ]) {
    for (const part of [0, 0.1, 0.5, 0.9, 1]) await interruptedMove(options, 'copy', part);
    await interruptedMove(options, 'compare', 0.5);
    const steps: number[] = [];
    await move({ ...options, report: ({ step, done }) => void (step === 'copy' && steps.push(done)) });
    // All was copied before it stopped in the comparison.
    expect(steps).toEqual([]);
  }
  expect(Object.values(await movedRows(join(back, 'tidings.db'))).flat()).toHaveLength(total);
  expect(await movedRows(join(back, 'tidings.db'))).toEqual(expected);
});

test('a move continues after the last row that it copied', async () => {
  const { dataDir, url } = await setUp({ posts: 1_300 });
  await interruptedMove({ dataDir, to: url }, 'copy', 0.4);
  const before = await query(url, 'SELECT position FROM unfinished_move');
  const [{ table = '' } = {}] = before.map(({ position }) => JSON.parse(String(position)));
  const [{ present = 0 } = {}] = await query(url, `SELECT count(*)::int AS present FROM ${table}`);
  let first = null as Progress | null;
  const { tables } = await move({ dataDir, to: url, report: (progress) => (first ??= progress) });
  expect(present).toBeGreaterThan(0);
  expect(tables[table]).toBeGreaterThan(Number(present));
  expect(first?.done).toBeGreaterThan(Number(present));
});

test('no server opens an unfinished target', async () => {
  const { dataDir, key, url } = await setUp();
  const { dataDir: otherFolder, url: other, key: otherKey } = await setUp();
  await interruptedMove({ dataDir, to: url }, 'copy', 0.3);
  await expect(openPostgres(url)).rejects.toThrow('has an unfinished move. Run "');
  await move({ dataDir: otherFolder, to: other });
  const back = newFolder();
  await interruptedMove({ databaseUrl: other, secretKey: otherKey, to: back }, 'copy', 0.3);
  expect(() => openDataFolder(back)).toThrow('it has an unfinished move. Run "');
  expect(() => openDataFolder(back, { secretKey: key, newDatabase: true })).toThrow('unfinished move');
  expect(existsSync(join(back, 'tidings.db'))).toBe(false);
});

test('a target that is not empty is refused and stays as it was', async () => {
  const { dataDir, key, url } = await setUp();
  const { dataDir: another } = await setUp();
  await move({ dataDir, to: url });
  expect(await refusalOf({ dataDir: another, to: url })).toContain('is not empty: its table "');
  await (await openPostgres(url)).close();

  const folder = newFolder();
  mkdirSync(folder);
  writeFileSync(join(folder, 'notes.txt'), '');
  expect(await refusalOf({ databaseUrl: url, secretKey: key, to: folder })).toContain('it has notes.txt');
  expect(await refusalOf({ databaseUrl: url, secretKey: key, to: dataDir })).toContain('it has tidings.db');
});

test('a target of another program, a newer version or another move is refused', async () => {
  const { dataDir, url } = await setUp();
  const { dataDir: another, url: foreign } = await setUp();
  const { url: newer } = await setUp();
  await query(foreign, 'CREATE TABLE invoices (id int)');
  expect(await refusalOf({ dataDir, to: foreign })).toContain('has tables of another program');
  await (await openPostgres(newer)).close();
  await query(newer, 'UPDATE tidings SET schema = 1000, oldest_compatible = 1000');
  expect(await refusalOf({ dataDir, to: newer })).toContain('was upgraded by a newer Tidings');
  await query(newer, 'UPDATE tidings SET oldest_compatible = 1');
  expect(await refusalOf({ dataDir, to: newer })).toContain('has the schema of another version');

  await interruptedMove({ dataDir, to: url }, 'copy', 0.3);
  expect(await refusalOf({ dataDir: another, to: url })).toContain('an unfinished move of another database');
  await move({ dataDir, to: url });
});

test('a folder with an unfinished move of another database is refused', async () => {
  const first = await setUp();
  const second = await setUp();
  for (const { dataDir, url } of [first, second]) await move({ dataDir, to: url });
  const back = newFolder();
  await interruptedMove({ databaseUrl: first.url, secretKey: first.key, to: back }, 'copy', 0.3);
  const ofSecond = { databaseUrl: second.url, secretKey: second.key, to: back };
  expect(await refusalOf(ofSecond)).toContain('is not the key');
});

test('a folder that is in use is refused', async () => {
  const { dataDir, url } = await setUp();
  const { close } = openDataFolder(dataDir, { role: 'server' });
  expect(await refusalOf({ dataDir, to: url })).toContain('is in use by a server or another command');
  close();
  await move({ dataDir, to: url });
});

test('a PostgreSQL that a server uses is refused, and one whose server was killed is not', async () => {
  const { dataDir, key, url } = await setUp();
  await move({ dataDir, to: url });
  const back = { databaseUrl: url, secretKey: key, to: newFolder() };
  const db = await openPostgres(url);
  await db.lease(['leader']);
  expect(await refusalOf(back)).toContain('A Tidings server uses');
  await db.close();
  await query(url, "INSERT INTO leases VALUES ('leader', 'killed', 7, 1)");
  await move(back);
});

test('a server that starts during a move is noticed', async () => {
  const { dataDir, url } = await setUp();
  await move({ dataDir, to: url });
  const source = await openPostgresSource(url);
  await query(
    url,
    "INSERT INTO server_runs (id, public_url, started_at, alive_at) VALUES ('new', '', '', '')",
  );
  await expect(source.requireUnused()).rejects.toThrow('A Tidings server uses');
  await source.close();
});

test('a row that differs is named, and the target stays unfinished', async () => {
  const { dataDir, url } = await setUp();
  await interruptedMove({ dataDir, to: url }, 'copy', 1);
  await query(url, "UPDATE posts SET title = 'changed' WHERE id = 'post_7'");
  const message = await refusalOf({ dataDir, to: url });
  expect(message).toContain(
    'The table "posts" differs between source and target. The first row that differs is ["post_7"]',
  );
  await expect(openPostgres(url)).rejects.toThrow('unfinished move');

  const { dataDir: another, url: source, key: itsKey } = await setUp();
  await move({ dataDir: another, to: source });
  const back = newFolder();
  const returning = { databaseUrl: source, secretKey: itsKey, to: back };
  await interruptedMove(returning, 'copy', 1);
  using sqlite = new Sqlite(join(back, 'tidings.db.moving'));
  sqlite.run("INSERT INTO users (id, email, created_at) VALUES ('added', 'a@b.c', '')");
  expect(await refusalOf(returning)).toContain(
    '"users" differs between source and target. The target has 3 rows, the source 2',
  );
});

test('a source without the right key or of another version is refused', async () => {
  const { dataDir, url } = await setUp();
  const wrong = Buffer.alloc(32, 1).toString('base64');
  expect(await refusalOf({ dataDir, secretKey: wrong, to: url })).toContain('SECRET_KEY is not the key');
  const file = join(dataDir, 'tidings.db');
  const change = (statement: string) => {
    using sqlite = new Sqlite(file);
    sqlite.run(statement);
  };
  change('PRAGMA user_version = 1');
  expect(await refusalOf({ dataDir, to: url })).toContain('Start the server with it once to upgrade it');
  change('PRAGMA user_version = 1000');
  expect(await refusalOf({ dataDir, to: url })).toContain('was written by a newer Tidings');
  expect(await refusalOf({ dataDir: newFolder(), to: url })).toContain('There is no database');
});

test('both places must be of different engines', async () => {
  const { dataDir, url } = await setUp();
  expect(await refusalOf({ dataDir, databaseUrl: url, to: url })).toContain('unset it');
  expect(await refusalOf({ dataDir, to: newFolder() })).toContain('DATABASE_URL is not set');
});

test('an unfinished file of another version is replaced', async () => {
  const { dataDir, key, url } = await setUp();
  await move({ dataDir, to: url });
  const back = newFolder();
  const returning = { databaseUrl: url, secretKey: key, to: back };
  await interruptedMove(returning, 'copy', 0.3);
  {
    using sqlite = new Sqlite(join(back, 'tidings.db.moving'));
    sqlite.run('PRAGMA user_version = 1');
  }
  await move(returning);
  const db = openDatabase(join(back, 'tidings.db'));
  await db.close();
});
