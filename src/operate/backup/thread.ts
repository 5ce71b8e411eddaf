import { type Backup, BackupError, type S3Access, StoreError } from './model.ts';
import type { BackupSource } from './prepare.ts';

// A binary holds all threads in one folder: their names must differ.
const MAIN = new URL('./backup-thread.ts', import.meta.url);

/** What goes to the thread, and what comes back from it. */
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
export async function backupInThread(request: BackupRequest, signal: AbortSignal): Promise<Backup> {
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
