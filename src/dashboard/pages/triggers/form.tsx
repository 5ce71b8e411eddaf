/** @jsxRuntime automatic @jsxImportSource preact */
import type { ComponentChildren } from 'preact';
import { builtInTemplates } from '../../../drafts/built-in.ts';
import type { EventType } from '../../../events/model.ts';
import type { AppError } from '../../../lib/app-error.ts';
import { type ContentType, contentTypes } from '../../../posts/model.ts';
import type { IntegrationType } from '../../../providers/index.ts';
import { kindsFor } from '../../../triggers/kinds/index.ts';
import type { TriggerKind } from '../../../triggers/kinds/kind.ts';
import { MAX_LAST, type Trigger, type TriggerFilters } from '../../../triggers/model.ts';
import type { NewTrigger, TriggerChanges } from '../../../triggers/service.ts';
import { isRefusal } from '../../../triggers/words.ts';
import { Field, FieldError, FormError } from '../../view/form.tsx';

/** The events that a trigger listens to. */
export const eventWords: Readonly<Record<EventType, string>> = {
  release: 'Releases that are published',
  push: 'Pushes to a branch',
  pull_request: 'Pull requests that are merged',
  issue: 'Issues that are completed',
  project: 'Projects that are completed',
  project_update: 'Project updates that are posted',
};

export const contentWords: Readonly<Record<ContentType, string>> = {
  changelog: 'Changelog',
  linkedin_post: 'LinkedIn post',
};

/** Plural. */
export const contentsWords: Readonly<Record<ContentType, string>> = {
  changelog: 'entries of the changelog',
  linkedin_post: 'posts for LinkedIn',
};

/** The filters that are lists, each with its label and hint. */
const filterWords: Readonly<Record<Exclude<keyof TriggerFilters, 'prereleases'>, [string, string]>> = {
  branch: ['Branches', 'Such as main, release/*. Empty: the default branch.'],
  label: ['Labels', 'One of these is enough. Empty: with or without labels.'],
  tag: ['Tags', 'Such as v2.*. Empty: every tag.'],
  team: ['Teams', "A team's key, name or id. Empty: every team."],
  project: ['Projects', "A project's name or id. Empty: every project."],
};

/** Without a branch filter, releases of every branch match. */
function filterHint(name: keyof typeof filterWords, event: string): string {
  const [, hint] = filterWords[name];
  const its =
    name === 'branch' && event === 'release' ? hint.replace('the default branch', 'every branch') : hint;
  return `${its} Separate with commas. Quote a value that contains a comma.`;
}

// The values of a filter as one line, separated by commas. A value with a comma, such as a project "Quiet, fast",
// stands in double quotes; a quote inside is doubled.

const VALUE = /\s*("(?:[^"]|"")*"(?=\s*(?:,|$))|[^,]*)\s*(?:,|$)/g;

/** In characters: more than all values of a filter together. */
const MAX_LENGTH = 20_000;

export function readValues(line: string): string[] {
  if (line.length > MAX_LENGTH) return [line];
  return Array.from(line.matchAll(VALUE), ([, text = '']) => withoutQuotes(text)).filter(
    (value) => value.trim() !== '',
  );
}

export function writeValues(values: readonly string[]): string {
  return values.map((value) => (isPlain(value) ? value : `"${value.replaceAll('"', '""')}"`)).join(', ');
}

function withoutQuotes(text: string): string {
  const [, quoted] = /^"(.*)"$/s.exec(text) ?? [];
  return quoted === undefined ? text.trim() : quoted.replaceAll('""', '"');
}

function isPlain(value: string): boolean {
  return value.trim() === value && !/^"|,/.test(value);
}

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
function listFiltersOf({ filters }: TriggerKind): ListFilter[] {
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
interface FormProblem {
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

/** The fields of a trigger as a person typed them, with the problem. The children are fields on top. */
export function TriggerForm({
  kind,
  contentType,
  path,
  form,
  problem,
  submit,
  canRequestLast = false,
  children,
}: {
  kind: TriggerKind;
  contentType: ContentType;
  path: string;
  form: URLSearchParams;
  problem: FormProblem | null;
  submit: string;
  /** Offer drafts of past releases. */
  canRequestLast?: boolean;
  children?: ComponentChildren;
}) {
  const builtIn = builtInTemplates(kind.event, contentType);
  const about = (name: string | null) => (problem?.field === name ? problem.text : null);
  const template = (name: string) => ({ name, value: form.get(name) ?? '', error: about(name) });
  return (
    <form method="post" action={path} class="stack wide">
      <FormError error={about(null)} />
      {children}
      {listFiltersOf(kind).map((name) => (
        <Field
          label={filterWords[name][0]}
          name={name}
          value={form.get(name) ?? ''}
          hint={filterHint(name, kind.event)}
          error={about(name)}
          required={false}
        />
      ))}
      {kind.filters.includes('prereleases') ? (
        <Check name="noPrereleases" label="Leave out pre-releases" checked={form.has('noPrereleases')} />
      ) : null}
      <Template {...template('titleTemplate')} label="Title, in Liquid" rows={2} builtIn={builtIn.title} />
      <Template
        {...template('bodyTemplate')}
        label="Body, in Liquid and Markdown"
        rows={12}
        builtIn={builtIn.body}
      />
      {kind.isRolling ? (
        <p class="hint">
          Its draft grows with each event until a person publishes it
          {kind.isOfBranch ? ', or a release closes it' : ''}.
        </p>
      ) : (
        <Check
          name="publish"
          label="Publish at once, without waiting for a person"
          checked={form.has('publish')}
        />
      )}
      {canRequestLast ? (
        <Field
          label="Also make drafts of the last releases"
          name="last"
          type="number"
          min={0}
          max={MAX_LAST}
          value={form.get('last') ?? ''}
          hint={`How many, up to ${MAX_LAST}. They stay drafts even if the trigger publishes at once. Empty: none.`}
          error={about('last')}
          required={false}
        />
      ) : null}
      <button type="submit" class="button go">
        {submit}
      </button>
    </form>
  );
}

function Check({ name, label, checked }: { name: string; label: string; checked: boolean }) {
  return (
    <label class="check">
      <input type="checkbox" name={name} value="yes" checked={checked} />
      {label}
    </label>
  );
}

function Template({
  label,
  name,
  rows,
  value,
  builtIn,
  error,
}: {
  label: string;
  name: string;
  rows: number;
  value: string;
  builtIn: string;
  error: string | null;
}) {
  const id = `field-${name}`;
  return (
    <div class={error ? 'field wrong' : 'field'}>
      <label for={id}>{label}</label>
      {/* HTML parsers drop one leading line break: this one, not the template's own. */}
      <textarea
        id={id}
        name={name}
        class="mono"
        rows={rows}
        placeholder={builtIn}
        aria-describedby={`${id}-hint${error ? ` ${id}-error` : ''}`}
        aria-invalid={error ? 'true' : undefined}
      >
        {`\n${value}`}
      </textarea>
      <p class="hint" id={`${id}-hint`}>
        Leave empty to use the built-in template, shown in grey.
      </p>
      <FieldError id={`${id}-error`} error={error} />
    </div>
  );
}
