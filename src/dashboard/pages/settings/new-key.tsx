/** @jsxRuntime automatic @jsxImportSource preact */
import { READ_PERMISSION } from '../../../keys/model.ts';
import { DAY_MS } from '../../../lib/time.ts';
import { newMark } from '../../once.ts';
import { Field, FormError } from '../../view/form.tsx';
import { problemWith } from '../../view/problem.ts';

const expiries = [
  { value: '', label: 'Never' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In a year' },
  { value: 'date', label: 'On a date of your choice' },
] as const;

/** What was typed into the form. */
export interface NewKeyFields {
  name: string;
  expiry: string;
  date: string;
}

export function readNewKey(form: URLSearchParams): NewKeyFields {
  return {
    name: (form.get('name') ?? '').trim(),
    expiry: form.get('expiry') ?? '',
    date: form.get('date') ?? '',
  };
}

/** When the key ends, for the key service, which refuses what is no time or has passed. */
export function expiryOf({ expiry, date }: NewKeyFields, now: Date): string | null {
  if (expiry === '') return null;
  const days = Number(expiry);
  if (expiries.some(({ value }) => value === expiry) && days > 0) {
    return new Date(now.getTime() + days * DAY_MS).toISOString();
  }
  return date;
}

/** Makes a key. Open when something in it was refused, or when there is no key yet. */
export function NewKeyForm({
  action,
  given,
  error,
  isOpen,
}: {
  action: string;
  given: NewKeyFields;
  error: string | undefined;
  isOpen: boolean;
}) {
  const aboutName = problemWith('name', 'The name', error);
  const isAboutDate = error?.startsWith('expiresAt ') === true;
  return (
    <details class="create" open={isOpen}>
      <summary class="button go">Create New API Key</summary>
      <form method="post" action={action} class="stack card pad" data-once>
        <FormError error={aboutName === null && !isAboutDate ? error : null} />
        <input type="hidden" name="mark" value={newMark()} />
        <Field
          label="Name"
          name="name"
          value={given.name}
          hint="What it is for, so that you know later what stops when it goes: “Website, production”."
          error={aboutName}
        />
        <div class="field">
          <label for="field-expiry">Expires</label>
          <select id="field-expiry" name="expiry">
            {expiries.map(({ value, label }) => (
              <option value={value} selected={value === given.expiry}>
                {label}
              </option>
            ))}
          </select>
        </div>
        <div class="on-date">
          <Field
            label="Date"
            name="date"
            type="date"
            value={given.date}
            required={false}
            hint="It stops working when that day begins, at midnight UTC."
            error={isAboutDate ? 'Choose a day that lies ahead.' : null}
          />
        </div>
        <p class="hint">
          It may read the posts of this organization, drafts among them, and nothing else (
          <code>{READ_PERMISSION}</code>
          ).
        </p>
        <button type="submit" class="button go">
          Create key
        </button>
      </form>
    </details>
  );
}
