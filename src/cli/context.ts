import { type Command, InvalidArgumentError } from 'commander';
import { DAY_MS, parseTime } from '../lib/time.ts';
import { type Environment, readConfig } from '../server/config.ts';
import { openServices, type Services } from '../server/services.ts';
import { optionOf, settingNames } from '../server/settings.ts';
import { note } from './help.ts';
import type { Terminal } from './output.ts';

export interface CliContext {
  readonly terminal: Terminal;
  /** Absent: the environment of the process. */
  readonly environment?: Environment;
}

/** The work failed, and the command has reported it. */
export class WorkFailed extends Error {
  override readonly name = 'WorkFailed';
}

/** Adds every setting as an option. --data-dir belongs to every command. */
export function addSettings(command: Command): Command {
  for (const name of settingNames) if (name !== 'DATA_DIR') command.option(...optionOf(name));
  return note(command, 'An option can also be set by the environment variable in brackets. The option wins.');
}

/** The given flags, by the environment variable of each. */
export function flagsOf(command: Command): Record<string, string> {
  const given = Object.entries(command.optsWithGlobals()).filter(([, value]) => typeof value === 'string');
  return Object.fromEntries(
    given.map(([name, value]) => [name.replaceAll(/[A-Z]/g, '_$&').toUpperCase(), value]),
  );
}

export async function withServices<Result>(
  { environment }: CliContext,
  command: Command,
  work: (services: Services) => Promise<Result>,
): Promise<Result> {
  const services = await openServices(readConfig({ DATA_DIR: flagsOf(command).DATA_DIR }, environment));
  try {
    return await work(services);
  } finally {
    await services.close();
  }
}

// Parsers of option values. An invalid value exits with 2.

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

const SPAN = /^(\d{1,5})([mhdwy])$/;
const SPAN_MS: Record<string, number> = {
  m: 60_000,
  h: 3_600_000,
  d: DAY_MS,
  w: 7 * DAY_MS,
  y: 365 * DAY_MS,
};

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

/** Longer than any token, in bytes. */
const MAX_TOKEN_BYTES = 10_000;

/** A token as given, or from standard input for `-`, which keeps it out of the list of processes. */
export async function readToken(given: string): Promise<string> {
  return given === '-' ? Bun.stdin.slice(0, MAX_TOKEN_BYTES).text() : given;
}
