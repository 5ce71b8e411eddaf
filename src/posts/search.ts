import type { ReadTx } from '../../db/engine.ts';
import { contentTypes, type PageSelection, type Post, postStatuses } from './model.ts';
import { asSearched, partsOf } from './search-words.ts';
import { findPostIds, readPosts } from './store.ts';

/** The rest of a longer query is ignored. */
const MAX_QUERY_LENGTH = 200;
const MAX_WORDS = 12;

/** The shortest unfinished word that finds longer ones, in letters. */
const MIN_BEGINNING = 3;

/** The most posts that a search returns, unless fewer are wanted. */
export const MAX_FOUND = 1_000;

export type Found = Awaited<ReturnType<typeof searchPosts>>;

/**
 * Finds posts whose title or text contains every word of the query; newest first, `selection.limit` on a page. The last
 * word may be unfinished, unless it is the only one and more than `maxFound` posts have it. `isCut`: more posts match;
 * they were added before these. `keep`: which of these posts count.
 */
export async function searchPosts(
  tx: ReadTx,
  organizationId: string,
  query: string,
  { maxFound = MAX_FOUND, ...selection }: Omit<PageSelection, 'sort'> & { maxFound?: number },
  keep: (ids: string[]) => Promise<string[]> = async (ids) => ids,
): Promise<{ posts: Post[]; totalItems: number; isCut: boolean }> {
  const words = toWords(query);
  if (words.length === 0) return { posts: [], totalItems: 0, isCut: false };
  const { statuses, contentTypes: types } = selection;
  const find = (isUnfinished: boolean) =>
    findPostIds(tx, {
      organizationId,
      words,
      isUnfinished,
      statuses: statuses.length < postStatuses.length ? statuses : null,
      contentTypes: types.length < contentTypes.length ? types : null,
      limit: maxFound + 1,
    });
  // The engine may read all posts with an unfinished word before it returns the first, so a common word is not searched
  // for like that. Several words seldom are as common, and to search for them twice takes longer.
  const isUnfinished = mayBeUnfinished(words);
  const isAlone = words.length === 1;
  const found = await find(isUnfinished && !isAlone);
  const ids = isUnfinished && isAlone && found.length <= maxFound ? await find(true) : found;
  const isCut = ids.length > maxFound;
  const kept = await keep(ids.slice(0, maxFound));
  const start = (selection.page - 1) * selection.limit;
  const pageIds = kept.slice(start, start + selection.limit);
  const byId = await readPosts(tx, pageIds);
  const posts = pageIds.flatMap((id) => byId.get(id) ?? []);
  return { posts, totalItems: kept.length, isCut };
}

/** Splits a query into words, each a word of the index or several. The index has no words of symbols alone. */
function toWords(query: string): string[] {
  return partsOf(query.slice(0, MAX_QUERY_LENGTH).toWellFormed())
    .map(asSearched)
    .filter((word) => /[\p{L}\p{N}]/u.test(word))
    .slice(0, MAX_WORDS);
}

/** One or two letters match too much, but in a script without capitals one character may be a word. */
function mayBeUnfinished(words: readonly string[]): boolean {
  const [end = ''] = words.at(-1)?.match(/[\p{L}\p{N}\p{M}]+(?=[^\p{L}\p{N}]*$)/u) ?? [];
  return end.length >= MIN_BEGINNING || /\p{Lo}/u.test(end);
}
