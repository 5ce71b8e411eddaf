import type { Deps } from '../deps.ts';
import type { Integration } from '../integrations/model.ts';
import { revealSecret, webhookUrl } from '../integrations/service.ts';
import { kinds } from '../triggers/kinds/index.ts';
import type { Trigger } from '../triggers/model.ts';
import { listTriggers } from '../triggers/store.ts';
import type { Hook, HookWish } from './model.ts';

type Needs = Pick<Deps, 'db' | 'secrets' | 'publicUrl'>;

/** What the hook is to be like at the provider, as things stand. Throws `AppError` 404 and `WrongSecretKey`. */
export async function wishFor(deps: Needs, integration: Integration, hook: Hook): Promise<HookWish> {
  const triggers = await listTriggers(deps.db, { integrationId: integration.id });
  return {
    url: urlOf(deps, integration, hook),
    secret: await revealSecret(deps, integration.id),
    events: eventsFor(integration, hook, triggers),
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
 * drafts can be made of, so that one that is made later can be tried on what has happened.
 */
export function eventsFor(
  { type }: Pick<Integration, 'type'>,
  { repositoryId }: Pick<Hook, 'repositoryId'>,
  triggers: readonly Pick<Trigger, 'event' | 'enabled' | 'repositoryId'>[],
): string[] {
  const meant = triggers.filter(
    (trigger) => trigger.enabled && (trigger.repositoryId === null || trigger.repositoryId === repositoryId),
  );
  const known = Object.values(kinds).filter(({ provider }) => provider === type);
  const needed = meant.length === 0 ? known : meant.map(({ event }) => kinds[event]);
  return [...new Set(needed.flatMap(({ needs }) => needs))].sort();
}

export function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((each, index) => each === other[index]);
}
