import { readFileSync } from 'node:fs';
import { setImmediate as letOthersIn } from 'node:timers/promises';
import { invalidField } from './app-error.ts';
import { randomToken } from './text.ts';

/** The source of the time. Tests move it; nothing else calls `Date.now()`. */
export interface Clock {
  now(): Date;
}

export const systemClock: Clock = { now: () => new Date() };

/** Ends this turn of the event loop, so that pending requests run first. */
export { letOthersIn };

/** How long work may hold the thread before it lets others in, in milliseconds. */
const TURN_MS = 2;

/**
 * How many turns of the event loop others get. The first reads requests. The write queue may rest until it sees a whole
 * turn without work, whichever of the two comes first in a turn.
 */
const FREE_TURNS = 3;

/** Lets pending requests run first. */
export async function freeTurns(): Promise<void> {
  for (let count = 0; count < FREE_TURNS; count++) await letOthersIn();
}

/** Returns a function for long work to await often: it lets others in whenever a turn has passed. */
export function turns(): () => Promise<void> {
  let began = performance.now();
  return async () => {
    if (performance.now() - began < TURN_MS) return;
    await freeTurns();
    began = performance.now();
  };
}

export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

/** A duration in words: minutes, hours, or days. */
export function span(ms: number): string {
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min`;
  return ms < 2 * DAY_MS ? `${Math.floor(ms / 3_600_000)} h` : `${Math.floor(ms / DAY_MS)} days`;
}

const ISO_8601 = /^\d{4}-(\d\d)-(\d\d)(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d))?$/;

/**
 * Parses an ISO 8601 date (midnight UTC) or a time with its offset. Null for anything else, such as a day that no
 * calendar has, a time without an offset, and years outside 0000 to 9999 in UTC.
 */
export function parseTime(text: string): Date | null {
  const [matched, month, day] = ISO_8601.exec(text.trim()) ?? [];
  if (matched === undefined) return null;
  const time = new Date(matched.replace(' ', 'T'));
  const year = time.getUTCFullYear();
  // Other years are written with a sign and six digits, and no longer sort as time does. NaN fails too.
  if (!(year >= 0 && year <= 9999)) return null;
  // JavaScript rolls 30 February over into March.
  return Number(day) <= 28 || isOfMonth(matched.slice(0, 10), Number(month)) ? time : null;
}

function isOfMonth(date: string, month: number): boolean {
  return new Date(`${date}T00:00:00Z`).getUTCMonth() + 1 === month;
}

/** An expiry in UTC with milliseconds, for storage. Throws `AppError` 400 when it is no time or has passed. */
export function requireFuture(expiresAt: string | null, now: Date): string | null {
  if (expiresAt === null) return null;
  const time = parseTime(expiresAt);
  const expected = 'must be an ISO 8601 time, such as 2027-01-31T00:00:00Z';
  if (time === null) throw invalidField('expiresAt', `${expected}, not ${expiresAt}`);
  if (time <= now) throw invalidField('expiresAt', `must be in the future, and ${expiresAt} has passed`);
  return time.toISOString();
}

// Times as people type and read them: on the clock of a time zone.

const NAME = /^[A-Za-z][\w+/-]{0,63}$/;

/** An IANA name, such as `Europe/Berlin` or `UTC`. */
export function isTimeZone(name: string): boolean {
  if (!NAME.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

const LOCAL = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?))?$/;

/**
 * Parses a time without an offset as one in the time zone, a date as its midnight there, and any other time as `parseTime`
 * does. Clocks that are set back
 * show a time twice: it means the earlier one. `isMoved`: clocks that are set forward skip the time, so it is as much
 * later. Null for anything else.
 */
export function parseInZone(text: string, timeZone: string): { time: Date; isMoved: boolean } | null {
  const [, day, time = '00:00'] = LOCAL.exec(text.trim()) ?? [];
  if (day === undefined) {
    const exact = parseTime(text);
    return exact && { time: exact, isMoved: false };
  }
  try {
    const local = Temporal.PlainDateTime.from(`${day}T${time}`, { overflow: 'reject' });
    const zoned = local.toZonedDateTime(timeZone, { disambiguation: 'compatible' });
    return {
      time: new Date(zoned.epochMilliseconds),
      isMoved: !zoned.toPlainDateTime().equals(local),
    };
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** The value of a `datetime-local` field, to the minute. */
export function localTime(time: Date, timeZone: string): string {
  const zoned = Temporal.Instant.fromEpochMilliseconds(time.getTime()).toZonedDateTimeISO(timeZone);
  return zoned.toPlainDateTime().toString({ smallestUnit: 'minute' });
}

/** To the minute, such as "24 Nov 2026, 09:00 (Europe/Berlin)". */
export function formatInZone(time: Date, timeZone: string): string {
  const text = new Intl.DateTimeFormat('en-GB', {
    dateStyle: 'medium',
    timeStyle: 'short',
    hourCycle: 'h23',
    timeZone,
  }).format(time);
  return timeZone === 'UTC' ? `${text} UTC` : `${text} (${timeZone})`;
}

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
