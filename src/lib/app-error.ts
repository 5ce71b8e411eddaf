import type { Static, TSchema } from '@sinclair/typebox';
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler';

export interface AppErrorOptions {
  /** Names the failure in snake case, such as `post_changed`, for a caller that makes its own words. */
  code?: string;
  /** The invalid fields, each with the problem as the rest of a sentence: `must not be empty`. */
  fields?: Readonly<Record<string, string>>;
  /** Values that belong in those words. */
  details?: Readonly<Record<string, unknown>>;
  cause?: unknown;
  /** Response headers: `Retry-After`, `WWW-Authenticate`. */
  headers?: Record<string, string>;
  /** Default: every status below 500. Anything else is logged as a failure of the service. */
  isRefusal?: boolean;
}

/**
 * A failure that a caller can act on. HTTP responds with `status` and `{"error": message}`, so the message holds
 * nothing that an outsider must not know; the `cause` is for the log. The dashboard and the command line make their
 * words from `code`, `fields` and `details`, never from the message.
 */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: string | undefined;
  readonly fields: Readonly<Record<string, string>>;
  readonly details: Readonly<Record<string, unknown>>;
  readonly headers: Record<string, string>;
  readonly isRefusal: boolean;

  constructor(
    readonly status: number,
    message: string,
    options: AppErrorOptions = {},
  ) {
    super(message, { cause: options.cause });
    this.code = options.code;
    this.fields = options.fields ?? {};
    this.details = options.details ?? {};
    this.headers = options.headers ?? {};
    this.isRefusal = options.isRefusal ?? status < 500;
  }
}

/**
 * Whoever acts may no longer do so: what a new request would get. Nothing that was done for it may stay. Code that goes on
 * after other failures passes it on.
 */
export class AccessEnded extends AppError {}

/** `AppError` 404 with the code `<kind>_not_found`, such as `post_not_found`, and the id in `details`. */
export function notFound(kind: string, id: string): AppError {
  const name = `${kind.slice(0, 1).toUpperCase()}${kind.slice(1)}`;
  return new AppError(404, `${name} ${id} not found`, { code: `${kind}_not_found`, details: { id } });
}

/** `AppError` 400 about one field; `message` completes the sentence that the field's name begins. */
export function invalidField(field: string, message: string): AppError {
  return new AppError(400, `${field} ${message}`, { code: 'invalid_field', fields: { [field]: message } });
}

/** The message of anything that was thrown. */
export const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

/** The code of an error of the system or the database, such as `ENOSPC`; empty without one. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** A change of something that is stored, or a function of what is stored now, which runs in the transaction that writes. */
export type ChangeOf<Stored, Change> = Change | ((stored: Stored) => Change);

export function changeFor<Stored, Change extends object>(
  stored: Stored,
  change: ChangeOf<Stored, Change>,
): Change {
  return typeof change === 'function' ? change(stored) : change;
}

/** `field` is a path with dots, such as `sourceMetadata.author`; `message` completes the sentence. */
export interface Problem {
  field: string;
  message: string;
}

/** An object that is neither an array nor null. */
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
