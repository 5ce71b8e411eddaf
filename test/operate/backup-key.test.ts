import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tidings } from '../../src/lib/build.ts';
import { fillFolder } from '../support/backups.ts';
import { cli, cliJson, temporaryFolder } from '../support/cli.ts';

const KEY = Buffer.alloc(32, 7).toString('base64');
/** Nothing listens there: these commands must not ask the database. */
const POSTGRES = { DATABASE_URL: 'postgres://tidings:hunter2@127.0.0.1:9/tidings', SECRET_KEY: KEY };

let folder: ReturnType<typeof temporaryFolder>;

beforeEach(() => {
  folder = temporaryFolder();
});

afterEach(() => folder.remove());

const dataDir = () => join(folder.path, 'data');
const file = () => join(folder.path, 'a.key');
const run = (words: string[], environment: Record<string, string> = {}) =>
  cli(dataDir(), words, { environment });

describe('backup --key-only', () => {
  test('writes the key of the data folder, for this user alone', async () => {
    await fillFolder(dataDir());
    expect(await cliJson(dataDir(), ['backup', '--key-only', file()])).toEqual({ file: file() });
    expect(readFileSync(file(), 'utf8')).toBe(readFileSync(join(dataDir(), 'secret.key'), 'utf8'));
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    expect(existsSync(join(dataDir(), 'last-backup.json'))).toBe(false);
  });

  test('writes SECRET_KEY with PostgreSQL, which need not run', async () => {
    const { exitCode, stdout } = await run(['backup', '--key-only', file()], POSTGRES);
    expect({ exitCode, stdout }).toEqual({
      exitCode: 0,
      stdout: `The secret key is in ${file()}. It decrypts the secrets of every backup: store it apart from them.\n`,
    });
    expect(readFileSync(file(), 'utf8')).toBe(`${KEY}\n`);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
  });

  test('replaces a file only with --force', async () => {
    writeFileSync(file(), 'mine', { mode: 0o644 });
    const refused = await run(['backup', '--key-only', file()], POSTGRES);
    expect(refused).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: `error: ${file()} already exists. Use --force to replace it\n`,
    });
    expect(readFileSync(file(), 'utf8')).toBe('mine');
    expect((await run(['backup', '--key-only', '--force', file()], POSTGRES)).exitCode).toBe(0);
    expect(readFileSync(file(), 'utf8')).toBe(`${KEY}\n`);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder.path)).toEqual(['a.key']);
  });

  test.each<[string, () => string[], number, string]>([
    ['there is no key', () => ['--key-only', file()], 1, 'There is no key to back up'],
    ['the target is in a store', () => ['--key-only', 's3://bucket/key'], 1, "can't be written to S3"],
    ['the target is a folder', () => ['--key-only', folder.path], 1, 'is not a regular file'],
    [
      'the folder is missing',
      () => ['--key-only', join(folder.path, 'nope', 'a')],
      1,
      'The key was not written',
    ],
    [
      'the target is the key itself',
      () => ['--key-only', '--force', join(dataDir(), 'secret.key')],
      1,
      "is one of the data folder's own files",
    ],
    ['the backup is to hold it too', () => ['--key-only', '--with-key', file()], 2, 'cannot be used with'],
  ])('is refused when %s', async (what, words, code, message) => {
    const environment = what === 'there is no key' ? {} : { SECRET_KEY: KEY };
    const { exitCode, stderr } = await run(['backup', ...words()], environment);
    expect(exitCode).toBe(code);
    expect(stderr).toContain(message);
    expect(existsSync(file())).toBe(false);
  });
});

test.each([
  [
    'backup',
    `This command backs up the SQLite database, but DATABASE_URL is set. For PostgreSQL, use pg_dump or point-in-time recovery (docs/postgresql.md). "${tidings} backup --key-only FILE" writes the secret key, which you also need`,
  ],
  [
    'restore',
    'This command restores the SQLite database, but DATABASE_URL is set. For PostgreSQL, use pg_restore or point-in-time recovery (docs/postgresql.md)',
  ],
])('%s refuses PostgreSQL, and names what to use', async (command, message) => {
  const result = await run([command, file()], POSTGRES);
  expect(result).toEqual({ exitCode: 1, stdout: '', stderr: `error: ${message}\n` });
  expect(readdirSync(folder.path)).toEqual([]);
});
