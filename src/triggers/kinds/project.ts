import { isOneOf } from '../match.ts';
import { noMaterial, nothing, planned, type TriggerKind } from './kind.ts';

/** A project that was completed is a draft of its own. */
export const project: TriggerKind = {
  event: 'project',
  action: 'completed',
  provider: 'linear',
  filters: ['project'],
  isRolling: false,
  needs: ['Project'],

  scopesOf({ filters }, event) {
    if (event.type !== 'project' || !event.data.isCompleted) return [];
    return isOneOf(filters.project, event.key, event.data.name) ? [`project ${event.key}`] : [];
  },

  async plan({ scope, events }) {
    const found = await events.find('project', scope.slice('project '.length));
    if (found?.type !== 'project' || !found.data.isCompleted) return [nothing(SUBJECT)];
    return [planned(SUBJECT, [found], { ...noMaterial, project: found })];
  },
};

const SUBJECT = 'completed';
