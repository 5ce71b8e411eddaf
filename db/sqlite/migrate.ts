import { Database as Sqlite } from 'bun:sqlite';
import { copyFileSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { messageOf } from '../../src/lib/app-error.ts';
import { bringToDisk, freeBytes, megabytes } from '../../src/lib/disk.ts';
import m00 from './migrations/0000_start.sql' with { type: 'text' };
import m01 from './migrations/0001_former_slugs.sql' with { type: 'text' };
import m02 from './migrations/0002_identity_provider.sql' with { type: 'text' };
import m03 from './migrations/0003_passkeys.sql' with { type: 'text' };
import m04 from './migrations/0004_assistant.sql' with { type: 'text' };
import m05 from './migrations/0005_approval.sql' with { type: 'text' };
import { inspectDatabase, snapshotInto } from './snapshot.ts';

/** Oldest first, embedded for the compiled binary. SQLite's `user_version` counts the applied ones. */
export const migrations: readonly string[] = [m00, m01, m02, m03, m04, m05];

/** Applies the missing migrations: all, or none when one fails. Throws when the file comes from a newer version. */
export function migrate(sqlite: Sqlite): void {
  const applyPending = sqlite.transaction(() => {
    // Read the version inside the write lock: two processes may start on one new folder.
    applyMigrations(sqlite, migrations.slice(readVersion(sqlite)));
    sqlite.run(`PRAGMA user_version = ${migrations.length}`);
  });

  const version = readVersion(sqlite);
  if (version > migrations.length) {
    throw new Error(
      `The database was written by a newer Tidings (schema ${version}; this version supports ${migrations.length}). Start that version or a newer one.`,
    );
  }
  if (version === migrations.length) return;
  // Rebuilding a table drops it, which would delete the rows that refer to it. The switch works only out here.
  sqlite.run('PRAGMA foreign_keys = OFF');
  try {
    applyPending.immediate();
  } finally {
    sqlite.run('PRAGMA foreign_keys = ON');
  }
}

export function applyMigrations(sqlite: Sqlite, some: readonly string[]): void {
  for (const migration of some) {
    for (const statement of migration.split('--> statement-breakpoint')) sqlite.run(statement);
  }
}

export function readVersion(sqlite: Sqlite): number {
  return Number(sqlite.query('PRAGMA user_version').values()[0]?.[0]);
}

/** Free disk that an upgrade needs beside the copies. */
const SPARE_BYTES = 16 * 1024 * 1024;

export const copyName = (file: string, schema: number) => `${file}.before-upgrade-${schema}`;

/**
 * Upgrades the schema of an open database. Unless it is empty, a copy is upgraded and checked first; then the file
 * itself in one transaction. The upgraded copy does not replace the file: another process may have the file open and
 * would keep writing to the removed one. A copy of the old database stays as `….before-upgrade-<schema>` for a
 * downgrade; copies of earlier upgrades are removed. Throws when the file belongs to another program or a newer
 * version, and when the upgrade fails, which leaves the file as it was.
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
    // Another process may have upgraded the file before it was copied.
    const before = rehearse(rehearsal);
    if (before !== schema) return;
    bringToDisk(partial);
    renameSync(partial, copyName(file, schema));
    removeOlderCopies(file, schema);
  } catch (error) {
    throw new Error(
      `the upgrade of the database from schema ${schema} to ${migrations.length} was tried on a copy and failed: ${messageOf(error)}. ` +
        'The database is unchanged. Keep using the old version of Tidings, and report the problem',
      { cause: error },
    );
  } finally {
    removeAll();
  }
}

/** Upgrades and checks a copy. Returns the schema that it had. */
function rehearse(file: string): number {
  using sqlite = new Sqlite(file, { readwrite: true, create: false, strict: true });
  const before = readVersion(sqlite);
  sqlite.run('PRAGMA synchronous = OFF');
  migrate(sqlite);
  const { problem } = inspectDatabase(file);
  if (problem !== null) throw new Error(problem);
  return before;
}

/** Needs room for two copies and the write-ahead log of the upgrade. */
function requireSpace(sqlite: Sqlite, file: string, schema: number): void {
  const [[bytes] = []] = sqlite
    .query('SELECT page_count * page_size FROM pragma_page_count, pragma_page_size')
    .values();
  const needed = 3 * Number(bytes) + SPARE_BYTES;
  const free = freeBytes(dirname(file));
  if (free === null || free >= needed) return;
  throw new Error(
    `the upgrade of the database from schema ${schema} to ${migrations.length} needs ${megabytes(needed)} of free disk space, but only ${megabytes(free)} are free. ` +
      'Free up disk space, or keep using the old version of Tidings',
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
