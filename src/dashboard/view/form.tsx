import type { TObject } from '@sinclair/typebox';
import type { ComponentChildren, JSX } from 'preact';
import type { AppError } from '../../lib/app-error.ts';
import { type EditState, editState, type Fields } from '../edit.ts';
import { type FieldState, type FieldStates, formState, labelsOf, type Problem } from '../fields.ts';
import { EditConflict, type EditWords } from './difference.tsx';
import { useHref, useVisit } from './elements.tsx';

export const fieldProblem = (id: string, error: string | null | undefined): Problem | null =>
  error == null ? null : [{ id, error }];

/** Tells two forms of a kind apart, so that reloading a response does not do the work again. */
export function Mark() {
  return <input type="hidden" name="mark" value={crypto.getRandomValues(new Uint8Array(16)).toHex()} />;
}

interface FormProps {
  to: string;
  /** The fields stand in the address. */
  isGet?: boolean;
  problem?: Problem | null | undefined;
  button: string;
  kind?: '' | 'go' | 'bad' | 'link';
  layout?: string;
  /** The response shows something once, so sending the form again must do nothing. */
  isOnce?: boolean;
  isUpload?: boolean;
  /** The button's label while the response takes its time. The script sets it. */
  busy?: string | undefined;
  id?: string;
  /** Of a form that edits what is stored: its version, by `editState`, and the words for a conflict. */
  edit?: (EditState & EditWords) | undefined;
  /** The browser asks before it leaves what was typed, although the form has neither long text nor a version. */
  asks?: boolean;
  /** The fields hold what was typed and is not stored. */
  isUnsaved?: boolean;
  children?: ComponentChildren;
}

export function Form({
  to,
  isGet = false,
  problem = null,
  button,
  kind = 'go',
  layout = 'stack',
  edit,
  ...more
}: FormProps) {
  const isRefused = problem != null || (edit !== undefined && edit.conflicts.length > 0);
  const { isUnsaved = isRefused && !isGet } = more;
  return (
    <form
      method={isGet ? 'get' : 'post'}
      action={useHref(to)}
      class={layout || undefined}
      id={more.id}
      encType={more.isUpload ? 'multipart/form-data' : undefined}
      data-once={more.isOnce ? '' : undefined}
      data-unsaved={isUnsaved ? '' : undefined}
      data-asks={more.asks ? '' : undefined}
    >
      {edit && <EditVersion edit={edit} to={to} />}
      <FormError error={problem} />
      {more.isOnce && <Mark />}
      {more.children}
      <button type="submit" class={kind === 'link' ? 'link' : `button ${kind}`.trim()} data-busy={more.busy}>
        {button}
      </button>
    </form>
  );
}

/** How to show fields that are not a line of text, or a switch. */
type Controls<Schema extends TObject> = {
  [Name in keyof FieldStates<Schema>]?: (field: FieldState) => ComponentChildren;
};

/** Shows each field that has a label. `values`: default, those sent. `edits`: what it changes. `submission.ts` reads it. */
export function FormOf<Schema extends TObject>({
  schema,
  hidden,
  edits,
  error,
  ids,
  controls = {},
  arrange,
  autoFocus = false,
  children,
  ...more
}: Omit<FormProps, 'edit'> & {
  schema: Schema;
  error: AppError | null | undefined;
  values?: URLSearchParams | Readonly<Record<string, string>> | undefined;
  edits?: EditWords & { stored: Fields };
  hidden?: Values;
  ids?: Readonly<Record<string, string>>;
  controls?: Controls<Schema>;
  /** In place of one control below the other. */
  arrange?: (fields: FieldStates<Schema>, problem: Problem | null) => ComponentChildren;
  /** Of the first field. */
  autoFocus?: boolean;
}) {
  const visit = useVisit();
  const shown = edits ? textsIn(edits.stored, error == null ? null : visit.form) : visit.form;
  const { values = shown, ...form } = more;
  const { fields, problem } = formState(schema, values, error, ids);
  const edit = edits && { ...editState(visit, edits.stored, error), labels: labelsOf(schema), ...edits };
  const labeled = Object.values<FieldState>(fields).filter(({ label }) => label !== '');
  return (
    <Form problem={problem} {...form} edit={edit}>
      {hidden && <Hidden values={hidden} />}
      {(arrange ? [] : labeled).map((field, index) => {
        const control = controls[field.name as keyof FieldStates<Schema>];
        if (control !== undefined) return control(field);
        if (schema.properties[field.name]?.type === 'boolean') return <Switch {...field} />;
        return <Field {...field} {...(autoFocus && index === 0 && { autoFocus })} />;
      })}
      {arrange?.(fields, problem)}
      {children}
    </Form>
  );
}

/** The stored values in the fields of a form, and the sent ones. */
function textsIn(stored: Fields, sent: URLSearchParams | null): Record<string, string> {
  const isOn = (value: unknown) => value === true && sent === null;
  const entries = Object.entries(stored).map(([name, value]) => [name, isOn(value) ? 'on' : value]);
  return Object.fromEntries([...entries.filter(([, value]) => typeof value === 'string'), ...(sent ?? [])]);
}

export function Switch({ value, label, name, hint }: FieldState) {
  return <Toggle {...{ label, name, hint }} isOn={value !== undefined} />;
}

/** The version of a form that edits something, and the conflict with a newer one. `to`: its page. */
export function EditVersion({ edit, to }: { edit: EditState & EditWords; to: string }) {
  const { seen, base, conflicts, ...words } = edit;
  return (
    <>
      {conflicts.length > 0 && <EditConflict conflicts={conflicts} to={to} words={words} />}
      <input type="hidden" name="seen" value={seen} data-base={base} autoComplete="off" />
    </>
  );
}

interface ActionProps extends Pick<FormProps, 'to' | 'kind' | 'isOnce' | 'busy'> {
  label: string;
  fields?: Readonly<Record<string, string>>;
  /** The version of what it acts on, by `seenOf`. */
  seen?: string | undefined;
}

/** A form of one button, for something that happens at once. */
export function Action({ label, fields = {}, seen, kind = '', ...form }: ActionProps) {
  return (
    <Form {...form} kind={kind} button={label} layout="inline">
      {seen !== undefined && <Seen version={seen} />}
      <Hidden values={fields} />
    </Form>
  );
}

/** Explains an action before its button, in a dialog where scripts run. `about` tells a screen reader which of several it is. */
export function Danger({
  label,
  about,
  isMild = false,
  isButton = false,
  button,
  children,
  ...action
}: Omit<ActionProps, 'kind'> & {
  about?: string | null;
  isMild?: boolean;
  /** Looks like a button beside others. */
  isButton?: boolean;
  button: string;
  children: ComponentChildren;
}) {
  return (
    // The script shows it as a dialog.
    <details class={isMild ? 'danger mild' : 'danger'} data-confirm={button}>
      <summary class={isButton ? 'button' : undefined}>
        {label}
        {about && <span class="hidden"> {about}</span>}
      </summary>
      <p>{children}</p>
      <Action {...action} label={button} kind={isMild ? '' : 'bad'} />
    </details>
  );
}

/** The version of what a button acts on, by `seenOf`. */
export function Seen({ version }: { version: string | undefined }) {
  return <input type="hidden" name="seen" value={version} autoComplete="off" />;
}

type Values = Readonly<Record<string, string>> | Iterable<readonly [name: string, value: string]>;

export function Hidden({ values }: { values: Values }) {
  const entries = Symbol.iterator in values ? [...values] : Object.entries(values);
  return entries.map(([name, value]) => <input type="hidden" name={name} value={value} />);
}

/** `id`: for a page with another field of that name. `kind`: a class of the field. */
interface Labels {
  label: string;
  name: string;
  hint?: ComponentChildren;
  error?: string | null | undefined;
  detail?: ComponentChildren;
  id?: string | undefined;
  kind?: string | undefined;
  /** Only screen readers read the label. */
  isLabelHidden?: boolean;
}

/** `children` gets the attributes that join the control with its label, hint and error. */
function Labeled(props: Labels & { children: (attributes: object) => ComponentChildren }) {
  const { label, name, hint, error, detail, id = `field-${name}`, kind, isLabelHidden = false } = props;
  const by = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ');
  const described = { 'aria-describedby': by || undefined, 'aria-invalid': error ? 'true' : undefined };
  return (
    <div class={['field', kind, error && 'wrong'].filter(Boolean).join(' ')}>
      <label for={id} class={isLabelHidden ? 'hidden' : undefined}>
        {label}
      </label>
      {props.children({ id, name, ...described })}
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      <FieldError id={`${id}-error`} error={error} />
      {detail}
    </div>
  );
}

/** Attributes of an element, with those for the script. */
type More<Element extends 'input' | 'textarea'> = Omit<JSX.IntrinsicElements[Element], keyof Labels> &
  Readonly<Record<`data-${string}`, string | number | undefined>>;

export function Field({ label, name, hint, error, id, kind, ...input }: Labels & More<'input'>) {
  const attributes = { type: 'text', required: true, autoComplete: 'off', ...input };
  return (
    <Labeled label={label} name={name} hint={hint} error={error} id={id} kind={kind}>
      {(described) => <input {...(attributes as { type: 'text' })} {...described} />}
    </Labeled>
  );
}

/** A field of several lines. */
export function TextArea(props: Labels & { value?: string; more?: More<'textarea'> }) {
  const { value = '', more = {}, ...labels } = props;
  return (
    <Labeled {...labels}>
      {(described) => (
        // An HTML parser drops one line break at the beginning: this one, and none of the value.
        <textarea {...more} {...described}>
          {`\n${value}`}
        </textarea>
      )}
    </Labeled>
  );
}

export interface Option {
  value: string;
  label: string;
}

/** `form`: the id of its form, outside of that form. `all`: an option before the others, for no choice among them. */
export function Select(
  props: Labels & { options: readonly Option[]; form?: string; all?: string; value?: string | undefined },
) {
  const { options, all, value, form, ...labels } = props;
  return (
    <Labeled {...labels}>
      {(described) => (
        <select form={form} {...described}>
          {all !== undefined && <option value="">{all}</option>}
          {options.map((option) => (
            <option value={option.value} selected={option.value === value}>
              {option.label}
            </option>
          ))}
        </select>
      )}
    </Labeled>
  );
}

export function Choice({
  label,
  name,
  value,
  error,
  options,
  children,
}: Pick<Labels, 'label' | 'name' | 'error'> & {
  value?: string;
  options: readonly { value: string; label: ComponentChildren; hint?: ComponentChildren }[];
  children?: ComponentChildren;
}) {
  // Name the field by its first option, which the summary of errors links to.
  const id = `field-${name}`;
  const described = error ? { 'aria-describedby': `${id}-error`, 'aria-invalid': 'true' as const } : {};
  return (
    <fieldset class={error ? 'wrong' : undefined}>
      <legend class="label">{label}</legend>
      <FieldError id={`${id}-error`} error={error} />
      {options.map((option, index) => (
        <label class="check">
          <input
            type="radio"
            id={index === 0 ? id : undefined}
            name={name}
            value={option.value}
            checked={option.value === value}
            {...described}
          />
          <span>
            {option.label}
            {option.hint && <span class="hint">{option.hint}</span>}
          </span>
        </label>
      ))}
      {children}
    </fieldset>
  );
}

export function Toggle({
  label,
  name,
  isOn,
  hint,
}: Pick<Labels, 'label' | 'name' | 'hint'> & { isOn: boolean }) {
  return (
    <label class="toggle">
      {/* biome-ignore lint/a11y/useAriaPropsForRole: a native checkbox says itself whether it is checked. */}
      <input type="checkbox" role="switch" name={name} value="on" checked={isOn} />
      <span>
        {label}
        {hint && <span class="hint">{hint}</span>}
      </span>
    </label>
  );
}

function FieldError({ id, error }: { id: string; error?: string | null | undefined }) {
  return error ? (
    <p class="error" id={id}>
      {error}
    </p>
  ) : null;
}

const FOCUS = { tabIndex: -1, autoFocus: true };

/** The summary at the top of a refused form, which takes the focus. Its links lead to the fields. */
export function FormError({ error }: { error: Problem | null | undefined }) {
  if (!error || error.length === 0) return null;
  return (
    <div class="problem" {...FOCUS} data-problem role="alert">
      {typeof error === 'string' ? (
        error
      ) : (
        <>
          <strong>{error.length === 1 ? 'There is a problem' : `There are ${error.length} problems`}</strong>
          <ul>
            {error.map((each) => (
              <li>
                <a href={`#${each.id}`}>{each.error}</a>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}
