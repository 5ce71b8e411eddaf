import { type TSchema, Type } from '@sinclair/typebox';
import { cutLine, cutText, MAX_BODY_LENGTH } from '../lib/text.ts';
import { parseTime } from '../lib/time.ts';

// Schemas for the fields of payloads that may be null or absent, and functions that turn such a field into one of the
// log. Both absent and null become null.

const MAX_LINE_LENGTH = 1000;
const MAX_URL_LENGTH = 2000;

/** The log keeps so many entries of a list. */
export const MAX_LIST_LENGTH = 100;

/** A field that may be null or absent. `expected` names its type in the refusal. */
export const maybe = <Schema extends TSchema>(schema: Schema, expected: string) =>
  Type.Optional(Type.Union([schema, Type.Null()], { errorMessage: `must be ${expected} or null` }));

export const MaybeText = maybe(Type.String(), 'text');
export const MaybeNumber = maybe(Type.Number(), 'a number');
export const MaybeBoolean = maybe(Type.Boolean(), 'true, false');
export const MaybeNames = maybe(Type.Array(Type.Object({ name: MaybeText })), 'a list of things with names');

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
  if (typeof value === 'string') return isoTime(value);
  const time = new Date((value ?? Number.NaN) * 1000);
  return Number.isNaN(time.getTime()) ? null : (parseTime(time.toISOString())?.toISOString() ?? null);
}

/** A URL that a page may link to; null for anything else, above all `javascript:`. */
export function urlOf(value: Maybe<string>): string | null {
  return value && value.length <= MAX_URL_LENGTH && /^https?:\/\/\S+$/.test(value) ? value : null;
}

/** A person's name or login. Cuts an e-mail address at its `@`. */
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

/** A time as ISO 8601 in UTC with milliseconds. */
export function isoTime(time: Maybe<string>): string | null {
  return time ? (parseTime(time)?.toISOString() ?? null) : null;
}

/** Sorts later edits after earlier ones; at the same time, by rank. */
export function versionOf(updatedAt: Maybe<string>, rank = 0): string {
  return `${isoTime(updatedAt) ?? ''} ${rank}`;
}
