import { type SampleContext, sampleContext } from './context.ts';
import { issue } from './issue.ts';
import { project } from './project.ts';
import { initiativeUpdate, projectUpdate } from './update.ts';

const builders: Readonly<Record<string, (context: SampleContext) => Record<string, unknown>>> = {
  Issue: issue,
  Project: project,
  ProjectUpdate: projectUpdate,
  InitiativeUpdate: initiativeUpdate,
};

/** The events that there are samples of, by `Linear-Event`. */
export const linearSamples: readonly string[] = Object.keys(builders);

/**
 * What Linear would send of an event that matters: an issue or a project that was just completed, an update that
 * was just posted. Null for an event that there is no sample of.
 */
export function sampleLinear(event: string, { now }: { now: Date }): Record<string, unknown> | null {
  const build = Object.hasOwn(builders, event) ? builders[event] : undefined;
  return build?.(sampleContext(now)) ?? null;
}
