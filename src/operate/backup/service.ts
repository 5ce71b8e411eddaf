import { existsSync } from 'node:fs';
import { takeLock } from '../../../db/lock.ts';
import { databaseFile, lockFile } from '../data-folder.ts';
import { recordSuccess } from './last-backup.ts';
import { type Backup, BackupError, type S3Access } from './model.ts';
import { requireNotOwn } from './own-files.ts';
import { openPlace } from './place.ts';
import type { BackupSource } from './prepare.ts';
import { splitTarget } from './target.ts';

/**
 * Makes and checks a backup at `target`, a path or `s3://bucket/key`, while the server may be running, and remembers
 * it as the last one. Throws `BackupError`, one line for whatever it was; what was at `target` is then as it was.
 */
export async function makeBackup(
  source: BackupSource,
  target: string,
  { force = false, s3 }: { force?: boolean; s3?: S3Access | undefined } = {},
): Promise<Backup> {
  if (!existsSync(databaseFile(source.dataDir))) {
    throw new BackupError(`The data folder ${source.dataDir} holds no database. DATA_DIR names another one`);
  }
  try {
    requireNotOwn(source.dataDir, target);
    const { place, name } = splitTarget(target);
    const backup = await besideOthers(source.dataDir, () =>
      openPlace(place, s3).store(name, source, { force }),
    );
    await recordSuccess(source.dataDir, backup);
    return backup;
  } catch (error) {
    throw asBackupError(error, 'The backup was not made');
  }
}

/** So that no restore exchanges the database meanwhile. */
async function besideOthers<Result>(dataDir: string, work: () => Promise<Result>): Promise<Result> {
  const release = takeLock(lockFile(dataDir), 'command');
  if (release === null)
    throw new BackupError('A backup is being restored into the data folder. Try again when that is done');
  try {
    return await work();
  } finally {
    release();
  }
}

/** Whatever went wrong, as one line. */
export function asBackupError(error: unknown, what: string): BackupError {
  if (error instanceof BackupError) return error;
  const message = (error instanceof Error ? error.message : String(error)).replaceAll(/\s+/g, ' ');
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const isFull = code === 'ENOSPC' || code === 'SQLITE_FULL';
  return new BackupError(`${what}: ${isFull ? `the disk is full (${message}). Make room` : message}`, {
    cause: error,
  });
}
