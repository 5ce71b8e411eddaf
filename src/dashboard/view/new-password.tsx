/** @jsxRuntime automatic @jsxImportSource preact */
import { Field } from './form.tsx';
import { problemWith } from './problem.ts';

/** The field for a password that is chosen. `message`: what the form was refused with, if it is about that. */
export function NewPassword({
  label = 'Password',
  message,
  autoFocus = false,
}: {
  label?: string;
  message: string | undefined;
  autoFocus?: boolean;
}) {
  return (
    <Field
      label={label}
      name="password"
      type="password"
      autoComplete="new-password"
      hint="At least 10 characters. A few unrelated words work well."
      error={problemWith('password', 'The password', message)}
      autoFocus={autoFocus}
    />
  );
}
