import type { ReadTx, WriteTx } from '../../db/engine.ts';
import type { Deps } from '../deps.ts';
import { tidings } from '../lib/build.ts';
import {
  type BootClock,
  type ClockState,
  elapsedMs,
  firstObservation,
  jumpMs,
  MAX_DRIFT_MS,
  nextSweepMs,
  observe,
  systemBootClock,
} from '../lib/elapsed.ts';
import { span } from '../lib/time.ts';
import { findObservation, saveObservation } from './uptime-store.ts';

export type Elapsed = ReturnType<typeof createElapsed>;

/** The times up to which a sweep removes rows. */
export interface SweepTimes {
  asOf: Date;
  /** For text that a person wrote: a clock that jumped removes none of it in the first sweep. */
  textAsOf: Date;
  /** In elapsed time. */
  claimsAsOf: Date;
}

/**
 * Elapsed time as this process knows it, in milliseconds. The database has the shared observation, which each sweep
 * renews.
 */
export function createElapsed({ clock }: Pick<Deps, 'clock'>, boot: BootClock = systemBootClock()) {
  const now = () => ({ wallMs: clock.now().getTime(), boot });
  let state = firstObservation(now());
  /** The wall clock less the boot clock. */
  let offsetMs = state.wallMs - state.bootMs;

  async function load(tx: ReadTx): Promise<void> {
    // From here on by the boot clock of this process, whoever made the observation.
    state = observe((await findObservation(tx)) ?? state, now());
  }

  /** The clocks and times of a sweep now. A person vouches for `confirmed`, and by it for a wall clock that has reached it. */
  function see(confirmed?: Date): { next: ClockState; times: SweepTimes } {
    const seen = now();
    const isConfirmed = confirmed !== undefined && confirmed.getTime() <= seen.wallMs;
    const next = observe(state, seen, isConfirmed);
    const sweptToMs = isConfirmed ? confirmed.getTime() : nextSweepMs(next);
    const aheadMs = confirmed === undefined ? 0 : confirmed.getTime() - next.wallMs;
    const times = {
      asOf: confirmed ?? new Date(sweptToMs),
      textAsOf: confirmed ?? new Date(Math.min(next.sweptToMs, sweptToMs)),
      claimsAsOf: new Date(next.elapsedMs + aheadMs),
    };
    return { next: { ...next, sweptToMs }, times };
  }

  return {
    /** Grows only as time passes, however the wall clock jumps. */
    nowMs: () => elapsedMs(state, now()),

    /** How far the wall clock differs from the time that Tidings trusts; 0 normally. */
    jumpMs: () => jumpMs(state, now()),

    /**
     * The wall clock, and what it would show without a jump since the start until sweeps believe that. A start believes it: the
     * machine may have been off for days.
     */
    dueAt(): Date {
      const seen = now();
      const bootMs = boot.ms();
      const shownMs = seen.wallMs - bootMs;
      if (Math.abs(shownMs - offsetMs) <= MAX_DRIFT_MS || jumpMs(state, seen) === 0) offsetMs = shownMs;
      return new Date(bootMs + offsetMs);
    },

    /** Continues from the last observation of any process. */
    load,

    /** The times of a sweep, which this begins. Those of `confirmed` where a person gave it. */
    async beginSweep(tx: WriteTx, confirmed?: Date): Promise<SweepTimes> {
      await load(tx);
      const { next, times } = see(confirmed);
      state = next;
      await saveObservation(tx, next);
      return times;
    },

    /** The times of a sweep now, without beginning one. */
    async planSweep(tx: ReadTx, confirmed?: Date): Promise<SweepTimes> {
      await load(tx);
      return see(confirmed).times;
    },
  };
}

/** A jump of the wall clock in words; null without one. */
export function describeJump(jumpMs: number): { problem: string; advice: string } | null {
  if (jumpMs === 0) return null;
  const direction = jumpMs > 0 ? 'forward' : 'back';
  return {
    problem: `The clock jumped ${direction} by ${span(Math.abs(jumpMs))}. Until it has been stable for a day, expired rows are removed by elapsed time`,
    advice: `Check the clock of this machine. If it is right, run: ${tidings} sweep --as-of TIME, with the current time`,
  };
}
