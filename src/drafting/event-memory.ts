import type { Arrival, Event, EventReader, EventType } from '../providers/events.ts';
import { replaces } from './events.ts';

/** Reads events from memory, for a rehearsal. `arrivalFor` is null for one that the trigger may not make a post of. */
export function eventsInMemory(
  all: readonly Event[],
  arrivalFor: (event: Event) => Arrival | null,
): EventReader {
  const known = new Map<string, Event>();
  const byReleaseId = new Map<string, Event>();
  for (const event of all) {
    const id = `${event.type} ${event.key}`;
    const { releaseId } = event;
    const previous = (releaseId === undefined ? undefined : byReleaseId.get(releaseId)) ?? known.get(id);
    if (previous !== undefined && !replaces(event, previous)) continue;
    // A release whose tag was edited is the same release.
    if (previous !== undefined) known.delete(`${previous.type} ${previous.key}`);
    known.set(id, event);
    if (releaseId !== undefined) byReleaseId.set(releaseId, event);
  }
  const arrivalOf = (type: EventType, key: string) => {
    const event = known.get(`${type} ${key}`);
    return event === undefined ? null : arrivalFor(event);
  };
  const events = [...known.values()].sort(byTime);
  const releases = new Map(
    events.flatMap(({ type, key: tag, branch, occurredAt, data }) =>
      type === 'release' ? [[tag, { tag, branch, isPrerelease: data.isPrerelease, occurredAt }]] : [],
    ),
  );
  return {
    async list(types, { branch, after, until, arrived = false }) {
      const start = after === undefined ? 0 : countUntil(events, after);
      const end = until === undefined ? events.length : countUntil(events, until);
      return events
        .slice(start, end)
        .filter(
          (event) =>
            types.includes(event.type) &&
            (branch === undefined || event.branch === branch) &&
            (!arrived || arrivalFor(event) !== null),
        );
    },
    async listReleases(which) {
      if ('tags' in which) return which.tags.flatMap((tag) => releases.get(tag) ?? []);
      const ofBranch = releases.values().filter(({ branch }) => branch === which.branch);
      if ('since' in which) return ofBranch.filter(({ occurredAt }) => occurredAt >= which.since).toArray();
      return ofBranch
        .filter(({ occurredAt }) => occurredAt < which.before)
        .toArray()
        .slice(-which.limit);
    },
    async find(type, key) {
      return known.get(`${type} ${key}`) ?? null;
    },
    async findAll(type, keys) {
      return new Map(keys.flatMap((key) => withKey(key, known.get(`${type} ${key}`))));
    },
    async arrivalsOf(type, keys) {
      return new Map(keys.flatMap((key) => withKey(key, arrivalOf(type, key))));
    },
    async arrivalOf(type, key) {
      return arrivalOf(type, key);
    },
  };
}

const withKey = <Value>(key: string, value: Value | null | undefined): [string, Value][] =>
  value == null ? [] : [[key, value]];

/** By time, then by key, as in the database. */
function byTime(one: Event, other: Event): number {
  if (one.occurredAt !== other.occurredAt) return one.occurredAt < other.occurredAt ? -1 : 1;
  return one.key < other.key ? -1 : 1;
}

/** Counts the events until `time`. Binary search: a rehearsal calls this for each release. */
function countUntil(events: readonly Event[], time: string): number {
  let [low, high] = [0, events.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((events[middle]?.occurredAt ?? '') <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}
