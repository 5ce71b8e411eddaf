import { AppError } from '../lib/app-error.ts';

/** Pages that may wait. */
const MAX_WAITING = 20;

/**
 * Returns a function that runs one piece of work after the other, with a pause as long as the work took. So a stranger
 * who opens one page after the other, of which none is kept, takes half of a core at most. The function throws `AppError`
 * 503 when too many wait.
 */
export function createRenderQueue(maxWaiting = MAX_WAITING) {
  let last: Promise<void> = Promise.resolve();
  let waiting = 0;

  return async function inTurn<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    if (waiting >= maxWaiting) {
      throw new AppError(503, 'Too many people are reading right now. Try again in a moment', {
        isRefusal: true,
        headers: { 'retry-after': '2' },
      });
    }
    const turn = last;
    const { promise, resolve } = Promise.withResolvers<void>();
    last = promise;
    waiting++;
    await turn;
    const startedAt = performance.now();
    try {
      return await work();
    } finally {
      waiting--;
      setTimeout(resolve, performance.now() - startedAt);
    }
  };
}
