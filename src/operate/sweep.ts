import { inCommits, repeatStep } from '../../db/commits.ts';
import type { WriteTx } from '../../db/engine.ts';
import { deleteExpiredAudit } from '../audit/store.ts';
import {
  countExpiredClaims,
  countExpiredEntries,
  FIRST_COUNT,
  foldPastCounts,
} from '../deliveries/count-store.ts';
import { deleteExpiredClaims, deleteExpiredDeliveries, deleteExpiredResults } from '../deliveries/store.ts';
import type { Deps } from '../deps.ts';
import { deleteExpiredThrottles } from '../http/throttle-store.ts';
import { deleteExpiredTrash } from '../posts/trash-store.ts';
import { deleteExpiredSlugs } from '../public/store.ts';
import { deleteExpiredMessages } from '../rebuild/message-store.ts';
import { deleteOrphanedRanges } from '../triggers/range-store.ts';
import { deleteExpiredFormMarks } from '../users/form-mark-store.ts';
import { countExpiredSessions, deleteExpiredSessions } from '../users/store.ts';
import type { Elapsed } from './elapsed.ts';

/** How many times as many counts are looked at in a step as rows of a log are removed: they are small. */
const COUNTS = 20;

type Needs = Pick<Deps, 'db'> & { elapsed: Elapsed };

interface SweepOptions {
  /** A person vouches that the rows that expired by this time may go. Absent: as elapsed time allows. */
  confirmed?: Date | undefined;
  /** Ends the sweep between two commits. */
  signal?: AbortSignal | undefined;
}

/**
 * Deletes what has expired: delivery ids after 24 hours, log entries with their results and audit events after their
 * retention, messages of hooks, limits on guessing, marks of forms, former slugs after a year, and posts in the trash after
 * 30 days.
 */
export async function sweep({ db, elapsed }: Needs, { confirmed, signal }: SweepOptions = {}) {
  const { asOf, textAsOf, claimsAsOf } = await db.write((tx) => elapsed.beginSweep(tx, confirmed), {
    key: 'sweep',
  });
  async function drain(
    deleteExpired: (tx: WriteTx, asOf: Date, limit: number) => Promise<number>,
    until = asOf,
  ): Promise<number> {
    let total = 0;
    const deleteSome = (tx: WriteTx, hasTime: () => boolean) =>
      repeatStep(hasTime, () => deleteExpired(tx, until, db.pace.stepRows));
    // With a key, because deliveries go on meanwhile.
    for await (const deleted of inCommits(db, deleteSome, { key: 'sweep', signal })) total += deleted;
    return total;
  }
  const deliveryIds = await drain(deleteExpiredClaims, claimsAsOf);
  const logs = await drain(deleteExpiredDeliveries);
  // Not counted: scripts read `logs` as entries of the delivery log.
  const others = [
    deleteExpiredResults,
    deleteExpiredAudit,
    deleteExpiredThrottles,
    deleteExpiredFormMarks,
    deleteOrphanedRanges,
    deleteExpiredMessages,
    deleteExpiredSlugs,
  ];
  for (const deleteExpired of others) await drain(deleteExpired);
  await drain(deleteExpiredTrash, textAsOf);
  let after = FIRST_COUNT;
  const fold = async (tx: WriteTx) => {
    const result = await foldPastCounts(tx, asOf, after, COUNTS * db.pace.stepRows);
    return { result, hasMore: result !== null };
  };
  for await (const last of inCommits(db, fold, { key: 'sweep', signal })) after = last ?? after;
  return { deliveryIds, logs, sessions: await db.write((tx) => deleteExpiredSessions(tx, asOf)) };
}

/** Counts the rows that `sweep` would remove. */
export function planSweep({ db, elapsed }: Needs, { confirmed }: Pick<SweepOptions, 'confirmed'> = {}) {
  return db.read(async (tx) => {
    const { asOf, claimsAsOf } = await elapsed.planSweep(tx, confirmed);
    return {
      deliveryIds: await countExpiredClaims(tx, claimsAsOf),
      logs: await countExpiredEntries(tx, asOf),
      sessions: await countExpiredSessions(tx, asOf),
    };
  });
}
