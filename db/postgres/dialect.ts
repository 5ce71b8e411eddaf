import { type SQL, sql } from 'drizzle-orm';
import { type Dialect, listVariable, type PostSearch } from '../engine.ts';

/** Searches with the function `find_posts` of the schema. */
export function searchPosts(search: PostSearch): SQL {
  const list = (values: readonly string[] | null) => (values === null ? null : JSON.stringify(values));
  return sql`
    select id from find_posts(
      ${search.organizationId}, ${list(search.words)}, ${search.isUnfinished ? 1 : 0},
      ${list(search.statuses)}, ${list(search.contentTypes)}, ${search.limit}
    ) as id`;
}

export const dialect: Dialect = {
  rowKey: sql`ctid`,
  postKey: sql`id`,
  listed: (values) => sql`(select unnest(cast(${listVariable(values, arrayLiteral)} as text[])))`,
  keepRows: sql`for share`,
  contains: (text, part) => sql`strpos(${text}, ${part}) > 0`,
  searchPosts,
};

/** A list as PostgreSQL writes it. JSON would refuse some texts. */
export function arrayLiteral(values: readonly (string | null)[]): string {
  const elements = values.map((value) =>
    value === null ? 'NULL' : `"${value.replaceAll(/["\\]/g, '\\$&')}"`,
  );
  return `{${elements.join(',')}}`;
}

// PostgreSQL's text cannot hold U+0000, and SQLite's can. `migrations/0000_start.sql` reads the same escapes.

const ESCAPED_NUL = '\uFDD0\uFDD1';
const ESCAPED_ESCAPE = '\uFDD0\uFDD2';

export function escapeNul(text: string): string {
  return /[\0\uFDD0]/.test(text)
    ? text.replaceAll('\uFDD0', ESCAPED_ESCAPE).replaceAll('\0', ESCAPED_NUL)
    : text;
}

export function unescapeNul(stored: string): string {
  return stored.includes('\uFDD0')
    ? stored.replaceAll(ESCAPED_NUL, '\0').replaceAll(ESCAPED_ESCAPE, '\uFDD0')
    : stored;
}

// Drizzle writes SQL and values for SQLite. PostgreSQL differs in few places.

const MAX_CACHED = 2_000;

const cache = new Map<string, string>();

export function toPostgresSql(text: string): string {
  const known = cache.get(text);
  if (known !== undefined) return known;
  if (cache.size >= MAX_CACHED) cache.clear();
  const translated = numberPlaceholders(text).replaceAll(CONFLICT_TARGET, (target) =>
    target.replaceAll(/"(?:[^"]|"")*"\./g, ''),
  );
  cache.set(text, translated);
  return translated;
}

/** Drizzle qualifies the columns of a conflict with their table, which PostgreSQL refuses. */
const CONFLICT_TARGET = /\bon conflict \((?:[^()"']|"(?:[^"]|"")*")*\)/gi;

const TOKEN = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|\?/g;

function numberPlaceholders(text: string): string {
  let count = 0;
  return text.replaceAll(TOKEN, (token) => (token === '?' ? `$${++count}` : token));
}

/** Integers are sent as bigint, because a statement is prepared once for each list of types. */
export function toPostgresValue(value: unknown): unknown {
  switch (typeof value) {
    case 'string':
      return escapeNul(value);
    case 'number':
      return Number.isInteger(value) ? BigInt(value) : value;
    case 'boolean':
      return value ? 1n : 0n;
    case 'undefined':
      return null;
    default:
      return value;
  }
}

export function fromPostgresRows(rows: readonly (readonly unknown[])[]): unknown[][] {
  return Array.from(rows, (row) => Array.from(row, fromPostgresValue));
}

function fromPostgresValue(value: unknown): unknown {
  switch (typeof value) {
    case 'string':
      return unescapeNul(value);
    case 'bigint':
    case 'boolean':
      return Number(value);
    default:
      return value;
  }
}
