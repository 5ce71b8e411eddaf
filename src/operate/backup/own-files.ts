import { lstatSync, realpathSync, type Stats, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { databaseFile, lockFile } from '../data-folder.ts';
import { BackupError } from './model.ts';
import { isStore } from './target.ts';

/** What the folder lives by, and what a restore writes on its way. Any other name in there may be a backup's. */
function ownFiles(dataDir: string): string[] {
  const database = databaseFile(dataDir);
  const besideIt = ['', '-wal', '-shm', '-journal', '.restoring', '.fetched'].map((end) => database + end);
  return [...besideIt, lockFile(dataDir), join(dataDir, 'secret.key'), join(dataDir, 'last-backup.json')];
}

/**
 * A backup that took the name of the database, or of the key, would be the end of it, `--force` or not. Also by another
 * path to the folder, and where the database is a link to somewhere else. Throws `BackupError`.
 */
export function requireNotOwn(dataDir: string, target: string): void {
  if (isStore(target)) return;
  const asked = lstatSync(target, { throwIfNoEntry: false });
  const path = realPath(target);
  for (const own of ownFiles(dataDir)) {
    const stored = statSync(own, { throwIfNoEntry: false });
    if (path !== realPath(own) && !isSameFile(asked, stored)) continue;
    throw new BackupError(`${target} is a file of the data folder itself: give the backup another name`);
  }
}

/** As the folder is really called; the last name stays, as it is what would be replaced. */
function realPath(path: string): string {
  const folder = dirname(resolve(path));
  try {
    return join(realpathSync(folder), basename(path));
  } catch {
    // A folder that is not there holds nothing.
    return resolve(path);
  }
}

function isSameFile(one: Stats | undefined, other: Stats | undefined): boolean {
  return one !== undefined && other !== undefined && one.dev === other.dev && one.ino === other.ino;
}
