import {
  existsSync,
  lstatSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { isServerRunning, takeLock } from '../../../db/sqlite/lock.ts';
import { bringLogToDisk } from '../../../db/sqlite/snapshot.ts';
import { codeOf, messageOf } from '../../lib/app-error.ts';
import type { S3Access } from '../../lib/bucket.ts';
import { bringToDisk } from '../../lib/disk.ts';
import { randomToken } from '../../lib/text.ts';
import { databaseFile, lockFile } from '../data-folder.ts';
import { type Backup, BackupError, type BackupSource } from './archive.ts';
import { alreadyThere, isStore, openPlace, splitTarget } from './places.ts';

/**
 * Makes and checks a backup at `target`, a path or `s3://bucket/key`, also while the server runs, and remembers it as
 * the last one. Throws `BackupError`, and then leaves what was at `target`.
 */
export async function makeBackup(
  source: BackupSource,
  target: string,
  { force = false, s3 }: { force?: boolean; s3?: S3Access | undefined } = {},
): Promise<Backup> {
  if (!existsSync(databaseFile(source.dataDir))) {
    throw new BackupError(
      `The data folder ${source.dataDir} has no database. Set DATA_DIR to the folder of the database`,
    );
  }
  try {
    requireNotOwn(source.dataDir, target);
    const { place, name } = splitTarget(target);
    // No restore exchanges the database meanwhile.
    const release = takeLock(lockFile(source.dataDir), 'command');
    if (release === null) {
      throw new BackupError(
        'A restore or a move of the data folder is in progress. Try again when it is done',
      );
    }
    try {
      if (!isServerRunning(lockFile(source.dataDir))) bringLogToDisk(databaseFile(source.dataDir));
      const backup = await openPlace(place, s3).store(name, source, { force });
      await recordSuccess(source.dataDir, backup);
      return backup;
    } finally {
      release();
    }
  } catch (error) {
    throw asBackupError(error, 'The backup was not made');
  }
}

/**
 * Writes the secret key to `file`, in the form of `secret.key` and for this user alone. Throws `BackupError`, and then
 * leaves what was at `file`.
 */
export function exportKey(dataDir: string, key: Buffer, file: string, { force }: { force: boolean }): void {
  if (isStore(file))
    throw new BackupError("The secret key can't be written to S3. Write it to a local file, then copy it");
  const path = resolve(file);
  const partial = `${path}.${randomToken(4)}`;
  try {
    requireNotOwn(dataDir, path);
    const there = statSync(path, { throwIfNoEntry: false });
    if (there?.isFile() === false)
      throw new BackupError(`${path} is not a regular file. Choose another path for the key`);
    if (there !== undefined && !force) throw alreadyThere(path);
    writeFileSync(partial, `${key.toString('base64')}\n`, { mode: 0o600, flag: 'wx' });
    bringToDisk(partial);
    renameSync(partial, path);
  } catch (error) {
    throw asBackupError(error, 'The key was not written');
  } finally {
    rmSync(partial, { force: true });
  }
}

/** Any error as one line. */
export function asBackupError(error: unknown, what: string): BackupError {
  if (error instanceof BackupError) return error;
  const message = messageOf(error).replaceAll(/\s+/g, ' ');
  const isFull = ['ENOSPC', 'SQLITE_FULL'].includes(codeOf(error));
  return new BackupError(
    `${what}: ${isFull ? `the disk is full (${message}). Free up disk space` : message}`,
    {
      cause: error,
    },
  );
}

/**
 * A backup must never replace the database or the key, `--force` or not: neither by another path to the folder nor by a
 * link. Throws `BackupError`.
 */
export function requireNotOwn(dataDir: string, target: string): void {
  if (isStore(target)) return;
  const asked = lstatSync(target, { throwIfNoEntry: false });
  const path = realPath(target);
  const database = databaseFile(dataDir);
  // Temporary files of a restore too.
  const ends = ['', '-wal', '-shm', '-journal', '.restoring', '.rebuilt', '.fetched'];
  const others = [lockFile(dataDir), join(dataDir, 'secret.key'), fileOf(dataDir)];
  for (const own of [...ends.map((end) => database + end), ...others]) {
    const stored = statSync(own, { throwIfNoEntry: false });
    if (path !== realPath(own) && !isSameFile(asked, stored)) continue;
    throw new BackupError(
      `${target} is one of the data folder's own files. Choose another name for the backup`,
    );
  }
}

/** Resolves links to the folder, and keeps the last name, which is the one to be replaced. */
function realPath(path: string): string {
  const folder = dirname(resolve(path));
  try {
    return join(realpathSync(folder), basename(path));
  } catch {
    return resolve(path);
  }
}

const isSameFile = (one: Stats | undefined, other: Stats | undefined) =>
  one !== undefined && one.dev === other?.dev && one.ino === other.ino;

/** The last backups of a data folder. */
interface LastBackup {
  /** The last that was made and checked, on schedule or by hand. `at`: when it began. */
  success: ({ at: string } & Pick<Backup, 'file' | 'bytes' | 'sha256'>) | null;
  /** Present when a later one, on schedule, failed. */
  failure: { at: string; file: string; error: string } | null;
}

const fileOf = (dataDir: string) => join(dataDir, 'last-backup.json');

/** Reads what is known; nothing when there was no backup, or when the file was damaged. */
export async function lastBackup(dataDir: string): Promise<LastBackup> {
  const none: LastBackup = { success: null, failure: null };
  const read = (await Bun.file(fileOf(dataDir))
    .json()
    .catch(() => none)) as Partial<LastBackup>;
  return { ...none, ...read };
}

/** Remembers a backup that was made. */
export async function recordSuccess(
  dataDir: string,
  { createdAt: at, file, bytes, sha256 }: Backup,
): Promise<void> {
  await write(dataDir, { success: { at, file, bytes, sha256 }, failure: null });
}

/** Remembers a backup that failed, beside the last that did not. */
export async function recordFailure(dataDir: string, at: Date, file: string, error: string): Promise<void> {
  const { success } = await lastBackup(dataDir);
  await write(dataDir, { success, failure: { at: at.toISOString(), file, error } });
}

async function write(dataDir: string, last: LastBackup): Promise<void> {
  const partial = `${fileOf(dataDir)}.${randomToken(4)}`;
  await Bun.write(partial, `${JSON.stringify(last)}\n`, { mode: 0o600 });
  renameSync(partial, fileOf(dataDir));
}
