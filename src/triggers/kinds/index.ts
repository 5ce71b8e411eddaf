import type { EventType, ShippedEvent } from '../../events/model.ts';
import type { ProcessedDelivery } from '../../providers/provider.ts';
import { issue } from './issue.ts';
import type { TriggerKind } from './kind.ts';
import { project } from './project.ts';
import { projectUpdate } from './project-update.ts';
import { release } from './release.ts';
import { pullRequest, push } from './rolling-branch.ts';

/** Every event that drafts can be made of. Another one is a file beside these and a line here. */
export const kinds: Readonly<Record<EventType, TriggerKind>> = {
  release,
  push,
  pull_request: pullRequest,
  issue,
  project,
  project_update: projectUpdate,
};

/** Whether the delivery tells of a change to something that was shipped before, such as new notes of a release. */
export function isEdit({ action }: Pick<ProcessedDelivery, 'action'>, { type }: ShippedEvent): boolean {
  return action !== kinds[type].action;
}
