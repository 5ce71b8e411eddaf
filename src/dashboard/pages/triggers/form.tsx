/** @jsxRuntime automatic @jsxImportSource preact */
import type { ComponentChildren } from 'preact';
import { builtInTemplates } from '../../../drafts/built-in.ts';
import type { ContentType } from '../../../posts/model.ts';
import type { TriggerKind } from '../../../triggers/kinds/kind.ts';
import { MAX_LAST } from '../../../triggers/model.ts';
import { Field, FieldError, FormError } from '../../view/form.tsx';
import { fieldOf, listFiltersOf } from './read.ts';
import { filterHint, filterWords } from './words.ts';

/** What can be said of a trigger, with what was typed and what is wrong with it. The children are fields on top. */
export function TriggerForm({
  kind,
  contentType,
  path,
  form,
  error,
  submit,
  canRequestLast = false,
  children,
}: {
  kind: TriggerKind;
  contentType: ContentType;
  path: string;
  form: URLSearchParams;
  error?: string | undefined;
  submit: string;
  /** Whether drafts of past releases can be made too. */
  canRequestLast?: boolean;
  children?: ComponentChildren;
}) {
  const builtIn = builtInTemplates(kind.event, contentType);
  const wrong = error === undefined ? null : fieldOf(error);
  const about = (name: string) => (wrong === name ? (error ?? null) : null);
  const template = (name: string) => ({ name, value: form.get(name) ?? '', error: about(name) });
  return (
    <form method="post" action={path} class="stack wide">
      <FormError error={wrong === null ? error : null} />
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
      {/* A parser drops one line break at the beginning: this one, and none of the template's own. */}
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
        Empty: the built-in one, which is shown in grey.
      </p>
      <FieldError id={`${id}-error`} error={error} />
    </div>
  );
}
