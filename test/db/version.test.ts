import { afterEach, beforeEach, expect, test } from 'bun:test';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabase, type SqliteDatabase } from '../../db/sqlite/client.ts';
import { createVersion } from '../../db/sqlite/storage.ts';
import { mapHeader } from '../../db/sqlite/wal.ts';
import { temporaryFolder } from '../support/cli.ts';

// The version of the database, which tells whether a response can be given again.

let folder: ReturnType<typeof temporaryFolder>;
let file: string;
let db: SqliteDatabase;

beforeEach(() => {
  folder = temporaryFolder();
  file = join(folder.path, 'tidings.db');
  db = openDatabase(file, 'server');
});

afterEach(async () => {
  await db.close();
  folder.remove();
});

/** Of another process, while this one reads. */
const COMMITS = 2_000;

let marks = 0;
const insert = () => `INSERT INTO form_marks (mark, expires_at) VALUES ('${++marks}', 1)`;
const commitHere = () => db.write(() => db.$client.run(insert()));

function commitElsewhere(): void {
  const code = `new (require('bun:sqlite').Database)(${JSON.stringify(file)}).run(${JSON.stringify(insert())})`;
  expect(Bun.spawnSync([process.execPath, '-e', code]).exitCode).toBe(0);
}

/** The versions after each of some commits, each asked for twice. */
async function versionsOf(version: () => number | null): Promise<(number | null)[]> {
  const versions = [version(), version()];
  for (const commit of [commitHere, commitElsewhere, commitElsewhere, commitHere]) {
    await commit();
    versions.push(version(), version());
  }
  return versions;
}

test.each(['server', 'command'] as const)('each commit changes the version at once (%s)', async (role) => {
  await db.close();
  db = openDatabase(file, role);
  const versions = await versionsOf(db.version);
  expect(versions).toEqual(versions.map((_, at) => (versions[0] ?? 0) + Math.floor(at / 2)));
});

test('a commit of another connection changes the version within a turn of the event loop', async () => {
  const other = openDatabase(file);
  for (const _ of [1, 2, 3]) {
    const before = db.version();
    expect(before).toBeNumber();
    expect(db.version()).toBe(before);
    other.$client.run(insert());
    // No turn ends in between: a connection that is opened after the commit may be served in the turn that was under way.
    expect(db.version()).not.toBe(before);
  }
  await other.close();
});

test('what was read between two equal versions is true for all of that version, while another process commits', async () => {
  const code = `
    const { Database } = require('bun:sqlite');
    const sqlite = new Database(${JSON.stringify(file)});
    sqlite.run('PRAGMA busy_timeout = 5000');
    sqlite.run('PRAGMA synchronous = OFF');
    for (let mark = 1; mark <= ${COMMITS}; mark++) sqlite.run('UPDATE form_marks SET expires_at = ?', [mark]);`;
  await db.write(() => db.$client.run("INSERT INTO form_marks (mark, expires_at) VALUES ('a', 0)"));
  const latest = db.$client.query('SELECT expires_at FROM form_marks');
  const read = () => Number(latest.values()[0]?.[0]);
  const seen = new Map<number | null, number>();
  const other = Bun.spawn([process.execPath, '-e', code], { stderr: 'inherit' });
  while (other.exitCode === null) {
    for (let round = 0; round < 100; round++) {
      const version = db.version();
      const mark = read();
      if (db.version() !== version) continue;
      expect(seen.get(version) ?? mark).toBe(mark);
      seen.set(version, mark);
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(other.exitCode).toBe(0);
  const last = db.version();
  expect(read()).toBe(COMMITS);
  expect(seen.get(last) ?? COMMITS).toBe(COMMITS);
  expect(db.version()).toBe(last);
});

test.if(process.platform === 'linux')('SQLite keeps its locks on the index of the log', async () => {
  const { ino } = statSync(`${file}-shm`);
  const isLocked = () => {
    const locks = readFileSync('/proc/locks', 'utf8').split('\n');
    return locks.some((lock) => lock.includes(` ${process.pid} `) && lock.includes(`:${ino} `));
  };
  expect(isLocked()).toBeTrue();
  await versionsOf(db.version);
  expect(isLocked()).toBeTrue();
  mapHeader(`${file}-wal`);
  Bun.gc(true);
  expect(isLocked()).toBeTrue();
});

test('a file that is missing or too short is not mapped', async () => {
  const path = join(folder.path, 'other-shm');
  const map = () => mapHeader(join(folder.path, 'other-wal'));
  expect(map()).toBeNull();
  writeFileSync(path, new Uint8Array(47));
  expect(map()).toBeNull();
  writeFileSync(path, new Uint8Array(48));
  expect(map()).toHaveLength(12);
});

test('each word of the header counts', () => {
  const header = new Int32Array(12);
  const version = createVersion(
    db.$client,
    () => true,
    () => 0,
    header,
  );
  const versions = [version()];
  for (let at = 0; at < header.length; at++) {
    header[at] = 1;
    versions.push(version());
    expect(version()).toBe(versions.at(-1) ?? null);
  }
  expect(new Set(versions).size).toBe(13);
});

test('a closed database has no version', async () => {
  for (const role of ['server', 'command'] as const) {
    const path = join(folder.path, role);
    const closed = openDatabase(path, role);
    closed.version();
    await closed.write(() => closed.$client.run(insert()));
    expect(closed.version()).toBeNumber();
    await closed.close();
    expect(closed.version()).toBeNull();
  }
});
