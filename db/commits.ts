import type { Storage, WriteOptions, WriteTx } from './engine.ts';

// Work that is too large for one commit, such as an import or the removal of expired rows. It takes many short ones and
// rests between them, so that other work hardly waits.

/** What one commit did, and whether there is more to do. */
export interface Part<Result> {
  result: Result;
  hasMore: boolean;
}

interface CommitOptions extends Pick<WriteOptions, 'key' | 'shares'> {
  /** Ends the work between two commits. */
  signal?: AbortSignal | undefined;
}

/** On a slow disk, a commit may take longer than this. */
const MAX_REST_MS = 1_000;

/**
 * Runs `work` in one transaction after another while it has more to do, and yields the result of each after its commit.
 * `work` does small steps, and returns once `hasTime` is false. Then it rests for as long as the commit took.
 */
export async function* inCommits<Result>(
  db: Storage,
  work: (tx: WriteTx, hasTime: () => boolean) => Promise<Part<Result>>,
  { signal, ...order }: CommitOptions = {},
): AsyncGenerator<Result, void, undefined> {
  const { holdMs, restMs } = db.pace;
  while (signal?.aborted !== true) {
    const began = performance.now();
    const { result, hasMore } = await db.write((tx) => {
      const end = performance.now() + holdMs;
      return work(tx, () => performance.now() < end);
    }, order);
    yield result;
    if (!hasMore) return;
    await Bun.sleep(Math.min(Math.max(performance.now() - began, restMs), MAX_REST_MS));
  }
}

/** Repeats a step until it returns 0 or there is no more time. The result is the sum of the steps. */
export async function repeatStep(hasTime: () => boolean, step: () => Promise<number>): Promise<Part<number>> {
  for (let result = 0; ; ) {
    const done = await step();
    result += done;
    if (done === 0) return { result, hasMore: false };
    if (!hasTime()) return { result, hasMore: true };
  }
}
