import type { Shipped } from '../../drafts/model.ts';
import type { ShippedEvent } from '../../events/model.ts';
import { isOneOf } from '../match.ts';
import type { TriggerFilters } from '../model.ts';
import { noMaterial, nothing, OPEN, planned, type TriggerKind, wasTold } from './kind.ts';

/** The issues that a team completes, or of a project, in one draft until a person publishes it. */
export const issue: TriggerKind = {
  event: 'issue',
  action: 'completed',
  tells: ['issue'],
  isOfBranch: false,
  filters: ['label', 'team', 'project'],
  isRolling: true,

  scopesOf({ filters }, event) {
    return isIssueMeant(filters, event) ? [scopeOf(filters, event)] : [];
  },

  matches: isIssueMeant,

  async plan({ trigger: { filters }, scope, events, told }) {
    const found = await events.list(['issue'], { after: told.since, arrived: true });
    const issues = found.filter(
      (event): event is Shipped<'issue'> =>
        isIssueMeant(filters, event) && scopeOf(filters, event) === scope && !wasTold(event, told),
    );
    const newest = issues.at(-1);
    if (newest === undefined) return [nothing(OPEN)];
    const { team, project } = newest.data;
    const inProject = filters.project === undefined ? null : project;
    return [
      planned(OPEN, issues, { ...noMaterial, issues, team: inProject === null ? team : null, inProject }),
    ];
  },
};

/** Per project when the trigger chooses projects, otherwise per team. */
function scopeOf(filters: TriggerFilters, { data }: Shipped<'issue'>): string {
  return filters.project === undefined
    ? `team ${data.team?.id ?? '-'}`
    : `project ${data.project?.id ?? '-'}`;
}

/** A completed issue that the filters let through. */
function isIssueMeant(
  { label, team, project }: TriggerFilters,
  event: ShippedEvent,
): event is Shipped<'issue'> {
  return (
    event.type === 'issue' &&
    event.data.isCompleted &&
    isOneOf(label, ...event.data.labels) &&
    isOneOf(team, event.data.team?.id, event.data.team?.key, event.data.team?.name) &&
    isOneOf(project, event.data.project?.id, event.data.project?.name)
  );
}
