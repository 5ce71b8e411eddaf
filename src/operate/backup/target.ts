import { basename, dirname, resolve } from 'node:path';
import { BackupError } from './model.ts';

export const isStore = (target: string) => target.startsWith('s3://');

/** Folder and name of a backup, or bucket, prefix and name. */
export function splitTarget(target: string): { place: string; name: string } {
  if (!isStore(target)) return { place: dirname(resolve(target)), name: basename(resolve(target)) };
  const [, place, name] = /^(s3:\/\/[^/]+(?:\/.*)?)\/([^/]+)$/.exec(target) ?? [];
  // On the way to a store, a backup has its name in the data folder.
  if (place === undefined || name === undefined || name === '.' || name === '..') {
    throw new BackupError(`${target} names no backup: it must be s3://bucket/key`);
  }
  return { place, name };
}
