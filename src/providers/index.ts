import type { Event, EventType } from '../events/model.ts';
import { isRecord } from '../lib/validation.ts';
import { isoTime } from './fields.ts';
import { forgejo } from './forgejo/provider.ts';
import { github } from './github/provider.ts';
import { linear } from './linear/provider.ts';
import type { Payload, ProcessedDelivery, Provider } from './provider.ts';

const list = [github, linear, forgejo] as const;

/** Every provider. Another one is a folder beside these and an entry in the list. */
export const providers: readonly Provider<IntegrationType>[] = list;

/** The id of a provider. */
export type IntegrationType = (typeof list)[number]['id'];

export function providerOf(type: IntegrationType): Provider<IntegrationType> {
  const provider = providers.find(({ id }) => id === type);
  if (provider === undefined) throw new Error(`there is no provider ${type}`);
  return provider;
}

/** All names in a sentence, such as "GitHub, Linear, and Forgejo". */
export function listProviders(conjunction: 'and' | 'or'): string {
  const format = new Intl.ListFormat('en', { type: conjunction === 'and' ? 'conjunction' : 'disjunction' });
  return format.format(providers.map(({ name }) => name));
}

/** The events that a hook needs for these events of triggers; without any, for all that the provider has. Sorted. */
export function hookEventsFor(
  { triggerEvents }: Pick<Provider, 'triggerEvents'>,
  events: readonly EventType[],
): readonly string[] {
  const needed =
    events.length > 0 ? events.map((event) => triggerEvents[event]) : Object.values(triggerEvents);
  return [...new Set(needed.flatMap((names) => names ?? []))].sort();
}

/**
 * The event of a processed delivery, new or from the log; null for one that no drafts are made of, such as a star. It
 * happened at the first time that can be read, or else when it was received.
 */
export function toEvent(delivery: ProcessedDelivery): Event | null {
  const { integrationType, event: name, action, data, repository, deliveryId, receivedAt } = delivery;
  const { events } = providerOf(integrationType);
  const handler = Object.hasOwn(events, name) ? events[name] : undefined;
  if (handler?.toEvent === undefined || !isRecord(data)) return null;
  const { times, ...event } = handler.toEvent(data as never, action);
  const occurredAt = [...times, receivedAt].map(isoTime).find((time) => time !== null);
  if (occurredAt === undefined) throw new Error('a delivery was received at no time');
  return { ...event, repository, deliveryId, occurredAt } as Event;
}

/** The events with a sample. */
export function sampleEvents(type: IntegrationType): string[] {
  return Object.keys(providerOf(type).samples).filter((name) => !name.includes(' '));
}

/** The payload of a test delivery; null when there is no sample of the event, or of its action. */
export function samplePayload(
  type: IntegrationType,
  event: string,
  {
    repository = 'acme/rocket',
    now,
    action,
  }: { repository?: string; now: Date; action?: string | undefined },
): Payload | null {
  const { samples } = providerOf(type);
  const key =
    action !== undefined && Object.hasOwn(samples, `${event} ${action}`) ? `${event} ${action}` : event;
  const sample = Object.hasOwn(samples, key) ? samples[key]?.({ repository, now }) : undefined;
  return sample === undefined || (action !== undefined && sample.action !== action) ? null : sample;
}

/** The payload of a test delivery to an integration, about its first repository or about `repositoryId`. */
export function sampleFor(
  {
    type,
    repositories,
  }: { type: IntegrationType; repositories: readonly { id: string; fullName: string }[] },
  event: string,
  { repositoryId, ...options }: { now: Date; action?: string | undefined; repositoryId?: string | undefined },
): Payload | null {
  const repository = repositories.find(({ id }) => id === repositoryId) ?? repositories[0];
  return samplePayload(type, event, {
    ...options,
    ...(repository && { repository: repository.fullName }),
  });
}
