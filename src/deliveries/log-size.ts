import type { Deps } from '../deps.ts';
import { DAY_MS } from '../lib/time.ts';
import { type LogSize, MAX_COUNTED, measureLog } from './count-store.ts';

/** Over how many days the present rate is taken: a week, so that a weekend does not mislead. */
const RATE_DAYS = 7;

/** How much the log of an organization holds, and how fast it grows. */
export interface LogForecast extends Omit<LogSize, 'recent'> {
  /** Whether there are more entries than were counted. */
  isCapped: boolean;
  /** Entries a day of late. */
  perDay: number;
}

/** Measures the log of an organization. A log that is younger than a week is measured over its own days. */
export async function forecastLog(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  organizationId: string,
): Promise<LogForecast> {
  const now = clock.now().getTime();
  const { entries, recent, oldest } = await measureLog(
    db,
    organizationId,
    new Date(now - RATE_DAYS * DAY_MS),
  );
  const ageDays = oldest === null ? RATE_DAYS : (now - Date.parse(oldest)) / DAY_MS;
  const days = Math.min(RATE_DAYS, Math.max(1, ageDays));
  return { entries, oldest, isCapped: entries >= MAX_COUNTED, perDay: recent / days };
}
