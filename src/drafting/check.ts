import type { EventType } from '../providers/events.ts';
import { providers, sampleEvents, samplePayload, toEvent } from '../providers/index.ts';
import { parseEvent } from '../providers/provider.ts';
import type { Material, OwnTemplates, Shipped } from './store.ts';
import { type Composer, threadedComposer } from './thread.ts';
import { emptyMaterial } from './triggers/kinds/kind.ts';

const REPOSITORY = 'acme/rocket';
const NOW = new Date('2026-01-31T12:00:00.000Z');

export type CheckTemplates = (event: EventType, templates: OwnTemplates) => Promise<void>;

/** Checks templates in a thread that is there already. */
export function checkWith({ check }: Pick<Composer, 'check'>): CheckTemplates {
  return (event, templates) => check(templates, sampleMaterial(event));
}

/**
 * Tries a trigger's own templates on a sample, in a thread with a time limit. Rejects with `AppError` 400 when one cannot
 * be used, and 503 when it takes too long.
 */
export const checkTemplates = checkWith(threadedComposer());

/** Material that has everything that an event can bring. */
export function sampleMaterial(event: EventType): Material {
  if (event === 'project') return { ...emptyMaterial, project: sampleOf('project') };
  if (event === 'project_update') return { ...emptyMaterial, update: sampleOf('project_update') };
  if (event === 'issue') {
    const issue = sampleOf('issue');
    return { ...emptyMaterial, issues: [issue], team: issue.data.team, inProject: issue.data.project };
  }
  return {
    ...emptyMaterial,
    repository: REPOSITORY,
    branch: 'main',
    release: sampleOf('release'),
    previousTag: 'v2.3.0',
    pushes: [sampleOf('push')],
    pullRequests: [sampleOf('pull_request')],
  };
}

function sampleOf<Type extends EventType>(type: Type): Shipped<Type> {
  for (const provider of providers) {
    for (const name of sampleEvents(provider.id)) {
      const payload = samplePayload(provider.id, name, { repository: REPOSITORY, now: NOW });
      const result = payload === null ? null : parseEvent(provider, name, payload);
      if (result?.outcome !== 'processed') continue;
      const event = toEvent({
        ...result.processed,
        event: name,
        integrationId: 'int_sample',
        integrationType: provider.id,
        repositoryId: null,
        repository: REPOSITORY,
        deliveryId: '72d3162e-cc78-11e3-81ab-4c9367dc0958',
        receivedAt: NOW.toISOString(),
      });
      if (event?.type === type) return event as Shipped<Type>;
    }
  }
  throw new Error(`there is no sample of ${type}`);
}
