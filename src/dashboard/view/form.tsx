/** @jsxRuntime automatic @jsxImportSource preact */
import type { ComponentChildren } from 'preact';
import { newMark } from '../once.ts';

/** A field with its label, a hint below, and what is wrong with what was typed. */
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
  autoComplete,
  required = true,
  autoFocus = false,
  id = `field-${name}`,
}: {
  label: string;
  name: string;
  /** Of its own where the page has another field of that name. */
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
}) {
  const describedBy = [hint ? `${id}-hint` : null, error ? `${id}-error` : null].filter(Boolean).join(' ');
  return (
    <div class={error ? 'field wrong' : 'field'}>
      <label for={id}>{label}</label>
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
        autocomplete={autoComplete ?? 'off'}
        aria-describedby={describedBy || undefined}
        aria-invalid={error ? 'true' : undefined}
      />
      {hint ? (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      ) : null}
      <FieldError id={`${id}-error`} error={error} />
    </div>
  );
}

export function FieldError({ id, error }: { id: string; error?: string | null | undefined }) {
  return error ? (
    <p class="error" id={id}>
      {error}
    </p>
  ) : null;
}

/** What went wrong with a form as a whole. */
export function FormError({ error }: { error: string | null | undefined }) {
  return error ? (
    <p class="problem" role="alert">
      {error}
    </p>
  ) : null;
}

/** A form of one button, for what happens at once. */
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
  /** Whether the answer shows something once, so that sending the form again must do nothing. */
  isOnce?: boolean;
  /** What the button says while the answer takes its time; the script says it. */
  busy?: string;
}) {
  return (
    <form method="post" action={to} class="inline" data-once={isOnce ? '' : undefined}>
      {isOnce ? <input type="hidden" name="mark" value={newMark()} /> : null}
      {Object.entries(fields).map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
      <button type="submit" class={kind === 'link' ? 'link' : `button ${kind}`} data-busy={busy}>
        {label}
      </button>
    </form>
  );
}
