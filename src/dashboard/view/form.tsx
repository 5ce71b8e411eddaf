/** @jsxRuntime automatic @jsxImportSource preact */
import type { ComponentChildren } from 'preact';

/** Tells two forms of a kind apart, so that reloading a response does not do the work again. */
export function Mark() {
  return <input type="hidden" name="mark" value={crypto.getRandomValues(new Uint8Array(16)).toHex()} />;
}

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
  kind?: '' | 'go';
  layout?: string;
  /** The response shows something once, so sending the form again must do nothing. */
  isOnce?: boolean;
  /** The button's label while the response takes its time. The script sets it. */
  busy?: string;
  id?: string;
  children: ComponentChildren;
}) {
  return (
    <form method="post" action={to} class={layout} id={id} data-once={isOnce ? '' : undefined}>
      <FormError error={problem} />
      {isOnce ? <Mark /> : null}
      {children}
      <button type="submit" class={`button ${kind}`.trim()} data-busy={busy}>
        {button}
      </button>
    </form>
  );
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

export function Field({
  label,
  name,
  type = 'text',
  value,
  min,
  max,
  hint,
  error,
  placeholder,
  autoComplete = 'off',
  required = true,
  autoFocus = false,
  id = `field-${name}`,
  kind = '',
}: {
  label: string;
  name: string;
  /** For a page with another field of that name. */
  id?: string;
  type?: 'text' | 'email' | 'password' | 'date' | 'search' | 'number';
  value?: string;
  min?: number;
  max?: number;
  hint?: ComponentChildren;
  error?: string | null;
  placeholder?: string;
  autoComplete?: string;
  required?: boolean;
  autoFocus?: boolean;
  /** A class of the field. */
  kind?: string;
}) {
  return (
    <Labeled id={id} label={label} hint={hint} error={error ?? null} kind={kind}>
      <input
        id={id}
        name={name}
        type={type as 'text'}
        value={value}
        min={min}
        max={max}
        placeholder={placeholder}
        required={required}
        autofocus={autoFocus}
        autocomplete={autoComplete}
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

/** A form of one button, for something that happens at once. */
export function Action({
  to,
  label,
  kind = '',
  fields = {},
  isOnce = false,
  busy,
}: {
  to: string;
  label: string;
  kind?: '' | 'go' | 'bad' | 'link';
  fields?: Readonly<Record<string, string>>;
  /** The response shows something once, so sending the form again must do nothing. */
  isOnce?: boolean;
  /** The button's label while the response takes its time. The script sets it. */
  busy?: string;
}) {
  return (
    <form method="post" action={to} class="inline" data-once={isOnce ? '' : undefined}>
      {isOnce ? <Mark /> : null}
      {Object.entries(fields).map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
      <button type="submit" class={kind === 'link' ? 'link' : `button ${kind}`} data-busy={busy}>
        {label}
      </button>
    </form>
  );
}
