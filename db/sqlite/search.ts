import { type SQL, sql } from 'drizzle-orm';
import type { PostSearch } from '../engine.ts';

/** Searches with FTS5 (sqlite.org/fts5.html). */
export function searchPosts({ words, isUnfinished, limit, ...about }: PostSearch): SQL {
  const texts = `${words.map(quoted).join(' AND ')}${isUnfinished ? ' *' : ''}`;
  const match = `{about} : (${aboutMatch(about)}) AND {title content} : (${texts})`;
  return sql`
    with found as materialized (
      select rowid as number from post_search where post_search match ${match} order by rowid desc limit ${limit}
    )
    select posts.id from found
    join post_numbers on post_numbers.number = found.number
    join posts on posts.id = post_numbers.post_id
    order by posts.created_at desc, posts.id desc`;
}

/** Matches the words that the index keeps beside each text: the organization, the status and the type. */
function aboutMatch({
  organizationId,
  statuses,
  contentTypes,
}: Pick<PostSearch, 'organizationId' | 'statuses' | 'contentTypes'>): string {
  const all = [quoted(Buffer.from(organizationId).toString('hex'))];
  for (const values of [statuses, contentTypes])
    if (values !== null) all.push(`(${values.map(quoted).join(' OR ')})`);
  return all.join(' AND ');
}

/** A word in which FTS5 reads no operators. */
function quoted(word: string): string {
  return `"${word.replaceAll('"', '""')}"`;
}
