import { deleteExpiredAudit } from '../../audit/store.ts';
import { countExpired } from '../../deliveries/count-store.ts';
import { deleteExpiredClaims, deleteExpiredDeliveries } from '../../deliveries/store.ts';
import type { Deps } from '../../deps.ts';
import { countExpiredSessions, deleteExpiredSessions } from '../../users/session-store.ts';

/** How much one batch deletes: about a millisecond, so that a request that comes in between hardly waits. */
const BATCH = 100;

/** How long the sweeper rests after a full batch: requests then wait hardly, and a sweep takes twice as long. */
const REST_MS = 5;

/** What a sweep removed, or would remove. */
export interface Swept {
  deliveryIds: number;
  logs: number;
  /** Expired sign-ins. */
  sessions: number;
}

/**
 * Deletes what has outlived its time at `asOf`: delivery ids after 24 hours, log entries and audit events after their
 * retention.
 * In small batches, each a commit of its own, with a rest between them. `signal` ends it early, between two batches.
 */
export async function sweep({ db }: Pick<Deps, 'db'>, asOf: Date, signal?: AbortSignal): Promise<Swept> {
  const deliveryIds = await drain(() => db.write((tx) => deleteExpiredClaims(tx, asOf, BATCH)), signal);
  const logs = await drain(() => db.write((tx) => deleteExpiredDeliveries(tx, asOf, BATCH)), signal);
  // Not counted: scripts read `logs` as entries of the delivery log.
  await drain(() => deleteExpiredAudit(db, asOf, BATCH), signal);
  return { deliveryIds, logs, sessions: await deleteExpiredSessions(db, asOf) };
}

/** What `sweep` would remove. */
export async function planSweep({ db }: Pick<Deps, 'db'>, asOf: Date): Promise<Swept> {
  return { ...(await countExpired(db, asOf)), sessions: await countExpiredSessions(db, asOf) };
}

async function drain(deleteBatch: () => Promise<number>, signal?: AbortSignal): Promise<number> {
  let total = 0;
  while (signal?.aborted !== true) {
    const deleted = await deleteBatch();
    total += deleted;
    if (deleted < BATCH) break;
    await Bun.sleep(REST_MS);
  }
  return total;
}
