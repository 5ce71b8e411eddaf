import { localTime } from '../../lib/time.ts';

// The calendar of roundups: a weekday and a time on the clock of a time zone.

export const CADENCES = ['weekly', 'biweekly', 'monthly'] as const;

export interface Schedule {
  /** `monthly` means the first such weekday of each month. */
  cadence: (typeof CADENCES)[number];
  /** 1 is Monday, and 7 is Sunday. */
  weekday: number;
  /** Such as `09:00`. */
  time: string;
  timeZone: string;
  /** The local date from which weeks are counted, such as `2026-11-27`. There is no roundup before it. */
  startsOn: string;
}

/** No zone has moved its clocks by more than a day. */
const MAX_SHIFT_DAYS = 2;

/**
 * The first time after `after`. Clocks that are set back show a time twice: it means the earlier one. A time that is
 * skipped by clocks that are set forward comes as much later.
 */
export function nextRoundup(schedule: Schedule, after: Date): Date {
  const local = Temporal.Instant.fromEpochMilliseconds(after.getTime()).toZonedDateTimeISO(schedule.timeZone);
  let from = local.toPlainDate().subtract({ days: MAX_SHIFT_DAYS });
  for (;;) {
    const day = firstDay(schedule, from);
    const time = new Date(
      day.toPlainDateTime(Temporal.PlainTime.from(schedule.time)).toZonedDateTime(schedule.timeZone)
        .epochMilliseconds,
    );
    if (time > after) return time;
    from = day.add({ days: 1 });
  }
}

/** The local date of a time. */
export const startOf = (timeZone: string, now: Date) => localTime(now, timeZone).slice(0, 10);

/** The first day of the schedule that is not before `from`. */
function firstDay({ cadence, weekday, startsOn }: Schedule, from: Temporal.PlainDate): Temporal.PlainDate {
  const start = Temporal.PlainDate.from(startsOn);
  const earliest = Temporal.PlainDate.compare(from, start) < 0 ? start : from;
  if (cadence === 'monthly') {
    const day = onWeekday(earliest.with({ day: 1 }), weekday);
    if (Temporal.PlainDate.compare(day, earliest) >= 0) return day;
    return onWeekday(earliest.with({ day: 1 }).add({ months: 1 }), weekday);
  }
  const day = onWeekday(earliest, weekday);
  const sinceFirst = onWeekday(start, weekday).until(day, { largestUnit: 'days' }).days;
  return cadence === 'biweekly' && sinceFirst % 14 !== 0 ? day.add({ days: 7 }) : day;
}

function onWeekday(from: Temporal.PlainDate, weekday: number): Temporal.PlainDate {
  return from.add({ days: (weekday - from.dayOfWeek + 7) % 7 });
}
