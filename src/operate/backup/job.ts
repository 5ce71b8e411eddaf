import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config, S3Access } from '../../config.ts';
import type { Deps } from '../../deps.ts';
import type { Job } from '../jobs.ts';
import { type Backup, BackupError, type BackupSource, StoreError } from './archive.ts';
import { asBackupError, recordFailure } from './make.ts';
import { isStore, openPlace, type Place, removePartials } from './places.ts';

/**
 * Names of scheduled backups: `tidings-20261121T030000Z-000042.backup`. The number orders them, because a clock may be set
 * back. Earlier versions wrote none. No other file is ever removed.
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
 * The job that makes scheduled backups; none where nobody asked for them. While the store is in trouble it tries again
 * until the next backup is due. Every other failure ends the run and is logged as a failure of the job.
 */
export function backupJobs(
  { dataDir, backups, s3 }: Pick<Config, 'dataDir' | 'backups' | 's3'>,
  { clock, log, wait = (ms, signal) => sleep(ms, undefined, { signal }) }: Needs,
): Job[] {
  if (backups === undefined) return [];
  const dir = isStore(backups.dir) ? backups.dir.replace(/\/+$/, '') : resolve(backups.dir);
  const folder = resolve(dataDir);

  async function makeOne(signal: AbortSignal): Promise<void> {
    const source = { dataDir: folder, createdAt: clock.now() };
    let target = dir;
    try {
      await removeLeftovers(dir, folder);
      const place = openPlace(dir, s3);
      const before = (await unlessAborted(signal, place.list())).filter(isScheduled);
      target = `${dir}/${nameOf(source.createdAt, Math.max(0, ...before.map(sequenceOf)) + 1)}`;
      const { file, bytes, sha256 } = await backupInThread({ source, target, s3 }, signal);
      const removed = await unlessAborted(signal, removeOldest(place, before, backups?.keep ?? 1));
      log.info({ job: 'backup', file, bytes, sha256, removed }, 'backup made and checked');
    } catch (error) {
      // A thread that was ended removes nothing itself.
      await removeLeftovers(dir, folder).catch(() => undefined);
      if (!signal.aborted) {
        const { message } = asBackupError(error, 'The backup was not made');
        await recordFailure(folder, source.createdAt, target, message);
      }
      throw error;
    }
  }

  async function makeUntilDue(signal: AbortSignal): Promise<void> {
    const nextDue = Bun.cron.parse(backups?.schedule ?? '', clock.now());
    for (let attempt = 0; ; attempt++) {
      try {
        return await makeOne(signal);
      } catch (error) {
        const waitMs = RETRY_MS[Math.min(attempt, RETRY_MS.length - 1)] ?? 0;
        const isLate = nextDue === null || clock.now().getTime() + waitMs >= nextDue.getTime();
        if (!(error instanceof StoreError) || isLate || signal.aborted) throw error;
        log.warn({ job: 'backup', err: error, waitMs }, 'backup failed at the store; it will be tried again');
        await wait(waitMs, signal);
      }
    }
  }

  return [
    {
      name: 'backup',
      every: backups.schedule,
      async run(signal) {
        try {
          await makeUntilDue(signal);
        } catch (error) {
          if (!signal.aborted) throw error;
          log.info({ job: 'backup' }, 'the backup was given up, as the service stops');
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

/**
 * Removes the oldest of these backups, so that with the one just made `keep` are left. Returns how many it removed.
 */
async function removeOldest(place: Place, earlier: readonly string[], keep: number): Promise<number> {
  const oldestFirst = [...earlier].sort(
    (one, other) => sequenceOf(one) - sequenceOf(other) || (one < other ? -1 : 1),
  );
  const old = oldestFirst.slice(0, Math.max(0, earlier.length + 1 - keep));
  for (const name of old) await place.remove(name);
  return old.length;
}

// A binary holds all threads in one folder: their names must differ.
const MAIN = new URL('./backup-thread.ts', import.meta.url);

/** Messages to and from the thread. */
export interface BackupRequest {
  source: BackupSource;
  target: string;
  s3: S3Access | undefined;
}
export type BackupAnswer = { backup: Backup } | { error: string; isStoreError: boolean };

/**
 * Makes a backup as `makeBackup` does, in a thread of its own: SQLite holds its thread while it copies, and requests must
 * not wait for that. `signal` ends it early. Throws `BackupError`.
 */
async function backupInThread(request: BackupRequest, signal: AbortSignal): Promise<Backup> {
  const { promise, resolve, reject } = Promise.withResolvers<Backup>();
  const fail = (why: string) => reject(new BackupError(`The backup was not made: ${why}`));
  const onAbort = () => fail('the service is stopping');
  if (signal.aborted) onAbort();
  const thread = new Worker(MAIN);
  signal.addEventListener('abort', onAbort);
  thread.onmessage = ({ data }: MessageEvent<BackupAnswer>) => {
    if ('backup' in data) resolve(data.backup);
    else reject(data.isStoreError ? new StoreError(data.error) : new BackupError(data.error));
  };
  thread.onerror = ({ message }) => fail(message);
  thread.addEventListener('close', () => fail('its thread ended'));
  try {
    thread.postMessage(request);
    return await promise;
  } finally {
    signal.removeEventListener('abort', onAbort);
    thread.terminate();
  }
}
