import type { Static, TSchema } from '@sinclair/typebox';
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler';
import { invalidField } from './app-error.ts';

/** `field` is a path with dots, such as `sourceMetadata.author`; `message` completes the sentence. */
export interface Problem {
  field: string;
  message: string;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Compiled at first use, which takes about a millisecond; a check of a push then takes 1 µs in place of 24. */
const compiled = new WeakMap<TSchema, TypeCheck<TSchema>>();

/** The first problem of `value`, or null. `schema` is a constant of a module. */
export function findProblem(schema: TSchema, value: unknown): Problem | null {
  const check = compiled.get(schema) ?? TypeCompiler.Compile(schema);
  compiled.set(schema, check);
  if (check.Check(value)) return null;
  const error = check.Errors(value).First();
  if (error === undefined) return null;
  const field = error.path.slice(1).replaceAll('/', '.');
  return { field, message: describe(error.schema, error.value, error.message) };
}

/** `value` as the schema's type. Throws `AppError` 400 with the first invalid field in `fields`. */
export function requireValid<Schema extends TSchema>(schema: Schema, value: unknown): Static<Schema> {
  const problem = findProblem(schema, value);
  if (problem !== null) throw invalidField(problem.field, problem.message);
  return value as Static<Schema>;
}

/** TypeBox's own messages name unions and patterns instead of the choices and bounds. */
function describe(schema: TSchema, value: unknown, fallback: string): string {
  if (value === undefined) return 'is missing';
  const expected: unknown = schema.errorMessage;
  if (typeof expected === 'string') return expected;
  if (schema.additionalProperties === false) return 'is not a known field';
  const choices = schema.anyOf as TSchema[] | undefined;
  if (choices?.every((choice) => 'const' in choice)) {
    return `must be one of ${choices.map((choice) => choice.const).join(', ')}, not ${short(value)}`;
  }
  if (value === '' || (schema.pattern === '\\S' && typeof value === 'string' && value.trim() === '')) {
    return 'must not be empty';
  }
  if (typeof value === 'string' && typeof schema.maxLength === 'number' && value.length > schema.maxLength) {
    return `must have at most ${schema.maxLength} characters, not ${value.length}`;
  }
  if (typeof value === 'string' && typeof schema.pattern === 'string') {
    return `must match ${schema.pattern}, not ${short(value)}`;
  }
  return `is wrong: ${fallback.toLowerCase()}, not ${short(value)}`;
}

function short(value: unknown): string {
  // Writing one that nests thousands of levels deep takes seconds and fails.
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'an object';
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}
