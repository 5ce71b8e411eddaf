import { accessSync, constants, existsSync, type Stats, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { tidings } from '../../lib/how-to-run.ts';
import { freeBytes, listLeftovers, megabytes, modeForOthers } from '../data-folder.ts';
import { MIN_FREE_BYTES } from '../ready/readiness.ts';
import { type Check, type Finding, failed, folderCheck, ok, unchecked, warning } from './check.ts';

export const fileChecks: readonly Check[] = [
  folderCheck('data folder', ({ folder }) => {
    const stats = statSync(folder, { throwIfNoEntry: false });
    if (stats === undefined) {
      return failed(
        `There is no folder ${folder}`,
        `DATA_DIR or --data-dir names the folder; "${tidings} serve" makes it`,
      );
    }
    if (!stats.isDirectory()) return failed(`${folder} is no folder`, 'DATA_DIR must name a folder');
    return (
      trouble(folder, stats) ??
      (modeForOthers(stats) === null
        ? ok(`${folder} belongs to this user alone`)
        : warning(openToOthers(folder, stats), `chmod 700 ${folder}`))
    );
  }),

  folderCheck('database file', ({ folder }) => {
    const path = join(folder, 'tidings.db');
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats === undefined) {
      if (!existsSync(folder)) return null;
      return failed(`There is no ${path}`, `"${tidings} serve" makes it; or restore a backup of it`);
    }
    return (
      trouble(path, stats) ??
      (modeForOthers(stats) === null
        ? ok(`${path} is ${megabytes(stats.size)}, and readable by this user alone`)
        : warning(openToOthers(path, stats), `chmod 600 ${path}*`))
    );
  }),

  folderCheck('unfinished files', ({ folder }) => {
    if (!existsSync(folder)) return null;
    const leftovers = listLeftovers(folder);
    if (leftovers.length === 0) return null;
    const bytes = leftovers.reduce((sum, each) => sum + each.bytes, 0);
    const names = leftovers.map(({ path }) => basename(path)).join(', ');
    return warning(
      `An upgrade or a restore did not finish and left ${megabytes(bytes)}: ${names}`,
      'The next start of the server removes them',
    );
  }),

  folderCheck('secret.key', ({ folder, config }) => {
    const path = join(folder, 'secret.key');
    const stats = statSync(path, { throwIfNoEntry: false });
    // Whether secrets need it is another check.
    if (stats === undefined) return null;
    if (modeForOthers(stats) !== null) return failed(openToOthers(path, stats), `chmod 600 ${path}`);
    if (config.secretKey === null) return unchecked('SECRET_KEY');
    const isUsed = config.secretKey === undefined;
    return (
      trouble(path, stats) ??
      ok(
        isUsed
          ? 'secret.key is readable by this user alone'
          : 'secret.key is there, and SECRET_KEY used instead',
      )
    );
  }),

  folderCheck('disk', ({ folder }) => {
    const free = freeBytes(folder);
    if (free === null) return null;
    const database = statSync(join(folder, 'tidings.db'), { throwIfNoEntry: false })?.size ?? 0;
    const said = `${megabytes(free)} are free; the database has ${megabytes(database)}`;
    const advice = 'Make room on the disk, or move the data folder to a larger one';
    if (free < MIN_FREE_BYTES) return failed(said, advice);
    return free < database * 2 ? warning(`${said}: a copy of it hardly fits`, advice) : ok(said);
  }),
];

/** What keeps the server from using a file of its own; null when nothing does. */
function trouble(path: string, { uid }: Stats): Finding | null {
  const user = process.getuid?.() ?? uid;
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
  } catch {
    return failed(
      `This user (${user}) may not read and write ${path}, which belongs to user ${uid}`,
      `Run as the server's user, or: chown -R ${user} ${path}`,
    );
  }
  if (uid === user) return null;
  return warning(
    `${path} belongs to user ${uid}, and this is user ${user}`,
    "Run commands as the server's user: what another one makes, the server may not be able to write",
  );
}

function openToOthers(path: string, stats: Stats): string {
  return `${path} can be read or written by others (mode ${modeForOthers(stats)})`;
}
