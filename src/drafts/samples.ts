import { toEvent } from '../events/extract.ts';
import type { EventType } from '../events/model.ts';
import { github } from '../providers/github/provider.ts';
import { sampleGithub } from '../providers/github/samples/index.ts';
import type { IntegrationType } from '../providers/index.ts';
import { linear } from '../providers/linear/provider.ts';
import { sampleLinear } from '../providers/linear/samples/index.ts';
import { type Provider, prepareEvent } from '../providers/provider.ts';
import type { Material, Shipped } from './model.ts';

const REPOSITORY = 'acme/rocket';
const NOW = new Date('2026-01-31T12:00:00.000Z');

/** Material that has everything that an event can bring, to try a template on. */
export function sampleMaterial(event: EventType): Material {
  const isGithub = event === 'release' || event === 'push' || event === 'pull_request';
  const issue = sampleOf('issue');
  return {
    repository: isGithub ? REPOSITORY : null,
    branch: isGithub ? 'main' : null,
    isDefaultBranch: true,
    release: isGithub ? sampleOf('release') : null,
    previousTag: isGithub ? 'v2.3.0' : null,
    pushes: isGithub ? [sampleOf('push')] : [],
    pullRequests: isGithub ? [sampleOf('pull_request')] : [],
    issues: event === 'issue' ? [issue] : [],
    project: event === 'project' ? sampleOf('project') : null,
    update: event === 'project_update' ? sampleOf('project_update') : null,
    team: event === 'issue' ? issue.data.team : null,
    inProject: event === 'issue' ? issue.data.project : null,
  };
}

const payloads: Record<
  EventType,
  () => [provider: Provider<IntegrationType>, event: string, payload: unknown]
> = {
  release: () => [github, 'release', sampleGithub('release', { repository: REPOSITORY, now: NOW })],
  push: () => [github, 'push', sampleGithub('push', { repository: REPOSITORY, now: NOW })],
  pull_request: () => [
    github,
    'pull_request',
    sampleGithub('pull_request', { repository: REPOSITORY, now: NOW }),
  ],
  issue: () => [linear, 'Issue', sampleLinear('Issue', { now: NOW })],
  project: () => [linear, 'Project', sampleLinear('Project', { now: NOW })],
  project_update: () => [linear, 'ProjectUpdate', sampleLinear('ProjectUpdate', { now: NOW })],
};

function sampleOf<Type extends EventType>(type: Type): Shipped<Type> {
  const [provider, name, payload] = payloads[type]();
  const result = prepareEvent(provider, name, payload as Record<string, unknown>)();
  const event =
    result.outcome === 'processed'
      ? toEvent({
          ...result.processed,
          event: name,
          integrationId: 'int_sample',
          integrationType: provider.id,
          repositoryId: null,
          repository: REPOSITORY,
          deliveryId: '72d3162e-cc78-11e3-81ab-4c9367dc0958',
          receivedAt: NOW.toISOString(),
        })
      : null;
  if (event?.type !== type) throw new Error(`the sample of ${type} is not one`);
  return event as Shipped<Type>;
}
