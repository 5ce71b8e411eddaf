import { InvalidArgumentError } from 'commander';
import { DAY_MS, parseTime } from '../lib/time.ts';

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

const SPAN = /^(\d{1,5})([mhd])$/;
const SPAN_MS: Record<string, number> = { m: 60_000, h: 3_600_000, d: DAY_MS };

/** A time as ISO 8601, or a span back from now: checked here, read by `sinceWhen`. */
export function timeOrSpan(text: string): string {
  if (SPAN.test(text) || parseTime(text) !== null) return text;
  throw new InvalidArgumentError('It must be an ISO 8601 time, or a span such as 90m, 24h or 30d.');
}

/** The time that `timeOrSpan` let through. */
export function sinceWhen(text: string, now: Date): Date {
  const [, amount = '0', unit = ''] = SPAN.exec(text) ?? [];
  return parseTime(text) ?? new Date(now.getTime() - Number(amount) * (SPAN_MS[unit] ?? 0));
}

/** How much of standard input may be a token, in characters. */
const MAX_INPUT = 10_000;

/** A token as it was given, or what standard input says for `-`: so that it stands in no list of processes. */
export async function readToken(given: string): Promise<string> {
  if (given !== '-') return given;
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of Bun.stdin.stream()) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > MAX_INPUT) break;
  }
  return text;
}
