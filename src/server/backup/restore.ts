import { copyFileSync, existsSync, linkSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { takeLock } from '../../../db/sqlite/lock.ts';
import { migrations } from '../../../db/sqlite/migrate.ts';
import { findForeignSchema, rebuildFromRows } from '../../../db/sqlite/rebuild.ts';
import { forgetKey, inspectDatabase, isOpenElsewhere, settle } from '../../../db/sqlite/snapshot.ts';
import { messageOf } from '../../lib/app-error.ts';
import { bringToDisk, freeBytes, megabytes } from '../../lib/disk.ts';
import { type FileStore, openFileStore, type S3Access } from '../../lib/file-store.ts';
import { keyFingerprint } from '../../lib/secret-box.ts';
import { databaseFile, litestreamFolder, lockFile, readSecretKey, writeKeyFile } from '../data-folder.ts';
import {
  BackupError,
  type BackupHeader,
  type BackupImages,
  checkBackup,
  imageBytes,
  imageFolder,
  unpackDatabase,
  writeAll,
} from './archive.ts';
import { asBackupError, requireNotOwn } from './job.ts';
import { download, isStore } from './places.ts';

interface RestoreOptions {
  dataDir: string;
  /** A path, or `s3://bucket/key`. */
  file: string;
  secretKey?: string | undefined;
  /** Replaces a database that is there, which is kept beside it. */
  force?: boolean;
  /** Continues where the folder has another key than the backup, or none: secrets are then lost. */
  newKey?: boolean;
  /** Accept a backup without a valid signature or with a foreign schema, and copy only its rows. */
  unverified?: boolean;
  now: Date;
  s3?: S3Access | undefined;
  /** The store of images. Absent: in the data folder. */
  media?: FileStore | undefined;
}

/** The result of a restore. */
export interface Restored extends Pick<BackupHeader, 'createdAt' | 'schema' | 'tables'> {
  file: string;
  dataDir: string;
  /** Path of the former database; null without one. */
  keptAs: string | null;
  images: BackupImages;
  /** The signature and the schema were right. False: rebuilt from its rows. */
  isVerified: boolean;
  /** `same`: the folder has the key already. `restored`: the backup held it. `other`: the secrets are lost. */
  key: 'same' | 'restored' | 'other' | 'none';
}

/**
 * Puts a backup into the data folder, after all of it was checked. The last step is a rename, so a crash leaves either
 * the old database or the backup's. Throws `BackupError`.
 */
export async function restoreBackup(options: RestoreOptions): Promise<Restored> {
  const folder = resolve(options.dataDir);
  if (!isStore(options.file) && !existsSync(options.file)) {
    throw new BackupError(`The file ${options.file} does not exist`);
  }
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const release = takeLock(lockFile(folder), 'restore');
    if (release === null) {
      throw new BackupError(
        `The data folder ${folder} is in use by a server or another command. Stop the server, then restore the backup`,
      );
    }
    try {
      return await restoreLocked(folder, options);
    } finally {
      release();
    }
  } catch (error) {
    throw asBackupError(error, 'The backup was not restored');
  }
}

async function restoreLocked(folder: string, options: RestoreOptions): Promise<Restored> {
  const { file, force = false, unverified = false, s3 } = options;
  const target = databaseFile(folder);
  // Those are removed before anything is read.
  requireNotOwn(folder, file);
  const there = statSync(target, { throwIfNoEntry: false });
  if (there !== undefined && !force) {
    throw new BackupError(
      `The data folder already has a database: ${target}, ${there.size} bytes, last written ${there.mtime.toISOString()}. Use --force to replace it. Tidings keeps the old one beside the new one`,
    );
  }
  if (there !== undefined && existsSync(litestreamFolder(folder)) && isOpenElsewhere(target)) {
    throw new BackupError(
      `Litestream has ${target} open and would keep replicating the old database. Stop Litestream, then restore the backup`,
    );
  }
  const fetched = `${target}.fetched`;
  const unpacked = `${target}.restoring`;
  const rebuilt = `${target}.rebuilt`;
  const removeAll = () => {
    for (const path of [fetched, unpacked, rebuilt, `${unpacked}-journal`, `${rebuilt}-journal`]) {
      rmSync(path, { force: true });
    }
  };
  removeAll();
  try {
    const source = isStore(file) ? fetched : file;
    if (source === fetched) {
      await download(file, s3, fetched, (bytes) => requireSpace(folder, bytes, 'The backup'));
    }
    const { header, isSignedWith } = await checkBackup(source, file);
    if (header.schema > migrations.length) {
      throw new BackupError(
        `${file} was made by a newer Tidings (schema ${header.schema}; this version supports ${migrations.length}). Restore it with that version or a newer one`,
      );
    }
    const key = keyToUse(folder, header, options);
    if (!unverified) requireSigned(folder, header, isSignedWith, options);
    const copies = unverified ? 2 : 1;
    requireSpace(folder, copies * header.databaseBytes + imageBytes(header), 'The database in the backup');
    const files = options.media ?? openFileStore(imageFolder(folder));
    const counts = await unpackAndCheck(source, header, unpacked, files);
    const images = { ...counts, place: header.images?.place ?? null };
    if (unverified) rebuild(unpacked, rebuilt, file);
    else requireOwnSchema(unpacked, file);
    const database = unverified ? rebuilt : unpacked;
    if (key === 'other') forgetKey(database);
    if (key === 'restored') writeKeyFile(folder, Buffer.from(header.key ?? '', 'base64'));
    const keptAs = swapIn(database, target, options.now);
    const { createdAt, schema, tables } = header;
    const isVerified = !unverified;
    return { file, dataDir: folder, createdAt, schema, tables, keptAs, isVerified, images, key };
  } finally {
    removeAll();
  }
}

/** Asked before anything is written: a backup of a few megabytes may hold gigabytes. */
function requireSpace(folder: string, bytes: number, what: string): void {
  const free = freeBytes(folder);
  if (free === null || bytes <= free) return;
  throw new BackupError(
    `${what} needs ${megabytes(bytes)}, but ${folder} has only ${megabytes(free)} of free space. Free up disk space, or set DATA_DIR to a folder on a larger disk`,
  );
}

/** Checks that the folder's key decrypts the backup's secrets. Throws when it does not, unless `newKey` allows it. */
function keyToUse(
  folder: string,
  header: BackupHeader,
  { secretKey, newKey = false }: RestoreOptions,
): Restored['key'] {
  if (header.keyFingerprint === 0) return 'none';
  const key = readSecretKey(folder, secretKey);
  if (key !== null && keyFingerprint(key) === header.keyFingerprint) return 'same';
  if (newKey) return 'other';
  if (key === null && header.key !== undefined) return 'restored';
  const what =
    key === null
      ? `The backup does not include the key of its secrets, and ${folder} has no key.`
      : `The secrets in the backup were encrypted with a different key than ${secretKey === undefined ? join(folder, 'secret.key') : 'SECRET_KEY'}.`;
  const how =
    key !== null && header.key !== undefined && secretKey === undefined
      ? 'The backup includes its key: move that file away to restore the key too.'
      : 'Put the right key in place as secret.key, or set SECRET_KEY.';
  throw new BackupError(
    `${what} ${how} To restore without the key, use --new-key --unverified; every integration then needs a new secret`,
  );
}

/** Throws unless the folder's own key signed the backup. A key inside the file proves nothing. */
function requireSigned(
  folder: string,
  { version, keyFingerprint: fingerprint, key: included }: BackupHeader,
  isSignedWith: (key: Uint8Array) => boolean,
  { file, secretKey }: RestoreOptions,
): void {
  const key = readSecretKey(folder, secretKey);
  if (version === 3 && key !== null && isSignedWith(key)) return;
  if (version === 3 && key !== null && keyFingerprint(key) === fingerprint) {
    throw new BackupError(`${file} was changed after it was made. Use another backup`);
  }
  const why =
    version !== 3
      ? 'it is not signed. An earlier version of Tidings made it, or the secret key was missing'
      : key === null && included !== undefined
        ? `the only key is in the backup itself. Put secret.key in ${folder}, or set SECRET_KEY`
        : 'another secret key signed it';
  throw new BackupError(
    `Tidings can't verify ${file}: ${why}. If you trust everyone who could write to the file, use --unverified: Tidings then restores its rows only`,
  );
}

function requireOwnSchema(database: string, file: string): void {
  const foreign = findForeignSchema(database);
  if (foreign === null) return;
  throw new BackupError(
    `The schema in ${file} is not the one of its version of Tidings: ${foreign}. Use --unverified to restore its rows only`,
  );
}

function rebuild(unpacked: string, rebuilt: string, file: string): void {
  try {
    rebuildFromRows(unpacked, rebuilt);
  } catch (error) {
    const reason = messageOf(error);
    throw new BackupError(`The database in ${file} can't be rebuilt: ${reason}. Use another backup`, {
      cause: error,
    });
  }
  const { problem } = inspectDatabase(rebuilt);
  if (problem !== null) throw new BackupError(`The database in ${file} is damaged: ${problem}`);
  bringToDisk(rebuilt);
}

/** Images are stored before the database is in place: without their rows, a sweep removes them. */
async function unpackAndCheck(file: string, header: BackupHeader, unpacked: string, files: FileStore) {
  await using target = await open(unpacked, 'wx', 0o600);
  const store = async (name: string, bytes: Uint8Array) => {
    if ((await files.size(name)) !== bytes.length) await files.write(name, bytes);
  };
  const counts = await unpackDatabase(file, header, (chunk) => writeAll(target, chunk), store);
  await target.sync();
  const { problem, schema, keyFingerprint: fingerprint, tables } = inspectDatabase(unpacked);
  const isAsTold =
    schema === header.schema &&
    fingerprint === header.keyFingerprint &&
    Bun.deepEquals(tables, header.tables);
  if (problem !== null || !isAsTold) {
    throw new BackupError(
      `The database in the backup is damaged: ${problem ?? 'it does not match its header'}`,
    );
  }
  return counts;
}

/**
 * Renames `fresh` to `target`, which nobody else may have open. A database that was there stays as
 * `<target>.before-restore-<time>`, which is returned, or null. There is a whole database under the name at every step:
 * the old one gets a second name before the new one takes the first.
 */
function swapIn(fresh: string, target: string, now: Date): string | null {
  let keptAs: string | null = null;
  if (existsSync(target)) {
    keptAs = `${target}.before-restore-${now.toISOString().replaceAll(/[-:.]/g, '')}`;
    // A database that cannot be opened any more keeps its log, should somebody try to rescue it.
    const suffixes = settle(target) ? [''] : ['', '-wal'];
    for (const suffix of suffixes) {
      if (existsSync(target + suffix)) secondName(target + suffix, keptAs + suffix);
    }
    bringToDisk(dirname(target));
  }
  // A log that was left over would be applied to the new file, and ruin it.
  for (const suffix of ['-wal', '-shm']) rmSync(target + suffix, { force: true });
  renameSync(fresh, target);
  bringToDisk(dirname(target));
  return keptAs;
}

/** A link, or a copy where the file system has no links. */
function secondName(file: string, name: string): void {
  rmSync(name, { force: true });
  try {
    linkSync(file, name);
  } catch {
    copyFileSync(file, name);
    bringToDisk(name);
  }
}
