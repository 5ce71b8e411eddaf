import { type Static, Type } from '@sinclair/typebox';
import { and, asc, count, desc, eq, getTableColumns, isNull, sql } from 'drizzle-orm';
import { changingPosts, matching, type ReadTx, type WriteTx } from '../../db/engine.ts';
import { postSuggestions, posts } from '../../db/schema/posts.ts';
import { AppError, invalidField, notFound } from '../lib/app-error.ts';
import { cutLine, ID_PATTERN } from '../lib/text.ts';
import { requireValid } from '../lib/validation.ts';
import { type AuditDeps, quote } from '../people/audit.ts';
import type { Deps } from '../people/deps.ts';
import type { KeyHolder } from '../people/keys/store.ts';
import { isOfLive } from '../people/organization-store.ts';
import { holdChange } from './approval-rule.ts';
import { withContent } from './content.ts';
import { MAX_TEXT, MAX_TITLE, type OwnedPost, type Post } from './model.ts';
import { checkText } from './service.ts';
import { getOwnedPost, getPost, readPost, recordPost, writePost } from './store.ts';
import { recordVersion } from './versions.ts';

/** A change that the holder of an API key proposes, or the assistant. It never changes. */
export type SuggestedChange = typeof postSuggestions.$inferSelect;
/** Without the text. The title is the post's own where the change keeps it. */
export type SuggestedHead = Omit<SuggestedChange, 'title' | 'markdown' | 'rewrites'> & { title: string };

export async function findSuggestedChange(tx: ReadTx, id: string): Promise<SuggestedChange | null> {
  const isIt = and(eq(postSuggestions.id, id), isOfLive(postSuggestions.organizationId));
  return (await tx.select().from(postSuggestions).where(isIt).get()) ?? null;
}

/** The same text for the same post, from the same key. */
async function hasSuggestedChange(
  tx: ReadTx,
  { postId, keyId, title, markdown }: Pick<SuggestedChange, 'postId' | 'keyId' | 'title' | 'markdown'>,
): Promise<boolean> {
  const isSame = and(
    eq(postSuggestions.postId, postId),
    eq(postSuggestions.keyId, keyId),
    title === null ? isNull(postSuggestions.title) : eq(postSuggestions.title, title),
    markdown === null ? isNull(postSuggestions.markdown) : eq(postSuggestions.markdown, markdown),
  );
  return (await tx.$count(postSuggestions, isSame)) > 0;
}

/** Those of a post, the oldest first. */
export async function listSuggestedChanges(tx: ReadTx, postId: string): Promise<SuggestedChange[]> {
  return tx
    .select()
    .from(postSuggestions)
    .where(eq(postSuggestions.postId, postId))
    .orderBy(asc(postSuggestions.createdAt), asc(postSuggestions.id))
    .all();
}

const {
  title: _title,
  markdown: _markdown,
  rewrites: _rewrites,
  ...columns
} = getTableColumns(postSuggestions);
const head = { ...columns, title: sql<string>`coalesce(${postSuggestions.title}, ${posts.title})` };

/** Those of an organization, of a post, or all, the newest first. Posts in the trash do not count. */
export async function listOpenChanges(
  tx: ReadTx,
  of: { organizationId?: string | undefined; postId?: string | undefined },
): Promise<SuggestedHead[]> {
  return tx
    .select(head)
    .from(postSuggestions)
    .innerJoin(posts, eq(posts.id, postSuggestions.postId))
    .where(and(isOfLive(postSuggestions.organizationId), matching(postSuggestions, of)))
    .orderBy(desc(postSuggestions.createdAt), desc(postSuggestions.id))
    .all();
}

export async function countOpenChanges(tx: ReadTx, organizationId: string): Promise<number> {
  const counted = await tx
    .select({ number: count() })
    .from(postSuggestions)
    .innerJoin(posts, eq(posts.id, postSuggestions.postId))
    .where(eq(postSuggestions.organizationId, organizationId))
    .get();
  return counted?.number ?? 0;
}

async function deleteSuggestedChange(tx: WriteTx, id: string): Promise<void> {
  await tx.delete(postSuggestions).where(eq(postSuggestions.id, id)).run();
}

// A person decides about each. The newer text that a trigger has for a post is in `drafting/suggestions.ts`.

export const MAX_SUGGESTIONS_OF_POST = 10;
export const MAX_SUGGESTIONS = 200;

const MAX_NOTE = 1_000;
const MAX_KEY_NAME = 100;

export const ProposedChange = Type.Object(
  {
    id: Type.String({ pattern: ID_PATTERN, description: 'Post ID.' }),
    title: Type.Optional(
      Type.String({ maxLength: MAX_TITLE, description: 'The new title. Leave it out to keep the title.' }),
    ),
    markdown: Type.Optional(
      Type.String({
        maxLength: MAX_TEXT,
        description: 'The whole new text, in Markdown. Leave it out to keep the text.',
      }),
    ),
    note: Type.Optional(
      Type.String({ maxLength: MAX_NOTE, description: 'The reason for the change. The reviewer reads it.' }),
    ),
  },
  { additionalProperties: false },
);
export type ProposedChange = Static<typeof ProposedChange>;

/** `repeated`: the key has proposed this before. `unchanged`: the post has this text, so nothing is stored. */
export interface Proposed {
  outcome: 'received' | 'repeated' | 'unchanged';
  post: OwnedPost;
}

/** For a person to decide about. Throws `AppError` 400, 404, and 409 `too_many_suggestions`. */
export async function suggestChange(
  deps: Pick<Deps, 'db' | 'clock' | 'ids' | 'publicUrl'>,
  organizationId: string,
  { keyId, name }: Pick<KeyHolder, 'keyId' | 'name'>,
  input: unknown,
): Promise<Proposed> {
  const change = requireValid(ProposedChange, input);
  if (change.title === undefined && change.markdown === undefined) {
    throw new AppError(400, 'Nothing to change. Send a title, a text in markdown, or both');
  }
  const note = (change.note ?? '').trim().toWellFormed();
  if (note.includes('\0')) throw invalidField('note', 'must not contain the character U+0000');
  return deps.db.write(async (tx): Promise<Proposed> => {
    const post = await readPost(tx, change.id);
    if (post?.organizationId !== organizationId) throw notFound('post', change.id);
    const text = checkText(deps, {
      title: (change.title ?? post.title).toWellFormed(),
      markdown: (change.markdown ?? post.markdown).toWellFormed(),
    });
    // Null keeps later edits of the other part.
    const title = change.title === undefined || text.title === post.title ? null : text.title;
    const markdown = change.markdown === undefined || text.markdown === post.markdown ? null : text.markdown;
    if (title === null && markdown === null) return { outcome: 'unchanged', post };
    const suggested = { postId: post.id, organizationId, keyId, title, markdown };
    if (await hasSuggestedChange(tx, suggested)) return { outcome: 'repeated', post };
    // Those of posts in the trash count too.
    const ofPost = await tx.$count(postSuggestions, eq(postSuggestions.postId, post.id));
    if (ofPost >= MAX_SUGGESTIONS_OF_POST) throw tooMany('post', MAX_SUGGESTIONS_OF_POST);
    const all = await tx.$count(postSuggestions, eq(postSuggestions.organizationId, organizationId));
    if (all >= MAX_SUGGESTIONS) throw tooMany('organization', MAX_SUGGESTIONS);
    const about = { keyName: cutLine(name, MAX_KEY_NAME), note, createdAt: deps.clock.now().toISOString() };
    await tx
      .insert(postSuggestions)
      .values({ id: deps.ids.newId('sug'), ...suggested, ...about })
      .run();
    return { outcome: 'received', post };
  }, changingPosts(organizationId));
}

function tooMany(thing: 'post' | 'organization', limit: number): AppError {
  const message = `This ${thing} has ${limit} open suggestions. A person must accept or dismiss some of them first`;
  return new AppError(409, message, { code: 'too_many_suggestions' });
}

/** Throws `AppError` 404. */
export async function getSuggestedChange(tx: ReadTx, id: string): Promise<SuggestedChange> {
  const found = await findSuggestedChange(tx, id);
  if (found === null) throw notFound('suggestion', id);
  return found;
}

/** The text that accepting the change gives the post. */
export function suggestedText(
  post: Pick<Post, 'title' | 'markdown'>,
  { title, markdown, rewrites }: Pick<SuggestedChange, 'title' | 'markdown' | 'rewrites'>,
): Pick<Post, 'title' | 'markdown'> {
  const others = new Map(rewrites);
  // Lines that changed since stay.
  const reworded = post.markdown.split('\n').map((line) => others.get(line) ?? line);
  return { title: title ?? post.title, markdown: markdown ?? reworded.join('\n') };
}

/** The author of the assistant's suggestions, in place of an API key. */
const ASSISTANT = { keyId: 'assistant', keyName: 'Assistant' };

/** In place of its suggestion that waits. Unless `isWhole`, the lines of that one stay in it. */
export async function replaceRewrites(
  tx: WriteTx,
  { ids, clock }: Pick<Deps, 'ids' | 'clock'>,
  { id: postId, organizationId, markdown }: Pick<OwnedPost, 'id' | 'organizationId' | 'markdown'>,
  rewrites: readonly [line: string, to: string][],
  { note, isWhole }: { note: string; isWhole: boolean },
): Promise<void> {
  const isOwn = and(eq(postSuggestions.postId, postId), eq(postSuggestions.keyId, ASSISTANT.keyId));
  const before = await tx.select().from(postSuggestions).where(isOwn).get();
  const lines = new Set(markdown.split('\n'));
  const kept = isWhole ? [] : (before?.rewrites ?? []);
  const all = [...kept, ...rewrites].filter(([line]) => lines.has(line));
  await tx.delete(postSuggestions).where(isOwn).run();
  if (all.length === 0) return;
  const text = { title: null, markdown: null, rewrites: all, note, createdAt: clock.now().toISOString() };
  await tx
    .insert(postSuggestions)
    .values({ id: ids.newId('sug'), postId, organizationId, ...ASSISTANT, ...text })
    .run();
}

interface Accepted {
  post: Post;
  /** The version with the text before, to undo it. Null when the post had the text already. */
  previousId: string | null;
}

/** As a new version, unless it waits for approval. Throws `AppError` 404, and 409 unless the post is that of `seen`. */
export async function acceptChange(
  deps: AuditDeps & Pick<Deps, 'ids'>,
  id: string,
  { seen }: { seen?: string } = {},
): Promise<Accepted> {
  const { organizationId } = await deps.db.read((tx) => getSuggestedChange(tx, id), { single: true });
  return withContent((contentOf) =>
    deps.db.write(async (tx) => {
      const change = await getSuggestedChange(tx, id);
      const { postId, keyId, keyName } = change;
      const before = await getOwnedPost(tx, postId);
      const { title, markdown } = suggestedText(before, change);
      if (seen !== undefined && seen !== before.updatedAt) {
        throw new AppError(409, 'The post was changed in the meantime', { code: 'post_changed' });
      }
      const content = markdown === before.markdown ? before.content : contentOf(before.contentType, markdown);
      const after = { ...before, title, markdown, content, updatedAt: deps.clock.now().toISOString() };
      const isHeld = await holdChange(tx, deps, before, after);
      const taken = { before, after, origin: 'suggestion' } as const;
      const previousId = isHeld ? null : await recordVersion(tx, deps, taken);
      if (previousId !== null) await writePost(tx, after);
      await deleteSuggestedChange(tx, id);
      const author = keyId === ASSISTANT.keyId ? 'assistant' : `API key ${quote(keyName)}`;
      const verb = `accepted a suggestion of the ${author} for`;
      await recordPost(tx, deps, 'post.changed', before, { verb });
      return { post: await getPost(tx, postId), previousId };
    }, changingPosts(organizationId)),
  );
}

/** Deletes the suggestion. Throws `AppError` 404. */
export async function dismissChange({ db }: Pick<Deps, 'db'>, id: string): Promise<void> {
  const { organizationId } = await db.read((tx) => getSuggestedChange(tx, id), { single: true });
  await db.write(async (tx) => {
    await getSuggestedChange(tx, id);
    await deleteSuggestedChange(tx, id);
  }, changingPosts(organizationId));
}
