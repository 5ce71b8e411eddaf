import { type Static, Type } from '@sinclair/typebox';
import { ID_PATTERN, ID_RULE } from '../lib/text.ts';
import { parseTime } from '../lib/time.ts';
import { findProblem, type Problem } from '../lib/validation.ts';
import { ContentType, PostStatus } from './model.ts';

// What a post may hold, whoever writes it.

/** In characters (UTF-16 units); metadata as JSON. */
export const MAX_TITLE = 500;
export const MAX_TEXT = 200_000;
const MAX_METADATA = 16_384;
const MAX_METADATA_DEPTH = 20;

const Time = Type.String({ maxLength: 40 });

const ImportedFields = Type.Object(
  {
    id: Type.Optional(Type.String({ pattern: ID_PATTERN, errorMessage: ID_RULE })),
    title: Type.String({ minLength: 1, maxLength: MAX_TITLE, pattern: '\\S' }),
    markdown: Type.Optional(Type.String({ maxLength: MAX_TEXT })),
    content: Type.Optional(Type.String({ maxLength: MAX_TEXT })),
    contentType: Type.Optional(ContentType),
    status: Type.Optional(PostStatus),
    sourceMetadata: Type.Optional(
      Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()], {
        errorMessage: 'must be an object or null',
      }),
    ),
    createdAt: Type.Optional(Time),
    updatedAt: Type.Optional(Time),
    isDateSet: Type.Optional(Type.Boolean({ errorMessage: 'must be true or false' })),
  },
  { additionalProperties: false },
);

/** A checked record. Times are ISO 8601, UTC, with milliseconds. */
export type ImportedFields = Static<typeof ImportedFields>;

export const isImportedField = (name: string) => Object.hasOwn(ImportedFields.properties, name);

/** Returns the record with normalized times, or its first problem. */
export function checkRecord(
  fields: Record<string, unknown>,
): { record: ImportedFields } | { problem: Problem } {
  const problem = findProblem(ImportedFields, fields) ?? findOtherProblem(fields as ImportedFields);
  if (problem !== null) return { problem };
  const record = { ...(fields as ImportedFields) };
  for (const field of ['createdAt', 'updatedAt'] as const) {
    const time = record[field] === undefined ? undefined : parseTime(record[field]);
    if (time === null) return { problem: { field, message: badTime(record[field]) } };
    if (time !== undefined) record[field] = time.toISOString();
  }
  return { record };
}

function findOtherProblem({ title, markdown, content, sourceMetadata }: ImportedFields): Problem | null {
  if (markdown === undefined && content === undefined) {
    return { field: 'markdown', message: 'is missing (content, as plain text, works too)' };
  }
  for (const [field, text] of Object.entries({ title, markdown, content })) {
    // SQLite's text functions and PostgreSQL end a text there.
    if (text?.includes('\0')) return { field, message: 'must not contain the character U+0000' };
  }
  if (isLong(sourceMetadata) || JSON.stringify(sourceMetadata ?? null).length > MAX_METADATA) {
    return { field: 'sourceMetadata', message: `must have at most ${MAX_METADATA} characters as JSON` };
  }
  if (depthOf(sourceMetadata) > MAX_METADATA_DEPTH) {
    return { field: 'sourceMetadata', message: `must not nest deeper than ${MAX_METADATA_DEPTH}` };
  }
  return null;
}

function badTime(text: unknown): string {
  return `must be an ISO 8601 date or a time with its offset, such as 2026-01-31 or 2026-01-31T09:30:00Z, not ${JSON.stringify(text)}`;
}

/**
 * True if the value takes more than `MAX_METADATA` characters as JSON even without quotes and brackets. Looks at no more of
 * it: aliases of YAML can repeat a part billions of times, or put a value into itself.
 */
function isLong(value: unknown): boolean {
  let length = 0;
  const rest = [value];
  while (rest.length > 0 && length <= MAX_METADATA) {
    const each = rest.pop();
    length += typeof each === 'string' ? each.length : 1;
    if (typeof each !== 'object' || each === null) continue;
    for (const [key, part] of Object.entries(each)) {
      if (!Array.isArray(each)) length += key.length;
      rest.push(part);
    }
  }
  return length > MAX_METADATA;
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}
