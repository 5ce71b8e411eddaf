import { existsSync, renameSync, statSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { codeOf, messageOf } from '../../lib/app-error.ts';
import { bringToDisk } from '../../lib/disk.ts';
import { type Bucket, openBucket, type S3Access, splitPlace } from '../../lib/file-store.ts';
import {
  type Backup,
  BackupError,
  type BackupSource,
  digestOf,
  PARTIAL,
  prepareBackup,
  StoreError,
} from './archive.ts';

export const isStore = (target: string) => target.startsWith('s3://');

/** Folder and name of a backup, or bucket, prefix and name. */
export function splitTarget(target: string): { place: string; name: string } {
  if (!isStore(target)) return { place: dirname(resolve(target)), name: basename(resolve(target)) };
  const [, place, name] = /^(s3:\/\/[^/]+(?:\/.*)?)\/([^/]+)$/.exec(target) ?? [];
  // On the way to a store, a backup has its name in the data folder.
  if (place === undefined || name === undefined || name === '.' || name === '..') {
    throw new BackupError(`${target} does not name a backup. Use the form s3://bucket/key`);
  }
  return { place, name };
}

export type Place = ReturnType<typeof folderPlace>;

/** `place`: a folder, or `s3://bucket/prefix`. */
export function openPlace(place: string, access: S3Access | undefined): Place {
  return isStore(place) ? s3Place(place, access) : folderPlace(resolve(place));
}

function folderPlace(folder: string) {
  return {
    /** Makes a backup there, under this name. Throws `BackupError`, and then leaves what was there as it was. */
    async store(name: string, source: BackupSource, { force }: { force: boolean }): Promise<Backup> {
      const file = join(folder, name);
      const requireNew = () => {
        const there = statSync(file, { throwIfNoEntry: false });
        // A folder cannot be replaced, and a device, such as /dev/stdout, must not be.
        if (there?.isFile() === false) {
          throw new BackupError(`${file} is not a regular file. Choose another path for the backup`);
        }
        if (there !== undefined && !force) throw alreadyThere(file);
      };
      requireNew();
      if (!existsSync(folder))
        throw new BackupError(`The backup was not made: the folder ${folder} does not exist`);
      const { path, facts, remove } = await prepareBackup(source, file);
      try {
        requireNew();
        renameSync(path, file);
        bringToDisk(folder);
      } finally {
        remove();
      }
      return { file, ...facts };
    },
    list: () => readdir(folder),
    remove: (name: string) => rm(join(folder, name), { force: true }),
  };
}

export const alreadyThere = (file: string) =>
  new BackupError(`${file} already exists. Use --force to replace it`);

/** Removes what backups of this name, or of names like it, left behind when the process was killed. */
export async function removePartials(folder: string, isOurs: (name: string) => boolean): Promise<void> {
  for (const name of await readdir(folder)) {
    const base = name.replace(PARTIAL, '');
    if (base !== name && isOurs(base)) await rm(join(folder, name), { force: true });
  }
}

/**
 * Backups in an S3-compatible store. What was uploaded is read back whole and compared by size and SHA-256, as an ETag
 * means something else in each store.
 */
function s3Place(place: string, access: S3Access | undefined): Place {
  const { bucket, prefix } = openPrefix(place, access);
  const urlOf = (name: string) => `${place.replace(/\/+$/, '')}/${name}`;

  return {
    async store(name, source, { force }) {
      const file = urlOf(name);
      const key = prefix + name;
      if (!force && (await fromStore(file, () => bucket.size(key))) !== null) throw alreadyThere(file);
      const { path, facts, remove } = await prepareBackup(source, join(source.dataDir, name));
      try {
        await fromStore(file, () => bucket.write(key, path));
        const stored = await fromStore(file, async () => digestOf((await bucket.read(key)).body));
        if (stored.bytes !== facts.bytes || stored.sha256 !== facts.sha256) {
          await fromStore(file, () => bucket.remove(key));
          throw new BackupError(
            `The stored copy of ${file} differs from the upload, so Tidings deleted it. Try again`,
          );
        }
      } finally {
        remove();
      }
      return { file, ...facts };
    },
    async list() {
      const keys = await fromStore(place, () => bucket.list(prefix));
      return keys.map(({ key }) => key.slice(prefix.length));
    },
    remove: (name) => fromStore(urlOf(name), () => bucket.remove(prefix + name)),
  };
}

/** Copies an object into the new file `target`, after `requireSpace` for its size. Throws `BackupError`. */
export async function download(
  url: string,
  access: S3Access | undefined,
  target: string,
  requireSpace: (bytes: number) => void,
): Promise<void> {
  const { place, name } = splitTarget(url);
  const { bucket, prefix } = openPrefix(place, access);
  requireSpace((await fromStore(url, () => bucket.size(prefix + name))) ?? 0);
  const { body } = await fromStore(url, () => bucket.read(prefix + name));
  const writer = Bun.file(target).writer();
  try {
    await fromStore(url, async () => {
      for await (const chunk of body) {
        writer.write(chunk);
        await writer.flush();
      }
    });
  } finally {
    await writer.end();
  }
}

function openPrefix(place: string, access: S3Access | undefined): { bucket: Bucket; prefix: string } {
  if (access === undefined) {
    throw new BackupError(`${place} needs BACKUP_S3_ACCESS_KEY_ID and BACKUP_S3_SECRET_ACCESS_KEY`);
  }
  const { name, prefix } = splitPlace(place);
  return { bucket: openBucket(name, access), prefix };
}

/** An error of the store, as one line that names what it was about. */
async function fromStore<Result>(about: string, ask: () => Promise<Result>): Promise<Result> {
  try {
    return await ask();
  } catch (error) {
    const reason = [codeOf(error), messageOf(error)].filter(Boolean).join(': ');
    throw new StoreError(`${about}: the store rejected the request or could not be reached (${reason})`, {
      cause: error,
    });
  }
}
