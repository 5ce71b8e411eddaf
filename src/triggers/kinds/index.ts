import type { EventType } from '../../events/model.ts';
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
export function kindsFor(type: string): TriggerKind[] {
  return Object.values(kinds).filter(({ provider }) => provider === type);
}
