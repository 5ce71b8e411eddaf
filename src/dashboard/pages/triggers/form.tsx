import { type Static, Type } from '@sinclair/typebox';
import { ENTRY_RULES, isEntryRule, RELEASE_NOTE, SKIP_LABELS } from '../../../drafting/changes/rules.ts';
import { builtInTemplates } from '../../../drafting/starters.ts';
import type { TriggerKind } from '../../../drafting/triggers/kinds/kind.ts';
import { MAX_LAST, type Trigger, type TriggerFilters } from '../../../drafting/triggers/model.ts';
import type { TriggerChanges } from '../../../drafting/triggers/service.ts';
import type { AppError } from '../../../lib/app-error.ts';
import { isRecord } from '../../../lib/validation.ts';
import { ContentType } from '../../../posts/model.ts';
import { type FieldState, type formState, labelsOf } from '../../fields.ts';
import { More, useVisit } from '../../view/elements.tsx';
import { Field, Select, TextArea, Toggle } from '../../view/form.tsx';
import { typeOptions } from '../posts/words.tsx';

/** A line and a column of a template, from 1. */
export interface Place {
  line: number;
  column: number;
}

/** The place at which a template of a refused rule fails; null if that is unknown. */
export function placeOf(error: AppError | undefined, field: string): Place | null {
  const { places } = error?.details ?? {};
  const place: unknown = isRecord(places) ? places[field] : null;
  return isRecord(place) ? { line: Number(place.line), column: Number(place.column) } : null;
}

/** Lines above and below the line of the error. */
const AROUND = 1;
/** Characters of a line before the error, and of any line in all. */
const BEFORE = 40;
const MAX_EXCERPT = 120;

/** The lines of a template around an error, which is marked. */
export function Excerpt({ source, line, column }: Place & { source: string }) {
  const lines = source.split('\n');
  const first = Math.max(line - AROUND, 1);
  return (
    <pre class="excerpt">
      {lines.slice(first - 1, line + AROUND).map((text, index) => {
        const number = first + index;
        return (
          <span class={number === line ? 'excerpt-line wrong' : 'excerpt-line'}>
            <span class="excerpt-number">{number}</span>
            <code>{number === line ? marked(text, column - 1) : text.slice(0, MAX_EXCERPT)}</code>
          </span>
        );
      })}
    </pre>
  );
}

function marked(text: string, at: number) {
  const start = Math.max(at - BEFORE, 0);
  const [word = ''] = /^(?:[\w.]+|\W)/.exec(text.slice(at)) ?? [];
  const end = at + word.length;
  return (
    <>
      {start > 0 ? '…' : ''}
      {text.slice(start, at)}
      <mark>{word || ' '}</mark>
      {text.slice(end, start + MAX_EXCERPT)}
    </>
  );
}

/** A filter that is a list, as one line. */
const list = (label: string, hint: string, more = '') =>
  Type.String({ label, subject: label, hint: `${hint} Separate with commas.${more}` });
/** Of names that people choose. */
const listOfNames = (label: string, hint: string) =>
  list(label, hint, ' Quote a name that contains a comma.');

/** The error of a template names it. */
const template = (label: string, hint: string) =>
  Type.String({
    label,
    subject: '',
    hint: `${hint} Leave empty to use the built-in template, shown in gray.`,
  });

const filters = {
  branch: list('Branches', 'Such as main, release/*. Leave empty for the default branch.'),
  path: list('Paths', 'Such as packages/api/**. Leave empty for every file.'),
  label: listOfNames('Labels', 'One match is enough. Leave empty to ignore labels.'),
  tag: list('Tags', 'Such as v2.*. Leave empty for every tag.'),
  team: listOfNames('Teams', "A team's key, name or id. Leave empty for every team."),
  project: listOfNames('Projects', "A project's name or id. Leave empty for every project."),
  excludeLabel: listOfNames('Labels to leave out', `Leave empty for ${SKIP_LABELS.join(' and ')}.`),
  excludeAuthor: listOfNames('Authors to leave out', 'Such as dependabot[bot], renovate[bot].'),
  excludeTitle: listOfNames('Titles to leave out', 'Such as WIP*. A * matches anything.'),
  excludeType: list('Types to leave out', 'Such as chore, ci. Breaking and security changes stay.'),
};

export const TriggerForm = Type.Object({
  event: Type.String(),
  contentType: Type.Optional(Type.Union(ContentType.anyOf, { label: 'Post type' })),
  repository: Type.String({ label: 'Repository' }),
  ...filters,
  noPrereleases: Type.Boolean({ label: 'Leave out pre-releases' }),
  excludeBots: Type.Boolean({ label: 'Leave out the changes of all bots' }),
  block: Type.String({
    label: 'Block for entries',
    subject: 'The name',
    hint: `The word after the fence in which people write for readers. Leave empty for ${RELEASE_NOTE}.`,
  }),
  titleTemplate: template('Title template', 'Liquid, one line.'),
  bodyTemplate: template('Body template', 'Liquid that writes Markdown.'),
  publish: Type.Boolean({ label: 'Publish posts at once, without a review' }),
  suggests: Type.Boolean({
    label: 'Suggest wording for its drafts',
    hint: 'Sends the entries of each draft to the assistant, in the background. Its answer is a suggestion.',
  }),
  last: Type.String({
    label: 'Also create drafts of the last releases',
    subject: 'It',
    hint: `At most ${MAX_LAST}. They stay drafts even if the trigger publishes at once. Leave empty for none.`,
  }),
});

function listFiltersOf(kind: TriggerKind) {
  return kind.filters.filter((name) => name in filters) as (keyof typeof filters)[];
}

/** The posted rule. An empty field means no filter, or the built-in template. */
export function ruleOf(values: Static<typeof TriggerForm>, kind: TriggerKind) {
  const { contentType, titleTemplate, bodyTemplate, publish, suggests, noPrereleases, excludeBots, block } =
    values;
  const lists = listFiltersOf(kind).map((name) => [name, readValues(values[name])] as const);
  const filters: TriggerFilters = Object.fromEntries(lists.filter(([, values]) => values.length > 0));
  if (kind.filters.includes('excludeBots') && excludeBots) filters.excludeBots = true;
  if (kind.filters.includes('block') && block.trim() !== '') filters.block = block.trim();
  if (kind.filters.includes('prereleases') && noPrereleases) filters.prereleases = false;
  return {
    filters,
    titleTemplate: titleTemplate.trim() === '' ? null : titleTemplate,
    bodyTemplate: bodyTemplate.trim() === '' ? null : bodyTemplate,
    publish,
    suggests,
    ...(contentType !== undefined && { contentType }),
  } satisfies TriggerChanges;
}

/** The inverse of `ruleOf`. */
export function valuesOf({
  filters,
  titleTemplate,
  bodyTemplate,
  publish,
  suggests,
}: Trigger): Record<string, string> {
  const { prereleases, excludeBots, block = '', ...lists } = filters;
  return {
    block,
    titleTemplate: titleTemplate ?? '',
    bodyTemplate: bodyTemplate ?? '',
    ...Object.fromEntries(Object.entries(lists).map(([name, values]) => [name, writeValues(values)])),
    ...(prereleases === false && { noPrereleases: 'yes' }),
    ...(excludeBots && { excludeBots: 'yes' }),
    ...(publish && { publish: 'yes' }),
    ...(suggests && { suggests: 'yes' }),
  };
}

/** The edited values, by field. */
export function editable(rule: Pick<Trigger, keyof TriggerChanges>, kind: TriggerKind) {
  const { filters, contentType, titleTemplate, bodyTemplate, publish, suggests } = rule;
  return {
    ...Object.fromEntries(kind.filters.map((name) => [name, filters[name] ?? null])),
    contentType,
    titleTemplate,
    bodyTemplate,
    publish,
    suggests,
  };
}

/** The inverse of `editable`, with the filters that do not change. */
export function changesOf(
  edited: Readonly<Record<string, unknown>>,
  { filters }: Trigger,
  kind: TriggerKind,
): TriggerChanges {
  const isFilter = (name: string) => kind.filters.some((each) => each === name);
  const entries = Object.entries(edited);
  const changed = Object.fromEntries(entries.filter(([name]) => isFilter(name)));
  const all = Object.entries({ ...filters, ...changed }).filter(([, value]) => value !== null);
  return {
    ...Object.fromEntries(entries.filter(([name]) => !isFilter(name))),
    filters: Object.fromEntries(all) as TriggerFilters,
  };
}

export const ruleLabels: Readonly<Record<string, string>> = {
  ...labelsOf(TriggerForm),
  prereleases: 'Pre-releases',
  publish: 'Publish at once',
  suggests: 'Suggest wording',
};

// The values of a filter as one line, separated by commas. A value with a comma, such as a project "Quiet, fast",
// stands in double quotes; a quote inside is doubled.

const VALUE = /\s*("(?:[^"]|"")*"(?=\s*(?:,|$))|[^,]*)\s*(?:,|$)/g;

/** In characters: more than all values of a filter together. */
const MAX_LENGTH = 20_000;

export function readValues(line: string): string[] {
  if (line.length > MAX_LENGTH) return [line];
  return Array.from(line.matchAll(VALUE), ([, text = '']) => {
    const [, quoted] = /^"(.*)"$/s.exec(text) ?? [];
    return quoted === undefined ? text.trim() : quoted.replaceAll('""', '"');
  }).filter((value) => value.trim() !== '');
}

export function writeValues(values: readonly string[]): string {
  return values
    .map((value) => {
      const isPlain = value.trim() === value && !/^"|,/.test(value);
      return isPlain ? value : `"${value.replaceAll('"', '""')}"`;
    })
    .join(', ');
}

export type TriggerFields = ReturnType<typeof formState<typeof TriggerForm>>['fields'];

const isSet = ({ value }: FieldState) => value !== undefined;

/** The filters, templates and publishing of a trigger. `error`: why it was refused. */
export function RuleFields(props: {
  kind: TriggerKind;
  type: ContentType;
  fields: TriggerFields;
  error: AppError | undefined;
}) {
  const { kind, type, fields, error } = props;
  const { deps, organization } = useVisit();
  const waits =
    organization.needsApproval &&
    'Publishing needs a second person here, so its posts are drafts that wait for approval.';
  const builtIn = builtInTemplates(kind.event, type);
  const hasRules = ENTRY_RULES.some(
    (name) => (fields[name].value ?? '') !== '' || fields[name].error !== null,
  );
  return (
    <>
      <h2>Filters</h2>
      {listFiltersOf(kind)
        .filter((name) => !isEntryRule(name))
        .map((name) => {
          const { hint = '', ...field } = fields[name];
          // Without a branch filter, releases of every branch match.
          const isOfAll = name === 'branch' && kind.event === 'release';
          const hintOfAll = hint.replace('the default branch', 'every branch');
          return <Field {...field} hint={isOfAll ? hintOfAll : hint} required={false} />;
        })}
      {kind.filters.includes('prereleases') && (
        <Toggle {...fields.noPrereleases} isOn={isSet(fields.noPrereleases)} />
      )}
      {kind.filters.some(isEntryRule) && (
        <More label="Entries: what to leave out" isOpen={hasRules}>
          <div class="stack">
            <p class="hint">
              An entry is the title of a change, or what its author wrote for readers in a block of its
              description.
            </p>
            <Field {...fields.block} required={false} />
            {listFiltersOf(kind)
              .filter(isEntryRule)
              .map((name) => (
                <Field {...fields[name]} required={false} />
              ))}
            <Toggle {...fields.excludeBots} isOn={isSet(fields.excludeBots)} />
          </div>
        </More>
      )}
      <h2>Template</h2>
      <Select {...fields.contentType} value={type} options={typeOptions} />
      <TemplateField field={fields.titleTemplate} rows={2} placeholder={builtIn.title} error={error} />
      <TemplateField field={fields.bodyTemplate} rows={16} placeholder={builtIn.body} error={error} />
      <h2>Publishing</h2>
      {kind.isRolling ? (
        <p class="hint">
          Its draft grows with each event until a person publishes it
          {kind.isOfBranch ? ', or a release closes it' : ''}.
        </p>
      ) : (
        <Toggle {...fields.publish} {...(waits && { hint: waits })} isOn={isSet(fields.publish)} />
      )}
      {(deps.assistant !== undefined || isSet(fields.suggests)) && (
        <Toggle {...fields.suggests} isOn={isSet(fields.suggests)} />
      )}
    </>
  );
}

function TemplateField(props: {
  field: FieldState;
  rows: number;
  placeholder: string;
  error: AppError | undefined;
}) {
  const { field, rows, placeholder, error } = props;
  const place = field.error === null ? null : placeOf(error, field.name);
  const mark = place && { 'data-line': place.line, 'data-column': place.column };
  return (
    <TextArea
      {...field}
      kind="template"
      more={{ class: 'mono', rows, placeholder, spellcheck: false, ...mark }}
      detail={place && <Excerpt source={field.value ?? ''} {...place} />}
    />
  );
}
