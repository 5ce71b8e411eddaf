import { AppError } from '../lib/app-error.ts';
import type { OpenProviderApi } from './api.ts';
import type { Event, EventType } from './events.ts';
import { forgejo } from './forgejo/provider.ts';
import { github } from './github/provider.ts';
import { gitlab } from './gitlab/provider.ts';
import { type IntegrationType, providerIds } from './ids.ts';
import { linear } from './linear/provider.ts';
import { eventOf, type Payload, type ProcessedDelivery, type Provider } from './provider.ts';
import type { OpenReader } from './reader.ts';

export type { IntegrationType };

const byId: { readonly [Id in IntegrationType]: Provider<Id> } = { github, gitlab, linear, forgejo };

/** Every provider. Another one is a folder beside these, its id in `ids.ts`, and an entry above. */
export const providers: readonly Provider<IntegrationType>[] = providerIds.map((id) => byId[id]);

export function providerOf(type: IntegrationType): Provider<IntegrationType> {
  const provider = providers.find(({ id }) => id === type);
  if (provider === undefined) throw new Error(`there is no provider ${type}`);
  return provider;
}

/** All names in a sentence, such as "GitHub, GitLab, Linear, and Forgejo". */
export function listProviders(
  conjunction: 'and' | 'or',
  some: readonly Pick<Provider, 'name'>[] = providers,
): string {
  const format = new Intl.ListFormat('en', { type: conjunction === 'and' ? 'conjunction' : 'disjunction' });
  return format.format(some.map(({ name }) => name));
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

/** True for a delivery that drafts may be made of, or that may change the installation of an App. */
export function isNeeded(provider: Provider, event: string, action: string | null): boolean {
  if (provider.app?.events.includes(event) === true) return true;
  if (!hookEventsFor(provider, []).includes(event)) return false;
  const { actions } = provider.events[event] ?? {};
  return action === null || actions === undefined || actions.includes(action);
}

/** The event of an entry of the log; null for one that no drafts are made of. */
export function toEvent(delivery: ProcessedDelivery): Event | null {
  return eventOf(providerOf(delivery.integrationType), delivery);
}

/** The providers' APIs at these base URLs. Opening one that a provider does not have throws `AppError` 400. */
export function providerApis(urls: Readonly<Record<string, string>>): OpenProviderApi {
  return async (type, credential, signal) => {
    const { api, app, name } = providerOf(type);
    const url = urls[type];
    if (typeof credential !== 'string') {
      if (app !== undefined && url !== undefined) return await app.open(url, credential, { signal });
      throw new AppError(400, `${name} has no Apps`);
    }
    if (api !== null && url !== undefined) return await api.open(url, credential, { signal });
    throw new AppError(400, `${name} takes no token: set up its webhooks by hand`);
  };
}

export function repositoryReaders(urls: Readonly<Record<string, string>>): OpenReader {
  return async (type, credential, signal) => {
    const { reader, app, name } = providerOf(type);
    const url = urls[type];
    if (credential !== null && typeof credential !== 'string') {
      if (app !== undefined && url !== undefined) return await app.openReader(url, credential, { signal });
      throw new AppError(400, `${name} has no Apps`);
    }
    if (reader !== null && url !== undefined) return await reader.open(url, credential, { signal });
    throw new AppError(400, `Tidings cannot read repositories of ${name}`);
  };
}

/** The place of an image at the provider; null when it is elsewhere. */
export function imagePlaceAt(
  type: IntegrationType,
  { providerUrls = {} }: { providerUrls?: Readonly<Record<string, string>> },
): (url: URL) => string | null {
  const { api } = providerOf(type);
  return (url) => api?.imagePlace(url, providerUrls[type]) ?? null;
}

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
  }: { repository?: string | undefined; now: Date; action?: string | undefined },
): Payload | null {
  const { samples } = providerOf(type);
  const name = [`${event} ${action}`, event].find((each) => Object.hasOwn(samples, each));
  const sample = name === undefined ? undefined : samples[name]?.({ repository, now });
  return sample === undefined || (action !== undefined && sample.action !== action) ? null : sample;
}

/** The payload of a test delivery to an integration, about its first repository or about `repositoryId`. */
export function sampleFor(
  integration: { type: IntegrationType; repositories: readonly { id: string; fullName: string }[] },
  event: string,
  { repositoryId, ...options }: { now: Date; action?: string | undefined; repositoryId?: string | undefined },
): Payload | null {
  const { type, repositories } = integration;
  const repository = repositories.find(({ id }) => id === repositoryId) ?? repositories[0];
  return samplePayload(type, event, { ...options, repository: repository?.fullName });
}
