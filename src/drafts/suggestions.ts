import type { ReadTx } from '../../db/engine.ts';
import type { Deps } from '../deps.ts';
import { AppError } from '../lib/app-error.ts';
import type { Post } from '../posts/model.ts';
import { writeAbout } from '../posts/service.ts';
import { getPost, readPost, writePost } from '../posts/store.ts';
import { recordVersion } from '../posts/version-store.ts';
import { compareTexts } from './compare.ts';
import type { Suggestion } from './model.ts';
import { findDraftOfPost, saveDraft } from './store.ts';
import { hashOf, settled } from './write.ts';

// The newer text that a trigger has for a post which a person has edited or published.

export async function hasSuggestionFor({ db }: Pick<Deps, 'db'>, postId: string): Promise<boolean> {
  return (await db.read((tx) => findDraftOfPost(tx, postId)))?.suggestion != null;
}

/** Compares the suggestion with the post. Throws `AppError` 404 when there is none. */
export async function getSuggestion({ db }: Pick<Deps, 'db'>, postId: string): Promise<Suggestion> {
  return db.read(async (tx) => {
    const { row, suggestion } = await requireSuggestion(tx, postId);
    const post = await getPost(tx, postId);
    const { eventKeys, until, ...text } = suggestion;
    const suggestedAt = row.suggestedAt ?? post.updatedAt;
    return { postId, ...text, suggestedAt, changes: compareTexts(post, suggestion) };
  });
}

/**
 * Puts the suggested text into the post, whose status stays. The text then counts as the trigger's own, so that later
 * events change a draft again. Throws `AppError` 404 when there is no suggestion.
 */
export async function takeSuggestion(
  deps: Pick<Deps, 'db' | 'clock' | 'ids' | 'actor'>,
  postId: string,
): Promise<Post> {
  return writeAbout(deps.db, { postId }, async (tx) => {
    const { row, suggestion } = await requireSuggestion(tx, postId);
    const post = await readPost(tx, postId);
    if (post === null) throw noSuggestion(postId);
    const { eventKeys, until, ...text } = suggestion;
    const after = { ...post, ...text, updatedAt: deps.clock.now().toISOString() };
    await writePost(tx, after);
    await recordVersion(tx, deps, { before: post, after, origin: 'suggestion' });
    await saveDraft(tx, { ...row, ...settled, writtenHash: hashOf(text), eventKeys, until, source: null });
    return getPost(tx, postId);
  });
}

/** Tidings does not suggest this text again. Throws `AppError` 404 when there is no suggestion. */
export async function dismissSuggestion({ db }: Pick<Deps, 'db'>, postId: string): Promise<void> {
  await writeAbout(db, { postId }, async (tx) => {
    const { row, suggestion } = await requireSuggestion(tx, postId);
    await saveDraft(tx, { ...row, ...settled, dismissedHash: hashOf(suggestion) });
  });
}

async function requireSuggestion(tx: ReadTx, postId: string) {
  const row = await findDraftOfPost(tx, postId);
  if (row?.suggestion == null) throw noSuggestion(postId);
  return { row, suggestion: row.suggestion };
}

function noSuggestion(postId: string): AppError {
  return new AppError(404, `Post ${postId} has no suggestion`, { code: 'no_suggestion' });
}
