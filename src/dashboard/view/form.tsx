/** @jsxRuntime automatic @jsxImportSource preact */
import type { ComponentChildren } from 'preact';
import { newMark } from '../submission.ts';

/** A form with its button. `formState` and `submit` of `submission.ts` fill it in and read it. */
export function Form({
  to,
  problem,
  button,
  kind = 'go',
  layout = 'stack',
  isOnce = false,
  busy,
  id,
  children,
}: {
  to: string;
  problem: string | null;
  /** The button's label. */
  button: string;
  kind?: '' | 'go' | 'bad' | 'link';
  layout?: string;
  /** The response shows something once, so sending the form again must do nothing. */
  isOnce?: boolean;
  /** The button's label while the response takes its time. The script sets it. */
  busy?: string;
  id?: string;
  children?: ComponentChildren;
}) {
  return (
    <form method="post" action={to} class={layout} id={id} data-once={isOnce ? '' : undefined}>
      <FormError error={problem} />
      {isOnce ? <input type="hidden" name="mark" value={newMark()} /> : null}
      {children}
      <button type="submit" class={kind === 'link' ? 'link' : `button ${kind}`.trim()} data-busy={busy}>
        {button}
      </button>
    </form>
  );
}

/** A form of one button, for something that happens at once. */
export function Action({
  label,
  fields = {},
  kind = '',
  ...form
}: Pick<Parameters<typeof Form>[0], 'to' | 'kind' | 'isOnce' | 'busy'> & {
  label: string;
  fields?: Readonly<Record<string, string>>;
}) {
  return (
    <Form {...form} kind={kind} button={label} problem={null} layout="inline">
      <Hidden values={Object.entries(fields)} />
    </Form>
  );
}

/** Explains an action before its button. `about` tells a screen reader which of several it is. */
export function Danger({
  label,
  about,
  isMild = false,
  button,
  children,
  ...action
}: Omit<Parameters<typeof Action>[0], 'kind' | 'label'> & {
  label: string;
  about?: string | null;
  isMild?: boolean;
  button: string;
  children: ComponentChildren;
}) {
  return (
    <details class={isMild ? 'danger mild' : 'danger'}>
      <summary>
        {label}
        {about ? <span class="hidden"> {about}</span> : null}
      </summary>
      <p>{children}</p>
      <Action {...action} label={button} kind={isMild ? '' : 'bad'} />
    </details>
  );
}

export function Hidden({ values }: { values: readonly (readonly [name: string, value: string])[] }) {
  return values.map(([name, value]) => <input type="hidden" name={name} value={value} />);
}

/** Names the hint and the error for screen readers. */
function described(id: string, hint: unknown, error: unknown) {
  const by = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ');
  return { 'aria-describedby': by || undefined, 'aria-invalid': error ? ('true' as const) : undefined };
}

/** An input with its label above, and its hint and error below. */
function Labeled({
  id,
  label,
  hint,
  error,
  kind,
  children,
}: {
  id: string;
  label: string;
  hint?: ComponentChildren;
  error?: string | null | undefined;
  kind?: string;
  children: ComponentChildren;
}) {
  return (
    <div class={['field', kind, error && 'wrong'].filter(Boolean).join(' ')}>
      <label for={id}>{label}</label>
      {children}
      {hint ? (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      ) : null}
      <FieldError id={`${id}-error`} error={error} />
    </div>
  );
}

/** `id`: for a page with another field of that name. `kind`: a class of the field. */
export function Field({
  label,
  name,
  hint,
  error = null,
  id = `field-${name}`,
  kind = '',
  ...input
}: {
  label: string;
  name: string;
  hint?: ComponentChildren;
  error?: string | null;
  id?: string;
  kind?: string;
  type?: 'text' | 'email' | 'password' | 'date' | 'search' | 'number';
  value?: string;
  min?: number;
  max?: number;
  placeholder?: string;
  autoComplete?: string;
  required?: boolean;
  autoFocus?: boolean;
}) {
  return (
    <Labeled id={id} label={label} hint={hint} error={error} kind={kind}>
      <input
        id={id}
        name={name}
        type="text"
        required
        autoComplete="off"
        {...(input as { type?: 'text' })}
        {...described(id, hint, error)}
      />
    </Labeled>
  );
}

/** A field of several lines. `more`: attributes of the element. */
export function TextArea({
  label,
  name,
  value = '',
  hint,
  error,
  more = {},
}: {
  label: string;
  name: string;
  value?: string;
  hint?: ComponentChildren;
  error?: string | null;
  more?: { class?: string; rows?: number; placeholder?: string; 'data-preview'?: string };
}) {
  const id = `field-${name}`;
  return (
    <Labeled id={id} label={label} hint={hint} error={error ?? null}>
      {/* An HTML parser drops one line break at the beginning: this one, and none of the value. */}
      <textarea id={id} name={name} {...more} {...described(id, hint, error)}>
        {`\n${value}`}
      </textarea>
    </Labeled>
  );
}

/** Radio buttons, one for each value. */
export function Choice<Value extends string>({
  label,
  name,
  value,
  options,
  children,
}: {
  label: string;
  name: string;
  value?: string;
  options: readonly { value: Value; label: ComponentChildren; hint: ComponentChildren }[];
  children?: ComponentChildren;
}) {
  return (
    <fieldset>
      <legend class="label">{label}</legend>
      {options.map((option) => (
        <label class="check">
          <input type="radio" name={name} value={option.value} checked={option.value === value} />
          <span>
            {option.label}
            <span class="hint">{option.hint}</span>
          </span>
        </label>
      ))}
      {children}
    </fieldset>
  );
}

export function FieldError({ id, error }: { id: string; error?: string | null | undefined }) {
  return error ? (
    <p class="error" id={id}>
      {error}
    </p>
  ) : null;
}

/** A problem of the form as a whole. */
export function FormError({ error }: { error: string | null | undefined }) {
  return error ? (
    <p class="problem" role="alert">
      {error}
    </p>
  ) : null;
}
