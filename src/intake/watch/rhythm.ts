// How long a place is usually quiet, by the days on which something happened there. Days are numbers since 1970, in UTC.

/** A quarter, in days. */
const QUARTER = 91;

/** The history that counts, in days. Older habits of a team say little. */
export const WINDOW = 2 * QUARTER;

const MIN_HISTORY = 14;
const MIN_GAPS = 5;

/** A weekday with less than this part of the activity of a usual one is a day off. */
const DAY_OFF = 0.2;

/** Room for a gap that is longer than those before, and is no silence yet. */
const MARGIN = 1.4;

export interface Rhythm {
  /** The rhythm gives more than this many quiet working days less than once a quarter. */
  longest: number;
  /** By weekday, from Thursday: day 0 was one. */
  isWorking: readonly boolean[];
}

const range = (length: number) => Array.from({ length }, (_, at) => at);

/**
 * Learns from the days with activity since `from`, in order and each once. Null: not enough is known.
 *
 * The gaps between them are counted in working days. A gap that happened less than once a quarter, such as a vacation, says
 * nothing about the others; the longest one of the rest, with a margin, is what the rhythm may give.
 */
export function learnRhythm(days: readonly number[], from: number): Rhythm | null {
  const last = days.at(-1);
  const gapCount = days.length - 1;
  if (last === undefined || gapCount < MIN_GAPS || last - from < MIN_HISTORY) return null;
  const isWorking = workingDays(days, from, last);
  const gaps = days
    .slice(1)
    .map((day, at) => countWorking(isWorking, days[at] ?? day, day))
    .sort((one, other) => other - one);
  const quarters = (last - from) / QUARTER;
  const rare = Math.max(Math.ceil(quarters) - 1, 0);
  const usual = gaps[Math.min(rare, gaps.length - 1)] ?? 0;
  const median = gaps[Math.floor(gaps.length / 2)] ?? 0;
  // A short history has not seen the longest gap of a quarter: the tail of the gaps goes on.
  const spread = Math.max(usual - median, 1) / Math.log(Math.max(gapCount / 2, 2));
  const unseen = spread * Math.log(Math.max(1 / quarters, 1));
  return { longest: Math.ceil(usual * MARGIN + unseen) + 1, isWorking };
}

function workingDays(days: readonly number[], from: number, last: number): boolean[] {
  const active = range(7).map(() => 0);
  for (const day of days) active[day % 7] = (active[day % 7] ?? 0) + 1;
  const weeks = (last - from + 1) / 7;
  const rates = active.map((count) => count / weeks);
  // The third-best weekday is a usual one, whoever has days off.
  const usual = rates.toSorted((one, other) => other - one)[2] ?? 0;
  const working = rates.map((rate) => rate > usual * DAY_OFF);
  return working.some(Boolean) ? working : range(7).map(() => true);
}

/** The working days after one day, until another one. */
function countWorking(isWorking: readonly boolean[], after: number, until: number): number {
  const days = until - after;
  const inWeek = isWorking.filter(Boolean).length;
  const rest = range(days % 7).filter((at) => isWorking[(until - at) % 7]).length;
  return Math.floor(days / 7) * inWeek + rest;
}

/** True when more whole working days than usual passed between the last day with activity and today. */
export function isSilent({ longest, isWorking }: Rhythm, lastDay: number, today: number): boolean {
  return today > lastDay && countWorking(isWorking, lastDay, today - 1) >= longest;
}
