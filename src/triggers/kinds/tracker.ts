import type { Shipped } from '../../drafts/model.ts';
import type { Event } from '../../events/model.ts';
import type { TriggerFilters } from '../model.ts';
import { draftOf, emptyDraft, isInClosedDraft, isOneOf, OPEN, type TriggerKind } from './kind.ts';

// Kinds for issue trackers: completed issues, completed projects, and reports about them.

/** The issues that a team completes, or of a project, in one draft until a person publishes it. */
export const issue: TriggerKind = {
  event: 'issue',
  action: 'completed',
  content: ['issue'],
  filters: ['label', 'team', 'project'],
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
