import { Database as Sqlite } from 'bun:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseMoved, type LostFile, lostFiles } from '../../db/failures.ts';
import { openDatabase, type SqliteDatabase } from '../../db/sqlite/client.ts';
import { takeLock } from '../../db/sqlite/lock.ts';
import { temporaryFolder } from '../support/cli.ts';

// Somebody deletes, replaces or truncates a file of the database while it is open.

let folder: ReturnType<typeof temporaryFolder>;
let file: string;
let db: SqliteDatabase;
const closers: (() => void)[] = [];

beforeEach(() => {
  folder = temporaryFolder();
  file = join(folder.path, 'tidings.db');
  const lock = join(folder.path, 'tidings.lock');
  const release = takeLock(lock, 'server');
  db = openDatabase(file, 'server');
  db.watchLock(lock);
  db.$client.run('CREATE TABLE notes (text TEXT UNIQUE NOT NULL)');
  closers.push(
    () => db.$client.close(),
    () => release?.(),
  );
});

afterEach(() => {
  for (const close of closers.splice(0)) close();
  folder.remove();
});

const insert = (text: string) =>
  db.write(() => void db.$client.query('INSERT INTO notes VALUES (?)').run(text));

/** Makes the log and the database longer than a few pages. */
async function fill(): Promise<string[]> {
  const texts = Array.from({ length: 30 }, (_, at) => `${at} ${'x'.repeat(3_000)}`);
  for (const text of texts) await insert(text);
  return texts;
}

const cut = (path: string, bytes: number) => truncateSync(path, bytes);
const replace = (path: string, content: Buffer | string) => {
  writeFileSync(`${path}.new`, content);
  renameSync(`${path}.new`, path);
};
const copyIn = (path: string) => replace(path, readFileSync(path));

/** Reads as the next process does: it opens the files alone, so it ignores the index. */
function reopened(name = 'tidings.db'): { notes: unknown[]; check: unknown[][] } {
  const then = join(folder.path, 'then');
  rmSync(then, { recursive: true, force: true });
  mkdirSync(then);
  for (const suffix of ['', '-wal']) {
    const from = join(folder.path, `${name}${suffix}`);
    if (existsSync(from)) copyFileSync(from, join(then, `tidings.db${suffix}`));
  }
  using sqlite = new Sqlite(join(then, 'tidings.db'), { readwrite: true, create: false });
  return {
    notes: sqlite.query('SELECT text FROM notes ORDER BY rowid').values().flat(),
    check: sqlite.query('PRAGMA integrity_check').values(),
  };
}

const wal = () => `${file}-wal`;
const shm = () => `${file}-shm`;
const lock = () => join(folder.path, 'tidings.lock');

describe.each<[string, LostFile, () => void]>([
  ['the log is deleted', 'LOG_REPLACED', () => rmSync(wal())],
  ['the log is moved away', 'LOG_REPLACED', () => renameSync(wal(), `${wal()}.old`)],
  ['the log is replaced by an empty file', 'LOG_REPLACED', () => replace(wal(), '')],
  ['the log is replaced by a copy of itself', 'LOG_REPLACED', () => copyIn(wal())],
  ['the index is deleted', 'INDEX_REPLACED', () => rmSync(shm())],
  ['the index is replaced by a copy of itself', 'INDEX_REPLACED', () => copyIn(shm())],
  ['the lock is deleted', 'LOCK_REPLACED', () => rmSync(lock())],
  ['the lock is made again', 'LOCK_REPLACED', () => replace(lock(), '')],
])('%s', (_, lost, change) => {
  test('nothing more is acknowledged, and nothing that was is lost', async () => {
    const texts = await fill();
    change();
    for (const outcome of await Promise.allSettled(['a', 'b'].map(insert))) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: new DatabaseMoved(lost) });
    }
    await expect(insert('c')).rejects.toThrow(lostFiles[lost]);
    expect(await db.failed).toEqual(new DatabaseMoved(lost));
    expect(await db.health()).toBe(lost);
    await db.settle();
    expect(db.rescue(lost)).toContain('Nothing that was acknowledged is lost');
    const { notes, check } = reopened();
    expect(notes.slice(0, texts.length)).toEqual(texts);
    expect(check).toEqual([['ok']]);
  });

  test('a server without work notices', async () => {
    await fill();
    change();
    expect(await db.health()).toBe(lost);
    expect(await db.failed).toEqual(new DatabaseMoved(lost));
  });
});

test('the log is put back with what was written before anybody noticed, beside what took its place', async () => {
  const texts = await fill();
  replace(wal(), 'not a log');
  // Committed into the file that is gone, and not acknowledged.
  db.$client.run("INSERT INTO notes VALUES ('late')");
  await expect(insert('later')).rejects.toThrow(lostFiles.LOG_REPLACED);
  await db.settle();
  db.rescue('LOG_REPLACED');
  expect(reopened().notes).toEqual([...texts, 'late']);
  const [aside = ''] = readdirSync(folder.path).filter((name) => name.startsWith('tidings.db-wal.replaced-'));
  expect(readFileSync(join(folder.path, aside), 'utf8')).toBe('not a log');
});

describe.each<[string, () => void]>([
  ['deleted', () => rmSync(file)],
  ['moved away', () => renameSync(file, `${file}.old`)],
  [
    'replaced by another database',
    () => {
      openDatabase(`${file}.new`).$client.close();
      renameSync(`${file}.new`, file);
    },
  ],
])('the database is %s', (_, change) => {
  test('nothing more is acknowledged, a copy is saved, and the log is not applied to another file', async () => {
    const texts = await fill();
    change();
    await expect(insert('a')).rejects.toEqual(new DatabaseMoved('REPLACED'));
    await db.settle();
    const [copy = ''] = /tidings\.db\.rescued-\w+/.exec(db.rescue('REPLACED')) ?? [];
    expect(statSync(join(folder.path, copy)).mode & 0o777).toBe(0o600);
    const { notes, check } = reopened(copy);
    expect(notes.slice(0, texts.length)).toEqual(texts);
    expect(check).toEqual([['ok']]);
    expect(existsSync(wal())).toBe(false);
  });
});

describe.each<[string, LostFile, () => void]>([
  ['the log is emptied', 'LOG_TRUNCATED', () => cut(wal(), 0)],
  ['the log loses its second half', 'LOG_TRUNCATED', () => cut(wal(), statSync(wal()).size / 2)],
  ['the log loses its last byte', 'LOG_TRUNCATED', () => cut(wal(), statSync(wal()).size - 1)],
  ['the database is emptied', 'TRUNCATED', () => cut(file, 0)],
  ['the database loses its last byte', 'TRUNCATED', () => cut(file, statSync(file).size - 1)],
])('%s', (_, lost, change) => {
  test('nothing more is acknowledged, and nothing is copied from one to the other', async () => {
    await fill();
    // The log starts again, so its end is not needed any more.
    if (lost === 'TRUNCATED') db.$client.run('PRAGMA wal_checkpoint(PASSIVE)');
    for (const text of ['a', 'b', 'c']) await insert(text);
    change();
    const left = [readFileSync(file), readFileSync(wal())];
    await expect(insert('d')).rejects.toEqual(new DatabaseMoved(lost));
    await expect(insert('e')).rejects.toEqual(new DatabaseMoved(lost));
    expect(await db.health()).toBe(lost);
    await db.settle();
    expect(db.rescue(lost)).toMatch(/backup/);
    expect([readFileSync(file), readFileSync(wal())]).toEqual(left);
  });
});

describe('a file that becomes shorter by itself is not lost', () => {
  const others = () => new Sqlite(file, { readwrite: true, create: false });

  test.each<[string, (other: Sqlite) => void]>([
    ['a checkpoint empties the log', (other) => other.run('PRAGMA wal_checkpoint(TRUNCATE)')],
    [
      'a checkpoint empties the log, and another process writes to it',
      (other) => {
        other.run('PRAGMA wal_checkpoint(TRUNCATE)');
        other.run("INSERT INTO notes VALUES ('other')");
      },
    ],
    [
      'VACUUM makes the database smaller',
      (other) => {
        other.run('DELETE FROM notes');
        other.run('PRAGMA wal_checkpoint(TRUNCATE)');
        other.run('VACUUM');
        other.run('PRAGMA wal_checkpoint(TRUNCATE)');
      },
    ],
  ])('%s', async (_, work) => {
    await fill();
    using other = others();
    work(other);
    await insert('a');
    await Promise.all(['b', 'c'].map(insert));
    expect(await db.health()).toBeNull();
    expect(db.failure()).toBeNull();
    expect(db.$client.query('PRAGMA integrity_check').values()).toEqual([['ok']]);
  });
});
