import { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox';
import type { AppError } from '../lib/app-error.ts';
import { requireValid } from '../lib/validation.ts';

// The fields of a form: its schema says how each is named, shown, read, and what an error is called.

/** The code of an error: two people changed the same fields. `edit.ts` makes it. */
export const EDIT_CONFLICT = 'edit_conflict';

/** Options of a field in a form's schema, beside TypeBox's own. A field that the page shows needs a `label`. */
export interface FieldOptions {
  label?: string;
  hint?: string;
  inputType?: 'email' | 'password' | 'date' | 'file' | 'number';
  autoComplete?: string;
  placeholder?: string;
  isOptional?: true;
  /** The types of a file, as MIME types or endings of names. */
  accept?: string;
  /** Begins the sentence of a problem. Default: "The" and the label. */
  subject?: string;
  problem?: string;
  /** The name of the field in the service that validates it, where that differs. */
  serviceField?: string;
}

export const emailField = Type.String({
  label: 'Email',
  subject: 'The address',
  inputType: 'email',
  autoComplete: 'username',
} satisfies FieldOptions);

export const newPasswordField = (label: string) =>
  Type.String({
    label,
    subject: 'The password',
    inputType: 'password',
    autoComplete: 'new-password',
    hint: 'At least 10 characters. A few unrelated words work well.',
  } satisfies FieldOptions);

export const choiceOf = <const Value extends string>(
  values: readonly Value[],
  options: FieldOptions & { default?: NoInfer<Value> | undefined },
) =>
  Type.Union(
    values.map((value) => Type.Literal(value)),
    options,
  );

export const NoFields = Type.Object({});

/** The labels of a form's fields, for the words of a conflict. */
export function labelsOf({ properties }: TObject): Record<string, string> {
  const fields = Object.entries(properties as Record<string, FieldOptions>);
  return Object.fromEntries(fields.map(([name, { label = name }]) => [name, label]));
}

/** Line ends are `\n`, a checkbox is a boolean, a missing text is empty. Throws `AppError` 400 with `fields`. */
export function readFields<Schema extends TObject>(schema: Schema, form: URLSearchParams): Static<Schema> {
  const read = (name: string, field: TSchema): unknown => {
    if (field.type === 'array') return form.getAll(name);
    if (field.type === 'boolean') return form.has(name);
    const text = form.get(name)?.replaceAll('\r\n', '\n');
    const choices: TSchema[] | undefined = field.anyOf;
    if (choices !== undefined) return choices.some((choice) => choice.const === text) ? text : field.default;
    return text ?? (schema.required?.includes(name) ? '' : undefined);
  };
  const values = Object.entries(schema.properties).map(([name, field]) => [name, read(name, field)]);
  return requireValid(schema, Object.fromEntries(values));
}

export interface FieldState extends Pick<FieldOptions, 'hint' | 'autoComplete' | 'placeholder' | 'accept'> {
  label: string;
  name: string;
  id?: string;
  type?: NonNullable<FieldOptions['inputType']>;
  required?: false;
  value?: string;
  error: string | null;
}

/** Why a form was refused: its invalid fields, by the ids of their controls, or a sentence about the whole form. */
export type Problem = string | readonly { id: string; error: string }[];

export type FieldStates<Schema extends TObject> = Record<Extract<keyof Static<Schema>, string>, FieldState>;

const shown = ['hint', 'autoComplete', 'placeholder', 'accept'] as const;

/** `problem`: the invalid fields, or about the whole form. `ids`: of fields whose name another form of the page has too. */
export function formState<Schema extends TObject>(
  schema: Schema,
  values: URLSearchParams | Readonly<Record<string, string>>,
  error?: AppError | null,
  ids: Readonly<Record<string, string>> = {},
): { fields: FieldStates<Schema>; problem: Problem | null } {
  const typed = new URLSearchParams(values);
  // The path of a value in a list leads into its field: `tag.0`.
  const problems: Record<string, string> = Object.fromEntries(
    Object.entries(error?.fields ?? {}).map(([path, text]) => [path.split('.')[0], text]),
  );
  const stateOf = (name: string, field: FieldOptions): FieldState => {
    const { label = '', inputType, isOptional, subject, problem, serviceField = name } = field;
    const wrong = problems[serviceField] ?? problems[name];
    const sentence = problem ?? asSentence(`${subject ?? `The ${label.toLowerCase()}`} ${wrong}`.trim());
    const value = inputType === 'password' ? null : typed.get(name);
    return {
      label,
      name,
      error: wrong === undefined ? null : sentence,
      ...(ids[name] !== undefined && { id: ids[name] }),
      ...Object.fromEntries(shown.flatMap((each) => (each in field ? [[each, field[each]]] : []))),
      ...(inputType !== undefined && { type: inputType }),
      ...(isOptional && { required: false }),
      ...(value !== null && { value }),
    };
  };
  const states = Object.entries(schema.properties as Record<string, FieldOptions>).map(([name, field]) => [
    name,
    stateOf(name, field),
  ]);
  const fields: FieldStates<Schema> = Object.fromEntries(states);
  const wrong = Object.values<FieldState>(fields).flatMap(({ name, id = `field-${name}`, error }) =>
    error === null ? [] : [{ id, error }],
  );
  // The form shows a conflict itself.
  const isPlain = error == null || error.code === EDIT_CONFLICT;
  const problem = isPlain ? null : wrong.length > 0 ? wrong : asSentence(error.message);
  return { fields, problem };
}

const asSentence = (text: string) => withPeriod(`${text.charAt(0).toUpperCase()}${text.slice(1)}`);

export const withPeriod = (text: string) => (/[.?]$/.test(text) ? text : `${text}.`);
