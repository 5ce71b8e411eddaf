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

/** A rejected change, with the form as it was typed. */
export interface RefusedChange {
  form: URLSearchParams;
  error: AppError;
}

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
      <h2 id="rule">Filters and templates</h2>
      <TriggerForm
        kind={kinds[trigger.event]}
        contentType={contentType}
        path={path}
        form={form}
        problem={problemOf(refused?.error)}
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

/** The built-in templates as text to copy and start from. */
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

/** The templates in use, for members who cannot change them. */
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
