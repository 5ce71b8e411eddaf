import type { Shipped } from '../../drafts/model.ts';
import type { Event, EventReader } from '../../events/model.ts';
import { draftOf, emptyDraft, type PlannedDraft } from './kind.ts';

// A release of an issue tracker names its issues, and its notes may come by themselves. Its draft needs no time and no
// branch.

const PREFIX = 'release ';

/** The scope of a release, or of the notes for one; null for other events. */
export function trackerScopeOf(event: Event): string | null {
  if (event.type !== 'release' || event.branch !== null) return null;
  return PREFIX + (event.data.noteOf ?? event.key);
}

export const isOfTracker = (scope: string) => scope.startsWith(PREFIX);

/** The key of the notes for a release. */
const noteKey = (releaseId: string) => `note ${releaseId}`;

/** A release of a tracker is a draft of its own: its notes or, without notes, its issues. */
export async function planTrackerRelease(
  events: EventReader,
  scope: string,
  matches: (event: Shipped<'release'>) => boolean,
): Promise<PlannedDraft[]> {
  const id = scope.slice(PREFIX.length);
  const event = await findRelease(events, id);
  const arrival = event && (await events.arrivalOf('release', event.key));
  if (event === null || arrival === null) return [];
  if (!matches(event)) return [emptyDraft('release')];
  const note = await findRelease(events, noteKey(id));
  const { name, notes } = event.data;
  const data = { ...event.data, name: note?.data.name ?? name, notes: note?.data.notes ?? notes };
  const issues = data.notes === null ? await issuesOf(events, event) : [];
  const known = { release: { ...event, data }, issues };
  // Its own time, whenever the notes are written.
  const until = event.occurredAt;
  return [{ ...draftOf('release', note === null ? [event] : [event, note], known), ...arrival, until }];
}

/** Its issues as they were completed, or as far as the release names them. */
function issuesOf(events: EventReader, release: Shipped<'release'>): Promise<Shipped<'issue'>[]> {
  return Promise.all(
    (release.data.issues ?? []).map(async (named): Promise<Shipped<'issue'>> => {
      const known = await events.find('issue', named.id);
      if (known?.type === 'issue') return known;
      const { occurredAt, deliveryId } = release;
      const rest = { labels: [], team: null, project: null, author: null, isCompleted: true };
      const facts = { type: 'issue', key: named.id, branch: null, version: '', repository: null } as const;
      return { ...facts, occurredAt, deliveryId, data: { ...named, ...rest } };
    }),
  );
}

async function findRelease(events: EventReader, key: string): Promise<Shipped<'release'> | null> {
  const event = await events.find('release', key);
  return event?.type === 'release' ? event : null;
}
