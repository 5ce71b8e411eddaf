import type { Database as Sqlite } from 'bun:sqlite';
import { type SQL, sql } from 'drizzle-orm';
import type { Dialect, PostSearch } from '../engine.ts';
import { posts } from '../schema/posts.ts';

/** Searches with FTS5 (sqlite.org/fts5.html). */
export function createSearch(sqlite: Sqlite): Dialect['searchPosts'] {
  // Lists the words of the index. It stores nothing, and needs no index until it is read.
  sqlite.run("CREATE VIRTUAL TABLE temp.post_words USING fts5vocab(main, post_search, 'row')");
  return searchPosts;
}

function searchPosts({ words, isUnfinished, limit, ...about }: PostSearch): SQL {
  const unfinished = isUnfinished ? words.at(-1) : undefined;
  const finished = unfinished === undefined ? words : words.slice(0, -1);
  const texts = finished.map((word) => ` AND {title content search_words} : ${quoted(word)}`).join('');
  const known = `{about} : (${aboutMatch(about)})${texts}`;
  const match =
    unfinished === undefined
      ? sql`${known}`
      : sql`${known} || ' AND {title content search_words} : ' || ${unfinishedMatch(unfinished)}`;
  return sql`
    with found as materialized (
      select rowid as number from post_search
      where post_search match ${match}
      order by rowid desc limit ${limit}
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

/** More words than this take longer to list than to find by their beginning. */
const MAX_LISTED = 50;

/** The index keeps one or two of these words for each post, so FTS5 reads all posts to list them. */
const ABOUT_WORDS = [...posts.status.enumValues, ...posts.contentType.enumValues];

/**
 * Matches words that begin with this. FTS5 reads all posts with such words before it returns the first, but with a list
 * of the words it stops at the limit. Words of other letters are stored without accents, so only FTS5 knows their form.
 */
function unfinishedMatch(word: string): SQL {
  const beginning = `${quoted(word)} *`;
  if (!/^[a-z0-9]+$/i.test(word)) return sql`${beginning}`;
  const from = word.toLowerCase();
  if (ABOUT_WORDS.some((each) => each.startsWith(from))) return sql`${beginning}`;
  const to = from.slice(0, -1) + String.fromCharCode(from.charCodeAt(from.length - 1) + 1);
  return sql`(
    select case when count(*) between 1 and ${MAX_LISTED}
      then '(' || group_concat('"' || term || '"', ' OR ') || ')' else ${beginning} end
    from (select term from temp.post_words where term >= ${from} and term < ${to} limit ${MAX_LISTED + 1}))`;
}

/** A word in which FTS5 reads no operators. */
function quoted(word: string): string {
  return `"${word.replaceAll('"', '""')}"`;
}
