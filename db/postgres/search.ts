import { type SQL, sql } from 'drizzle-orm';
import type { PostSearch } from '../engine.ts';

/** Searches with the function `find_posts` of the schema. */
export function searchPosts(search: PostSearch): SQL {
  const list = (values: readonly string[] | null) => (values === null ? null : JSON.stringify(values));
  return sql`
    select id from find_posts(
      ${search.organizationId}, ${list(search.words)}, ${search.isUnfinished ? 1 : 0},
      ${list(search.statuses)}, ${list(search.contentTypes)}, ${search.limit}
    ) as id`;
}
