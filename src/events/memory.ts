import type { Arrival, Event, EventReader, EventType } from './model.ts';
import { replaces } from './store.ts';

/** Reads events from memory, for a rehearsal. `arrivalOf` is null for one that the trigger may not make a post of. */
export function eventsInMemory(
  all: readonly Event[],
  arrivalOf: (type: EventType, key: string) => Arrival | null,
): EventReader {
  const known = new Map<string, Event>();
  for (const event of all) {
    const id = `${event.type} ${event.key}`;
    const previous = known.get(id);
    if (previous === undefined || replaces(event, previous)) known.set(id, event);
  }
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
          ({ type, key, branch: its }) =>
            types.includes(type) &&
            (branch === undefined || its === branch) &&
            (!arrived || arrivalOf(type, key) !== null),
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
