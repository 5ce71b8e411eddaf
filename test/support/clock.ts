import type { Clock } from '../../src/lib/time.ts';

/** A clock that stands still until a test moves it. */
export interface MovableClock extends Clock {
  /** Lets time pass. */
  advance(ms: number): void;
  /** Lets time pass until then. */
  set(iso: string): void;
  /** Sets the wall clock wrong: no time passes. */
  jump(ms: number): void;
  /** The time that has passed, in milliseconds. */
  elapsedMs(): number;
}

export function fixedClock(iso = '2026-11-20T12:00:00.000Z'): MovableClock {
  let time = Date.parse(iso);
  let elapsed = 0;
  return {
    now: () => new Date(time),
    advance(ms) {
      time += ms;
      elapsed += ms;
    },
    set(next) {
      elapsed += Math.max(0, Date.parse(next) - time);
      time = Date.parse(next);
    },
    jump(ms) {
      time += ms;
    },
    elapsedMs: () => elapsed,
  };
}
