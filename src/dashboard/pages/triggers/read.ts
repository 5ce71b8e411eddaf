import type { EventType } from '../../../events/model.ts';
import type { AppError } from '../../../lib/app-error.ts';
import { type ContentType, contentTypes } from '../../../posts/model.ts';
import type { IntegrationType } from '../../../providers/index.ts';
import { kindsFor } from '../../../triggers/kinds/index.ts';
import type { TriggerKind } from '../../../triggers/kinds/kind.ts';
import type { Trigger, TriggerFilters } from '../../../triggers/model.ts';
import type { NewTrigger, TriggerChanges } from '../../../triggers/service.ts';
import { isRefusal } from '../../../triggers/words.ts';
import { readValues, writeValues } from './values.ts';
import type { filterWords } from './words.ts';

// Between the form of a trigger and the trigger.

/** The kind for an event, of those that work with this type of integration. */
export function kindOf(type: IntegrationType, event: string | null): TriggerKind | null {
  return kindsFor(type).find((kind) => kind.event === event) ?? null;
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

/** An empty field means no filter, or the built-in template. */
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

/** Browsers send line breaks as CR LF. */
function templateIn(form: URLSearchParams, name: string): string | null {
  const text = form.get(name) ?? '';
  return text.trim() === '' ? null : text.replaceAll('\r\n', '\n');
}

/** The inverse of `readRule`. */
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

/** The problem with a form and its field; `field` is null when the problem concerns the whole form. */
export interface FormProblem {
  field: string | null;
  text: string;
}

export function problemOf(error: AppError | undefined): FormProblem | null {
  if (error === undefined) return null;
  if (isRefusal(error, 'trigger_exists')) {
    return {
      field: null,
      text: 'Another trigger has the same rule. Choose other filters, or delete that one first.',
    };
  }
  // The path of a value leads into its filter: `tag.0`.
  const [path, text] = Object.entries(error.fields)[0] ?? [];
  const field = path?.split('.')[0] ?? null;
  return field === null || text === undefined ? { field: null, text: error.message } : { field, text };
}
