import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import type { BackupsConfig, Config } from '../config.ts';
import type { Deps } from '../deps.ts';
import type { Job } from '../jobs/jobs.ts';
import { recordFailure } from './last-backup.ts';
import type { S3Access } from './model.ts';
import { openPlace, removePartials } from './place.ts';
import { asBackupError } from './service.ts';
import { isStore } from './target.ts';
import { backupInThread } from './thread.ts';

/** The names of scheduled backups, which sort as time does. Nothing else is ever removed. */
const NAME = /^tidings-\d{8}T\d{6}Z\.backup$/;

const isScheduled = (name: string) => NAME.test(name);

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
        const target = `${dir}/${nameOf(source.createdAt)}`;
        try {
          await removeLeftovers(dir, source.dataDir);
          const { file, bytes, sha256 } = await backupInThread({ source, target, s3 }, signal);
          const removed = await rotate({ ...backups, dir }, s3);
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

function nameOf(at: Date): string {
  return `tidings-${at.toISOString().replaceAll(/[-:]|\.\d+/g, '')}.backup`;
}

/** What a killed server left behind: beside the backups or, on the way to a store, in the data folder. */
async function removeLeftovers(dir: string, dataDir: string): Promise<void> {
  if (!isStore(dir)) mkdirSync(dir, { recursive: true, mode: 0o700 });
  await removePartials(isStore(dir) ? dataDir : dir, isScheduled);
}

/** Removes the oldest scheduled backups, so that `keep` are left. Returns how many it removed. */
async function rotate({ dir, keep }: BackupsConfig, s3: S3Access | undefined): Promise<number> {
  const place = openPlace(dir, s3);
  const scheduled = (await place.list()).filter(isScheduled).sort();
  const old = scheduled.slice(0, Math.max(0, scheduled.length - keep));
  for (const name of old) await place.remove(name);
  return old.length;
}
