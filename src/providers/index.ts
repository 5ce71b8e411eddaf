import type { EventType } from '../events/model.ts';
import { github } from './github/provider.ts';
import { linear } from './linear/provider.ts';
import type { Provider } from './provider.ts';

const list = [github, linear] as const;

/** Every provider. Another one is a folder beside these and an entry in the list. */
export const providers: readonly Provider<IntegrationType>[] = list;

/** The id of a provider. */
export type IntegrationType = (typeof list)[number]['id'];

export function providerOf(type: IntegrationType): Provider<IntegrationType> {
  const provider = providers.find(({ id }) => id === type);
  if (provider === undefined) throw new Error(`there is no provider ${type}`);
  return provider;
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
