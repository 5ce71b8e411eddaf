import { existsSync, renameSync, statSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { syncFolder } from '../secret-key.ts';
import { type Backup, BackupError, type S3Access } from './model.ts';
import { type BackupSource, PARTIAL, prepareBackup } from './prepare.ts';
import { s3Place } from './s3.ts';
import { isStore } from './target.ts';

/** Where backups are kept: a folder, or a bucket and a prefix in it. */
export interface Place {
  /** Makes a backup there, under this name. Throws `BackupError`, and then leaves what was there as it was. */
  store(name: string, source: BackupSource, options: { force: boolean }): Promise<Backup>;
  /** Names of what is there. */
  list(): Promise<string[]>;
  remove(name: string): Promise<void>;
}

/** `place`: a folder, or `s3://bucket/prefix`. */
export function openPlace(place: string, access: S3Access | undefined): Place {
  return isStore(place) ? s3Place(place, access) : folderPlace(resolve(place));
}

function folderPlace(folder: string): Place {
  return {
    async store(name, source, { force }) {
      const file = join(folder, name);
      const requireNew = () => {
        const there = statSync(file, { throwIfNoEntry: false });
        // A folder cannot be replaced, and a device, such as /dev/stdout, must not be.
        if (there !== undefined && !there.isFile()) {
          throw new BackupError(`${file} is no ordinary file: name one for the backup`);
        }
        if (there !== undefined && !force)
          throw new BackupError(`${file} is there already: --force replaces it`);
      };
      requireNew();
      if (!existsSync(folder)) throw new BackupError(`The backup was not made: there is no folder ${folder}`);
      const { path, facts, remove } = await prepareBackup(source, file);
      try {
        requireNew();
        renameSync(path, file);
        syncFolder(folder);
      } finally {
        remove();
      }
      return { file, ...facts };
    },
    async list() {
      return readdir(folder);
    },
    async remove(name) {
      await rm(join(folder, name), { force: true });
    },
  };
}

/** Removes what backups of this name, or of names like it, left behind when the process was killed. */
export async function removePartials(folder: string, isOurs: (name: string) => boolean): Promise<void> {
  for (const name of await readdir(folder)) {
    const base = name.replace(PARTIAL, '');
    if (base !== name && isOurs(base)) await rm(join(folder, name), { force: true });
  }
}
