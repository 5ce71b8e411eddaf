import { inCommits, repeatStep } from '../../db/commits.ts';
import type { WriteTx } from '../../db/engine.ts';
import { deleteExpiredAudit } from '../audit/store.ts';
import { countExpired } from '../deliveries/count-store.ts';
import {
  deleteExpiredClaims,
  deleteExpiredDeliveries,
  deleteExpiredResults,
  deletePastCounts,
} from '../deliveries/store.ts';
import type { Deps } from '../deps.ts';
import { deleteExpiredThrottles } from '../http/throttle-store.ts';
import { deleteExpiredTrash } from '../posts/trash-store.ts';
import { deleteExpiredMessages } from '../rebuild/message-store.ts';
import { deleteOrphanedRanges } from '../triggers/range-store.ts';
import { deleteExpiredFormMarks } from '../users/form-mark-store.ts';
import { countExpiredSessions, deleteExpiredSessions } from '../users/store.ts';

/** Rows of a step. Each is in up to seven indexes. */
const STEP_ROWS = 10;

/**
 * Deletes what has expired at `asOf`: delivery ids after 24 hours, log entries with their results and audit events after
 * their retention, messages of hooks, limits on guessing, marks of forms, and posts in the trash after 30 days. `signal`
 * ends it between two commits.
 */
export async function sweep({ db }: Pick<Deps, 'db'>, asOf: Date, signal?: AbortSignal) {
  async function drain(
    deleteExpired: (tx: WriteTx, asOf: Date, limit: number) => Promise<number>,
  ): Promise<number> {
    let total = 0;
    const deleteSome = (tx: WriteTx, hasTime: () => boolean) =>
      repeatStep(hasTime, () => deleteExpired(tx, asOf, STEP_ROWS));
    // With a key, because deliveries go on meanwhile.
    for await (const deleted of inCommits(db, deleteSome, { key: 'sweep', signal })) total += deleted;
    return total;
  }
  const deliveryIds = await drain(deleteExpiredClaims);
  const logs = await drain(deleteExpiredDeliveries);
  // Not counted: scripts read `logs` as entries of the delivery log.
  const others = [
    deleteExpiredResults,
    deletePastCounts,
    deleteExpiredAudit,
    deleteExpiredThrottles,
    deleteExpiredFormMarks,
    deleteExpiredTrash,
    deleteOrphanedRanges,
    deleteExpiredMessages,
  ];
  for (const deleteExpired of others) await drain(deleteExpired);
  return { deliveryIds, logs, sessions: await db.write((tx) => deleteExpiredSessions(tx, asOf)) };
}

/** Counts the rows that `sweep` would remove. */
export function planSweep({ db }: Pick<Deps, 'db'>, asOf: Date) {
  return db.read(async (tx) => ({
    ...(await countExpired(tx, asOf)),
    sessions: await countExpiredSessions(tx, asOf),
  }));
}
