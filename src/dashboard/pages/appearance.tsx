/** @jsxRuntime automatic @jsxImportSource preact */
import { Type } from '@sinclair/typebox';
import { AppError } from '../../lib/app-error.ts';
import type { UserVisit, Visit } from '../page.ts';
import { densities, knownZone, type Preferences, themes } from '../preferences.ts';
import { formState, readFields } from '../submission.ts';
import { Choice, Field, Form, Toggle } from '../view/form.tsx';

// The part of the account page about this browser: theme, density, time zone, keys.

const choiceOf = <Value extends string>(values: readonly Value[], label: string) =>
  Type.Union(
    values.map((value) => Type.Literal(value)),
    { label, problem: `Choose a ${label.toLowerCase()}.` },
  );

export const ThemeForm = Type.Object({ theme: choiceOf(themes, 'Theme'), to: Type.String() });

export const AppearanceForm = Type.Object({
  theme: choiceOf(themes, 'Theme'),
  density: choiceOf(densities, 'Density'),
  zone: Type.String({
    label: 'Time zone',
    hint: 'Leave empty to use the time zone of this browser, or enter a name such as Europe/Berlin.',
    problem: 'No time zone has this name. Enter a name such as Europe/Berlin or America/New_York.',
  }),
  shortcuts: Type.Boolean(),
});

/** Throws `AppError` 400 with `fields`. */
export function readAppearance({ form }: Visit): Preferences {
  const { theme, density, zone, shortcuts } = readFields(AppearanceForm, form);
  const fixedZone = zone.trim() === '' ? null : knownZone(zone.trim());
  if (fixedZone === null && zone.trim() !== '') {
    throw new AppError(400, 'unknown time zone', { fields: { zone: 'is unknown' } });
  }
  return { theme, density, fixedZone, hasShortcuts: shortcuts };
}

const themeWords = {
  system: ['System', 'Follows your system setting.'],
  light: ['Light', 'Dark text on a light background.'],
  dark: ['Dark', 'Light text on a dark background.'],
} as const;

const densityWords = {
  comfortable: ['Comfortable', 'Rows are 44 pixels tall.'],
  dense: ['Dense', 'Rows are 36 pixels tall, so more of them fit on the screen.'],
} as const;

export function Appearance({
  visit,
  to,
  error,
}: {
  visit: UserVisit;
  to: string;
  error: AppError | undefined;
}) {
  const { look, form } = visit;
  const isSent = error !== undefined;
  const saved = { theme: look.theme, density: look.density, zone: look.fixedZone ?? '' };
  const { fields, problem } = formState(AppearanceForm, isSent ? form : saved, error);
  const options = <Value extends string>(
    values: readonly Value[],
    words: Readonly<Record<Value, readonly [label: string, hint: string]>>,
  ) => values.map((value) => ({ value, label: words[value][0], hint: words[value][1] }));
  return (
    <section aria-labelledby="appearance">
      <h2 id="appearance">Appearance</h2>
      <p>These settings apply to this browser.</p>
      <Form
        to={to}
        problem={problem ?? fields.theme.error ?? fields.density.error}
        button="Save appearance"
        kind=""
      >
        <Choice {...fields.theme} options={options(themes, themeWords)} />
        <Choice {...fields.density} options={options(densities, densityWords)} />
        <Field {...fields.zone} required={false} placeholder={`Automatic: ${look.zone}`} />
        <Toggle
          label="Single-key shortcuts"
          name="shortcuts"
          isOn={isSent ? form.has('shortcuts') : look.hasShortcuts}
          hint="Such as / to search and g p to go to posts. Ctrl K always works."
        />
      </Form>
    </section>
  );
}
