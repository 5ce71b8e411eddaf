/** @jsxRuntime automatic @jsxImportSource preact */
import { builtInTemplates } from '../../../drafts/built-in.ts';
import type { AppError } from '../../../lib/app-error.ts';
import { contentTypes } from '../../../posts/model.ts';
import { kinds } from '../../../triggers/kinds/index.ts';
import type { Trigger } from '../../../triggers/model.ts';
import { Select } from '../../view/select.tsx';
import { TriggerForm } from './form.tsx';
import { contentTypeOf, formOf, problemOf } from './read.ts';
import { contentWords } from './words.ts';

/** A change of a trigger that was refused, with what was typed. */
export interface RefusedChange {
  form: URLSearchParams;
  error: AppError;
}

/** The form that changes a trigger: with the trigger as it is or, after something went wrong, with what was typed. */
export function EditTrigger({
  trigger,
  path,
  refused,
}: {
  trigger: Trigger;
  path: string;
  refused: RefusedChange | undefined;
}) {
  const form = refused?.form ?? formOf(trigger);
  const contentType = contentTypeOf(form.get('contentType'), trigger.contentType);
  return (
    <section aria-labelledby="rule">
      <h2 id="rule">What it lets through, and how its posts read</h2>
      <TriggerForm
        kind={kinds[trigger.event]}
        contentType={contentType}
        path={path}
        form={form}
        error={problemOf(refused?.error)}
        submit="Save"
      >
        <Select
          label="Makes"
          name="contentType"
          value={contentType}
          options={contentTypes.map((value) => ({ value, label: contentWords[value] }))}
        />
      </TriggerForm>
      <BuiltIn trigger={trigger} />
    </section>
  );
}

/** The built-in templates as text that can be copied, to begin with. */
function BuiltIn({ trigger: { event, contentType } }: { trigger: Trigger }) {
  const { title, body } = builtInTemplates(event, contentType);
  return (
    <details class="more">
      <summary>The built-in templates</summary>
      <pre class="wrap">{title}</pre>
      <pre class="wrap">{body}</pre>
    </details>
  );
}

/** The templates in force, for who cannot change them. */
export function Templates({
  trigger: { event, contentType, titleTemplate, bodyTemplate },
}: {
  trigger: Trigger;
}) {
  const builtIn = builtInTemplates(event, contentType);
  return (
    <section aria-labelledby="templates">
      <h2 id="templates">Templates</h2>
      <p class="label">Title, {titleTemplate === null ? 'built in' : 'your own'}</p>
      <pre class="wrap">{titleTemplate ?? builtIn.title}</pre>
      <p class="label">Body, {bodyTemplate === null ? 'built in' : 'your own'}</p>
      <pre class="wrap">{bodyTemplate ?? builtIn.body}</pre>
    </section>
  );
}
