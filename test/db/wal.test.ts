import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { copyFileSync, mkdirSync, readFileSync, statSync, symlinkSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { DiskFailed } from '../../db/failures.ts';
import type { CheckpointOutcome } from '../../db/sqlite/checkpoints.ts';
import { createCheckpoints } from '../../db/sqlite/checkpoints.ts';
import { openDatabase, type SqliteDatabase } from '../../db/sqlite/client.ts';
import { reportsPosition } from '../../db/sqlite/connection.ts';
import { createReadiness } from '../../src/server/readiness.ts';
import { temporaryFolder } from '../support/cli.ts';
import { heldSyncs } from '../support/held-syncs.ts';
import { until } from '../support/until.ts';

// The server's write-ahead log: syncs and checkpoints hold up no request.

let folder: ReturnType<typeof temporaryFolder>;
let file: string;
let db: SqliteDatabase;

beforeEach(() => {
  folder = temporaryFolder();
  file = join(folder.path, 'tidings.db');
});

afterEach(() => folder.remove());

const createNotes = () => db.$client.run('CREATE TABLE notes (text TEXT UNIQUE NOT NULL)');
const insert = (text: string) =>
  db.write(() => {
    db.$client.query('INSERT INTO notes VALUES (?)').run(text);
    return text;
  });
const count = () => db.$client.query('SELECT count(*) FROM notes').values().flat()[0];

/** Counts settled promises. */
function watch(...work: Promise<unknown>[]) {
  const settled: string[] = [];
  for (const each of work)
    each.then((value) => settled.push(String(value))).catch((error) => settled.push(String(error)));
  return settled;
}

/** Lets everything happen that waits for no sync. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}

describe('syncs', () => {
  let syncs: ReturnType<typeof heldSyncs>;

  beforeEach(() => {
    syncs = heldSyncs();
    db = openDatabase(file, 'server', { syncFile: syncs.sync });
    createNotes();
  });

  test('work is acknowledged after a sync that began after its commit, and the next sync covers all that waits', async () => {
    const settled = watch(insert('a'), insert('b'));
    await until(
      async () => syncs.begun,
      (begun) => begun === 1,
    );
    // Committed, and visible, while the sync runs.
    expect(count()).toBe(2);
    settled.push('first sync ends');
    const later = ['c', 'd', 'e'].map(async (text) => {
      settled.push(await insert(text));
    });
    await until(
      async () => count(),
      (notes) => notes === 5,
    );
    await turns();
    expect(settled).toEqual(['first sync ends']);
    expect(syncs.begun).toBe(1);
    await syncs.finish();
    expect(settled).toEqual(['first sync ends', 'a', 'b']);
    expect(syncs.begun).toBe(2);
    await syncs.finish();
    await Promise.all(later);
    expect(settled.slice(3)).toEqual(['c', 'd', 'e']);
    expect(syncs.begun).toBe(2);
    await db.close();
  });

  test('of a long queue, a part is committed while the part before it is synced', async () => {
    const texts = Array.from({ length: 64 }, (_, at) => String(at));
    const settled = watch(...texts.map(insert));
    await until(
      async () => count(),
      (notes) => notes === 64,
    );
    expect(settled).toEqual([]);
    await syncs.finish();
    expect(settled.length).toBeGreaterThan(0);
    expect(settled.length).toBeLessThan(64);
    await syncs.finish();
    expect(settled).toEqual(texts);
    await db.close();
  });

  test('reads go on, and refused work waits too, because it may have seen what is not on the disk', async () => {
    const settled = watch(insert('a'), insert('a'));
    await until(
      async () => syncs.begun,
      (begun) => begun === 1,
    );
    expect(await db.read(() => count())).toBe(1);
    await turns();
    expect(settled).toEqual([]);
    await syncs.finish();
    expect(settled).toEqual(['a', expect.stringContaining('UNIQUE')]);
    await db.close();
  });

  test('close waits for the sync', async () => {
    const settled = watch(insert('a'));
    await until(
      async () => syncs.begun,
      (begun) => begun === 1,
    );
    const closing = db.close().then(() => settled.push('closed'));
    await turns();
    expect(settled).toEqual([]);
    await syncs.finish();
    await closing;
    expect(settled).toEqual(['a', 'closed']);
  });

  test('a sync that a signal interrupts is made again', async () => {
    const settled = watch(insert('a'));
    for (let tries = 1; tries <= 3; tries++) {
      await until(
        async () => syncs.begun,
        (begun) => begun === tries,
      );
      await syncs.finish(Object.assign(new Error('interrupted'), { code: 'EINTR' }));
      await turns();
      expect(settled).toEqual([]);
    }
    await syncs.finish();
    expect(settled).toEqual(['a']);
    expect(await db.health()).toBeNull();
    await db.close();
  });

  test('after a sync that failed nothing is acknowledged until the server starts again', async () => {
    const settled = watch(insert('a'));
    await until(
      async () => syncs.begun,
      (begun) => begun === 1,
    );
    const next = insert('b').catch((error: unknown) => error);
    await until(
      async () => count(),
      (notes) => notes === 2,
    );
    await syncs.finish(Object.assign(new Error('i/o error, fsync'), { code: 'EIO' }));
    expect(settled).toEqual([expect.stringContaining('The disk failed')]);
    expect(await next).toBeInstanceOf(DiskFailed);
    for (const text of ['c', 'd']) {
      await expect(insert(text)).rejects.toMatchObject({ status: 503, message: 'The disk failed' });
    }
    // Not even tried: a second sync would report success for what is lost.
    expect(syncs.begun).toBe(1);
    expect(count()).toBe(2);
    expect(await db.health()).toBe('EIO');
    const whyNot = createReadiness({
      db,
      isStopping: () => false,
      silentMs: () => 0,
      freeBytes: () => null,
      failedDeliveries: { inARow: 0, lastAtMs: 0 },
    });
    expect(await whyNot()).toBe(
      'The database cannot be written (EIO). Check the disk and restart the server',
    );
    // The files of a server that was killed.
    const left = `${file}.left`;
    for (const suffix of ['', '-wal']) copyFileSync(`${file}${suffix}`, `${left}${suffix}`);
    db.$client.close();

    // The log may not be on the disk, so the next start writes it again before anything else.
    const log = `${left}-wal`;
    const before = readFileSync(log);
    utimesSync(log, 0, 0);
    db = openDatabase(left, 'server');
    expect(statSync(log).mtimeMs).toBeGreaterThan(0);
    expect(readFileSync(log)).toEqual(before);
    expect(await insert('e')).toBe('e');
    expect(count()).toBe(3);
    await db.close();
  });
});

test('a command syncs each commit itself', () => {
  db = openDatabase(file);
  expect(db.$client.query('PRAGMA synchronous').values()).toEqual([[2]]);
  db.$client.close();
});

test('the log is the one beside the file that a symbolic link leads to', async () => {
  mkdirSync(join(folder.path, 'disk'));
  symlinkSync(join('disk', 'tidings.db'), file);
  db = openDatabase(file, 'server');
  createNotes();
  expect(await insert('a')).toBe('a');
  const log = statSync(join(folder.path, 'disk', 'tidings.db-wal')).size;
  expect(log).toBeGreaterThan(0);
  expect(await db.sizes()).toMatchObject({ wal: log });
  await db.close();
});

describe('checkpoints', () => {
  const MEGABYTE = 1024 * 1024;
  const logBytes = () => statSync(`${file}-wal`).size;
  /** Pages in the log, and how many of them are in the database. */
  const position = () => db.$client.query('PRAGMA wal_checkpoint(NOOP)').values()[0] as [0, number, number];

  beforeEach(() => {
    db = openDatabase(file, 'server');
    db.$client.run('CREATE TABLE blobs (bytes BLOB)');
  });

  afterEach(() => db.close());

  const writeMegabyte = () =>
    db.write(() => void db.$client.run('INSERT INTO blobs VALUES (randomblob(?))', [MEGABYTE]));

  async function writeMegabytes(megabytes: number): Promise<void> {
    for (let written = 0; written < megabytes; written++) await writeMegabyte();
  }

  test('a log of 16 MB is copied and starts again, while others write', async () => {
    const writers = Array.from({ length: 4 }, () => writeMegabytes(40));
    await Promise.all(writers);
    // SQLite alone would have written 160 MB, had a write always been under way.
    expect(logBytes()).toBeLessThan(100 * MEGABYTE);
    let megabytes = 160;
    // A restart that finds a writer is left to the next checkpoint, after another 16 MB.
    await until(
      async () => {
        await writeMegabyte();
        megabytes++;
        return position();
      },
      ([, pages, copied]) => pages < 4_096 && copied < pages,
    );
    expect(db.$client.query('SELECT count(*), sum(length(bytes)) FROM blobs').values()).toEqual([
      [megabytes, megabytes * MEGABYTE],
    ]);
    expect(db.$client.query('PRAGMA quick_check').values()).toEqual([['ok']]);
  });

  test('a reader keeps the log, and the next checkpoint after it cuts the log', async () => {
    const reader = openDatabase(file);
    reader.$client.run('BEGIN');
    reader.$client.query('SELECT * FROM blobs').values();
    await writeMegabytes(80);
    expect(position()[1]).toBeGreaterThan(80 * 256);
    reader.$client.run('ROLLBACK');
    reader.$client.close();
    await until(
      async () => {
        await writeMegabyte();
        return logBytes();
      },
      (bytes) => bytes <= 64 * MEGABYTE,
    );
  });

  const noThread = {
    ask: () => Promise.reject(new Error('out of file descriptors')),
    close: () => undefined,
  };

  test('without a thread the checkpoint runs in the event loop', async () => {
    await writeMegabytes(10);
    const { startIfDue, close } = createCheckpoints(db.$client, { isSafe: () => true, thread: noThread });
    startIfDue();
    expect(position()[2]).toBe(0);
    db.$client.run('INSERT INTO blobs VALUES (randomblob(?))', [10 * MEGABYTE]);
    startIfDue();
    await close();
    const [, pages, copied] = position();
    expect(copied).toBe(pages);
  });

  test('a checkpoint in the event loop that finds a reader at work is left to a later commit', async () => {
    // Beside `db.write`, whose commit would start the checkpoint of the server, in its thread.
    db.$client.run('INSERT INTO blobs VALUES (randomblob(?))', [20 * MEGABYTE]);
    const { startIfDue, close } = createCheckpoints(db.$client, { isSafe: () => true, thread: noThread });
    const copied = position()[2];
    startIfDue();
    await db.read(async () => {
      for (let statement = 0; statement < 20; statement++) {
        await db.$client.query('SELECT count(*) FROM blobs').values();
      }
    });
    expect(position()[2]).toBe(copied);
    // It has not failed, which would end the process.
    await close();
  });

  test('one that fails is counted and tried again after ten seconds, and then is no trouble any more', async () => {
    await writeMegabytes(15);
    const failure = 'SQLITE_IOERR_WRITE: disk I/O error';
    let answer: CheckpointOutcome = { failure };
    let now = 0;
    let asked = 0;
    const { startIfDue, close, failures } = createCheckpoints(db.$client, {
      isSafe: () => true,
      thread: {
        async ask() {
          asked++;
          return answer;
        },
        close: () => undefined,
      },
      elapsedMs: () => now,
    });
    const settled = () => new Promise((resolve) => setImmediate(resolve));
    await writeMegabytes(2);
    startIfDue();
    await settled();
    startIfDue();
    await settled();
    expect(failures).toEqual({ total: 1, inARow: 1, cause: failure });
    now = 9_999;
    startIfDue();
    await settled();
    expect(failures.total).toBe(1);
    now = 10_000;
    startIfDue();
    await settled();
    // Not the second step, which would find the same.
    expect([failures.inARow, asked]).toEqual([2, 2]);
    answer = 'left';
    now = 20_000;
    startIfDue();
    await settled();
    expect(failures).toMatchObject({ total: 2, inARow: 2 });
    answer = 'done';
    startIfDue();
    await settled();
    expect(asked).toBe(4);
    now = 30_000;
    startIfDue();
    await settled();
    expect(failures).toMatchObject({ total: 2, inARow: 0 });
    now = 40_000;
    startIfDue();
    await settled();
    expect(asked).toBe(6);
    await close();
  });
});

test.each([
  ['3.50.4', false],
  ['3.51.0', false],
  ['3.51.2', false],
  ['3.51.3', true],
  ['3.52.0', true],
])(
  'SQLite %s makes its own checkpoints unless a log that starts again loses nothing there',
  (version, isOurs) => {
    const query = () => ({ values: () => [[version]] });
    expect(reportsPosition({ query } as unknown as Parameters<typeof reportsPosition>[0])).toBe(isOurs);
  },
);
