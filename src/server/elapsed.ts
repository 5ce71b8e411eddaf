import type { ReadTx, WriteTx } from '../../db/engine.ts';
import { findObservation, saveObservation } from '../integrations/uptime.ts';
import { tidings } from '../lib/build.ts';
import type { Logger } from '../lib/log.ts';
import {
  type BootClock,
  type Clock,
  type ClockState,
  elapsedMs,
  firstObservation,
  jumpMs,
  MAX_DRIFT_MS,
  nextSweepMs,
  observe,
  span,
  systemBootClock,
  systemClock,
} from '../lib/time.ts';
import type { Deps } from '../people/deps.ts';

export type Elapsed = ReturnType<typeof createElapsed>;

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
