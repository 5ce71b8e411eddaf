import { startThread } from '../../src/lib/thread.ts';
import type { CheckpointOutcome } from './checkpoint.ts';
import type { CheckpointRequest } from './checkpoint-thread.ts';

/**
 * Looks for damage inside the file in a thread, while a server uses it (`PRAGMA quick_check`). `found` resolves with the first
 * damage in SQLite's words; null without any. After `leave`, the thread no longer keeps the process. To end a thread waits
 * for SQLite.
 */
export function findDamageInThread(file: string): { found: Promise<string | null>; leave(): void } {
  const main = new URL('./checkpoint-thread.ts', import.meta.url);
  const { worker, load } = startThread(main, 'The database was not checked');
  const { promise, resolve, reject } = Promise.withResolvers<CheckpointOutcome>();
  worker.onerror = ({ message }) => reject(new Error(message));
  void load().then(() => {
    worker.onmessage = ({ data }: MessageEvent<CheckpointOutcome>) => resolve(data);
    worker.postMessage(JSON.stringify({ file, step: 'check' } satisfies CheckpointRequest));
  });
  const found = promise
    .finally(() => worker.terminate())
    .then((outcome) => (typeof outcome === 'object' ? outcome.failure : null));
  // The types are those of browsers.
  return { found, leave: () => (worker as Worker & { unref(): void }).unref() };
}
