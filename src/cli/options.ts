import { InvalidArgumentError } from 'commander';
import { parseTime } from '../lib/time.ts';

// Readers of option values. A value that is wrong is words that are wrong: exit code 2.

/** A whole number within bounds. */
export function whole(minimum: number, maximum: number) {
  return (text: string): number => {
    const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= minimum && value <= maximum) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${minimum} to ${maximum}.`);
  };
}

/** A time as ISO 8601, in UTC with milliseconds. */
export function isoTime(text: string): string {
  const time = parseTime(text);
  if (time !== null) return time.toISOString();
  throw new InvalidArgumentError('It must be an ISO 8601 date or time, such as 2026-01-31.');
}
