import { parseTime } from './time.ts';

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
