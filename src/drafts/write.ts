import type { WriteTx } from '../../db/storage.ts';
import type { AuditDeps } from '../audit/store.ts';
import type { Deps } from '../deps.ts';
import type { ContentType, OwnedPost, Post } from '../posts/model.ts';
import { recordPost, removePost } from '../posts/service.ts';
import { readPost } from '../posts/store.ts';
import { writePost } from '../posts/write-store.ts';
import type { DraftText } from './model.ts';
import {
  closedSubject,
  type DraftName,
  type DraftRow,
  deleteDraft,
  findDraft,
  findDraftOfBranch,
  renameDraft,
  saveDraft,
} from './store.ts';

/** A draft to write. `text` is null where there is nothing to tell. */
export interface NewDraft {
  name: DraftName;
  organizationId: string;
  contentType: ContentType;
  /** Whether a new post is published at once. */
  publish: boolean;
  text: DraftText | null;
  eventKeys: string[];
  /** When the newest of its events happened: the post's `createdAt`. ISO 8601. */
  until: string;
  /** The subject that goes on until this one closes it, if that is so. */
  closes: string | null;
  /** Whether this is the one that goes on. */
  isOpen: boolean;
  /** The repository of a release: its draft may be under another branch. */
  releaseOf: string | null;
}

/**
 * What came of it. `kept`: a person has published, edited or deleted it, and it stays so. `suggested`: likewise, and
 * the newer text is beside it. `closed`: a person has published or deleted the rolling draft, so that what came since
 * belongs into a new one: plan again.
 */
export type Written = 'created' | 'updated' | 'unchanged' | 'removed' | 'kept' | 'suggested' | 'closed';

/** Writes a draft, or leaves alone what a person has touched. Synchronous: the caller's transaction makes it whole. */
export async function writeDraft(
  db: WriteTx,
  deps: AuditDeps & Pick<Deps, 'ids'>,
  draft: NewDraft,
): Promise<Written> {
  const row = findDraft(db, draft.name) ?? (await takeOver(db, draft)) ?? moveHere(db, draft);
  if (row === null) return draft.text === null ? 'unchanged' : create(db, deps, draft, draft.text);
  const post = await readPost(db, row.postId);
  if (draft.isOpen && post?.status !== 'draft') {
    saveDraft(db, { ...row, suggestion: null, suggestedAt: null });
    renameDraft(db, row, { subject: closedSubject(row.postId) });
    return 'closed';
  }
  if (post === null) return 'kept';
  const isTouched = post.status === 'published' || hashOf(post) !== row.writtenHash;
  if (draft.text === null) {
    if (isTouched) return 'kept';
    await removePost(db, deps, post.id);
    deleteDraft(db, row);
    return 'removed';
  }
  const next = { ...draft, text: draft.text };
  return isTouched ? suggest(db, deps, row, post, next) : update(db, deps, row, post, next);
}

/** The same text has the same hash. */
export function hashOf({ title, markdown, content }: Pick<Post, 'title' | 'markdown' | 'content'>): string {
  return Buffer.from(Bun.SHA256.hash(JSON.stringify([title, markdown, content])) as Uint8Array).toString(
    'base64',
  );
}

type Told = NewDraft & { text: DraftText };

/** The rolling draft becomes the one of the release that closes it, where they tell of the same. */
async function takeOver(db: WriteTx, { name, closes, text, eventKeys }: NewDraft): Promise<DraftRow | null> {
  if (closes === null || text === null) return null;
  const open = findDraft(db, { ...name, subject: closes });
  if (open === null || !open.eventKeys.some((key) => eventKeys.includes(key))) return null;
  if ((await readPost(db, open.postId))?.status !== 'draft') return null;
  renameDraft(db, open, { subject: name.subject });
  return { ...open, subject: name.subject };
}

/** A release that moves to another branch keeps its draft: an edit makes no second post. */
function moveHere(db: WriteTx, { name, releaseOf, text }: NewDraft): DraftRow | null {
  if (releaseOf === null || text === null) return null;
  const moved = findDraftOfBranch(db, name, releaseOf);
  if (moved === null) return null;
  renameDraft(db, moved, { scope: name.scope });
  return { ...moved, scope: name.scope };
}

async function create(
  db: WriteTx,
  deps: AuditDeps & Pick<Deps, 'ids'>,
  draft: NewDraft,
  text: DraftText,
): Promise<Written> {
  const { name, organizationId, contentType, publish, eventKeys, until } = draft;
  const postId = deps.ids.newId('post');
  const now = deps.clock.now().toISOString();
  await writePost(db, {
    ...text,
    id: postId,
    organizationId,
    contentType,
    status: publish ? 'published' : 'draft',
    createdAt: earlier(until, now),
    updatedAt: now,
  });
  if (publish)
    await recordPost(db, deps, 'post.published', { id: postId, organizationId, title: text.title });
  saveDraft(db, {
    ...name,
    postId,
    writtenHash: hashOf(text),
    eventKeys,
    until,
    suggestion: null,
    suggestedAt: null,
    dismissedHash: null,
  });
  return 'created';
}

async function update(
  db: WriteTx,
  { clock }: Pick<Deps, 'clock'>,
  row: DraftRow,
  post: OwnedPost,
  { text, eventKeys, until }: Told,
): Promise<Written> {
  const now = clock.now().toISOString();
  const next = { ...post, ...text, createdAt: earlier(until, now) };
  const isSame = Bun.deepEquals(next, post);
  if (!isSame) await writePost(db, { ...next, updatedAt: now });
  if (!isSame || !Bun.deepEquals(row.eventKeys, eventKeys)) {
    saveDraft(db, {
      ...row,
      writtenHash: hashOf(text),
      eventKeys,
      until,
      suggestion: null,
      suggestedAt: null,
    });
  }
  return isSame ? 'unchanged' : 'updated';
}

/** Keeps the newer text beside the post, unless it is what was written before, or was turned down. */
function suggest(
  db: WriteTx,
  { clock }: Pick<Deps, 'clock'>,
  row: DraftRow,
  post: Post,
  { text: { title, markdown, content }, eventKeys, until }: Told,
): Written {
  const hash = hashOf({ title, markdown, content });
  if (hash === hashOf(post)) {
    // The person came to the same words.
    saveDraft(db, { ...row, writtenHash: hash, eventKeys, until, suggestion: null, suggestedAt: null });
    return 'unchanged';
  }
  const isNews = hash !== row.writtenHash && hash !== row.dismissedHash;
  const suggestion = isNews ? { title, markdown, content, eventKeys, until } : null;
  if (!Bun.deepEquals(suggestion, row.suggestion)) {
    const suggestedAt = isNews ? clock.now().toISOString() : null;
    saveDraft(db, { ...row, suggestion, suggestedAt });
  }
  return isNews ? 'suggested' : 'kept';
}

/** No post is of the future, whatever a provider's clock says. */
function earlier(time: string, now: string): string {
  return time !== '' && time < now ? time : now;
}
