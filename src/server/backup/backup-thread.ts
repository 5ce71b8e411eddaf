import { messageOf } from '../../lib/app-error.ts';
import { type Backup, StoreError } from './archive.ts';
import { makeBackup } from './job.ts';

// The thread that `job.ts` starts: it makes one backup.

declare const self: Worker;

export type BackupRequest = Parameters<typeof makeBackup>;
export type BackupAnswer = { backup: Backup } | { error: string; isStoreError: boolean };

self.onmessage = async ({ data }: MessageEvent<BackupRequest>) => {
  const answer: BackupAnswer = await makeBackup(...data).then(
    (backup) => ({ backup }),
    (error) => ({ error: messageOf(error), isStoreError: error instanceof StoreError }),
  );
  self.postMessage(answer);
};
