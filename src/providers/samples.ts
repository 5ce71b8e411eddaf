import { githubSamples, sampleGithub } from './github/samples/index.ts';
import type { IntegrationType } from './index.ts';
import { linearSamples, sampleLinear } from './linear/samples/index.ts';

/** The events that there are samples of, by the provider's name for them. */
export const sampleEvents: Readonly<Record<IntegrationType, readonly string[]>> = {
  github: githubSamples,
  linear: linearSamples,
};

/** What the integration's provider would send of an event of its first repository, or of `repositoryId`, now; null when there is no sample of that. */
export function sampleOf(
  {
    type,
    repositories,
  }: { type: IntegrationType; repositories: readonly { id: string; fullName: string }[] },
  event: string,
  {
    now,
    action,
    repositoryId,
  }: { now: Date; action?: string | undefined; repositoryId?: string | undefined },
): Record<string, unknown> | null {
  if (type === 'linear') return sampleLinear(event, { now });
  const repository = repositories.find(({ id }) => id === repositoryId) ?? repositories[0];
  return sampleGithub(event, { repository: repository?.fullName ?? 'acme/rocket', now, action });
}
