import { StoreError } from './archive.ts';
import type { BackupAnswer, BackupRequest } from './job.ts';
import { makeBackup } from './make.ts';

// The thread that `thread.ts` starts: it makes one backup.

declare const self: Worker;

self.onmessage = async ({ data: { source, target, s3 } }: MessageEvent<BackupRequest>) => {
  self.postMessage(await answer(() => makeBackup(source, target, { s3 })));
};

async function answer(make: () => ReturnType<typeof makeBackup>): Promise<BackupAnswer> {
  try {
    return { backup: await make() };
  } catch (error) {
    return {
      error: error instanceof Error ? error.message : String(error),
      isStoreError: error instanceof StoreError,
    };
  }
}
