import { readFileSync } from 'node:fs';
import { randomToken } from './text.ts';
import { DAY_MS } from './time.ts';

// Elapsed time, which a wrong wall clock cannot change. Claims and retention count by it: a clock that once shows 2036
// must neither delete ten years of rows nor forget the deliveries of a minute ago.

/** How far the wall clock may differ from the expected time before that is a jump, in milliseconds. */
export const MAX_DRIFT_MS = 60_000;

/** How long the wall clock must agree with a new time before Tidings believes it, in milliseconds of elapsed time. */
const STABLE_MS = DAY_MS;

/** A clock that only grows, in whole milliseconds. `id` differs where two readings cannot be compared. */
export interface BootClock {
  readonly id: string;
  ms(): number;
}

/** The observations that processes share. All times are whole milliseconds. */
export interface ClockState {
  /** Elapsed time. Starts as the wall clock, and then grows only as time passes. */
  elapsedMs: number;
  /** The last observation: the wall clock, and the boot clock with its id. */
  wallMs: number;
  bootId: string;
  bootMs: number;
  /** The trusted wall clock is `elapsedMs + offsetMs`. */
  offsetMs: number;
  /** Another offset that the wall clock shows, and the elapsed time since when. Null: none. */
  newOffsetMs: number | null;
  newSinceMs: number | null;
  /** The trusted time up to which the last sweep removed expired rows, plus the time that has elapsed since. */
  sweptToMs: number;
}

export interface Observation {
  wallMs: number;
  boot: BootClock;
}

/** The time since the machine started, suspended or not. Elsewhere than on Linux: since this process started. */
export function systemBootClock(): BootClock {
  try {
    const id = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    // Not `os.uptime()`, which counts whole seconds.
    const ms = () => Math.round(Number(readFileSync('/proc/uptime', 'utf8').split(' ', 1)[0]) * 1000);
    if (id !== '' && Number.isFinite(ms())) return { id, ms };
  } catch {
    // A container may hide both.
  }
  return { id: randomToken(12), ms: () => Math.round(performance.now()) };
}

/** The first observation: trusts the wall clock, because nothing else is known. */
export function firstObservation({ wallMs, boot }: Observation): ClockState {
  return {
    elapsedMs: wallMs,
    wallMs,
    bootId: boot.id,
    bootMs: boot.ms(),
    offsetMs: 0,
    newOffsetMs: null,
    newSinceMs: null,
    sweptToMs: wallMs,
  };
}

/** The elapsed time now. After a restart of the machine, a pause of up to a day by the wall clock counts. */
export function elapsedMs(state: ClockState, { wallMs, boot }: Observation): number {
  if (boot.id === state.bootId) return state.elapsedMs + Math.max(0, boot.ms() - state.bootMs);
  const pauseMs = wallMs - state.wallMs;
  return state.elapsedMs + (pauseMs >= 0 && pauseMs <= DAY_MS ? pauseMs : 0);
}

/** How far the wall clock differs from the trusted time, in milliseconds; 0 within the drift of clocks. */
export function jumpMs(state: ClockState, now: Observation): number {
  const jump = now.wallMs - elapsedMs(state, now) - state.offsetMs;
  return Math.abs(jump) <= MAX_DRIFT_MS ? 0 : jump;
}

/** Believes a wall clock that drifts at once, and one that jumped when it has been stable for a day or `isConfirmed`. */
export function observe(state: ClockState, now: Observation, isConfirmed = false): ClockState {
  const elapsed = elapsedMs(state, now);
  const offset = now.wallMs - elapsed;
  const isNear = (other: number) => Math.abs(offset - other) <= MAX_DRIFT_MS;
  const since = state.newOffsetMs !== null && isNear(state.newOffsetMs) ? state.newSinceMs : null;
  const isStable = since !== null && elapsed - since >= STABLE_MS;
  const isTrusted = isConfirmed || isNear(state.offsetMs) || isStable;
  return {
    elapsedMs: elapsed,
    wallMs: now.wallMs,
    bootId: now.boot.id,
    bootMs: now.boot.ms(),
    offsetMs: isTrusted ? offset : state.offsetMs,
    newOffsetMs: isTrusted ? null : offset,
    newSinceMs: isTrusted ? null : (since ?? elapsed),
    // As if the clock had not jumped.
    sweptToMs: state.sweptToMs + elapsed - state.elapsedMs,
  };
}

/** The trusted time up to which rows may be removed: the last sweep's, and a day more at most, never ahead of the wall clock. */
export function nextSweepMs({ elapsedMs, offsetMs, wallMs, sweptToMs }: ClockState): number {
  return Math.min(elapsedMs + offsetMs, wallMs, sweptToMs + DAY_MS);
}
