/** @jsxRuntime automatic @jsxImportSource preact */
import { builtInTemplates } from '../../../drafts/built-in.ts';
import type { Integration } from '../../../integrations/model.ts';
import type { ContentType } from '../../../posts/model.ts';
import type { TriggerKind } from '../../../triggers/kinds/kind.ts';
import { Field, FieldError, FormError } from '../../view/form.tsx';
import { Select } from '../../view/select.tsx';
import { fieldOf, listFiltersOf } from './read.ts';
import { filterWords } from './words.ts';

/** The fields of a new trigger, with what was typed and what is wrong with it. */
export function TriggerForm({
  integration: { repositories },
  kind,
  contentType,
  path,
  form,
  error,
}: {
  integration: Integration;
  kind: TriggerKind;
  contentType: ContentType;
  path: string;
  form: URLSearchParams;
  error?: string | undefined;
}) {
  const builtIn = builtInTemplates(kind.event, contentType);
  const wrong = error === undefined ? null : fieldOf(error);
  const about = (name: string) => (wrong === name ? (error ?? null) : null);
  return (
    <form method="post" action={path} class="stack wide">
      <FormError error={wrong === null ? error : null} />
      <input type="hidden" name="event" value={kind.event} />
      <input type="hidden" name="contentType" value={contentType} />
      {repositories.length > 1 ? (
        <Select
          label="Repository"
          name="repository"
          value={form.get('repository') ?? ''}
          options={[
            { value: '', label: 'All repositories' },
            ...repositories.map(({ id, fullName }) => ({ value: id, label: fullName })),
          ]}
        />
      ) : null}
      {listFiltersOf(kind).map((name) => (
        <Field
          label={filterWords[name][0]}
          name={name}
          value={form.get(name) ?? ''}
          hint={`${filterWords[name][1]} Several are separated by commas.`}
          error={about(name)}
          required={false}
        />
      ))}
      {kind.filters.includes('prereleases') ? (
        <Check name="noPrereleases" label="Leave out pre-releases" checked={form.has('noPrereleases')} />
      ) : null}
      <Field
        label="Title, in Liquid"
        name="titleTemplate"
        value={form.get('titleTemplate') ?? ''}
        placeholder={builtIn.title}
        hint="Empty: the built-in one, which is shown in grey."
        error={about('titleTemplate')}
        required={false}
      />
      <BodyField
        value={form.get('bodyTemplate') ?? ''}
        builtIn={builtIn.body}
        error={about('bodyTemplate')}
      />
      {kind.isRolling ? (
        <p class="hint">
          Its draft grows with each event until a person publishes it, or a release closes it.
        </p>
      ) : (
        <Check
          name="publish"
          label="Publish at once, without waiting for a person"
          checked={form.has('publish')}
        />
      )}
      <button type="submit" class="button go">
        Make the trigger
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

function BodyField({ value, builtIn, error }: { value: string; builtIn: string; error: string | null }) {
  return (
    <div class={error ? 'field wrong' : 'field'}>
      <label for="field-bodyTemplate">Body, in Liquid and Markdown</label>
      <textarea
        id="field-bodyTemplate"
        name="bodyTemplate"
        class="mono"
        rows={12}
        placeholder={builtIn}
        aria-describedby={`field-bodyTemplate-hint${error ? ' field-bodyTemplate-error' : ''}`}
        aria-invalid={error ? 'true' : undefined}
      >
        {value}
      </textarea>
      <p class="hint" id="field-bodyTemplate-hint">
        Empty: the built-in one, which is shown in grey.
      </p>
      <FieldError id="field-bodyTemplate-error" error={error} />
    </div>
  );
}
