import type { EventType } from '../../../events/model.ts';
import { type ContentType, contentTypes } from '../../../posts/model.ts';
import { kinds } from '../../../triggers/kinds/index.ts';
import type { TriggerKind } from '../../../triggers/kinds/kind.ts';
import type { TriggerFilters } from '../../../triggers/model.ts';
import type { NewTrigger } from '../../../triggers/service.ts';
import { filterWords } from './words.ts';

// What the form of a trigger says. Texts stay as they were typed, to be shown again.

/** The kind that is asked for, of those that the provider has; the first of them otherwise. */
export function kindOf(provider: string, event: string | null): TriggerKind | null {
  const possible = Object.values(kinds).filter((kind) => kind.provider === provider);
  return possible.find((kind) => kind.event === event) ?? null;
}

export function contentTypeOf(text: string | null): ContentType {
  return contentTypes.find((each) => each === text) ?? 'changelog';
}

type ListFilter = keyof typeof filterWords;

/** The filters of a kind that are lists. */
export function listFiltersOf({ filters }: TriggerKind): ListFilter[] {
  return filters.filter((name): name is ListFilter => name !== 'prereleases');
}

export function readTrigger(
  form: URLSearchParams,
  integrationId: string,
  kind: TriggerKind,
): NewTrigger & { event: EventType } {
  const filters: TriggerFilters = {};
  for (const name of listFiltersOf(kind)) {
    const values = (form.get(name) ?? '').split(',').flatMap((value) => value.trim() || []);
    if (values.length > 0) filters[name] = values;
  }
  if (kind.filters.includes('prereleases') && form.has('noPrereleases')) filters.prereleases = false;
  const template = (name: string) => (form.get(name)?.trim() ? (form.get(name) as string) : null);
  return {
    integrationId,
    repository: form.get('repository') || undefined,
    event: kind.event,
    filters,
    contentType: contentTypeOf(form.get('contentType')),
    titleTemplate: template('titleTemplate'),
    // A form ends lines with CR LF.
    bodyTemplate: template('bodyTemplate')?.replaceAll('\r\n', '\n') ?? null,
    publish: form.has('publish'),
  };
}

/** Which field a refusal is about; null for the form as a whole. */
export function fieldOf(message: string): string | null {
  if (message.startsWith('title')) return 'titleTemplate';
  if (message.startsWith('body')) return 'bodyTemplate';
  const name = Object.keys(filterWords).find(
    (each) => message.startsWith(`${each} `) || message.startsWith(`${each}.`),
  );
  return name ?? null;
}
