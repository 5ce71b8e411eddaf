import { Database as Sqlite } from 'bun:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import type { Role } from '../../db/engine.ts';
import { openDatabase } from '../../db/sqlite/client.ts';
import { type Holder, takeLock } from '../../db/sqlite/lock.ts';
import {
  DataFolderError,
  databaseFile,
  listLeftovers,
  lockFile,
  openDataFolder,
  readSecretKey,
  warnOfModes,
  writeKeyFile,
} from '../../src/server/data-folder.ts';
import { temporaryFolder } from '../support/cli.ts';
import { fixtureOf } from '../support/schema-fixtures.ts';

let folder: ReturnType<typeof temporaryFolder>;

beforeEach(() => {
  folder = temporaryFolder();
});

afterEach(() => folder.remove());

const SECRET_KEY = Buffer.alloc(32, 5).toString('base64');
const keyFile = () => join(folder.path, 'secret.key');

function sealedBy(options?: Parameters<typeof openDataFolder>[1]): Buffer {
  const { secrets, close } = openDataFolder(folder.path, options);
  const sealed = secrets.seal('a secret', 'context');
  close();
  return sealed;
}

function opened(sealed: Buffer, options?: Parameters<typeof openDataFolder>[1]): string {
  const { secrets, close } = openDataFolder(folder.path, options);
  try {
    return secrets.open(sealed, 'context');
  } finally {
    close();
  }
}

test('the first start makes a key file, which later ones use', () => {
  const sealed = sealedBy();
  expect(statSync(keyFile()).mode & 0o777).toBe(0o600);
  expect(Buffer.from(readFileSync(keyFile(), 'utf8'), 'base64')).toHaveLength(32);
  expect(opened(sealed)).toBe('a secret');
});

test('of two processes that make a key at once, both use the first', () => {
  mkdirSync(folder.path, { recursive: true });
  const [first, second] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
  for (const key of [first, second]) writeKeyFile(folder.path, key);
  expect(readSecretKey(folder.path, undefined)).toEqual(first);
  expect(readdirSync(folder.path)).toEqual(['secret.key']);
});

test('SECRET_KEY stands instead of the file', () => {
  const sealed = sealedBy({ secretKey: SECRET_KEY });
  expect(existsSync(keyFile())).toBe(false);
  expect(opened(sealed, { secretKey: SECRET_KEY })).toBe('a secret');
});

describe('a key that the secrets were not encrypted with is refused, and none is made in its place', () => {
  const another = Buffer.alloc(32, 6).toString('base64');
  test.each([
    ['no key', undefined, 'its secret.key is missing, and SECRET_KEY is not set. Put the key back'],
    ['another SECRET_KEY', another, 'SECRET_KEY is not the key that its secrets were encrypted with'],
  ])('%s', (_, secretKey, message) => {
    const sealed = sealedBy({ secretKey: SECRET_KEY });
    for (const role of ['command', 'server'] as const) {
      expect(() => openDataFolder(folder.path, { secretKey, role })).toThrow(message);
    }
    expect(existsSync(keyFile())).toBe(false);
    // It was not harmed, and nobody holds it.
    expect(opened(sealed, { secretKey: SECRET_KEY, role: 'server' })).toBe('a secret');
  });

  test('a file with another key', async () => {
    const sealed = sealedBy();
    const key = readFileSync(keyFile());
    await Bun.write(keyFile(), `${another}\n`);
    expect(() => opened(sealed)).toThrow(
      'secret.key in it is not the key that its secrets were encrypted with',
    );
    await Bun.write(keyFile(), key);
    expect(opened(sealed)).toBe('a secret');
  });
});

describe('locks on the folder', () => {
  const folderLock = () => lockFile(folder.path);
  const open = (role: Role) => {
    const { upgradedFrom, close } = openDataFolder(folder.path, { role });
    close();
    return upgradedFrom;
  };

  test.each<[Holder, Role, string | null]>([
    ['command', 'command', null],
    ['command', 'server', null],
    ['server', 'command', null],
    ['server', 'server', 'another server uses it'],
    ['restore', 'server', 'another server uses it, or a restore or a move is in progress'],
  ])('beside a %s, a %s', (holder, role, message) => {
    open('command');
    const release = takeLock(folderLock(), holder);
    // A server has the files of its database open.
    const db = openDatabase(databaseFile(folder.path));
    if (message === null) open(role);
    else expect(() => open(role)).toThrow(message);
    db.$client.close();
    release?.();
    open(role);
  });

  test('a restore stands alone', () => {
    open('command');
    for (const holder of ['command', 'server', 'restore'] as const) {
      const release = takeLock(folderLock(), holder);
      expect(takeLock(folderLock(), 'restore')).toBeNull();
      release?.();
    }
    takeLock(folderLock(), 'restore')?.();
  });

  test("a command does not upgrade the database of a server that runs; a server's start does", async () => {
    const sqlite = new Sqlite(databaseFile(folder.path), { create: true });
    sqlite.run(fixtureOf(1));
    sqlite.run('PRAGMA journal_mode = WAL');
    sqlite.query('SELECT * FROM sqlite_schema').values();
    const release = takeLock(folderLock(), 'server');
    expect(() => open('command')).toThrow(
      'its server runs an older version of Tidings than this command. Restart the server with this version first',
    );
    sqlite.close();
    release?.();
    expect(open('server')).toBe(1);
    expect(open('command')).toBeNull();
  });
});

describe('an empty database takes the place of a lost one only when a person says so', () => {
  const lose = () => rmSync(databaseFile(folder.path));

  test.each<[sign: string, leave: () => void, message: string]>([
    [
      'a key',
      () => writeFileSync(keyFile(), `${SECRET_KEY}\n`),
      'tidings.db is missing, but its secret.key exists',
    ],
    [
      'a record of backups',
      () => writeFileSync(join(folder.path, 'last-backup.json'), '{}'),
      'tidings.db is missing, but it was backed up before',
    ],
    [
      'a backup',
      () => {
        mkdirSync(join(folder.path, 'kept'));
        writeFileSync(join(folder.path, 'kept', 'tidings-20260101T000000Z.backup'), '');
      },
      'tidings.db is missing, but there are backups in',
    ],
  ])('beside %s', (_, leave, message) => {
    sealedBy({ secretKey: SECRET_KEY });
    leave();
    lose();
    const options = { secretKey: SECRET_KEY, backupDir: join(folder.path, 'kept') };
    for (const role of ['command', 'server'] as const) {
      expect(() => openDataFolder(folder.path, { ...options, role })).toThrow(message);
    }
    expect(existsSync(databaseFile(folder.path))).toBe(false);
    openDataFolder(folder.path, { ...options, newDatabase: true }).close();
    expect(existsSync(databaseFile(folder.path))).toBe(true);
    openDataFolder(folder.path, options).close();
  });

  test('a new folder needs no such word', () => {
    openDataFolder(folder.path, { backupDir: join(folder.path, 'none yet') }).close();
    expect(existsSync(databaseFile(folder.path))).toBe(true);
  });
});

test('the start of a server removes what a killed upgrade or restore left, and nothing of one under way', () => {
  openDataFolder(folder.path).close();
  const ended = Bun.spawnSync(['true']).pid;
  const left = [
    'tidings.db.restoring',
    'tidings.db.restoring-journal',
    'tidings.db.fetched',
    `tidings.db.upgrade-${ended}`,
    `tidings.db.upgrade-${ended}-journal`,
    `tidings.db.upgrade-${ended}-wal`,
    `tidings.db.upgrade-${ended}-shm`,
    `tidings.db.upgrade-${ended}-tried`,
    `tidings.db.upgrade-${ended}-tried-journal`,
    `tidings.db.upgrade-${ended}-tried-wal`,
    'tidings.db.fetched-journal',
    'tidings.db.rescuing',
    'tidings.db.rescuing-journal',
    `tidings.db.upgrade-${process.pid}`,
  ];
  const kept = [
    `tidings.db.upgrade-${process.ppid}`,
    `tidings.db.upgrade-${process.ppid}-journal`,
    'tidings.db.rescued-20260101T000000Z',
    // A rescue that is killed between two names leaves the only log in it.
    'tidings.db-wal.restoring',
    'tidings.db.before-upgrade-3',
    'tidings.db.before-restore-20260101T000000000Z',
    'notes.db.restoring',
  ];
  for (const name of [...left, ...kept]) writeFileSync(join(folder.path, name), '12345');
  expect(listLeftovers(folder.path).map(({ path, bytes }) => [basename(path), bytes])).toEqual(
    expect.arrayContaining(left.map((name) => [name, 5])),
  );
  openDataFolder(folder.path, { role: 'command' }).close();
  expect(listLeftovers(folder.path)).toHaveLength(left.length);
  openDataFolder(folder.path, { role: 'server' }).close();
  expect(listLeftovers(folder.path)).toEqual([]);
  for (const name of kept) expect(existsSync(join(folder.path, name))).toBe(true);
});

test('a key file that holds no key is refused by name', async () => {
  sealedBy();
  await Bun.write(keyFile(), 'not a key\n');
  expect(() => openDataFolder(folder.path)).toThrow(DataFolderError);
  expect(() => openDataFolder(folder.path)).toThrow('secret.key does not contain 32 bytes in base64');
});

test('a folder that is a file is refused by name', async () => {
  const path = join(folder.path, 'file');
  await Bun.write(path, '');
  expect(() => openDataFolder(path)).toThrow(
    `The data folder ${path} cannot be used: it, or a folder above it, is a file`,
  );
  expect(() => openDataFolder(join(path, 'below'))).toThrow(
    'it, or a folder above it, is a file. Move the file, or set DATA_DIR to another folder.',
  );
});

describe('a folder that this user cannot write to is named, with the user and the command that mends it', () => {
  /** Calls `work` as a user whom permissions bind. */
  function refusalOf(dataDir: string): string {
    const isRoot = process.geteuid?.() === 0;
    try {
      if (isRoot) process.seteuid?.(65532);
      openDataFolder(dataDir).close();
    } catch (error) {
      return error instanceof DataFolderError ? error.message : `not refused: ${error}`;
    } finally {
      if (isRoot) process.seteuid?.(0);
    }
    return 'not refused';
  }
  const uid = process.geteuid?.() === 0 ? 65532 : process.geteuid?.();
  const owner = `${uid}:${process.getegid?.()}`;

  test.each<[string, string, string]>([
    ['one that exists', 'kept', `sudo chown -R ${owner} PATH`],
    ['one that is missing', 'kept/a b', `sudo mkdir -p "PATH" && sudo chown ${owner} "PATH"`],
  ])('%s', (_, name, command) => {
    chmodSync(folder.path, 0o755);
    mkdirSync(join(folder.path, 'kept'), { mode: 0o555 });
    const path = join(folder.path, name);
    const refusal = refusalOf(path);
    expect(refusal).toMatch(
      new RegExp(`^The data folder ${path} cannot be used: user (\\S+ \\()?${uid}\\)? `),
    );
    expect(refusal).toEndWith(
      `. Set DATA_DIR to another folder, or run: ${command.replaceAll('PATH', path)}`,
    );
  });
});

test('warns about files that other users can read or write, and about no others', () => {
  openDataFolder(folder.path).close();
  chmodSync(folder.path, 0o700);
  const warnings: unknown[][] = [];
  const log = { warn: (...words: unknown[]) => void warnings.push(words) };
  warnOfModes(folder.path, log);
  expect(warnings).toEqual([]);
  for (const [path, mode] of [
    [folder.path, 0o777],
    [databaseFile(folder.path), 0o620],
    [keyFile(), 0o604],
  ] as const) {
    chmodSync(path, mode);
  }
  warnOfModes(folder.path, log);
  const warning = (path: string, mode: string, right: string) => [
    { path, mode },
    `other users of this machine can read or write ${path}. Run: chmod ${right} ${path}`,
  ];
  expect(warnings).toEqual([
    warning(folder.path, '777', '700'),
    warning(databaseFile(folder.path), '620', '600'),
    warning(keyFile(), '604', '600'),
  ]);
});

test('a command runs beside the server of a database that a symbolic link leads to', async () => {
  const disk = join(folder.path, 'disk');
  mkdirSync(disk);
  symlinkSync(join('disk', 'tidings.db'), databaseFile(folder.path));
  const server = openDataFolder(folder.path, { role: 'server', newDatabase: true });
  openDataFolder(folder.path).close();
  rmSync(join(disk, 'tidings.db-shm'));
  expect(() => openDataFolder(folder.path)).toThrow('tidings.db-shm was deleted while its server runs');
  expect(await server.db.health()).toBe('INDEX_REPLACED');
  expect(server.close).toThrow('Start again');
  server.db.$client.close();
});

test('nobody else opens the folder while a lost file is being saved', async () => {
  const server = openDataFolder(folder.path, { role: 'server' });
  rmSync(`${databaseFile(folder.path)}-wal`);
  expect(await server.db.health()).toBe('LOG_REPLACED');
  await server.db.failed;
  expect(() => openDataFolder(folder.path)).toThrow('tidings.db-wal was deleted while its server runs');
  expect(server.close).toThrow('Tidings put it back');
  server.db.$client.close();
  openDataFolder(folder.path, { role: 'server' }).close();
});

describe('a network file system', () => {
  /** The mounts of a system that has the folder, with a space in its name, on a file system of that type. */
  function mounts(type: string): string {
    const path = join(folder.path, 'mounts');
    const point = folder.path.replaceAll(' ', '\\040');
    writeFileSync(
      path,
      [
        '22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw',
        `23 22 0:40 / ${point} rw,relatime shared:1 - ${type} server:/export rw`,
        `24 22 0:41 / ${point}-other rw,relatime - tmpfs tmpfs rw`,
        '',
      ].join('\n'),
    );
    return path;
  }

  test.each(['nfs', 'nfs4', 'cifs', 'smb3', '9p', 'virtiofs', 'fuse.sshfs'])(
    '%s is refused, and nothing is created',
    (type) => {
      const start = () => openDataFolder(folder.path, { role: 'server', mounts: mounts(type) });
      expect(start).toThrow(
        `it is on a network file system (${type}), where SQLite can lose or damage data. Use a local disk or PostgreSQL, or set NETWORK_FILE_SYSTEM=allow to take the risk`,
      );
      expect(existsSync(databaseFile(folder.path))).toBe(false);
    },
  );

  test('is used when somebody allows it, and below a local disk that hides it', () => {
    openDataFolder(folder.path, { role: 'server', mounts: mounts('nfs4'), allowNetwork: true }).close();
    const path = mounts('nfs4');
    writeFileSync(path, `25 23 8:2 / ${folder.path} rw - xfs /dev/sdb1 rw\n`, { flag: 'a' });
    openDataFolder(folder.path, { role: 'server', mounts: path }).close();
  });

  test.each(['ext4', 'xfs', 'btrfs', 'zfs', 'overlay', 'tmpfs', 'apfs'])('%s is none', (type) => {
    openDataFolder(folder.path, { role: 'server', mounts: mounts(type) }).close();
  });

  test('a system that does not tell its mounts is trusted', () => {
    openDataFolder(folder.path, { role: 'server', mounts: join(folder.path, 'none') }).close();
  });
});
