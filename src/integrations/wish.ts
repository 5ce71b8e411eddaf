import type { Deps } from '../deps.ts';
import type { Hook, HookWish } from '../providers/api.ts';
import { hookEventsFor, providerOf } from '../providers/index.ts';
import type { Trigger } from '../triggers/model.ts';
import { listTriggers } from '../triggers/store.ts';
import type { Integration } from './model.ts';
import { revealSecret, webhookUrl } from './service.ts';

type Needs = Pick<Deps, 'db' | 'secrets' | 'publicUrl'>;

/** What the hook is to be like at the provider, as things stand. Throws `AppError` 404 and `WrongSecretKey`. */
export async function wishFor(deps: Needs, integration: Integration, hook: Hook): Promise<HookWish> {
  const triggers = await listTriggers(deps.db, { integrationId: integration.id });
  const enabled = triggers.filter((trigger) => trigger.enabled);
  return {
    url: urlOf(deps, integration, hook),
    secret: await revealSecret(deps, integration.id),
    events: eventsFor(integration, hook, enabled),
  };
}

export function urlOf(
  { publicUrl }: Pick<Deps, 'publicUrl'>,
  { id, type, organizationId }: Pick<Integration, 'id' | 'type' | 'organizationId'>,
  { repositoryId }: Pick<Hook, 'repositoryId'>,
): string {
  return webhookUrl(publicUrl(), type, organizationId, id, repositoryId ?? undefined);
}

/**
 * The events that the triggers of this place need, as the provider calls them, sorted. Without a trigger all that
 * drafts can be made of, so that one that is made later can be tried on what has happened. `enabled`: the integration's
 * triggers that are switched on.
 */
export function eventsFor(
  { type }: Pick<Integration, 'type'>,
  { repositoryId }: Pick<Hook, 'repositoryId'>,
  enabled: readonly Pick<Trigger, 'event' | 'repositoryId'>[],
): readonly string[] {
  const meant = enabled.filter(
    (trigger) => trigger.repositoryId === null || trigger.repositoryId === repositoryId,
  );
  return hookEventsFor(
    providerOf(type),
    meant.map(({ event }) => event),
  );
}

export function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((each, index) => each === other[index]);
}
