import { Database as Sqlite } from 'bun:sqlite';
import {
  closeSync,
  copyFileSync,
  fsyncSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { migrate, migrations, readVersion } from './migrate.ts';
import { inspectDatabase, snapshotInto } from './snapshot.ts';

/** What an upgrade needs beside the copies, in bytes. */
const SPARE_BYTES = 16 * 1024 * 1024;

/** Where the database from before stays when it is upgraded from `schema`. */
export const copyName = (file: string, schema: number) => `${file}.before-upgrade-${schema}`;

/**
 * Brings the schema of an open database up to date. One that holds something is copied first, and the copy upgraded and
 * checked; only then is the file itself, in one transaction that leaves all or nothing. The upgraded copy is not put in
 * its place: another process may have the file open, and would go on writing to what has no name any more. The copy
 * from before stays as `….before-upgrade-<schema>`, for who wants to go back; those of earlier upgrades are removed.
 * Throws when the file is not ours or of a newer version, and when an upgrade fails, which leaves it as it was.
 */
export function upgrade(sqlite: Sqlite, file: string, beforeUpgrade?: (schema: number) => void): void {
  const schema = readVersion(sqlite);
  requireOurs(sqlite, schema);
  if (schema > 0 && schema < migrations.length) {
    beforeUpgrade?.(schema);
    if (file !== ':memory:') copyAndRehearse(sqlite, file, schema);
  }
  migrate(sqlite);
}

/** Another program's database must not be made one of ours. */
function requireOurs(sqlite: Sqlite, schema: number): void {
  const tables = sqlite.query("SELECT name FROM sqlite_schema WHERE type = 'table'").values().flat();
  if (schema === 0 ? tables.length === 0 : tables.includes('organizations')) return;
  throw new Error('tidings.db is a database, but not one of Tidings');
}

function copyAndRehearse(sqlite: Sqlite, file: string, schema: number): void {
  requireSpace(sqlite, file, schema);
  const partial = `${file}.upgrade-${process.pid}`;
  const rehearsal = `${partial}-tried`;
  const removeAll = () => {
    for (const path of [partial, rehearsal, `${rehearsal}-journal`]) rmSync(path, { force: true });
  };
  removeAll();
  try {
    snapshotInto(file, partial);
    copyFileSync(partial, rehearsal);
    // Another process may have been quicker, and what was copied is its work.
    const before = rehearse(rehearsal);
    if (before !== schema) return;
    bringToDisk(partial);
    renameSync(partial, copyName(file, schema));
    removeOlderCopies(file, schema);
  } catch (error) {
    throw new Error(
      `the upgrade of the database from schema ${schema} to ${migrations.length} was tried on a copy and failed: ${messageOf(error)}. ` +
        'The database is as it was: go on with the version of Tidings that you had, and report this',
      { cause: error },
    );
  } finally {
    removeAll();
  }
}

function bringToDisk(file: string): void {
  const handle = openSync(file, 'r');
  fsyncSync(handle);
  closeSync(handle);
}

/** Upgrades and checks a copy. Returns the schema that it had. */
function rehearse(file: string): number {
  const sqlite = new Sqlite(file, { readwrite: true, create: false, strict: true });
  const before = readVersion(sqlite);
  try {
    sqlite.run('PRAGMA synchronous = OFF');
    sqlite.run('PRAGMA foreign_keys = ON');
    migrate(sqlite);
  } finally {
    sqlite.close();
  }
  const { problem } = inspectDatabase(file);
  if (problem !== null) throw new Error(problem);
  return before;
}

/** Two copies, and what the upgrade itself writes until it is done. */
function requireSpace(sqlite: Sqlite, file: string, schema: number): void {
  const [[pages = 0, pageBytes = 0] = []] = sqlite
    .query<Record<string, number>, []>(
      'SELECT page_count, page_size FROM pragma_page_count, pragma_page_size',
    )
    .values() as number[][];
  const needed = 3 * pages * pageBytes + SPARE_BYTES;
  const { bavail, bsize } = statfsSync(dirname(file));
  if (bavail * bsize >= needed) return;
  const inMegabytes = (bytes: number) => `${Math.ceil(bytes / 1024 / 1024)} MB`;
  throw new Error(
    `the upgrade of the database from schema ${schema} to ${migrations.length} needs ${inMegabytes(needed)} of free disk, and there are ${inMegabytes(bavail * bsize)}: ` +
      'make room, or go on with the version of Tidings that you had',
  );
}

function removeOlderCopies(file: string, schema: number): void {
  const folder = dirname(file);
  const prefix = copyName(basename(file), 0).slice(0, -1);
  for (const name of readdirSync(folder)) {
    const isOlder = name.startsWith(prefix) && /^\d+$/.test(name.slice(prefix.length));
    const path = join(folder, name);
    if (isOlder && path !== copyName(file, schema) && statSync(path).isFile()) rmSync(path);
  }
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
