import type { Clock } from '../lib/clock.ts';

/** How many attempts may fail before somebody has to wait. */
const FREE_ATTEMPTS = 5;

/** The longest wait, in milliseconds: who forgot a password is locked out for no longer. */
const MAX_WAIT_MS = 60_000;

/** How many names are remembered; of more, the one that failed longest ago is forgotten. */
const MAX_NAMES = 10_000;

interface Failures {
  count: number;
  until: number;
}

/** Slows down guessing: each name that failed too often has to wait, longer each time. Kept in memory. */
export function createThrottle(clock: Clock) {
  const failures = new Map<string, Failures>();
  return {
    /** How long the name has to wait, in milliseconds; 0 when it may try. */
    waitMs(name: string): number {
      const until = failures.get(name)?.until ?? 0;
      return Math.max(0, until - clock.now().getTime());
    },
    failed(name: string): void {
      const count = (failures.get(name)?.count ?? 0) + 1;
      const waitMs = count < FREE_ATTEMPTS ? 0 : Math.min(MAX_WAIT_MS, 1_000 * 2 ** (count - FREE_ATTEMPTS));
      failures.delete(name);
      failures.set(name, { count, until: clock.now().getTime() + waitMs });
      const [oldest] = failures.keys();
      if (failures.size > MAX_NAMES && oldest !== undefined) failures.delete(oldest);
    },
    succeeded(name: string): void {
      failures.delete(name);
    },
  };
}
export type Throttle = ReturnType<typeof createThrottle>;
