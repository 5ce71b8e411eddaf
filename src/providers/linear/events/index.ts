import type { EventHandler } from '../../provider.ts';
import { initiativeUpdate } from './initiative-update.ts';
import { issue } from './issue.ts';
import { project } from './project.ts';
import { projectUpdate } from './project-update.ts';

/** Linear's events that Tidings knows, by `Linear-Event`. Another one is a file beside these and a line here. */
export const events: Readonly<Record<string, EventHandler>> = {
  Issue: issue,
  Project: project,
  ProjectUpdate: projectUpdate,
  InitiativeUpdate: initiativeUpdate,
};
