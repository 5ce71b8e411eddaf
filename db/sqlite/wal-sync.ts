import { codeOf } from '../../src/lib/app-error.ts';
import { DiskFailed } from '../failures.ts';
import type { FailureLatch } from './failure-latch.ts';

/** Shares syncs: one runs at a time, and the next one covers all commits that came before it begins. */
export interface SharedSync {
  /** Resolves after a sync that began after the call. Rejects once the latch has a failure, such as that of a sync. */
  flush(): Promise<void>;
  /** How long the present sync has been running, in milliseconds; 0 when none is. */
  runningMs(): number;
  /** Resolves when none is running or waiting. */
  settled(): Promise<void>;
}

export function createSharedSync(sync: () => Promise<void>, latch: FailureLatch): SharedSync {
  let next: PromiseWithResolvers<void> | null = null;
  let running: Promise<void> | null = null;
  let startedAt = 0;

  async function run(): Promise<void> {
    while (next !== null) {
      const { promise, resolve, reject } = next;
      next = null;
      startedAt = performance.now();
      try {
        // The kernel reports a failed sync once and drops what it could not write, so a second try would prove nothing.
        if (latch.failure() === null) await uninterrupted(sync);
      } catch (error) {
        latch.fail(new DiskFailed(error));
      }
      const failure = latch.failure();
      if (failure === null) resolve();
      else reject(failure);
      // Let the waiting work settle first.
      await promise.catch(() => undefined);
    }
    running = null;
  }

  return {
    flush() {
      next ??= Promise.withResolvers();
      const { promise } = next;
      running ??= run();
      return promise;
    },
    runningMs: () => (running === null ? 0 : performance.now() - startedAt),
    settled: () => running ?? Promise.resolve(),
  };
}

/** A signal that interrupts a sync leaves what was not written marked as such, so the next one writes it. */
async function uninterrupted(sync: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await sync();
    } catch (error) {
      if (codeOf(error) !== 'EINTR') throw error;
    }
  }
}
