import type { Clock } from '../../src/lib/time.ts';

/** A clock that stands still until a test moves it. */
export interface MovableClock extends Clock {
  advance(ms: number): void;
  set(iso: string): void;
}

export function fixedClock(iso = '2026-11-20T12:00:00.000Z'): MovableClock {
  let time = Date.parse(iso);
  return {
    now: () => new Date(time),
    advance(ms) {
      time += ms;
    },
    set(next) {
      time = Date.parse(next);
    },
  };
}
