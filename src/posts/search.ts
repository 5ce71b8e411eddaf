import type { Database } from '../../db/client.ts';
import { contentTypes, type PageSelection, type Post, postStatuses } from './model.ts';
import { findPostIds, findPosts } from './store.ts';

/** How much of what somebody searches for is read. */
const MAX_QUERY_LENGTH = 200;
const MAX_WORDS = 12;

/** How many posts a search finds at most. */
export const MAX_FOUND = 1_000;

/** One page of what a search found. */
export interface Found {
  posts: Post[];
  totalItems: number;
  /** Whether there were more than a search finds: the others were added before these. */
  isCut: boolean;
}

/**
 * The posts whose title or text hold every word of the query, the last one perhaps unfinished; newest first,
 * `selection.limit` on a page.
 */
export async function searchPosts(
  db: Database,
  organizationId: string,
  query: string,
  selection: Omit<PageSelection, 'sort'>,
): Promise<Found> {
  const words = toMatch(query);
  if (words === null) return { posts: [], totalItems: 0, isCut: false };
  const match = `{about} : (${aboutMatch(organizationId, selection)}) AND {title content} : (${words})`;
  const ids = await findPostIds(db, match, MAX_FOUND + 1);
  const isCut = ids.length > MAX_FOUND;
  const found = ids.slice(0, MAX_FOUND);
  const start = (selection.page - 1) * selection.limit;
  const shown = found.slice(start, start + selection.limit);
  const byId = new Map((await findPosts(db, shown)).map((post) => [post.id, post]));
  const posts = shown.flatMap((id) => byId.get(id) ?? []);
  return { posts, totalItems: found.length, isCut };
}

/**
 * What somebody typed as a query of FTS5, whose operators are only words in it: each word is quoted. Null when there
 * is nothing to look for, since marks and pictures are not indexed.
 */
function toMatch(query: string): string | null {
  const words = query
    .slice(0, MAX_QUERY_LENGTH)
    .toWellFormed()
    .split(/[\s\p{Cc}]+/u)
    .filter((word) => /[\p{L}\p{N}]/u.test(word))
    .slice(0, MAX_WORDS);
  return words.length === 0 ? null : `${words.map(quoted).join(' AND ')} *`;
}

/** The words that the index keeps of each post beside its text, so that no other organization's are looked at. */
function aboutMatch(
  organizationId: string,
  { statuses, contentTypes: types }: Pick<PageSelection, 'statuses' | 'contentTypes'>,
): string {
  const all = [quoted(Buffer.from(organizationId).toString('hex'))];
  if (statuses.length < postStatuses.length) all.push(`(${statuses.map(quoted).join(' OR ')})`);
  if (types.length < contentTypes.length) all.push(`(${types.map(quoted).join(' OR ')})`);
  return all.join(' AND ');
}

function quoted(word: string): string {
  return `"${word.replaceAll('"', '""')}"`;
}
