import type { EventType } from '../../events/model.ts';
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
