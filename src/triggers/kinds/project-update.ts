import { isOneOf } from '../match.ts';
import { noMaterial, nothing, planned, type TriggerKind } from './kind.ts';

/** A report on a project or an initiative is a draft of its own. */
export const projectUpdate: TriggerKind = {
  event: 'project_update',
  action: 'created',
  tells: ['project_update'],
  isOfBranch: false,
  filters: ['project'],
  isRolling: false,

  scopesOf({ filters }, event) {
    return projectUpdate.matches(filters, event) ? [`update ${event.key}`] : [];
  },

  matches(filters, event) {
    return (
      event.type === 'project_update' && isOneOf(filters.project, event.data.about.id, event.data.about.name)
    );
  },

  async plan({ scope, events }) {
    const found = await events.find('project_update', scope.slice('update '.length));
    if (found?.type !== 'project_update') return [nothing(SUBJECT)];
    if ((await events.arrivalOf('project_update', found.key)) === null) return [];
    return [planned(SUBJECT, [found], { ...noMaterial, update: found })];
  },
};

const SUBJECT = 'update';
