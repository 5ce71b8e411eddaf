import { isOneOf } from '../match.ts';
import { noMaterial, nothing, planned, type TriggerKind } from './kind.ts';

/** A report on a project or an initiative is a draft of its own. */
export const projectUpdate: TriggerKind = {
  event: 'project_update',
  action: 'created',
  provider: 'linear',
  filters: ['project'],
  isRolling: false,
  needs: ['InitiativeUpdate', 'ProjectUpdate'],

  scopesOf({ filters }, event) {
    if (event.type !== 'project_update') return [];
    const { about } = event.data;
    return isOneOf(filters.project, about.id, about.name) ? [`update ${event.key}`] : [];
  },

  async plan({ scope, events }) {
    const found = await events.find('project_update', scope.slice('update '.length));
    if (found?.type !== 'project_update') return [nothing(SUBJECT)];
    return [planned(SUBJECT, [found], { ...noMaterial, update: found })];
  },
};

const SUBJECT = 'update';
