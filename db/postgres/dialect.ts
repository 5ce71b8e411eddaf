import { sql } from 'drizzle-orm';
import { type Dialect, listVariable } from '../engine.ts';
import { searchPosts } from './search.ts';

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
