import { Database as Sqlite } from 'bun:sqlite';
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cliJson, temporaryFolder } from '../support/cli.ts';

let folder: ReturnType<typeof temporaryFolder>;

beforeEach(async () => {
  folder = temporaryFolder();
  await cliJson(folder.path, ['organization', 'create', '--name', 'Acme']);
});

afterEach(() => folder.remove());

const litestream = () => join(folder.path, '.tidings.db-litestream');
const MINUTE_MS = 60_000;
const NOON = Date.parse('2026-11-22T12:00:00.000Z');

/** Litestream's local files, each with the minutes after noon at which it was written. */
function replicate(...minutes: number[]): void {
  const level = join(litestream(), 'ltx', '0');
  mkdirSync(level, { recursive: true });
  minutes.forEach((minute, n) => {
    const id = (n + 1).toString(16).padStart(16, '0');
    const file = join(level, `${id}-${id}.ltx`);
    writeFileSync(file, '');
    setTime(file, minute);
  });
}

function setTime(file: string, minute: number): void {
  const time = new Date(NOON + minute * MINUTE_MS);
  utimesSync(file, time, time);
}

const setDatabaseTime = (minute: number) => setTime(join(folder.path, 'tidings.db'), minute);

async function examine() {
  const { checks } = await cliJson(folder.path, ['doctor', '--offline']);
  return checks.find(({ name }: { name: string }) => name === 'litestream');
}

test('doctor says nothing about Litestream where it is not used', async () => {
  expect(await examine()).toBeUndefined();
});

test('Litestream that has replicated every transaction is fine, however long ago that was', async () => {
  replicate(0, 4, 9);
  setDatabaseTime(9);
  expect(await examine()).toEqual({
    name: 'litestream',
    status: 'ok',
    message:
      'Litestream is up to date with the database. Its newest transaction is from 2026-11-22T12:09:00.000Z',
  });
  // A transaction of the last minutes may be on its way.
  setDatabaseTime(14);
  expect(await examine()).toMatchObject({ status: 'ok' });
});

test('a database that changes while Litestream stands still is a warning', async () => {
  replicate(0, 9);
  setDatabaseTime(29);
  expect(await examine()).toEqual({
    name: 'litestream',
    status: 'warning',
    message:
      'Litestream is 20 minutes behind the database. Its newest transaction is from 2026-11-22T12:09:00.000Z',
    advice: `Start Litestream and check its log. If you no longer use it, remove ${litestream()}`,
  });
});

test('a write to the log counts, and moving the log into the database does not', async () => {
  replicate(0, 9);
  using sqlite = new Sqlite(join(folder.path, 'tidings.db'));
  sqlite.run("UPDATE organizations SET name = 'Acme Inc.'");
  setDatabaseTime(40);
  setTime(join(folder.path, 'tidings.db-wal'), 9);
  expect(await examine()).toMatchObject({ status: 'ok' });
  setTime(join(folder.path, 'tidings.db-wal'), 40);
  expect(await examine()).toMatchObject({
    status: 'warning',
    message: expect.stringContaining('31 minutes behind'),
  });
});

test('local files that Litestream should have uploaded and deleted are a warning', async () => {
  replicate(0, 14, 30);
  setDatabaseTime(30);
  expect(await examine()).toMatchObject({
    status: 'warning',
    message:
      'Litestream has not uploaded its transactions since 2026-11-22T12:00:00.000Z, or l0-retention is longer than 15 minutes',
    advice: expect.stringContaining('unable to reach the replica'),
  });
});

test('a folder of Litestream without a transaction is a warning', async () => {
  mkdirSync(litestream());
  expect(await examine()).toMatchObject({
    status: 'warning',
    message: "Litestream's folder beside the database has no transactions",
  });
});
