import type { Database as Sqlite } from 'bun:sqlite';
import { codeOf, messageOf } from '../../src/lib/app-error.ts';
import { type ThreadQueue, threadQueue } from '../../src/lib/thread.ts';
import type { CheckpointFailures } from '../engine.ts';
import { isLocked } from '../failures.ts';
import type { CheckpointRequest } from './checkpoint-thread.ts';
import { reportsPosition } from './connection.ts';

/** A checkpoint is due when the log has so many pages: 16 MB. */
const MAX_PAGES = 4_096;

/** How soon to try again after a failure without waiting for the log to grow, in milliseconds. */
const RETRY_MS = 10_000;

const IDLE_MS = 10_000;

const LIMIT_MS = 600_000;

const FAILURES = {
  stopping: 'The server is stopping',
  failed: 'The checkpoint failed',
  slow: 'The checkpoint took too long',
};

type CheckpointThread = ThreadQueue<CheckpointRequest, CheckpointOutcome>;

const startCheckpointThread = (): CheckpointThread =>
  threadQueue({
    main: new URL('./checkpoint-thread.ts', import.meta.url),
    limitMs: LIMIT_MS,
    idleMs: IDLE_MS,
  });

/** Checkpoints in a thread of their own. Where it cannot be started, they run here. */
export function createCheckpoints(
  sqlite: Sqlite,
  {
    isSafe,
    thread = startCheckpointThread(),
    elapsedMs = () => performance.now(),
  }: { isSafe: () => boolean; thread?: CheckpointThread; elapsedMs?: () => number },
) {
  const failures: CheckpointFailures = { total: 0, inARow: 0, cause: null };
  // Otherwise SQLite goes on to make its own.
  if (!reportsPosition(sqlite)) {
    return { failures, startIfDue: () => undefined, isRestarting: () => false, close: async () => undefined };
  }
  sqlite.run('PRAGMA wal_autocheckpoint = 0');
  const position = sqlite.query('PRAGMA wal_checkpoint(NOOP)');
  const { filename: file } = sqlite;
  let running: Promise<void> | null = null;
  let isRestarting = false;
  let isClosing = false;
  let dueAt = MAX_PAGES;
  let triedAt = 0;

  async function run(): Promise<void> {
    try {
      const copied = await thread.ask({ file, step: 'copy' }, FAILURES);
      note(copied);
      if (typeof copied === 'object' || !isSafe()) return;
      isRestarting = true;
      const restarted = await thread.ask({ file, step: 'restart' }, FAILURES);
      if (typeof restarted === 'object') note(restarted);
    } catch {
      note(copyLog(sqlite));
    } finally {
      isRestarting = false;
      running = null;
      startIfDue();
    }
  }

  /** After a failure the log stays as it is, and keeps growing until a later checkpoint succeeds. */
  function note(outcome: CheckpointOutcome): void {
    if (outcome === 'done') failures.inARow = 0;
    if (typeof outcome !== 'object') return;
    failures.inARow++;
    failures.total++;
    failures.cause = outcome.failure;
  }

  /** Null: SQLite does not tell, as while a read is at work. */
  function countPages(): number | null {
    try {
      const [[, pages = 0] = []] = position.values() as number[][];
      return pages;
    } catch {
      return null;
    }
  }

  /** Never throws: the commit before it has succeeded, and the next one asks again. */
  function startIfDue(): void {
    const pages = isClosing ? null : countPages();
    if (pages === null) return;
    if (pages < MAX_PAGES) dueAt = MAX_PAGES;
    const isRetry = failures.inARow > 0 && elapsedMs() - triedAt >= RETRY_MS;
    if ((pages < dueAt && !isRetry) || running !== null || !isSafe()) return;
    // A reader, such as a backup, may keep the log from starting again.
    dueAt = pages + MAX_PAGES;
    triedAt = elapsedMs();
    running = run();
  }

  return {
    failures: failures as Readonly<CheckpointFailures>,
    isRestarting: () => isRestarting,
    startIfDue,
    async close() {
      isClosing = true;
      await running;
      thread.close();
    },
  };
}

/** `left`: nothing was copied, because others use the log. A failure has SQLite's code and words. */
export type CheckpointOutcome = 'done' | 'left' | { failure: string };

export function copyLog(sqlite: Sqlite): CheckpointOutcome {
  return outcomeOf(() => {
    const [, , before = 0] = checkpoint(sqlite, 'NOOP');
    const [, pages, copied = 0] = checkpoint(sqlite, 'PASSIVE');
    return copied > before || copied === pages ? 'done' : 'left';
  });
}

/** Never throws: a failure leaves the log as it is. */
export function outcomeOf(work: () => CheckpointOutcome): CheckpointOutcome {
  try {
    return work();
  } catch (error) {
    return isLocked(error) ? 'left' : { failure: `${codeOf(error)}: ${messageOf(error)}` };
  }
}

/** 1 where others use the log, and the number of pages in the log and of those in the database. */
export const checkpoint = (sqlite: Sqlite, mode: 'NOOP' | 'PASSIVE' | 'RESTART') =>
  (sqlite.query(`PRAGMA wal_checkpoint(${mode})`).values()[0] ?? []) as number[];
