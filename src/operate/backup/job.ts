import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../config.ts';
import type { Deps } from '../../deps.ts';
import type { Job } from '../jobs.ts';
import { readSecretKey } from '../secret-key.ts';
import { type Backup, BackupError, StoreError } from './archive.ts';
import type { BackupAnswer, BackupRequest } from './backup-thread.ts';
import { asBackupError, recordFailure } from './make.ts';
import { isStore, openPlace, type Place, removePartials } from './places.ts';

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

  return [
    {
      name: 'backup',
      every: schedule,
      async run(signal) {
        const nextDue = Bun.cron.parse(schedule, clock.now());
        let waitMs = 0;
        for (let attempt = 0; ; attempt++) {
          try {
            if (waitMs > 0) await wait(waitMs, signal);
            return await makeOne(signal);
          } catch (error) {
            if (signal.aborted) {
              log.info({ job: 'backup' }, 'the backup was canceled because the server is stopping');
              return;
            }
            waitMs = RETRY_MS[Math.min(attempt, RETRY_MS.length - 1)] ?? 0;
            const isLate = nextDue === null || clock.now().getTime() + waitMs >= nextDue.getTime();
            if (!(error instanceof StoreError) || isLate) throw error;
            log.warn({ job: 'backup', err: error, waitMs }, 'the store failed; the backup will be retried');
          }
        }
      },
    },
  ];
}

/** Rejects as soon as `signal` is aborted: a store that does not answer must not hold up the stop of the server. */
function unlessAborted<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort);
  return Promise.race([work, aborted]).finally(() => signal.removeEventListener('abort', onAbort));
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
