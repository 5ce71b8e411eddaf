import { type TSchema, Type } from '@sinclair/typebox';
import { cutLine, cutText, MAX_BODY_LENGTH } from '../lib/text.ts';
import { parseTime } from '../lib/time.ts';

// What handlers read from payloads: schemas for fields that may be null or absent, and how such a field becomes
// one of ours. Absent and null are the same to us: null.

const MAX_LINE_LENGTH = 1000;
const MAX_URL_LENGTH = 2000;

/** How many entries of a list are kept. */
export const MAX_LIST_LENGTH = 100;

/** A field that may be null, and may be left out. `expected` says what else it must be, for the refusal. */
export const maybe = <Schema extends TSchema>(schema: Schema, expected: string) =>
  Type.Optional(Type.Union([schema, Type.Null()], { errorMessage: `must be ${expected} or null` }));

export const MaybeText = maybe(Type.String(), 'text');
export const MaybeNumber = maybe(Type.Number(), 'a number');
export const MaybeBoolean = maybe(Type.Boolean(), 'true, false');
export const MaybeNames = maybe(Type.Array(Type.Object({ name: MaybeText })), 'a list of things with names');

/** What `maybe` reads. */
export type Maybe<Value> = Value | null | undefined;

/** An id, a name, a title: one line, empty when there is nothing in it. */
export function textOf(value: string): string {
  return cutLine(value, MAX_LINE_LENGTH);
}

/** A name, a title, a time that may be missing. Null when there is nothing in it. */
export function lineOf(value: Maybe<string>): string | null {
  return textOf(value ?? '') || null;
}

/** Notes, a description, a body. Null when there is nothing in it. */
export function bodyOf(value: Maybe<string>): string | null {
  return value?.trim() ? cutText(value, MAX_BODY_LENGTH) : null;
}

/** A time that a provider gives as ISO 8601 or as seconds since 1970, as ISO 8601 in UTC. */
export function timeOf(value: Maybe<string | number>): string | null {
  if (typeof value === 'string') return parseTime(value)?.toISOString() ?? null;
  const time = new Date((value ?? Number.NaN) * 1000);
  return Number.isNaN(time.getTime()) ? null : (parseTime(time.toISOString())?.toISOString() ?? null);
}

/** An address that a page may link to; null for anything else, above all `javascript:`. */
export function urlOf(value: Maybe<string>): string | null {
  return value && value.length <= MAX_URL_LENGTH && /^https?:\/\/\S+$/.test(value) ? value : null;
}

/** A person's name or login. No e-mail address: of one, what stands before the `@`. */
export function personOf(value: Maybe<string>): string | null {
  return lineOf(value?.replace(/^([^\s@]+)@[^\s@]+$/, '$1'));
}

/** The names of labels and the like, the first hundred of them. */
export function namesOf(values: Maybe<readonly { name?: string | null }[]>): string[] {
  return (values ?? [])
    .slice(0, MAX_LIST_LENGTH)
    .map(({ name }) => lineOf(name))
    .filter((name) => name !== null);
}
