import { findNewestDeliveryTime } from '../deliveries/count-store.ts';
import type { Deps } from '../deps.ts';

/** Clocks that are kept right are moved by less. */
const TOLERANCE_MS = 5 * 60_000;

/**
 * Says in the log when the clock is behind the newest delivery: it was set back. Nothing is lost by that, and nothing
 * processed twice; but new entries stand below older ones, and what was to be done later is done later still.
 */
export async function warnOfClock({ db, clock, log }: Pick<Deps, 'db' | 'clock' | 'log'>): Promise<void> {
  const now = clock.now();
  const newest = await findNewestDeliveryTime(db);
  if (newest === null || newest.getTime() - now.getTime() <= TOLERANCE_MS) return;
  log.warn(
    { now: now.toISOString(), newestDelivery: newest.toISOString() },
    'the clock of this machine is behind the newest delivery: was it set back?',
  );
}
