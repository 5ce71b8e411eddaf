import type { ReadTx } from '../../db/engine.ts';
import { AppError } from '../lib/app-error.ts';
import type { AuditDeps } from '../people/audit.ts';
import type { Deps } from '../people/deps.ts';
import { holdChange } from '../posts/approval-rule.ts';
import type { Post } from '../posts/model.ts';
import { getPost, readPost, writeAbout, writePost } from '../posts/store.ts';
import { recordVersion } from '../posts/versions.ts';
import { findDraftOfPost, type SuggestedLine, type Suggestion, saveDraft } from './store.ts';
import { hashOf, settled } from './write.ts';

// The difference of two texts line by line, by Myers' "An O(ND) Difference Algorithm". Texts come from anybody, and a page
// may hold ten differences, so the work is bounded.

/** Lines of one text. */
const MAX_LINES = 5_000;

/** Lines to compare: enough for a text of 350 lines that has become another, or for 80 changed lines among 3,000. */
const MAX_STEPS = 250_000;

/** Compares title (if there is one), an empty line, and Markdown, line by line. Null when that would take too many steps. */
export function compareTexts(
  one: Pick<Post, 'title' | 'markdown'>,
  other: Pick<Post, 'title' | 'markdown'>,
): SuggestedLine[] | null {
  return compareLines(wholeOf(one), wholeOf(other));
}

const wholeOf = ({ title, markdown }: Pick<Post, 'title' | 'markdown'>) =>
  title === '' ? markdown.trimEnd() : `${title}\n\n${markdown.trimEnd()}`;

/** Compares two texts line by line. Null when that would take too many steps. */
export function compareLines(one: string, other: string): SuggestedLine[] | null {
  const removed = linesOf(one);
  const added = linesOf(other);
  if (removed === null || added === null) return null;
  const pairs = pairsOf(removed, added);
  if (pairs === null) return null;
  const lines: SuggestedLine[] = [];
  let [from, to] = [0, 0];
  for (const [at, otherAt] of [...pairs, [removed.length, added.length] as const]) {
    while (from < at) lines.push({ kind: 'removed', line: removed[from++] ?? '' });
    while (to < otherAt) lines.push({ kind: 'added', line: added[to++] ?? '' });
    const line = removed[from++];
    to++;
    if (line !== undefined) lines.push({ kind: 'same', line });
  }
  return lines;
}

function linesOf(text: string): string[] | null {
  const lines = text.split('\n', MAX_LINES + 1);
  return lines.length > MAX_LINES ? null : lines;
}

/** The places of equal lines in both, in order, as many as there can be. */
function pairsOf(one: readonly string[], other: readonly string[]): [number, number][] | null {
  const numbers = new Map<string, number>();
  const toNumber = (line: string) => {
    const number = numbers.get(line) ?? numbers.size;
    numbers.set(line, number);
    return number;
  };
  const a = Int32Array.from(one, toNumber);
  const b = Int32Array.from(other, toNumber);
  // By the number of changes, and by diagonal: how far these changes lead in `a`. A diagonal is that less the place in `b`.
  const rounds: Int32Array[] = [];
  for (let steps = 0; steps <= MAX_STEPS; ) {
    const changes = rounds.length;
    const last = rounds.at(-1);
    const round = new Int32Array(2 * changes + 1);
    rounds.push(round);
    for (let index = 0; index <= 2 * changes; index += 2) {
      const offset = index - changes;
      let at = last === undefined ? 0 : begin(last, index);
      while (at < a.length && at - offset < b.length && a[at] === b[at - offset]) {
        at++;
        steps++;
      }
      round[index] = at;
      if (at === a.length && at - offset === b.length) return walkBack(rounds, offset);
    }
    steps += changes;
  }
  return null;
}

/** True if the longest path to a diagonal adds a line of `b` last; otherwise it removes one of `a`. */
function endsInAddition(last: Int32Array, index: number): boolean {
  if (index === 0) return true;
  return index < last.length && Number(last[index - 2]) < Number(last[index]);
}

const begin = (last: Int32Array, index: number) =>
  endsInAddition(last, index) ? Number(last[index]) : Number(last[index - 2]) + 1;

function walkBack(rounds: readonly Int32Array[], end: number): [number, number][] {
  const pairs: [number, number][] = [];
  let offset = end;
  for (let changes = rounds.length - 1; changes >= 0; changes--) {
    const index = offset + changes;
    const last = rounds[changes - 1];
    const first = last === undefined ? 0 : begin(last, index);
    for (let at = Number(rounds[changes]?.[index]) - 1; at >= first; at--) pairs.push([at, at - offset]);
    if (last !== undefined) offset += endsInAddition(last, index) ? 1 : -1;
  }
  return pairs.reverse();
}

// The newer text that a trigger has for a post which a person has edited or published.

export async function hasSuggestionFor({ db }: Pick<Deps, 'db'>, postId: string): Promise<boolean> {
  return (await db.read((tx) => findDraftOfPost(tx, postId)))?.suggestion != null;
}

/** Compares the suggestion with the post. Throws `AppError` 404 when there is none. */
export async function getSuggestion({ db }: Pick<Deps, 'db'>, postId: string): Promise<Suggestion> {
  return db.read(async (tx) => {
    const { suggestion, suggestedAt, post } = await requireSuggestion(tx, postId);
    const { eventKeys, until, ...text } = suggestion;
    return { postId, ...text, suggestedAt, changes: compareTexts(post, suggestion) };
  });
}

/**
 * Puts the suggested text into the post, whose status stays, unless it waits for approval. The text then counts as the trigger's own, so that later
 * events change a draft again. Throws `AppError` 404 when there is no suggestion, and 409 `post_changed` when it or the post is
 * no longer the one of `seen`, and as `holdChange` does.
 */
export async function takeSuggestion(
  deps: AuditDeps & Pick<Deps, 'ids'>,
  postId: string,
  seen?: Compared,
): Promise<Post> {
  return writeAbout(deps.db, { postId }, async (tx) => {
    const { row, suggestion, post } = await requireSuggestion(tx, postId, seen);
    const { eventKeys, until, ...text } = suggestion;
    const after = { ...post, ...text, updatedAt: deps.clock.now().toISOString() };
    if (!(await holdChange(tx, deps, post, after))) {
      await writePost(tx, after);
      await recordVersion(tx, deps, { before: post, after, origin: 'suggestion' });
    }
    await saveDraft(tx, { ...row, ...settled, writtenHash: hashOf(text), eventKeys, until, source: null });
    return getPost(tx, postId);
  });
}

/** Tidings does not suggest this text again. Throws as `takeSuggestion` does. */
export async function dismissSuggestion(
  { db }: Pick<Deps, 'db'>,
  postId: string,
  seen?: Compared,
): Promise<void> {
  await writeAbout(db, { postId }, async (tx) => {
    const { row, suggestion } = await requireSuggestion(tx, postId, seen);
    await saveDraft(tx, { ...row, ...settled, dismissedHash: hashOf(suggestion) });
  });
}

/** The times of the suggestion and of the post that a person compared. */
interface Compared {
  suggestedAt: string;
  updatedAt: string;
}

async function requireSuggestion(tx: ReadTx, postId: string, seen?: Compared) {
  const row = await findDraftOfPost(tx, postId);
  const post = await readPost(tx, postId);
  if (row?.suggestion == null || post === null) throw noSuggestion(postId);
  const { updatedAt } = post;
  const suggestedAt = row.suggestedAt ?? updatedAt;
  if (seen !== undefined && (seen.suggestedAt !== suggestedAt || seen.updatedAt !== updatedAt)) {
    throw new AppError(409, 'The post or its suggestion was changed in the meantime', {
      code: 'post_changed',
    });
  }
  return { row, suggestion: row.suggestion, suggestedAt, post };
}

function noSuggestion(postId: string): AppError {
  return new AppError(404, `Post ${postId} has no suggestion`, { code: 'no_suggestion' });
}
