import type { Database as Sqlite } from 'bun:sqlite';
import { codeOf, messageOf } from '../../src/lib/app-error.ts';
import { isLocked } from '../failures.ts';

/** `left`: nothing was copied, because others use the log. A failure has SQLite's code and words. */
export type CheckpointOutcome = 'done' | 'left' | { failure: string };

/** Copies as much of the log as readers allow into the database. Blocks no writer. */
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
