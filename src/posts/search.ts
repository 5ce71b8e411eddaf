import type { Database } from '../../db/client.ts';
import { contentTypes, type PageSelection, type Post, postStatuses } from './model.ts';
import { findPostIds, readPosts } from './store.ts';

/** How much of what somebody searches for is read. */
const MAX_QUERY_LENGTH = 200;
const MAX_WORDS = 12;

/** From how many letters on a word finds what begins with it. */
const MIN_BEGINNING = 3;

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
 * The posts whose title or text hold every word of the query; newest first, `selection.limit` on a page. Where more
 * hold them than a search finds, that is all; otherwise the last word may be unfinished, and finds what begins with it.
 */
export async function searchPosts(
  db: Database,
  organizationId: string,
  query: string,
  selection: Omit<PageSelection, 'sort'>,
): Promise<Found> {
  const words = toWords(query);
  if (words.length === 0) return { posts: [], totalItems: 0, isCut: false };
  const about = aboutMatch(organizationId, selection);
  const find = (match: string) =>
    findPostIds(db, `{about} : (${about}) AND {title content} : (${match})`, MAX_FOUND + 1);
  const match = words.map(quoted).join(' AND ');
  const whole = await find(match);
  // SQLite reads all that begins with the word before it gives the first: a common word would take long.
  const ids = whole.length > MAX_FOUND || !mayBeUnfinished(words) ? whole : await find(`${match} *`);
  const isCut = ids.length > MAX_FOUND;
  const found = ids.slice(0, MAX_FOUND);
  const start = (selection.page - 1) * selection.limit;
  const shown = found.slice(start, start + selection.limit);
  const byId = new Map(readPosts(db, shown).map((post) => [post.id, post]));
  const posts = shown.flatMap((id) => byId.get(id) ?? []);
  return { posts, totalItems: found.length, isCut };
}

/**
 * The words that somebody typed, to be quoted for FTS5, whose operators are only words then. None when there is
 * nothing to look for, since marks and pictures are not indexed.
 */
function toWords(query: string): string[] {
  return query
    .slice(0, MAX_QUERY_LENGTH)
    .toWellFormed()
    .split(/[\s\p{Cc}]+/u)
    .filter((word) => /[\p{L}\p{N}]/u.test(word))
    .slice(0, MAX_WORDS);
}

/** A letter or two begin too much to be of use, but where writing knows no capitals a sign may be a word. */
function mayBeUnfinished(words: readonly string[]): boolean {
  const [end = ''] = words.at(-1)?.match(/[\p{L}\p{N}\p{M}]+(?=[^\p{L}\p{N}]*$)/u) ?? [];
  return end.length >= MIN_BEGINNING || /\p{Lo}/u.test(end);
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
