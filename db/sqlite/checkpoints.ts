import type { Database as Sqlite } from 'bun:sqlite';
import { type ThreadQueue, threadQueue } from '../../src/lib/thread.ts';
import type { CheckpointRequest } from './checkpoint-thread.ts';
import { reportsPosition } from './connection.ts';

/** A checkpoint is due when the log has so many pages: 16 MB. */
const MAX_PAGES = 4_096;

/** How long the thread is kept without work, in milliseconds. */
const IDLE_MS = 10_000;

/** How long one step may take, in milliseconds. */
const LIMIT_MS = 600_000;

const FAILURES = {
  stopping: 'The server is stopping',
  failed: 'The checkpoint failed',
  slow: 'The checkpoint took too long',
};

type CheckpointThread = ThreadQueue<CheckpointRequest, unknown>;

const startCheckpointThread = (): CheckpointThread =>
  threadQueue({
    main: new URL('./checkpoint-thread.ts', import.meta.url),
    limitMs: LIMIT_MS,
    idleMs: IDLE_MS,
  });

/**
 * Checkpoints in a thread of their own, which copy the log into the database and start it again. The thread is started
 * when one is due; if that fails, the checkpoint runs here.
 */
export function createCheckpoints(
  sqlite: Sqlite,
  { isSafe, thread = startCheckpointThread() }: { isSafe: () => boolean; thread?: CheckpointThread },
) {
  // Otherwise SQLite goes on to make its own.
  if (!reportsPosition(sqlite)) {
    return { startIfDue: () => undefined, isRestarting: () => false, close: async () => undefined };
  }
  sqlite.run('PRAGMA wal_autocheckpoint = 0');
  const position = sqlite.query('PRAGMA wal_checkpoint(NOOP)');
  const { filename: file } = sqlite;
  let running: Promise<void> | null = null;
  let isRestarting = false;
  let isClosing = false;
  let dueAt = MAX_PAGES;

  async function run(): Promise<void> {
    try {
      await thread.ask({ file, step: 'copy' }, FAILURES);
      if (!isSafe()) return;
      isRestarting = true;
      await thread.ask({ file, step: 'restart' }, FAILURES);
    } catch {
      copyHere();
    } finally {
      isRestarting = false;
      running = null;
      // Commits went on meanwhile, and the last of them started nothing.
      startIfDue();
    }
  }

  /** Holds the thread for the syncs. */
  function copyHere(): void {
    try {
      sqlite.run('PRAGMA wal_checkpoint(PASSIVE)');
    } catch {
      // The log stays as it is, and the next checkpoint is due when it has grown.
    }
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
    if (pages < dueAt || running !== null || !isSafe()) return;
    // A reader, such as a backup, may keep the log from starting again.
    dueAt = pages + MAX_PAGES;
    running = run();
  }

  return {
    /** True while the thread holds the write lock. */
    isRestarting: () => isRestarting,
    startIfDue,
    async close() {
      isClosing = true;
      await running;
      thread.close();
    },
  };
}
