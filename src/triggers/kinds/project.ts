import { isOneOf } from '../match.ts';
import { noMaterial, nothing, planned, type TriggerKind } from './kind.ts';

/** A project that was completed is a draft of its own. */
export const project: TriggerKind = {
  event: 'project',
  action: 'completed',
  tells: ['project'],
  isOfBranch: false,
  filters: ['project'],
  isRolling: false,

  scopesOf({ filters }, event) {
    return project.matches(filters, event) ? [`project ${event.key}`] : [];
  },

  matches(filters, event) {
    return (
      event.type === 'project' &&
      event.data.isCompleted &&
      isOneOf(filters.project, event.key, event.data.name)
    );
  },

  async plan({ scope, events }) {
    const found = await events.find('project', scope.slice('project '.length));
    if (found?.type !== 'project' || !found.data.isCompleted) return [nothing(SUBJECT)];
    if ((await events.arrivalOf('project', found.key)) === null) return [];
    return [planned(SUBJECT, [found], { ...noMaterial, project: found })];
  },
};

const SUBJECT = 'completed';
