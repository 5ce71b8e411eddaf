import type { Event, EventReader } from '../../../providers/events.ts';
import type { Shipped } from '../../store.ts';
import type { TriggerFilters } from '../model.ts';
import {
  draftOf,
  emptyDraft,
  isInClosedDraft,
  isOneOf,
  OPEN,
  type PlannedDraft,
  type TriggerKind,
} from './kind.ts';

// Kinds for issue trackers: completed issues, completed projects, and reports about them.

/** The issues that a team completes, or of a project, in one draft until a person publishes it. */
export const issue: TriggerKind = {
  event: 'issue',
  action: 'completed',
  content: ['issue'],
  filters: ['label', 'team', 'project', 'excludeLabel'],
  isRolling: true,
  isOfBranch: false,

  scopeOf: (filters, event) => (matchesIssue(filters, event) ? issueScope(filters, event) : null),

  matches: matchesIssue,

  async plan({ filters, scope, events, drafts }) {
    const arrived = await events.list(['issue'], { after: drafts.since, arrived: true });
    const issues = arrived.filter(
      (event): event is Shipped<'issue'> =>
        matchesIssue(filters, event) &&
        issueScope(filters, event) === scope &&
        !isInClosedDraft(event, drafts),
    );
    const newest = issues.at(-1);
    if (newest === undefined) return [emptyDraft(OPEN)];
    const { team, project } = newest.data;
    const inProject = filters.project === undefined ? null : project;
    return [draftOf(OPEN, issues, { issues, team: inProject === null ? team : null, inProject })];
  },
};

/** One scope for each project when the trigger filters by project, otherwise one for each team. */
function issueScope(filters: TriggerFilters, { data: { team, project } }: Shipped<'issue'>): string {
  return filters.project === undefined ? `team ${team?.id ?? '-'}` : `project ${project?.id ?? '-'}`;
}

function matchesIssue(filters: TriggerFilters, event: Event): event is Shipped<'issue'> {
  if (event.type !== 'issue') return false;
  const { isCompleted, labels, team, project } = event.data;
  return (
    isCompleted &&
    isOneOf(filters.label, ...labels) &&
    isOneOf(filters.team, team?.id, team?.key, team?.name) &&
    isOneOf(filters.project, project?.id, project?.name)
  );
}

/** A completed project is a draft of its own. */
export const project: TriggerKind = {
  event: 'project',
  action: 'completed',
  content: ['project'],
  filters: ['project'],
  isRolling: false,
  isOfBranch: false,

  scopeOf: (filters, event) => (project.matches(filters, event) ? `project ${event.key}` : null),

  matches: (filters, event) =>
    event.type === 'project' &&
    event.data.isCompleted &&
    isOneOf(filters.project, event.key, event.data.name),

  async plan({ scope, events }) {
    const event = await events.find('project', scope.slice('project '.length));
    if (event?.type !== 'project' || !event.data.isCompleted) return [emptyDraft('completed')];
    if ((await events.arrivalOf('project', event.key)) === null) return [];
    return [draftOf('completed', [event], { project: event })];
  },
};

/** A report on a project or an initiative is a draft of its own. */
export const projectUpdate: TriggerKind = {
  event: 'project_update',
  action: 'created',
  content: ['project_update'],
  filters: ['project'],
  isRolling: false,
  isOfBranch: false,

  scopeOf: (filters, event) => (projectUpdate.matches(filters, event) ? `update ${event.key}` : null),

  matches: (filters, event) =>
    event.type === 'project_update' && isOneOf(filters.project, event.data.about.id, event.data.about.name),

  async plan({ scope, events }) {
    const event = await events.find('project_update', scope.slice('update '.length));
    if (event?.type !== 'project_update') return [emptyDraft('update')];
    if ((await events.arrivalOf('project_update', event.key)) === null) return [];
    return [draftOf('update', [event], { update: event })];
  },
};

// A release of an issue tracker names its issues, and its notes may come by themselves. Its draft needs no time and no
// branch.

const PREFIX = 'release ';

/** The scope of a release, or of the notes for one; null for other events. */
export function trackerScopeOf(event: Event): string | null {
  if (event.type !== 'release' || event.branch !== null) return null;
  return PREFIX + (event.data.noteOf ?? event.key);
}

export const isOfTracker = (scope: string) => scope.startsWith(PREFIX);

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
