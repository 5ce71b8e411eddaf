import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { count } from '../../lib/text.ts';
import { databaseFile, litestreamFolder } from '../data-folder.ts';
import { type Finding, inFolder, ok, warning } from './check.ts';

/** Litestream copies each second, and a running server writes each minute. */
const STILL_MS = 5 * 60_000;

/** Litestream deletes a local file five minutes after its upload, unless `l0-retention` is set. */
const KEPT_MS = 15 * 60_000;

/**
 * Compares the times of Litestream's local files with that of the database. Null without Litestream. Litestream writes
 * each transaction to a file of its own before it uploads it.
 */
export const examineLitestream = inFolder(({ folder }): Finding | null => {
  if (!existsSync(litestreamFolder(folder))) return null;
  const times = transactionTimes(join(litestreamFolder(folder), 'ltx', '0'));
  const newest = times.at(-1);
  if (newest === undefined) {
    return warning(
      "Litestream's folder beside the database has no transactions",
      'Start Litestream and check its log. If you no longer use it, remove the folder',
    );
  }
  const stillMs = changedAt(databaseFile(folder)) - newest;
  if (stillMs > STILL_MS) {
    return warning(
      `Litestream is ${count(Math.floor(stillMs / 60_000), 'minute')} behind the database. Its newest transaction is from ${iso(newest)}`,
      `Start Litestream and check its log. If you no longer use it, remove ${litestreamFolder(folder)}`,
    );
  }
  const oldest = times[0] ?? newest;
  if (times.length > 1 && newest - oldest > KEPT_MS) {
    return warning(
      `Litestream has not uploaded its transactions since ${iso(oldest)}, or l0-retention is longer than 15 minutes`,
      'Check its log: it may be unable to reach the replica or to write to it',
    );
  }
  return ok(`Litestream is up to date with the database. Its newest transaction is from ${iso(newest)}`);
});

/** When each transaction that is still here was copied, in milliseconds since 1970, the oldest first. */
function transactionTimes(folder: string): number[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith('.ltx'))
    .flatMap((name) => statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? [])
    .sort((a, b) => a - b);
}

/** When the last transaction was written, in milliseconds since 1970; 0 without a database. */
function changedAt(file: string): number {
  const log = statSync(`${file}-wal`, { throwIfNoEntry: false });
  // Moving the log into the file is no change.
  if (log !== undefined && log.size > 0) return log.mtimeMs;
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

const iso = (ms: number) => new Date(ms).toISOString();
