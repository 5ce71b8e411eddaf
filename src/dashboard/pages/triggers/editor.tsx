import type { ComponentChildren } from 'preact';
import { startersOf } from '../../../drafting/starters.ts';
import { kinds, type Trigger } from '../../../drafting/triggers/model.ts';
import { listVariables } from '../../../drafting/variable-list.ts';
import { scriptAsset } from '../../../http/look/assets.ts';
import type { AppError } from '../../../lib/app-error.ts';
import type { EventType } from '../../../providers/events.ts';
import script from '../../client/triggers.client.js' with { type: 'text' };
import type { EditState } from '../../edit.ts';
import { formState, readFields } from '../../fields.ts';
import { type MemberVisit, view } from '../../page.ts';
import type { EditWords } from '../../view/difference.tsx';
import { Copy, More, Section } from '../../view/elements.tsx';
import { Form } from '../../view/form.tsx';
import { RuleFields, type TriggerFields, TriggerForm } from './form.tsx';
import { previewTyped } from './preview.tsx';

// The form of a trigger beside its help: templates to start from, a preview of what is typed, and the variables.

const clientScript = scriptAsset('triggers.js', script);

/** The form that the controls beside it belong to. They come after its own button, which Enter presses. */
const FORM = 'rule';

/** A button of the form that saves nothing. */
export type Assistance = 'preview' | 'start';

export function assistanceIn(form: URLSearchParams): Assistance | null {
  const action = form.get('action');
  return action === 'preview' || action === 'start' ? action : null;
}

/** The typed values; with "Use template", with the chosen template in the fields. */
export function typedValues(form: URLSearchParams, event: EventType): URLSearchParams {
  const chosen =
    assistanceIn(form) === 'start'
      ? startersOf(event).find(({ id }) => id === form.get('starter'))
      : undefined;
  const values = new URLSearchParams(form);
  if (chosen === undefined) return values;
  values.set('contentType', chosen.contentType);
  values.set('titleTemplate', chosen.title);
  values.set('bodyTemplate', chosen.body);
  return values;
}

export interface EditorProps {
  /** The trigger without the typed changes. */
  trigger: Trigger;
  values: URLSearchParams;
  error: AppError | undefined;
  /** The path that the form is sent to. The preview is at `preview` below it. */
  to: string;
  button: string;
  edit?: EditState & EditWords;
}

interface Around {
  about: Parameters<typeof view>[0];
  head?: ComponentChildren;
  /** Fields before those of the rule, and after them. */
  first?: (fields: TriggerFields) => ComponentChildren;
  last?: (fields: TriggerFields) => ComponentChildren;
  tail?: ComponentChildren;
}

/** The page of a trigger's form. `head` and `tail`: what stands above and below. */
export async function editorPage(
  visit: MemberVisit,
  { trigger, values, error: refused, to, button, edit }: EditorProps,
  { about, head, first, last, tail }: Around,
) {
  const preview = await previewTyped(visit, trigger, values);
  const error = refused ?? preview.error;
  const { fields, problem } = formState(TriggerForm, values, error);
  const { contentType = trigger.contentType } = readFields(TriggerForm, values);
  return view(
    { ...about, error, scripts: [clientScript, ...(about.scripts ?? [])] },
    head,
    <div class="workbench">
      <Form
        id={FORM}
        to={to}
        problem={problem}
        button={button}
        layout="stack rule"
        edit={edit}
        isUnsaved={visit.request.method === 'POST'}
      >
        {first?.(fields)}
        <RuleFields kind={kinds[trigger.event]} type={contentType} fields={fields} error={error} />
        {last?.(fields)}
      </Form>
      <div class="workbench-help" data-workbench={`${to}/preview`}>
        <Starters event={trigger.event} />
        <Section id="preview" title="Preview">
          <div class="bar ends">
            <Picker label="Event" name="preview">
              {preview.options.map(({ value, label }) => (
                <option value={value} selected={value === preview.chosen}>
                  {label}
                </option>
              ))}
            </Picker>
            <button
              type="submit"
              form={FORM}
              formAction={`${to}#preview`}
              formNoValidate
              name="action"
              value="preview"
              class="button"
              data-replaced
            >
              Preview template
            </button>
          </div>
          <p class="hint">Shows the post that this event makes, as you type.</p>
          {preview.hint}
          <p role="status" class="hidden" data-preview-status />
          <div data-preview-result>{preview.result}</div>
        </Section>
        <Variables event={trigger.event} />
      </div>
    </div>,
    tail,
  );
}

/** A choice beside the form that is sent with it. */
function Picker({ label, name, children }: { label: string; name: string; children: ComponentChildren }) {
  const id = `field-${name}`;
  return (
    <div class="field grow">
      <label for={id}>{label}</label>
      <select id={id} name={name} form={FORM} data-unkept>
        {children}
      </select>
    </div>
  );
}

function Starters({ event }: { event: EventType }) {
  return (
    <Section id="starters" title="Start from a template">
      <div class="bar ends">
        <Picker label="Template" name="starter">
          {startersOf(event).map(({ id, name, contentType, title, body }) => (
            <option value={id} data-type={contentType} data-title={title} data-body={body}>
              {name}
            </option>
          ))}
        </Picker>
        <button
          type="submit"
          form={FORM}
          formNoValidate
          name="action"
          value="start"
          class="button"
          data-use-template
        >
          Use template
        </button>
      </div>
      <p class="hint">Replaces both templates in the form. Nothing is saved until you save the trigger.</p>
    </Section>
  );
}

function Variables({ event }: { event: EventType }) {
  return (
    <Section id="variables" title="Variables">
      <More label="Show variables">
        <p class="hint">
          The examples are of a sample event. In the body, add <code>| md</code> to plain text, so that it is
          not read as Markdown. Variables such as <code>change.text</code> exist inside the loop over their
          list.
        </p>
        <ul class="card variables">
          {listVariables(event).map(({ name, description, example, insert }) => (
            <li>
              <div class="grow">
                <code>{name}</code>
                <p>{description}</p>
                {example !== '' && <p class="hint">Example: {example}</p>}
              </div>
              <button
                type="button"
                class="button"
                data-insert={insert}
                data-script
                hidden
                aria-label={`Insert ${name}`}
              >
                Insert
              </button>
              <Copy text={insert} />
            </li>
          ))}
        </ul>
      </More>
    </Section>
  );
}
