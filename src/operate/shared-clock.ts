import type { Logger } from '../lib/log.ts';
import { type Clock, systemClock } from '../lib/time.ts';

// The clock of processes that share a database is the database server's: what one of them stores as a deadline is due at the
// same moment for all. Between two looks it counts on by a clock that only grows, whatever the machine's own clock does.

/** How often a process looks, in milliseconds. */
export const LOOK_MS = 10_000;

/** A difference of the machine's clock that is worth a word, in milliseconds. */
const MAX_OFF_MS = 1_000;

/** A look that takes longer counts only where nothing better is known, in milliseconds. */
const MAX_TRIP_MS = 1_000;

interface Needs {
  /** The database server's time, in milliseconds since 1970. */
  readNow: () => Promise<number>;
  log: Pick<Logger, 'info' | 'warn'>;
  ownClock?: Clock;
  elapsedMs?: () => number;
}

export type SharedClock = Awaited<ReturnType<typeof openSharedClock>>;

/** Looks at the database server's clock once, and again at each `follow`. Rejects when it cannot be read. */
export async function openSharedClock({
  readNow,
  log,
  ownClock = systemClock,
  elapsedMs = () => performance.now(),
}: Needs) {
  const look = async () => {
    const startedAt = elapsedMs();
    const read = await readNow();
    const at = elapsedMs();
    const halfMs = (at - startedAt) / 2;
    return { ms: read + halfMs, at, halfMs };
  };
  let base = await look();
  const now = () => base.ms + elapsedMs() - base.at;
  let isOff = false;

  /** Says that the machine's clock differs, once until it no longer does. */
  function compare(): void {
    const offMs = ownClock.now().getTime() - now();
    const wasOff = isOff;
    isOff = Math.abs(offMs) - base.halfMs > MAX_OFF_MS;
    if (isOff && !wasOff) {
      const side = offMs > 0 ? 'ahead of' : 'behind';
      const seconds = (Math.abs(offMs) / 1_000).toFixed(1);
      log.warn(
        { offMs: Math.round(offMs) },
        `the clock of this machine is ${seconds} s ${side} that of the database server, which Tidings follows. Run an NTP client on both`,
      );
    }
    if (!isOff && wasOff) log.info('the clock of this machine agrees with that of the database server again');
  }
  compare();

  return {
    clock: { now: () => new Date(now()) } satisfies Clock,
    async follow(): Promise<void> {
      const seen = await look();
      // Within the uncertainty of a look, it goes on steadily.
      const differsBy = Math.abs(seen.ms - (base.ms + seen.at - base.at));
      const isBetter = seen.halfMs <= Math.max(MAX_TRIP_MS / 2, base.halfMs);
      if (isBetter && differsBy > seen.halfMs) base = seen;
      compare();
    },
  };
}
