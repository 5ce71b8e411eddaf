import { escapeNul, unescapeNul } from './nul.ts';

// Drizzle writes SQL and values for SQLite. PostgreSQL differs in few places.

/** Bounds the memory for texts that are built for each call. */
const MAX_CACHED = 2_000;

const cache = new Map<string, string>();

/** The same statement for PostgreSQL. */
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

/** A text, a quoted name, a comment, or a placeholder. */
const TOKEN = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|\?/g;

function numberPlaceholders(text: string): string {
  let count = 0;
  return text.replaceAll(TOKEN, (token) => (token === '?' ? `$${++count}` : token));
}

/**
 * A value for PostgreSQL. Integers are sent as bigint, whatever their size, because a statement is prepared once for each
 * list of types. Booleans are 0 or 1, as SQLite has them.
 */
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

/** The rows with the values that SQLite gives, as a plain array. */
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
