import {
  existsSync,
  lstatSync,
  mkdirSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isServerRunning, takeLock } from '../../../db/sqlite/lock.ts';
import { bringLogToDisk } from '../../../db/sqlite/snapshot.ts';
import { codeOf, messageOf } from '../../lib/app-error.ts';
import { tidings } from '../../lib/build.ts';
import { bringToDisk } from '../../lib/disk.ts';
import type { S3Access } from '../../lib/file-store.ts';
import { randomToken } from '../../lib/text.ts';
import { DAY_MS, unlessAborted } from '../../lib/time.ts';
import type { Deps } from '../../people/deps.ts';
import type { Config } from '../config.ts';
import { databaseFile, lockFile, readSecretKey } from '../data-folder.ts';
import type { Job } from '../jobs.ts';
import { type Backup, BackupError, type BackupSource, StoreError } from './archive.ts';
import type { BackupAnswer, BackupRequest } from './backup-thread.ts';
import { alreadyThere, isStore, openPlace, type Place, removePartials, splitTarget } from './places.ts';

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
  const reason = isFull ? `the disk is full (${message}). Free up disk space` : message;
  return new BackupError(`${what}: ${reason}`, { cause: error });
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

/** A backup by hand is worth a reminder after so long. */
const OLD_MS = 30 * DAY_MS;

/** The loss that a missing backup can mean. */
export const NO_BACKUP = 'After a loss of this disk, newer posts and deliveries would be gone.';

/**
 * Why there is no good backup of lately, and what to do; null when there is one. Without a schedule, one that a person made
 * counts for a month. `isFailed`: it was tried in vain, or is gone. `isReminder`: nobody has thought of backups yet.
 */
export async function describeBackupTrouble(
  { dataDir, backups }: Pick<Config, 'dataDir' | 'backups'>,
  now: Date,
): Promise<{ message: string; advice: string; since?: string; isFailed?: true; isReminder?: true } | null> {
  const { success, failure } = await lastBackup(dataDir);
  const made = success === null ? 'There is no backup yet' : `The last good backup is from ${success.at}`;
  if (failure !== null) {
    const message = `The backup of ${failure.at} failed: ${failure.error}. ${made}`;
    const advice = `Fix the cause, then run: ${tidings} backup FILE`;
    return { message, advice, since: failure.at, isFailed: true };
  }
  if (success !== null && !isStore(success.file) && !existsSync(success.file)) {
    const message = `The last good backup, ${success.file}, is gone`;
    return { message, advice: `Make another backup: ${tidings} backup FILE`, isFailed: true };
  }
  if (backups !== undefined) {
    const due = success && Bun.cron.parse(backups.schedule, new Date(success.at));
    if (due === null || now.getTime() - due.getTime() <= DAY_MS) return null;
    const message = `${made}; one was due at ${due.toISOString()}`;
    return { message, advice: `Make one now: ${tidings} backup FILE`, since: due.toISOString() };
  }
  if (success !== null && now.getTime() - Date.parse(success.at) <= OLD_MS) return null;
  const advice = `Set BACKUP_DIR, or run "${tidings} backup FILE" regularly`;
  return {
    message: `${made}, and no schedule is set`,
    advice,
    ...(success === null && { isReminder: true }),
  };
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

/**
 * Names of scheduled backups: `tidings-20261121T030000Z-000042.backup`. The number orders them, because a clock may be
 * set back; earlier versions wrote none. No other file is ever removed.
 */
const NAME = /^tidings-\d{8}T\d{6}Z(?:-(\d{6,9}))?\.backup$/;

const isScheduled = (name: string) => NAME.test(name);

/** 0 for a name without a number. */
const sequenceOf = (name: string) => Number(NAME.exec(name)?.[1] ?? 0);

/** How long to wait after each failure of the store, in milliseconds; the last one repeats until the next backup is due. */
const RETRY_MS = [10_000, 60_000, 300_000, 900_000] as const;

type Needs = Pick<Deps, 'clock' | 'log'> & {
  /** Waits so many milliseconds, or rejects when `signal` is aborted. Tests pass their own. */
  wait?: (ms: number, signal: AbortSignal) => Promise<unknown>;
};

/**
 * The job that makes scheduled backups; none without BACKUP_DIR. It retries failures of the store until the next backup
 * is due. Every other failure ends the run.
 */
export function backupJobs(
  {
    dataDir,
    backups,
    s3,
    media,
    secretKey,
  }: Pick<Config, 'dataDir' | 'backups' | 's3'> & Partial<Pick<Config, 'media' | 'secretKey'>>,
  { clock, log, wait = (ms, signal) => sleep(ms, undefined, { signal }) }: Needs,
): Job[] {
  if (backups === undefined) return [];
  const { keep, schedule } = backups;
  const dir = isStore(backups.dir) ? backups.dir.replace(/\/+$/, '') : resolve(backups.dir);
  const folder = resolve(dataDir);

  async function makeOne(signal: AbortSignal): Promise<void> {
    const createdAt = clock.now();
    let target = dir;
    try {
      const key = readSecretKey(folder, secretKey) ?? undefined;
      const source = { dataDir: folder, createdAt, key, media: media?.dir };
      await removeLeftovers(dir, folder);
      const place = openPlace(dir, s3);
      const before = (await unlessAborted(signal, place.list())).filter(isScheduled);
      target = `${dir}/${nameOf(createdAt, Math.max(0, ...before.map(sequenceOf)) + 1)}`;
      const { file, bytes, sha256, images } = await backupInThread([source, target, { s3 }], signal);
      const removed = await unlessAborted(signal, removeOldest(place, before, keep));
      log.info({ job: 'backup', file, bytes, sha256, removed }, 'backup made and verified');
      const { missing, unreadable, examples } = images;
      if (missing + unreadable > 0)
        log.warn({ job: 'backup', file, missing, unreadable, examples }, 'the backup lacks images');
    } catch (error) {
      // A thread that was ended removes nothing itself.
      await removeLeftovers(dir, folder).catch(() => undefined);
      if (!signal.aborted) {
        const { message } = asBackupError(error, 'The backup was not made');
        await recordFailure(folder, createdAt, target, message);
      }
      throw error;
    }
  }

  async function run(signal: AbortSignal): Promise<void> {
    const nextDue = Bun.cron.parse(schedule, clock.now());
    let waitMs = 0;
    for (let attempt = 0; ; attempt++) {
      try {
        if (waitMs > 0) await wait(waitMs, signal);
        return await makeOne(signal);
      } catch (error) {
        if (signal.aborted)
          return log.info({ job: 'backup' }, 'the backup was canceled because the server is stopping');
        waitMs = RETRY_MS[Math.min(attempt, RETRY_MS.length - 1)] ?? 0;
        const isLate = nextDue === null || clock.now().getTime() + waitMs >= nextDue.getTime();
        if (!(error instanceof StoreError) || isLate) throw error;
        log.warn({ job: 'backup', err: error, waitMs }, 'the store failed; the backup will be retried');
      }
    }
  }

  return [{ name: 'backup', effect: NO_BACKUP, every: schedule, run }];
}

function nameOf(at: Date, sequence: number): string {
  const time = at.toISOString().replaceAll(/[-:]|\.\d+/g, '');
  return `tidings-${time}-${String(sequence).padStart(6, '0')}.backup`;
}

/** Removes temporary files of a killed server: beside the backups or, for a bucket, in the data folder. */
async function removeLeftovers(dir: string, dataDir: string): Promise<void> {
  if (!isStore(dir)) mkdirSync(dir, { recursive: true, mode: 0o700 });
  await removePartials(isStore(dir) ? dataDir : dir, isScheduled);
}

/** Leaves `keep` backups, with the one just made. Returns the number of removed ones. */
async function removeOldest(place: Place, earlier: readonly string[], keep: number): Promise<number> {
  const oldestFirst = earlier.toSorted(
    (one, other) => sequenceOf(one) - sequenceOf(other) || (one < other ? -1 : 1),
  );
  const old = oldestFirst.slice(0, Math.max(0, earlier.length + 1 - keep));
  for (const name of old) await place.remove(name);
  return old.length;
}

// A binary holds all threads in one folder: their names must differ.
const THREAD = new URL('./backup-thread.ts', import.meta.url);

/**
 * Makes a backup in a thread of its own: SQLite holds its thread while it copies, and requests must not wait for that.
 * Throws `BackupError`, and the reason of `signal`, which ends the thread.
 */
async function backupInThread(request: BackupRequest, signal: AbortSignal): Promise<Backup> {
  const { promise, resolve, reject } = Promise.withResolvers<Backup>();
  const fail = (why: string) => reject(new BackupError(`The backup was not made: ${why}`));
  const thread = new Worker(THREAD);
  thread.onmessage = ({ data }: MessageEvent<BackupAnswer>) => {
    if ('backup' in data) resolve(data.backup);
    else reject(data.isStoreError ? new StoreError(data.error) : new BackupError(data.error));
  };
  thread.onerror = ({ message }) => fail(message);
  thread.addEventListener('close', () => fail('its thread ended'));
  thread.postMessage(request);
  return unlessAborted(signal, promise).finally(() => thread.terminate());
}
