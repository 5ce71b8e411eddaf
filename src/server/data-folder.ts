import {
  accessSync,
  constants,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import type { Role } from '../../db/engine.ts';
import { DatabaseMoved, type StorageLost } from '../../db/failures.ts';
import {
  closeDatabase,
  openDatabase,
  readKeyFingerprint,
  type SqliteDatabase,
  writeKeyFingerprint,
} from '../../db/sqlite/client.ts';
import { logIndexOf, logOf } from '../../db/sqlite/connection.ts';
import { findOrphanedUser, isServerRunning, takeLock } from '../../db/sqlite/lock.ts';
import { rewriteLog } from '../../db/sqlite/wal.ts';
import { codeOf, messageOf } from '../lib/app-error.ts';
import { tidings } from '../lib/build.ts';
import { bringToDisk, networkFileSystem, thisUser } from '../lib/disk.ts';
import type { Logger } from '../lib/log.ts';
import { keyFingerprint, SECRET_KEY_BYTES, secretBox } from '../lib/secret-box.ts';
import { randomToken } from '../lib/text.ts';

const keyFile = (folder: string) => join(folder, 'secret.key');

/**
 * The key of the folder: `secretKey` (32 bytes in base64) where that is set, else the file's, or null when there is
 * neither. Throws when the file holds no key.
 */
export function readSecretKey(folder: string, secretKey: string | undefined): Buffer | null {
  const text = secretKey ?? readKeyFile(folder);
  if (text === null) return null;
  const key = Buffer.from(text, 'base64');
  if (key.length !== SECRET_KEY_BYTES) throw new Error('secret.key does not contain 32 bytes in base64');
  return key;
}

/**
 * Puts the key file in place, for this user alone. It is on the disk before it has its name, so a crash or a full disk
 * leaves no half of a key. Keeps one that is there: of two processes that start at once, both read the first's.
 */
export function writeKeyFile(folder: string, key: Buffer): void {
  const partial = join(folder, `.secret.key.${randomToken(4)}`);
  try {
    writeFileSync(partial, `${key.toString('base64')}\n`, { mode: 0o600, flag: 'wx' });
    bringToDisk(partial);
    linkSync(partial, keyFile(folder));
    bringToDisk(folder);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    rmSync(partial, { force: true });
  }
}

function readKeyFile(folder: string): string | null {
  try {
    return readFileSync(keyFile(folder), 'utf8').trim();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

/** A data folder that cannot be used. The message names it and says what to do. */
export class DataFolderError extends Error {
  override readonly name = 'DataFolderError';
}

export interface DataFolderOptions {
  /** 32 bytes in base64. Absent: the key file of the folder. */
  secretKey?: string | undefined;
  role?: Role;
  /** Target of scheduled backups. If it holds backups, a missing database is not replaced by an empty one. */
  backupDir?: string | undefined;
  /** Begin with an empty database even where there are signs of a lost one. */
  newDatabase?: boolean | undefined;
  /** Start a server on a network file system all the same. */
  allowNetwork?: boolean | undefined;
  /** For tests: the mounts of the system. */
  mounts?: string | undefined;
}

export const databaseFile = (folder: string) => join(folder, 'tidings.db');
/** Says that a check found damage in the database. */
export const damagedFile = (folder: string) => `${databaseFile(folder)}.damaged`;
/** The target of a move until all of it was copied and compared. */
export const movingFile = (folder: string) => `${databaseFile(folder)}.moving`;
/** The folder in which Litestream (litestream.io) keeps its state, beside the database that it replicates. */
export const litestreamFolder = (folder: string) => join(folder, '.tidings.db-litestream');
/** An empty file that processes lock, so that they know of each other. */
export const lockFile = (folder: string) => join(folder, 'tidings.lock');

/**
 * Opens the folder's database and secret key, and creates them for this user alone. There is one server at a time.
 * `upgradedFrom` is the former schema when this upgraded the database, or null. `isSuspect`: the last process did not close
 * it, or found it damaged. Throws `DataFolderError`.
 */
export function openDataFolder(dataDir: string, options: DataFolderOptions = {}) {
  const { role = 'command', allowNetwork = false, mounts } = options;
  const folder = resolve(dataDir);
  process.umask(0o077);
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
    const network = role === 'server' && !allowNetwork ? networkFileSystem(folder, mounts) : null;
    if (network !== null) {
      throw new Error(
        `it is on a network file system (${network}), where SQLite can lose or damage data. Use a local disk or PostgreSQL, or set NETWORK_FILE_SYSTEM=allow to take the risk`,
      );
    }
    const release = takeLock(lockFile(folder), role);
    if (release === null) {
      throw new Error(
        role === 'server'
          ? 'another server uses it, or a restore or a move is in progress. Stop the other process first'
          : 'a restore or a move is in progress. Try again when it is done',
      );
    }
    try {
      return openLocked(folder, { ...options, role }, release);
    } catch (error) {
      release();
      throw error;
    }
  } catch (error) {
    throw new DataFolderError(`The data folder ${folder} cannot be used: ${reasonOf(error, folder)}`, {
      cause: error,
    });
  }
}

function openLocked(
  folder: string,
  { secretKey, role, ...options }: DataFolderOptions & { role: Role },
  release: () => void,
) {
  requireIntact(folder, options);
  if (role === 'server') for (const { path } of listLeftovers(folder)) rmSync(path, { force: true });
  let upgradedFrom = null as number | null;
  const isServed = () => isServerRunning(lockFile(folder));
  if (role === 'command' && isServed()) requireServerFiles(folder, isServed);
  const wasServed = role === 'command' && isServed();
  if (!wasServed) requireSharedIndex(folder);
  // The last process to close the database removes the log.
  const isSuspect = existsSync(logOf(databaseFile(folder))) || existsSync(damagedFile(folder));
  const db = openDatabase(databaseFile(folder), role, {
    isAlone: !wasServed,
    beforeUpgrade(schema) {
      // The server that runs was written for the schema that is there.
      if (wasServed) {
        throw new Error(
          'its server runs an older version of Tidings than this command. Restart the server with this version first',
        );
      }
      upgradedFrom = schema;
    },
  });
  // From now on, another process may open the database and write to it. A rescue must end before that.
  void db.failed.then((failure) => {
    if (!(failure instanceof DatabaseMoved)) release();
  });
  try {
    db.watchLock(lockFile(folder));
    const secrets = secretBox(requireRightKey(db, folder, secretKey));
    const close = () => {
      try {
        const failure = db.failure();
        if (failure !== null) throw lostStorage(folder, db, failure);
        // The disk may have failed its server.
        if (wasServed && !isServed()) rewriteLog(db.$client);
        closeDatabase(db);
      } finally {
        release();
      }
    };
    return { db, secrets, upgradedFrom, isSuspect, close };
  } catch (error) {
    db.$client.close();
    throw error;
  }
}

/** Saves what can be saved, and describes the failure. */
function lostStorage(
  folder: string,
  db: Pick<SqliteDatabase, 'rescue'>,
  failure: StorageLost,
): DataFolderError {
  const message =
    failure instanceof DatabaseMoved
      ? `${failure.message}, in ${folder}. ${db.rescue(failure.lost)}`
      : `The disk of ${folder} failed while it stored changes (${messageOf(failure.cause)}). Nothing that was acknowledged is lost. Check the disk, then start again`;
  return new DataFolderError(message, { cause: failure });
}

/** How long a server may take to start, and any process to close the database, in milliseconds. */
const CHANGE_MS = 2_000;

/** Returns what `find` still finds after that time; null once it finds nothing. */
function findLasting<Found>(find: () => Found | null): Found | null {
  for (const givesUpAt = performance.now() + CHANGE_MS; ; Bun.sleepSync(20)) {
    const found = find();
    if (found === null || performance.now() > givesUpAt) return found;
  }
}

/**
 * A command would begin a new log or index beside those that the server has open, and damage the database.
 */
function requireServerFiles(folder: string, isServed: () => boolean): void {
  const log = logOf(databaseFile(folder));
  const missing = findLasting(() => {
    const path = [log, logIndexOf(log)].find((each) => !existsSync(each));
    return path !== undefined && isServed() ? path : null;
  });
  if (missing !== null)
    throw new Error(`${missing} was deleted while its server runs. Restart the server first`);
}

/** The same for a process that outlived the server. SQLite also deletes the index when the last process closes the database. */
function requireSharedIndex(folder: string): void {
  const holder = findLasting(() => findOrphanedUser(databaseFile(folder)));
  if (holder === null) return;
  throw new Error(
    `tidings.db-shm was deleted while process ${holder} has tidings.db open. Stop every process that has it open, such as Litestream, then start again`,
  );
}

/**
 * Refuses to begin with an empty database where a file, a key or backups show that there was another one, and a file
 * that cannot be written: SQLite would open it for reading only.
 */
function requireIntact(folder: string, { newDatabase, backupDir }: DataFolderOptions): void {
  const database = databaseFile(folder);
  const file = statSync(database, { throwIfNoEntry: false });
  if (file === undefined) {
    if (existsSync(movingFile(folder))) {
      throw new Error(
        `it has an unfinished move. Run "${tidings} move" again to finish it, or delete ${movingFile(folder)}`,
      );
    }
    const sign = newDatabase ? null : signOfDatabase(folder, backupDir);
    if (sign === null) return;
    const rescued = readdirSync(folder).findLast((name) => /^tidings\.db\.rescued-\w+$/.test(name));
    const copy = rescued === undefined ? '' : `, such as ${rescued}, which the server saved,`;
    throw new Error(
      `tidings.db is missing, but ${sign}. Put the file back${copy} or restore a backup. To start with an empty database, run "${tidings} serve --new-database" once`,
    );
  }
  accessSync(database, constants.W_OK);
  // The key file is made after the database.
  if (file.size === 0 && readSecretKey(folder, undefined) !== null) {
    throw new Error(
      'tidings.db is an empty file. Restore a backup with --force, or delete the file to start with an empty database',
    );
  }
}

/** Evidence that the folder had a database, in words; null without any. */
function signOfDatabase(folder: string, backupDir: string | undefined): string | null {
  if (existsSync(join(folder, 'secret.key'))) return 'its secret.key exists';
  if (existsSync(join(folder, 'last-backup.json'))) return 'it was backed up before';
  const names = backupDir !== undefined && existsSync(backupDir) ? readdirSync(backupDir) : [];
  return names.some((name) => name.endsWith('.backup')) ? `there are backups in ${backupDir}` : null;
}

/** Temporary files of upgrades and restores: see `db/sqlite/migrate.ts` and `backup/restore.ts`. */
const UNFINISHED =
  /^tidings\.db\.(?:restoring|rebuilt|fetched|rescuing|upgrade-(\d+)(?:-tried)?)(?:-journal|-wal|-shm)?$/;

/**
 * Files that a killed upgrade or restore left behind, each as large as the database. To remove them, hold the server
 * lock: no restore runs beside it.
 */
export function listLeftovers(folder: string): { path: string; bytes: number }[] {
  return readdirSync(folder).flatMap((name) => {
    const [match, pid] = UNFINISHED.exec(name) ?? [];
    if (match === undefined || (pid !== undefined && isOtherProcess(Number(pid)))) return [];
    const path = join(folder, name);
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats?.isFile() ? [{ path, bytes: stats.size }] : [];
  });
}

/** True if another process has the id. Each server of a container may have the same id. */
function isOtherProcess(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it belongs to another user.
    return codeOf(error) === 'EPERM';
  }
}

/** The mode of a file that others than its owner may read or write, such as `644`. Null otherwise, and on Windows. */
export function modeForOthers({ mode }: Pick<Stats, 'mode'>): string | null {
  return process.platform === 'win32' || (mode & 0o077) === 0 ? null : (mode & 0o777).toString(8);
}

/** Warns of what others on this machine can read or write. Tidings makes it all for its own user alone. */
export function warnOfModes(dataDir: string, log: Pick<Logger, 'warn'>): void {
  const folder = resolve(dataDir);
  for (const path of [folder, databaseFile(folder), join(folder, 'secret.key')]) {
    const stats = statSync(path, { throwIfNoEntry: false });
    const mode = stats === undefined ? null : modeForOthers(stats);
    if (mode === null) continue;
    const advice = `chmod ${path === folder ? '700' : '600'} ${path}`;
    log.warn({ path, mode }, `other users of this machine can read or write ${path}. Run: ${advice}`);
  }
}

/** The key that the folder's secrets are encrypted under, made for a folder that is new. */
function requireRightKey(db: SqliteDatabase, folder: string, secretKey: string | undefined): Buffer {
  const expected = readKeyFingerprint(db);
  if (expected === null && readSecretKey(folder, secretKey) === null)
    writeKeyFile(folder, crypto.getRandomValues(Buffer.alloc(SECRET_KEY_BYTES)));
  const key = readSecretKey(folder, secretKey);
  const source = secretKey === undefined ? 'secret.key in it' : 'SECRET_KEY';
  if (key === null) {
    throw new Error(
      'its secret.key is missing, and SECRET_KEY is not set. Put the key back. If it is lost, see "When the key is lost" in docs/backups.md',
    );
  }
  const fingerprint = keyFingerprint(key);
  if (expected === null) writeKeyFingerprint(db, fingerprint);
  else if (expected !== fingerprint) {
    throw new Error(
      `${source} is not the key that its secrets were encrypted with. Put the right key back, as SECRET_KEY or as secret.key. If it is lost, see "When the key is lost" in docs/backups.md`,
    );
  }
  return key;
}

const ANOTHER = 'set DATA_DIR to another folder.';

function reasonOf(error: unknown, folder: string): string {
  const message = messageOf(error).replace(/\.$/, '');
  const code = codeOf(error);
  if (code === 'EROFS') {
    return `it cannot be written to (${message}). Mount its file system for writing, or ${ANOTHER}`;
  }
  // SQLite cannot open a file that a command made as root.
  if (['EACCES', 'EPERM', 'SQLITE_READONLY', 'SQLITE_CANTOPEN'].includes(code)) {
    const owner = `${process.geteuid?.()}:${process.getegid?.()}`;
    const path = /^[\w./-]+$/.test(folder) ? folder : Bun.$.escape(folder);
    const mend = existsSync(folder)
      ? `sudo chown -R ${owner} ${path}`
      : `sudo mkdir -p ${path} && sudo chown ${owner} ${path}`;
    return `${thisUser()} cannot write to it (${message}). Set DATA_DIR to another folder, or run: ${mend}`;
  }
  if (code === 'EEXIST' || code === 'ENOTDIR')
    return `it, or a folder above it, is a file. Move the file, or ${ANOTHER}`;
  if (code === 'ENOSPC' || code === 'SQLITE_FULL') {
    return `the disk is full (${message}). Free up disk space, or ${ANOTHER}`;
  }
  if (code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_NOTADB') {
    return `tidings.db is damaged or not a database (${message}). Restore a backup with --force, which keeps the damaged file, or ${ANOTHER}`;
  }
  return `${message}. To use another folder, set DATA_DIR.`;
}
