import { diffLines } from 'diff';
import type { Database } from '../../db/client.ts';
import type { Deps } from '../deps.ts';
import { AppError } from '../lib/app-error.ts';
import type { Post } from '../posts/model.ts';
import { getPost, readPost } from '../posts/store.ts';
import { writePost } from '../posts/write-store.ts';
import type { SuggestedLine, Suggestion } from './model.ts';
import { findDraftOfPost, saveDraft } from './store.ts';
import { hashOf } from './write.ts';

export async function hasSuggestionFor({ db }: Pick<Deps, 'db'>, postId: string): Promise<boolean> {
  return findDraftOfPost(db, postId)?.suggestion != null;
}

/**
 * The newer text that a trigger has for a post which a person has edited or published, compared with the post.
 * Throws `AppError` 404 when there is none.
 */
export async function getSuggestion({ db }: Pick<Deps, 'db'>, postId: string): Promise<Suggestion> {
  const { row, suggestion } = requireSuggestion(db, postId);
  const post = await getPost(db, postId);
  const { title, markdown, content } = suggestion;
  return {
    postId,
    title,
    markdown,
    content,
    suggestedAt: row.suggestedAt ?? post.updatedAt,
    changes: compareTexts(post, suggestion),
  };
}

/**
 * Puts the suggested text into the post, whose status stays. From then on the text counts as the trigger's own, so
 * that later events change a draft again. Throws `AppError` 404 when there is no suggestion.
 */
export async function takeSuggestion(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  postId: string,
): Promise<Post> {
  await db.write(async (tx) => {
    const { row, suggestion } = requireSuggestion(db, postId);
    const post = await readPost(tx, postId);
    if (post === null) throw noSuggestion(postId);
    const { title, markdown, content, eventKeys, until } = suggestion;
    const updatedAt = clock.now().toISOString();
    await writePost(tx, { ...post, title, markdown, content, updatedAt });
    saveDraft(db, { ...row, ...settled, writtenHash: hashOf(suggestion), eventKeys, until });
  });
  return getPost(db, postId);
}

/** Turns the suggestion down: this text is not suggested again. Throws `AppError` 404 when there is none. */
export async function dismissSuggestion({ db }: Pick<Deps, 'db'>, postId: string): Promise<void> {
  await db.write(() => {
    const { row, suggestion } = requireSuggestion(db, postId);
    saveDraft(db, { ...row, ...settled, dismissedHash: hashOf(suggestion) });
  });
}

const settled = { suggestion: null, suggestedAt: null };

function requireSuggestion(db: Database, postId: string) {
  const row = findDraftOfPost(db, postId);
  if (row?.suggestion == null) throw noSuggestion(postId);
  return { row, suggestion: row.suggestion };
}

function noSuggestion(postId: string): AppError {
  return new AppError(
    404,
    `There is no suggestion for post ${postId}. One appears when an event changes what a person has edited or published.`,
  );
}

/** How many lines may differ before it is no use to tell which. */
const MAX_EDIT_LENGTH = 2_000;

/** What changes from one text of a post to another: the title, an empty line, and the Markdown, line by line. */
export function compareTexts(one: PostText, other: PostText): SuggestedLine[] {
  const [before, after] = [wholeOf(one), wholeOf(other)];
  const parts = diffLines(before, after, { maxEditLength: MAX_EDIT_LENGTH }) ?? [
    { removed: true, added: false, value: before },
    { removed: false, added: true, value: after },
  ];
  return parts.flatMap(({ removed, added, value }) =>
    value
      .replace(/\n$/, '')
      .split('\n')
      .map((line): SuggestedLine => ({ kind: removed ? 'removed' : added ? 'added' : 'same', line })),
  );
}

type PostText = Pick<Post, 'title' | 'markdown'>;

function wholeOf({ title, markdown }: PostText): string {
  return `${title}\n\n${markdown.trimEnd()}\n`;
}
