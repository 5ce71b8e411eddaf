import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Config } from '../config.ts';
import type { Deps } from '../deps.ts';
import type { Job } from '../jobs/jobs.ts';
import { recordFailure } from './last-backup.ts';
import { openPlace, type Place, removePartials } from './place.ts';
import { asBackupError } from './service.ts';
import { isStore } from './target.ts';
import { backupInThread } from './thread.ts';

/**
 * Names of scheduled backups: `tidings-20261121T030000Z-000042.backup`. The number orders them, because a clock may be set
 * back. Earlier versions wrote none. No other file is ever removed.
 */
const NAME = /^tidings-\d{8}T\d{6}Z(?:-(\d{6,9}))?\.backup$/;

const isScheduled = (name: string) => NAME.test(name);

/** 0 for a name without a number. */
const sequenceOf = (name: string) => Number(NAME.exec(name)?.[1] ?? 0);

/** Backups that the server makes by itself, where that was asked for. A failed one is logged as any job's failure. */
export function backupJobs(
  { dataDir, backups, s3 }: Pick<Config, 'dataDir' | 'backups' | 's3'>,
  { clock, log }: Pick<Deps, 'clock' | 'log'>,
): Job[] {
  if (backups === undefined) return [];
  return [
    {
      name: 'backup',
      every: backups.schedule,
      async run(signal) {
        const source = { dataDir: resolve(dataDir), createdAt: clock.now() };
        const dir = isStore(backups.dir) ? backups.dir.replace(/\/+$/, '') : resolve(backups.dir);
        let target = dir;
        try {
          await removeLeftovers(dir, source.dataDir);
          const place = openPlace(dir, s3);
          const before = (await place.list()).filter(isScheduled);
          const name = nameOf(source.createdAt, Math.max(0, ...before.map(sequenceOf)) + 1);
          target = `${dir}/${name}`;
          const { file, bytes, sha256 } = await backupInThread({ source, target, s3 }, signal);
          const removed = await removeOldest(place, before, backups.keep - 1);
          log.info({ job: 'backup', file, bytes, sha256, removed }, 'backup made and checked');
        } catch (error) {
          // A thread that was ended removes nothing itself.
          await removeLeftovers(dir, source.dataDir).catch(() => undefined);
          if (signal.aborted) {
            log.info({ job: 'backup' }, 'the backup was given up, as the service stops');
            return;
          }
          const { message } = asBackupError(error, 'The backup was not made');
          await recordFailure(source.dataDir, source.createdAt, target, message);
          throw error;
        }
      },
    },
  ];
}

function nameOf(at: Date, sequence: number): string {
  const time = at.toISOString().replaceAll(/[-:]|\.\d+/g, '');
  return `tidings-${time}-${String(sequence).padStart(6, '0')}.backup`;
}

/** What a killed server left behind: beside the backups or, on the way to a store, in the data folder. */
async function removeLeftovers(dir: string, dataDir: string): Promise<void> {
  if (!isStore(dir)) mkdirSync(dir, { recursive: true, mode: 0o700 });
  await removePartials(isStore(dir) ? dataDir : dir, isScheduled);
}

/** Removes the oldest of these backups until `keep` are left. Returns how many it removed. */
async function removeOldest(place: Place, names: readonly string[], keep: number): Promise<number> {
  const oldestFirst = [...names].sort(
    (one, other) => sequenceOf(one) - sequenceOf(other) || (one < other ? -1 : 1),
  );
  const old = oldestFirst.slice(0, Math.max(0, names.length - keep));
  for (const name of old) await place.remove(name);
  return old.length;
}
