import type { EventType } from '../../../events/model.ts';
import type { AppError } from '../../../lib/app-error.ts';
import { type ContentType, contentTypes } from '../../../posts/model.ts';
import { type IntegrationType, providerOf } from '../../../providers/index.ts';
import { kinds } from '../../../triggers/kinds/index.ts';
import type { TriggerKind } from '../../../triggers/kinds/kind.ts';
import type { Trigger, TriggerFilters } from '../../../triggers/model.ts';
import type { NewTrigger, TriggerChanges } from '../../../triggers/service.ts';
import { readValues, writeValues } from './values.ts';
import { filterWords } from './words.ts';

// What the form of a trigger says. Texts stay as they were typed, to be shown again.

/** The kind of the event; null when the provider does not have it. */
export function kindOf(provider: IntegrationType, event: string | null): TriggerKind | null {
  const kind = Object.values(kinds).find((kind) => kind.event === event);
  return kind !== undefined && Object.hasOwn(providerOf(provider).triggerEvents, kind.event) ? kind : null;
}

export function contentTypeOf(text: string | null, otherwise: ContentType = 'changelog'): ContentType {
  return contentTypes.find((each) => each === text) ?? otherwise;
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
  return {
    integrationId,
    repository: form.get('repository') || undefined,
    event: kind.event,
    last: Number(form.get('last') ?? 0),
    ...readRule(form, kind, contentTypeOf(form.get('contentType'))),
  };
}

/** What can be changed of a trigger, all of it: what is empty is no filter, or the built-in template. */
export function readRule(
  form: URLSearchParams,
  kind: TriggerKind,
  contentType: ContentType,
): Required<TriggerChanges> {
  const filters: TriggerFilters = {};
  for (const name of listFiltersOf(kind)) {
    const values = readValues(form.get(name) ?? '');
    if (values.length > 0) filters[name] = values;
  }
  if (kind.filters.includes('prereleases') && form.has('noPrereleases')) filters.prereleases = false;
  return {
    filters,
    contentType,
    titleTemplate: templateIn(form, 'titleTemplate'),
    bodyTemplate: templateIn(form, 'bodyTemplate'),
    publish: form.has('publish'),
  };
}

/** A form ends lines with CR LF. */
function templateIn(form: URLSearchParams, name: string): string | null {
  const text = form.get(name) ?? '';
  return text.trim() === '' ? null : text.replaceAll('\r\n', '\n');
}

/** The form as it is filled in for a trigger: `readRule` reads the same from it. */
export function formOf({
  filters,
  contentType,
  titleTemplate,
  bodyTemplate,
  publish,
}: Trigger): URLSearchParams {
  const form = new URLSearchParams({
    contentType,
    titleTemplate: titleTemplate ?? '',
    bodyTemplate: bodyTemplate ?? '',
  });
  for (const [name, values] of Object.entries(filters)) {
    if (Array.isArray(values)) form.set(name, writeValues(values));
  }
  if (filters.prereleases === false) form.set('noPrereleases', 'yes');
  if (publish) form.set('publish', 'yes');
  return form;
}

const SAME = 'Another trigger does the same already. Choose other filters, or delete that one first.';

/** What to say of a refusal. */
export function problemOf(error: AppError | undefined): string | undefined {
  return error?.status === 409 ? SAME : error?.message;
}

/** Which field a refusal is about; null for the form as a whole. */
export function fieldOf(message: string): string | null {
  if (message.startsWith('title')) return 'titleTemplate';
  if (message.startsWith('body')) return 'bodyTemplate';
  if (message.startsWith('The number of past releases')) return 'last';
  const name = Object.keys(filterWords).find(
    (each) => message.startsWith(`${each} `) || message.startsWith(`${each}.`),
  );
  return name ?? null;
}
