import { type ComponentChildren, createContext, type VNode } from 'preact';
import { useContext } from 'preact/hooks';
import { DAY_MS } from '../../lib/time.ts';
import type { MemberVisit, Visit } from '../page.ts';

/** What every component of a page can ask for. */
export interface PageContext extends MemberVisit {
  /** When the page was rendered. */
  now: Date;
  isOwner: boolean;
}

const VisitContext = createContext<Visit | null>(null);

/** Renders a page for its visit. */
export function ForVisit({ visit, children }: { visit: Visit; children: ComponentChildren }) {
  const isOwner = 'role' in visit && visit.role === 'owner';
  const context = { ...visit, now: visit.deps.clock.now(), isOwner };
  return <VisitContext.Provider value={context}>{children}</VisitContext.Provider>;
}

/** The visit of the page. Only pages of an organization may ask for what members alone have, such as `base`. */
export function useVisit(): PageContext {
  const visit = useContext(VisitContext);
  if (visit === null) throw new Error('the component is on no page');
  return visit as PageContext;
}

/** Units of times within a day, each up to the next. */
const units: readonly [name: string, ms: number, belowMs: number][] = [
  ['s', 1_000, 60_000],
  ['min', 60_000, 3_600_000],
  ['h', 3_600_000, DAY_MS],
];

/** Making a formatter takes a tenth of a millisecond, and a page has a hundred times. */
const formatters = new Map<string, Record<'day' | 'exact', Intl.DateTimeFormat>>();

/** There are 400 zones. */
function formattersOf(timeZone: string) {
  const known = formatters.get(timeZone);
  if (known !== undefined) return known;
  const made = {
    day: new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone }),
    exact: new Intl.DateTimeFormat('en-GB', {
      day: 'numeric',
      month: 'short',
      year: 'numeric',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      timeZoneName: 'short',
      timeZone,
    }),
  };
  formatters.set(timeZone, made);
  return made;
}

/** A time such as "12 s ago", "yesterday", "18 Nov 2026" or "in 3 days", with the exact time as its title. */
export function When({ at }: { at: string }): VNode {
  const { now, look } = useVisit();
  const time = new Date(at);
  if (Number.isNaN(time.getTime())) return <span>{at}</span>;
  return (
    <time datetime={time.toISOString()} title={inZone(time, look.zone)}>
      {relative(time, now, look.zone)}
    </time>
  );
}

/** A time to the second in the person's zone, with UTC as its title. */
export function Exactly({ at }: { at: string }): VNode {
  const { zone } = useVisit().look;
  const time = new Date(at);
  if (Number.isNaN(time.getTime())) return <span>{at}</span>;
  return (
    <time datetime={time.toISOString()} title={exactly(time)}>
      {zone === 'UTC' ? exactly(time) : formattersOf(zone).exact.format(time)}
    </time>
  );
}

/** A time to the second, such as "18 Nov 2026, 17:02:11 UTC". */
export function exactly(time: Date): string {
  return `${formattersOf('UTC').day.format(time)}, ${time.toISOString().slice(11, 19)} UTC`;
}

function inZone(time: Date, zone: string): string {
  return zone === 'UTC' ? exactly(time) : `${formattersOf(zone).exact.format(time)} (${exactly(time)})`;
}

function relative(time: Date, now: Date, zone: string): string {
  const ms = now.getTime() - time.getTime();
  const distance = Math.abs(ms);
  if (distance < 1_000) return 'just now';
  const [name, unitMs = 1] = units.find(([, , belowMs]) => distance < belowMs) ?? [];
  const amount = `${Math.floor(distance / unitMs)} ${name}`;
  if (name !== undefined) return ms > 0 ? `${amount} ago` : `in ${amount}`;
  const { day } = formattersOf(zone);
  const days = Math.round(distance / DAY_MS);
  if (ms > 0) return distance < 2 * DAY_MS ? 'yesterday' : day.format(time);
  if (days > 30) return day.format(time);
  return days === 1 ? 'tomorrow' : `in ${days} days`;
}
