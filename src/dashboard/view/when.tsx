/** @jsxRuntime automatic @jsxImportSource preact */
import { DAY_MS } from '../../lib/time.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

const day = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  timeZone: 'UTC',
});

/** A time as people say it, with the exact one beside it: "12 s ago", "yesterday", "18 Nov 2026", "in 3 days". */
export function When({ at, now }: { at: string; now: Date }) {
  const time = new Date(at);
  if (Number.isNaN(time.getTime())) return <span>{at}</span>;
  return (
    <time datetime={time.toISOString()} title={exactly(time)}>
      {relative(time, now)}
    </time>
  );
}

/** A time to the second, such as "18 Nov 2026, 17:02:11 UTC". */
export function exactly(time: Date): string {
  return `${day.format(time)}, ${time.toISOString().slice(11, 19)} UTC`;
}

function relative(time: Date, now: Date): string {
  const ms = now.getTime() - time.getTime();
  const amount = amountOf(Math.abs(ms));
  if (Math.abs(ms) < 1_000) return 'just now';
  if (ms > 0) return amount === null ? (isYesterday(ms) ? 'yesterday' : day.format(time)) : `${amount} ago`;
  if (amount !== null) return `in ${amount}`;
  const days = Math.round(-ms / DAY_MS);
  if (days > 30) return day.format(time);
  return days === 1 ? 'tomorrow' : `in ${days} days`;
}

/** Less than a day in its largest unit. */
function amountOf(ms: number): string | null {
  if (ms < MINUTE_MS) return `${Math.floor(ms / 1_000)} s`;
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min`;
  if (ms < DAY_MS) return `${Math.floor(ms / HOUR_MS)} h`;
  return null;
}

function isYesterday(ms: number): boolean {
  return ms < 2 * DAY_MS;
}
