import { setImmediate as letOthersIn } from 'node:timers/promises';
import { invalidField } from './app-error.ts';

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
