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

/** A day of 24 hours, in milliseconds. */
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

/** `date`: its year, month and day. */
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
