import { type SampleContext, sampleContext } from './context.ts';
import { issues } from './issues.ts';
import { milestone } from './milestone.ts';
import { ping } from './ping.ts';
import { pullRequest } from './pull-request.ts';
import { push } from './push.ts';
import { release, releaseEdited } from './release.ts';

const builders: Readonly<Record<string, (context: SampleContext) => Record<string, unknown>>> = {
  ping,
  push,
  release,
  pull_request: pullRequest,
  create: ({ common }) => ({
    ref: 'v2.4.0',
    ref_type: 'tag',
    master_branch: 'main',
    description: 'Launches rockets, quietly',
    pusher_type: 'user',
    ...common,
  }),
  issues,
  milestone,
  star: ({ minutesAgo, common }) => ({ action: 'created', starred_at: minutesAgo(1), ...common }),
};

/** The events that there are samples of, by `X-GitHub-Event`. */
export const githubSamples: readonly string[] = Object.keys(builders);

/** Samples of what follows upon an event, by the event and its action. */
const laterBuilders: typeof builders = { 'release edited': releaseEdited };

/**
 * What GitHub would send of an event that matters: a merged pull request, a published release. Null for an event, or
 * an action, that there is no sample of. `repository` is `owner/name`.
 */
export function sampleGithub(
  event: string,
  { repository, now, action }: { repository: string; now: Date; action?: string | undefined },
): Record<string, unknown> | null {
  const later = laterBuilders[`${event} ${action}`];
  if (later !== undefined) return later(sampleContext(repository, now));
  const build = Object.hasOwn(builders, event) ? builders[event] : undefined;
  if (action !== undefined) {
    const sample = build?.(sampleContext(repository, now));
    return sample?.action === action ? sample : null;
  }
  return build?.(sampleContext(repository, now)) ?? null;
}
