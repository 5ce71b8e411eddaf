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

/** Rejects as soon as `signal` is aborted, whatever becomes of the work. */
export function unlessAborted<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort);
  // The slower one may fail later.
  work.catch(() => undefined);
  promise.catch(() => undefined);
  return Promise.race([work, promise]).finally(() => signal.removeEventListener('abort', onAbort));
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

// Times as people type and read them: on the clock of a time zone. All text about times is made here.

/** Names are never longer: the bound keeps nonsense away from the runtime's cache of zones. */
const MAX_ZONE_LENGTH = 40;

/** An IANA name such as `Europe/Berlin` in its usual case; null for a text that names no zone. */
export function knownZone(text: string | null | undefined): string | null {
  const isName = /^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+)*$/;
  if (!text || text.length > MAX_ZONE_LENGTH || !isName.test(text)) return null;
  try {
    return onClock(0, text).timeZoneId;
  } catch {
    return null;
  }
}

type Time = Date | string | number;

const onClock = (at: Time, timeZone: string) =>
  Temporal.Instant.fromEpochMilliseconds(new Date(at).getTime()).toZonedDateTimeISO(timeZone);

const LOCAL = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?))?$/;

/** Clocks that are set forward skip the time, and those that are set back show it twice. */
type ClockChange = 'skipped' | 'repeated';

export interface ZonedTime {
  time: Date;
  clockChange: ClockChange | null;
}

/**
 * Parses a time without an offset as one in the time zone, a date as its midnight there, and any other time as `parseTime`
 * does. A skipped time is as much later, and of a repeated one it returns the first. Null for anything else.
 */
export function parseInZone(text: string, timeZone: string): ZonedTime | null {
  const [, day, time = '00:00'] = LOCAL.exec(text.trim()) ?? [];
  if (day === undefined) {
    const exact = parseTime(text);
    return exact && { time: exact, clockChange: null };
  }
  try {
    const local = Temporal.PlainDateTime.from(`${day}T${time}`, { overflow: 'reject' });
    const zoned = local.toZonedDateTime(timeZone, { disambiguation: 'compatible' });
    const isSkipped = !zoned.toPlainDateTime().equals(local);
    return {
      time: new Date(zoned.epochMilliseconds),
      clockChange: isSkipped ? 'skipped' : isRepeated(zoned) ? 'repeated' : null,
    };
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function isRepeated(zoned: Temporal.ZonedDateTime): boolean {
  const local = zoned.toPlainDateTime();
  const offsetOf = (disambiguation: 'earlier' | 'later') =>
    local.toZonedDateTime(zoned.timeZoneId, { disambiguation }).offset;
  return offsetOf('earlier') !== offsetOf('later');
}

/** Which time Tidings took, after a sentence. Empty for a time that occurs once. */
export function describeClockChange(change: ClockChange | null): string {
  if (change === null) return '';
  return change === 'skipped'
    ? ' The clocks go forward that night, so the time you chose does not exist.'
    : ' The clocks go back that night, so the time you chose comes twice. This is the first of the two.';
}

/** The value of a `datetime-local` field, to the minute. */
export function localTime(time: Time, timeZone: string): string {
  return onClock(time, timeZone).toPlainDateTime().toString({ smallestUnit: 'minute' });
}

const months = [
  ...['January', 'February', 'March', 'April', 'May', 'June'],
  ...['July', 'August', 'September', 'October', 'November', 'December'],
];

/** Such as "November 2026", in UTC. */
export function formatMonth(at: Time): string {
  const { month, year } = onClock(at, 'UTC');
  return `${months[month - 1]} ${year}`;
}

/** Such as "November 24, 2026": the date of a post for its readers. */
export function formatLongDay(at: Time, timeZone = 'UTC'): string {
  const { month, day, year } = onClock(at, timeZone);
  return `${months[month - 1]} ${day}, ${year}`;
}

/** Such as "Nov 24". */
export function formatShortDay(at: Time, timeZone: string): string {
  const { month, day } = onClock(at, timeZone);
  return `${months[month - 1]?.slice(0, 3)} ${day}`;
}

/** Such as "Nov 24, 2026". */
export function formatDay(at: Time, timeZone: string): string {
  return `${formatShortDay(at, timeZone)}, ${onClock(at, timeZone).year}`;
}

/** Such as "Nov 24, 2026, 09:00", where the page names the zone. An hour that comes twice has its offset. */
export function formatTime(at: Time, timeZone: string, smallestUnit: 'minute' | 'second' = 'minute'): string {
  const zoned = onClock(at, timeZone);
  const text = `${formatDay(at, timeZone)}, ${zoned.toPlainTime().toString({ smallestUnit })}`;
  return isRepeated(zoned) ? `${text} ${offsetIn(zoned)}` : text;
}

/** To copy elsewhere: to the second, and with its offset unless the zone is UTC, such as "Nov 24, 2026, 09:00:12 UTC+1". */
export function formatExactly(at: Time, timeZone: string): string {
  const zoned = onClock(at, timeZone);
  const clock = zoned.toPlainTime().toString({ smallestUnit: 'second' });
  const text = `${formatDay(at, timeZone)}, ${clock}`;
  return timeZone === 'UTC' ? text : `${text} ${offsetIn(zoned)}`;
}

/** With its zone, for a text that no page surrounds, such as "Nov 24, 2026, 09:00 (Europe/Berlin)". */
export function formatInZone(at: Time, timeZone: string): string {
  return `${formatTime(at, timeZone)} ${timeZone === 'UTC' ? timeZone : `(${timeZone})`}`;
}

/** Such as "UTC+5:30". */
function offsetIn({ offset }: Temporal.ZonedDateTime): string {
  const [, sign, hours, minutes] = /^([+-])0?(\d+):(\d\d)/.exec(offset) ?? [];
  if (hours === '0' && minutes === '00') return 'UTC';
  return `UTC${sign}${hours}${minutes === '00' ? '' : `:${minutes}`}`;
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

/** Rejects with `late()` when `work` takes longer. The work continues, and its result is dropped. */
export function within<Result>(ms: number, work: Promise<Result>, late: () => Error): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(late()), ms);
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
}
