import {
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { settle } from '../../../db/snapshot.ts';
import { syncFolder } from '../secret-key.ts';

/**
 * Puts the database file `fresh` in the place of `target`, which nobody else may have open. What was there stays as
 * `<target>.before-restore-<time>`, whose name is returned, or null. At every step there is a whole database under the
 * name: the old one gets a second name before the new one takes the first.
 */
export function swapIn(fresh: string, target: string, now: Date): string | null {
  const keptAs = existsSync(target) ? keep(target, now) : null;
  // A log that was left over would be applied to the new file, and ruin it.
  for (const suffix of ['-wal', '-shm']) rmSync(target + suffix, { force: true });
  renameSync(fresh, target);
  syncFolder(dirname(target));
  return keptAs;
}

function keep(target: string, now: Date): string {
  const keptAs = `${target}.before-restore-${now.toISOString().replaceAll(/[-:.]/g, '')}`;
  // A database that cannot be opened any more keeps its log, should somebody try to rescue it.
  const isWhole = settle(target);
  const suffixes = isWhole ? [''] : ['', '-wal'];
  for (const suffix of suffixes) {
    if (existsSync(target + suffix)) secondName(target + suffix, keptAs + suffix);
  }
  syncFolder(dirname(target));
  return keptAs;
}

/** A link, or a copy where the file system has no links. */
function secondName(file: string, name: string): void {
  rmSync(name, { force: true });
  try {
    linkSync(file, name);
  } catch {
    copyFileSync(file, name);
    const copy = openSync(name, 'r');
    fsyncSync(copy);
    closeSync(copy);
  }
}
