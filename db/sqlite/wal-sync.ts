import { DiskFailed } from '../failures.ts';

/** Shares syncs: one runs at a time, and the next one covers all commits that came before it begins. */
export interface SharedSync {
  /** Resolves after a sync that began after the call. Rejects with `DiskFailed` once a sync has failed. */
  flush(): Promise<void>;
  /** The first failure; null as long as every sync has succeeded. */
  failure(): DiskFailed | null;
  /** How long the present sync has been running, in milliseconds; 0 when none is. */
  runningMs(): number;
  /** Resolves when none is running or waiting. */
  settled(): Promise<void>;
}

export function createSharedSync(sync: () => Promise<void>): SharedSync {
  let failure: DiskFailed | null = null;
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
        if (failure === null) await sync();
      } catch (error) {
        failure = new DiskFailed(error);
      }
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
    failure: () => failure,
    runningMs: () => (running === null ? 0 : performance.now() - startedAt),
    settled: () => running ?? Promise.resolve(),
  };
}
