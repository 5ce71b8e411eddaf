import { Database as Sqlite } from 'bun:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { migrations } from '../../db/sqlite/migrate.ts';
import { keyFingerprint } from '../../src/lib/secret-box.ts';
import { checkBackup, unpackDatabase, writeBackup } from '../../src/server/backup/archive.ts';
import { lastBackup } from '../../src/server/backup/job.ts';
import { fillFolder, rowsIn, withoutIndex } from '../support/backups.ts';
import { cli, cliJson, temporaryFolder } from '../support/cli.ts';
import { rounds } from '../support/rounds.ts';
import { fixtureOf, olderSchemas } from '../support/schema-fixtures.ts';

let folder: ReturnType<typeof temporaryFolder>;
let connected: Awaited<ReturnType<typeof fillFolder>>;

const dataDir = () => join(folder.path, 'data');
const other = () => join(folder.path, 'other');
const file = () => join(folder.path, 'a.backup');
const backup = (...flags: string[]) => cliJson(dataDir(), ['backup', file(), ...flags]);
const restore = (into: string, ...flags: string[]) => cli(into, ['restore', file(), ...flags]);
const secretOf = (into: string, environment = {}) =>
  cli(
    into,
    ['send', 'github', 'ping', '--integration', connected.integrationId, '--url', 'http://127.0.0.1:9'],
    { environment },
  );
const ANOTHER_KEY = Buffer.alloc(32, 5).toString('base64');

beforeEach(async () => {
  folder = temporaryFolder();
  connected = await fillFolder(dataDir());
});

afterEach(() => folder.remove());

describe('a backup', () => {
  test('is one file for this user alone, and the output describes it', async () => {
    const told = await backup();
    const bytes = readFileSync(file());
    expect(told).toEqual({
      file: file(),
      bytes: bytes.length,
      sha256: new Bun.CryptoHasher('sha256').update(bytes).digest('hex'),
      schema: migrations.length,
      tables: told.tables,
      createdAt: told.createdAt,
      includesKey: false,
      isSigned: true,
      images: { stored: 0, missing: 0, unreadable: 0, examples: [], place: null },
    });
    expect(told.tables).toMatchObject({ organizations: 1, posts: 20, api_keys: 1, integrations: 1 });
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder.path).sort()).toEqual(['a.backup', 'data']);
    const { success, failure } = await lastBackup(dataDir());
    expect({ success, failure }).toEqual({
      success: { at: told.createdAt, file: file(), bytes: told.bytes, sha256: told.sha256 },
      failure: null,
    });
  });

  test('does not reveal the key or a secret, unless it is asked to store the key', async () => {
    const key = readFileSync(join(dataDir(), 'secret.key'), 'utf8').trim();
    await backup();
    const without = readFileSync(file(), 'latin1');
    expect(without.includes(key)).toBe(false);
    const { stdout } = await cli(dataDir(), ['backup', `${file()}-2`]);
    expect(stdout).toContain(
      'The backup does not include the secret key. Store secret.key, or SECRET_KEY, in another safe place',
    );

    expect(await backup('--force', '--with-key')).toMatchObject({ includesKey: true });
    expect(readFileSync(file(), 'latin1').includes(key)).toBe(true);
    const withKey = await cli(dataDir(), ['backup', `${file()}-3`, '--with-key']);
    expect(withKey.stdout).toContain('The backup includes the secret key. Store it as safely as the key.');
  });

  test('replaces no file without --force', async () => {
    writeFileSync(file(), 'mine');
    const { exitCode, stderr } = await cli(dataDir(), ['backup', file()]);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr: `error: ${file()} already exists. Use --force to replace it\n`,
    });
    expect(readFileSync(file(), 'utf8')).toBe('mine');
    await backup('--force', '--with-key');
    expect((await restore(other(), '--unverified')).exitCode).toBe(0);
  });

  test.each([
    ['there is no database', [], () => other(), 'has no database'],
    [
      'the key to store is another',
      ['--with-key'],
      () => dataDir(),
      'because the stored secrets are encrypted with another key',
    ],
    ['the folder is not there', [], () => dataDir(), 'The backup was not made: the folder '],
  ])('leaves nothing behind when %s', async (what, flags, from, message) => {
    const target = what.startsWith('the folder') ? join(folder.path, 'nope', 'x') : file();
    const environment = { SECRET_KEY: ANOTHER_KEY };
    const { exitCode, stderr } = await cli(from(), ['backup', target, ...flags], { environment });
    expect(exitCode).toBe(1);
    expect(stderr.split('\n')).toHaveLength(2);
    expect(stderr).toContain(message);
    expect(readdirSync(folder.path).filter((name) => name !== 'data')).toEqual([]);
  });

  test.each<[string, (path: string) => void, string]>([
    [
      'a row that refers to nothing',
      (path) => {
        const sqlite = new Sqlite(path);
        sqlite.run('DELETE FROM organizations');
        sqlite.close();
      },
      'The backup was not made, because the database is damaged: 22 rows refer to missing rows',
    ],
    [
      'a page that is no page',
      (path) => {
        const bytes = readFileSync(path);
        bytes.fill(0x55, 4096 * 3, bytes.length);
        writeFileSync(path, bytes);
      },
      'The backup was not made: database disk image is malformed',
    ],
  ])('of a database with %s is not made', async (_, damage, message) => {
    damage(join(dataDir(), 'tidings.db'));
    const { exitCode, stderr } = await cli(dataDir(), ['backup', file()]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: `error: ${message}\n` });
    expect(readdirSync(folder.path)).toEqual(['data']);
  });
});

test('a backup does not replace a folder or a device', async () => {
  const path = join(folder.path, 'folder');
  mkdirSync(path);
  symlinkSync('/dev/null', join(folder.path, 'device'));
  for (const target of [path, join(folder.path, 'device')]) {
    const refused = await cli(dataDir(), ['backup', target, '--force']);
    expect(refused.stderr).toBe(
      `error: ${target} is not a regular file. Choose another path for the backup\n`,
    );
  }
  expect(readdirSync(folder.path).sort()).toEqual(['data', 'device', 'folder']);
});

describe('a file of the data folder itself', () => {
  const own = ['tidings.db', 'tidings.db-wal', 'tidings.db.restoring', 'secret.key', 'tidings.lock'];

  test.each(own)('%s is no name for a backup, also with --force and by another path', async (name) => {
    symlinkSync(dataDir(), join(folder.path, 'link'));
    const before = await rowsIn(dataDir());
    for (const path of [join(dataDir(), name), join(folder.path, 'link', name)]) {
      const refused = await cli(dataDir(), ['backup', path, '--force']);
      expect(refused.exitCode).toBe(1);
      expect(refused.stderr).toContain(
        "is one of the data folder's own files. Choose another name for the backup",
      );
    }
    expect(await rowsIn(dataDir())).toEqual(before);
    expect((await secretOf(dataDir())).stderr).not.toContain('secret.key');
  });

  test('a backup does not replace the target of a linked database', async () => {
    const real = join(folder.path, 'real.db');
    renameSync(join(dataDir(), 'tidings.db'), real);
    symlinkSync(real, join(dataDir(), 'tidings.db'));
    const refused = await cli(dataDir(), ['backup', real, '--force']);
    expect(refused.stderr).toContain("is one of the data folder's own files");
    expect((await rowsIn(dataDir())).posts).toHaveLength(20);
  });

  test('is not restored from, and a backup that has such a name is not removed', async () => {
    await backup();
    const path = join(dataDir(), 'tidings.db.restoring');
    copyFileSync(file(), path);
    const refused = await cli(dataDir(), ['restore', path, '--force']);
    expect(refused.exitCode).toBe(1);
    expect(readFileSync(path).equals(readFileSync(file()))).toBe(true);
  });

  test('any other name in there is taken', async () => {
    const path = join(dataDir(), 'tidings.db.backup');
    expect((await cliJson(dataDir(), ['backup', path])).file).toBe(path);
  });
});

describe('a restore', () => {
  test('gives every row back, and with the key also the secrets', async () => {
    const { tables, createdAt } = await backup('--with-key');
    const restored = await cliJson(other(), ['restore', file(), '--unverified']);
    expect(restored).toEqual({
      file: file(),
      dataDir: other(),
      createdAt,
      schema: migrations.length,
      tables,
      keptAs: null,
      isVerified: false,
      images: { stored: 0, missing: 0, unreadable: 0, examples: [], place: null },
      key: 'restored',
    });
    expect(withoutIndex(await rowsIn(other()))).toEqual(withoutIndex(await rowsIn(dataDir())));
    expect(readFileSync(join(other(), 'secret.key'))).toEqual(readFileSync(join(dataDir(), 'secret.key')));
    for (const name of ['tidings.db', 'secret.key'])
      expect(statSync(join(other(), name)).mode & 0o777).toBe(0o600);
    // The search finds what it found: its numbers survived the copy.
    expect(await cliJson(other(), ['post', 'list', '--organization', 'acme'])).toHaveLength(20);
    expect((await secretOf(other())).stderr).not.toContain('key');
  });

  test('replaces a database only with --force, and keeps the old one', async () => {
    await backup();
    await cliJson(dataDir(), ['organization', 'create', '--name', 'Later', '--id', 'later']);
    const later = await rowsIn(dataDir());
    const { exitCode, stderr } = await restore(dataDir());
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(
      /^error: The data folder already has a database: \S+tidings\.db, \d+ bytes, last written \S+Z\. Use --force to replace it\. .*\n$/,
    );
    expect(await rowsIn(dataDir())).toEqual(later);

    const { keptAs, key } = await cliJson(dataDir(), ['restore', file(), '--force']);
    expect(key).toBe('same');
    expect(keptAs).toMatch(/tidings\.db\.before-restore-\d{8}T\d{9}Z$/);
    expect(await cliJson(dataDir(), ['organization', 'list'])).toHaveLength(1);
    const former = new Sqlite(keptAs, { readonly: true });
    expect(former.query('SELECT id FROM organizations ORDER BY id').values()).toEqual([['acme'], ['later']]);
    former.close();
  });

  test('is refused while Litestream has the database open, and works once it is stopped', async () => {
    await backup();
    // A copy, because this process may still have the original open.
    cpSync(join(dataDir(), 'tidings.db'), join(other(), 'tidings.db'));
    cpSync(join(dataDir(), 'secret.key'), join(other(), 'secret.key'));
    mkdirSync(join(other(), '.tidings.db-litestream', 'ltx', '0'), { recursive: true });
    const path = join(other(), 'tidings.db');
    // Litestream holds a read transaction.
    const script = `const { Database } = require('bun:sqlite'); const db = new Database(${JSON.stringify(path)});
      db.run('BEGIN'); db.query('SELECT count(*) FROM posts').all(); console.log('open'); await Bun.stdin.text(); db.run('COMMIT');`;
    const holder = Bun.spawn([process.execPath, '-e', script], { stdin: 'pipe', stdout: 'pipe' });
    try {
      await holder.stdout.getReader().read();
      const { exitCode, stderr } = await restore(other(), '--force');
      expect({ exitCode, stderr }).toEqual({
        exitCode: 1,
        stderr: `error: Litestream has ${path} open and would keep replicating the old database. Stop Litestream, then restore the backup\n`,
      });
      expect(readdirSync(other()).filter((name) => name.includes('restor'))).toEqual([]);
    } finally {
      holder.kill();
      await holder.exited;
    }
    expect((await restore(other(), '--force')).exitCode).toBe(0);
    expect(rowsIn(other())).toEqual(rowsIn(dataDir()));
  });

  test('never applies the log of the former database to the new one', async () => {
    await backup();
    const path = join(dataDir(), 'tidings.db');
    // A process that is killed leaves its log behind; here it holds an organization.
    const script = `const { Database } = require('bun:sqlite'); const db = new Database(${JSON.stringify(path)});
      db.run("insert into organizations (id, name, plan, created_at) values ('late', 'Late', 'free', '2026')"); process.kill(process.pid, 'SIGKILL');`;
    Bun.spawnSync([process.execPath, '-e', script]);
    expect(statSync(`${path}-wal`).size).toBeGreaterThan(0);
    const { keptAs } = await cliJson(dataDir(), ['restore', file(), '--force']);
    expect(existsSync(`${path}-wal`)).toBe(false);
    expect(await cliJson(dataDir(), ['organization', 'list'])).toHaveLength(1);
    const former = new Sqlite(keptAs, { readonly: true });
    expect(former.query('SELECT id FROM organizations ORDER BY id').values()).toEqual([['acme'], ['late']]);
    former.close();
  });

  test('a missing file is reported first, and no folder is created', async () => {
    const missing = join(folder.path, 'missing.backup');
    for (const dataFolder of [dataDir(), join(folder.path, 'new')]) {
      const { exitCode, stderr } = await cli(dataFolder, ['restore', missing]);
      expect([exitCode, stderr]).toEqual([1, `error: The file ${missing} does not exist\n`]);
    }
    expect(existsSync(join(folder.path, 'new'))).toBe(false);
  });

  test.each(['garbage', ''])(
    'in the place of a file that is no database (%p) keeps that too',
    async (text) => {
      await backup();
      writeFileSync(join(dataDir(), 'tidings.db'), text);
      expect((await cli(dataDir(), ['organization', 'list'])).exitCode).toBe(1);
      const { keptAs } = await cliJson(dataDir(), ['restore', file(), '--force']);
      expect(readFileSync(keptAs, 'utf8')).toBe(text);
      expect(await cliJson(dataDir(), ['organization', 'list'])).toHaveLength(1);
    },
  );

  test.each(olderSchemas)('of schema %i is upgraded at the next start', async (schema) => {
    const old = join(folder.path, 'old');
    await Bun.write(join(old, 'note'), '');
    const sqlite = new Sqlite(join(old, 'tidings.db'), { create: true });
    sqlite.run(fixtureOf(schema));
    sqlite.close();
    expect(await cliJson(old, ['backup', file()])).toMatchObject({ schema });
    expect(await cliJson(other(), ['restore', file(), '--unverified'])).toMatchObject({
      schema,
      key: 'none',
    });
    expect(await cliJson(other(), ['organization', 'list'])).toHaveLength(2);
  });

  test('of a newer schema is refused', async () => {
    const sqlite = new Sqlite(join(dataDir(), 'tidings.db'));
    sqlite.run(`PRAGMA user_version = ${migrations.length + 1}`);
    sqlite.close();
    await backup();
    const { exitCode, stderr } = await restore(other());
    expect(exitCode).toBe(1);
    expect(stderr).toContain(
      `was made by a newer Tidings (schema ${migrations.length + 1}; this version supports ${migrations.length})`,
    );
    expect(readdirSync(other())).toEqual(['tidings.lock']);
  });
});

test('a backup that unpacks to something else than a database is refused before anything is written', async () => {
  await backup('--with-key');
  const { header } = await checkBackup(file());
  const zeros = Buffer.alloc(64 * 1024 * 1024);
  const bomb = { ...header, databaseBytes: zeros.length, databaseSha256: Bun.SHA256.hash(zeros, 'hex') };
  writeFileSync(join(folder.path, 'zeros'), zeros);
  await writeBackup(bomb, join(folder.path, 'zeros'), join(folder.path, 'bomb'));
  let written = 0;
  const unpacking = unpackDatabase(join(folder.path, 'bomb'), bomb, async (chunk) => {
    written += chunk.length;
  });
  expect(await unpacking.catch(String)).toContain('bomb is damaged: its database differs');
  expect(written).toBe(0);
});

describe('a file that is not a whole backup is refused in one line, and the folder left as it was', () => {
  async function refusal(change: (bytes: Buffer) => Buffer): Promise<string> {
    writeFileSync(file(), change(readFileSync(file())));
    const { exitCode, stderr } = await restore(other(), '--unverified');
    expect(exitCode).toBe(1);
    expect(stderr.split('\n')).toHaveLength(2);
    expect(readdirSync(other())).toEqual(['tidings.lock']);
    return stderr;
  }

  test.each<[string, (bytes: Buffer) => Buffer, RegExp]>([
    ['empty', () => Buffer.alloc(0), /is not a Tidings backup/],
    ['a text', () => Buffer.from('Dear diary'), /is not a Tidings backup/],
    ['the database itself', () => readFileSync(join(dataDir(), 'tidings.db')), /is not a Tidings backup/],
    [
      'cut within the checksum',
      (bytes) => bytes.subarray(0, -1),
      /is damaged or incomplete: its checksum does not match/,
    ],
    ['cut in half', (bytes) => bytes.subarray(0, bytes.length / 2), /is damaged/],
    ['cut after the first words', (bytes) => bytes.subarray(0, 30), /is damaged/],
    ['with a byte more', (bytes) => Buffer.concat([bytes, Buffer.of(0)]), /is damaged/],
    ['twice', (bytes) => Buffer.concat([bytes, bytes]), /is damaged/],
    [
      'of another form',
      (bytes) => resealed(bytes.toString('latin1').replace('"version":3', '"version":4'), 32),
      /has a format that this version of Tidings cannot read/,
    ],
    [
      'with another database than its header says',
      (bytes) => resealed(bytes.toString('latin1').replace(/"databaseSha256":"./, '"databaseSha256":"x'), 32),
      /has a format that this version/,
    ],
    [
      'with fewer rows than its header says',
      (bytes) => resealed(bytes.toString('latin1').replace('"posts":20', '"posts":21')),
      /it does not match its header/,
    ],
    [
      'with a larger database than its header says',
      (bytes) => resealed(bytes.toString('latin1').replace(/"databaseBytes":\d+/, '"databaseBytes":4096')),
      /is damaged: its database differs/,
    ],
    [
      'with a database larger than the disk',
      (bytes) => resealed(bytes.toString('latin1').replace(/"databaseBytes":\d+/, `"databaseBytes":${1e15}`)),
      /The database in the backup needs 2000000\.0 GB, but .* has only \d[\d.]* [GM]B of free space\. Free up disk space, or set DATA_DIR/,
    ],
    [
      'with something else in the place of the database',
      (bytes) => resealed(`${bytes.toString('latin1').split('\n')[0]}\nDear diary${'-'.repeat(64)}`),
      /not restored|is damaged/,
    ],
  ])('%s', async (_, change, message) => {
    await backup('--with-key');
    expect(await refusal(change)).toMatch(message);
  });

  test('with a flipped bit, wherever it is', async () => {
    await backup();
    const whole = readFileSync(file());
    const key = Buffer.from(readFileSync(join(dataDir(), 'secret.key'), 'utf8'), 'base64');
    const damaged = join(folder.path, 'flipped');
    for (let position = 0; position < whole.length; position++) {
      const isPacked = position > 400 && position < whole.length - 100;
      if (isPacked && position % rounds(9, 1) !== 0) continue;
      const bytes = Buffer.from(whole);
      bytes[position] = (bytes[position] ?? 0) ^ (1 << (position % 8));
      writeFileSync(damaged, bytes);
      expect(
        await checkBackup(damaged).then(
          ({ isSignedWith }) => (isSignedWith(key) ? position : null),
          () => null,
        ),
      ).toBeNull();
    }
    // The check does let through what is whole.
    writeFileSync(damaged, whole);
    const { header, isSignedWith } = await checkBackup(damaged);
    expect([header.tables.posts, isSignedWith(key)]).toEqual([20, true]);
    truncateSync(damaged, 0);
  }, 300_000);

  /** With a checksum that is right for what was changed. A version that nobody knows has no MAC of `macBytes`. */
  function resealed(text: string, macBytes = 0): Buffer {
    const bytes = Buffer.from(text, 'latin1');
    const body = bytes.subarray(0, -64);
    const checksum = new Bun.CryptoHasher('sha256').update(body).digest();
    return Buffer.concat([body, checksum, bytes.subarray(-32, macBytes === 0 ? undefined : -macBytes)]);
  }
});

describe('the key', () => {
  test.each([
    ['is missing', {}, 'The backup does not include the key of its secrets'],
    [
      'is another',
      { SECRET_KEY: ANOTHER_KEY },
      'The secrets in the backup were encrypted with a different key than SECRET_KEY.',
    ],
  ])('%s: refused, unless a new one is wanted', async (_, environment, message) => {
    await backup();
    const refused = await cli(other(), ['restore', file()], { environment });
    expect(refused.exitCode).toBe(1);
    expect(refused.stderr).toContain(message);
    expect(refused.stderr).toContain('To restore without the key, use --new-key --unverified');
    expect(readdirSync(other())).toEqual(['tidings.lock']);

    expect(
      await cliJson(other(), ['restore', file(), '--new-key', '--unverified'], { environment }),
    ).toMatchObject({
      key: 'other',
    });
    // Posts and keys are there, the secret cannot be read, and a new one can be made and read.
    const options = { environment };
    expect(await cliJson(other(), ['post', 'list', '--organization', 'acme'], options)).toHaveLength(20);
    expect((await secretOf(other(), environment)).stderr).toContain('cannot be decrypted');
    await cliJson(other(), ['integration', 'rotate-secret', connected.integrationId], options);
    expect((await secretOf(other(), environment)).stderr).not.toContain('cannot be decrypted');
  });

  test('of the backup does not take the place of another', async () => {
    await backup('--with-key');
    mkdirSync(other());
    writeFileSync(join(other(), 'secret.key'), `${ANOTHER_KEY}\n`);
    const { exitCode, stderr } = await restore(other());
    expect(exitCode).toBe(1);
    expect(stderr).toContain('The backup includes its key: move that file away to restore the key too.');
    expect(readFileSync(join(other(), 'secret.key'), 'utf8')).toBe(`${ANOTHER_KEY}\n`);
  });

  test('is compared by a fingerprint that does not reveal it', () => {
    const [a, b] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
    expect(keyFingerprint(a)).toBe(keyFingerprint(a.slice()));
    expect(keyFingerprint(a)).not.toBe(keyFingerprint(b));
  });
});
