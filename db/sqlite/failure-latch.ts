import type { StorageLost } from '../failures.ts';

/** Keeps the first failure after which nothing may be acknowledged until the next start. */
export interface FailureLatch {
  failure(): StorageLost | null;
  fail(error: StorageLost): void;
  /** Resolves with the failure. */
  readonly failed: Promise<StorageLost>;
}

export function createFailureLatch(): FailureLatch {
  const { promise, resolve } = Promise.withResolvers<StorageLost>();
  let failure: StorageLost | null = null;
  return {
    failure: () => failure,
    fail(error) {
      failure ??= error;
      resolve(failure);
    },
    failed: promise,
  };
}
