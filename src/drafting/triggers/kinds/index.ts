import type { EventType } from '../../../providers/events.ts';
import { type IntegrationType, providerOf } from '../../../providers/index.ts';
import { pullRequest, push, release } from './branch.ts';
import type { TriggerKind } from './kind.ts';
import { issue, project, projectUpdate } from './tracker.ts';

/** The kind of trigger for each type of event. */
export const kinds: Readonly<Record<EventType, TriggerKind>> = {
  release,
  push,
  pull_request: pullRequest,
  issue,
  project,
  project_update: projectUpdate,
};

/** The kinds that work with an integration of this type. */
export function kindsFor(type: IntegrationType): TriggerKind[] {
  const { triggerEvents } = providerOf(type);
  return Object.values(kinds).filter(({ event }) => Object.hasOwn(triggerEvents, event));
}
