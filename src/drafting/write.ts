import type { WriteTx } from '../../db/engine.ts';
import { withoutMediaOrigin } from '../lib/markdown/media.ts';
import type { AuditContext } from '../people/audit.ts';
import type { Deps } from '../people/deps.ts';
import { ask, hashOfSeen, rulesOf } from '../posts/approval-rule.ts';
import type { ContentType, OwnedPost, Post } from '../posts/model.ts';
import { removePost } from '../posts/service.ts';
import { readPost, recordPost, writePost } from '../posts/store.ts';
import { recordVersion } from '../posts/versions.ts';
import type { LeftOut } from './changes/rules.ts';
import {
  closedSubject,
  type DraftName,
  type DraftRow,
  type DraftText,
  deleteDraft,
  findDraft,
  findDraftOfRepository,
  renameDraft,
  saveDraft,
} from './store.ts';

export interface NewDraft {
  name: DraftName;
  organizationId: string;
  contentType: ContentType;
  /** A new post is published at once, or asks for its approval where publishing needs a second person. */
  publish: boolean;
  /** Publishing a new post keeps its `createdAt`. */
  keepsDate: boolean;
  /** Null when the draft has no events, or lists none of its changes. */
  text: DraftText | null;
  /** The changes that it does not list. */
  leftOut: LeftOut[];
  /** A hash of all that it was made from. */
  source: string;
  eventKeys: string[];
  /** The time of its newest event: the post's `createdAt`. ISO 8601. */
  until: string;
  /** The subject of the rolling draft that this one closes. */
  closes: string | null;
  /** This is the rolling draft that collects new events. */
  isOpen: boolean;
  /** The repository of a release, whose draft may be under another branch. */
  releaseOf: string | null;
}

/**
 * `kept`: a person has published, edited or deleted the post. `suggested`: likewise, and the newer text is a suggestion.
 * `closed`: a person has published or deleted the rolling draft; plan again, because newer events belong in a new one.
 */
export type Outcome = 'created' | 'updated' | 'unchanged' | 'removed' | 'kept' | 'suggested' | 'closed';

export interface Written {
  outcome: Outcome;
  /** Null without a post. */
  postId: string | null;
  /** The events that the draft has, or had before. */
  eventKeys: string[];
}

type Needs = AuditContext & Pick<Deps, 'ids'>;

/** The draft as it is stored, and that of a release which was of another branch before. */
export async function findStored(tx: WriteTx, { name, releaseOf, text }: NewDraft) {
  // Sent together: one round trip.
  const [known, elsewhere] = await Promise.all([
    findDraft(tx, name),
    releaseOf === null || text === null ? null : findDraftOfRepository(tx, name, releaseOf),
  ]);
  return { known, elsewhere };
}

/** Writes a draft, except over what a person has changed. `stored`: from `findStored`, in the same transaction. */
export async function writeDraft(
  tx: WriteTx,
  deps: Needs,
  draft: NewDraft,
  { known, elsewhere }: Awaited<ReturnType<typeof findStored>>,
): Promise<Written> {
  const { eventKeys } = draft;
  const row =
    known ?? (await takeOverOpen(tx, draft)) ?? (elsewhere && (await moveBranch(tx, draft, elsewhere)));
  if (row === null) {
    if (draft.text === null) return { outcome: 'unchanged', postId: null, eventKeys };
    return { outcome: 'created', postId: await create(tx, deps, draft, draft.text), eventKeys };
  }
  const post = await readPost(tx, row.postId);
  const decision = decide(row, post, draft, deps.clock.now().toISOString());
  const { outcome } = decision;
  if (outcome === 'removed') {
    await removePost(tx, deps, row.postId);
    await deleteDraft(tx, row);
  }
  if (decision.post !== undefined) {
    await writePost(tx, decision.post);
    const { needsApproval } = await rulesOf(tx, deps, decision.post);
    const change = { before: post, after: decision.post, origin: 'trigger' } as const;
    // Metadata counts too.
    const isAlways = needsApproval && post !== null && hashOfSeen(post) !== hashOfSeen(decision.post);
    await recordVersion(tx, deps, { ...change, isAlways });
    if (needsApproval && draft.publish) await ask(tx, deps, decision.post);
  }
  if (decision.row !== undefined) await saveDraft(tx, decision.row);
  if (outcome === 'closed') await renameDraft(tx, row, { subject: closedSubject(row.postId) });
  const postId = post === null || outcome === 'removed' ? null : post.id;
  return { outcome, postId, eventKeys: [...new Set([...row.eventKeys, ...eventKeys])] };
}

interface Decision {
  outcome: Outcome;
  row?: DraftRow;
  /** The post's new version. */
  post?: OwnedPost;
}

/** `post` is null after a person deleted it. */
function decide(row: DraftRow, post: OwnedPost | null, draft: NewDraft, now: string): Decision {
  const { isOpen, text, eventKeys, until, source } = draft;
  if (isOpen && post?.status !== 'draft') return { outcome: 'closed', row: { ...row, ...settled } };
  if (post === null) return { outcome: 'kept' };
  const hash = text === null ? null : hashOf(text);
  // A person who wrote the same text changed nothing.
  const isTouched = post.status === 'published' || ![row.writtenHash, hash].includes(hashOf(post));
  if (text === null || hash === null) return { outcome: isTouched ? 'kept' : 'removed' };
  const { leftOut } = draft;
  const asWritten = { ...row, ...settled, writtenHash: hash, eventKeys, until, source, leftOut };

  if (!isTouched) {
    const createdAt = post.isDateSet ? post.createdAt : earlier(until, now);
    const next = { ...post, ...text, createdAt };
    if (!Bun.deepEquals(next, post)) {
      return { outcome: 'updated', post: { ...next, updatedAt: now }, row: asWritten };
    }
    const isSame = row.source === source && Bun.deepEquals(row.eventKeys, eventKeys);
    return isSame ? { outcome: 'unchanged' } : { outcome: 'unchanged', row: asWritten };
  }

  if (hash === hashOf(post)) return { outcome: 'unchanged', row: asWritten };
  // Don't suggest a text again that was there before, or that a person dismissed.
  const isNew = hash !== row.writtenHash && hash !== row.dismissedHash;
  const { title, markdown, content } = text;
  const suggestion = isNew ? { title, markdown, content, eventKeys, until } : null;
  const outcome = isNew ? 'suggested' : 'kept';
  return Bun.deepEquals(suggestion, row.suggestion)
    ? { outcome }
    : { outcome, row: { ...row, suggestion, suggestedAt: isNew ? now : null } };
}

/** The state of a draft without a suggestion. */
export const settled = { suggestion: null, suggestedAt: null };

export function hashOf({ title, markdown, content }: Pick<Post, 'title' | 'markdown' | 'content'>): string {
  // A new PUBLIC_URL changes the addresses of images, which is no edit.
  const text = withoutMediaOrigin(JSON.stringify([title, markdown, content]));
  return Bun.SHA256.hash(text, 'base64');
}

/** Turns the rolling draft into the one of the release that closes it, when they share events. */
async function takeOverOpen(
  tx: WriteTx,
  { name, closes, text, eventKeys }: NewDraft,
): Promise<DraftRow | null> {
  if (closes === null || text === null) return null;
  const open = await findDraft(tx, { ...name, subject: closes });
  // Two drafts may name the same issue, completed or not.
  const own = new Set(eventKeys.filter((key) => !/^(?:identifier|issue) /.test(key)));
  if (open === null || !open.eventKeys.some((key) => own.has(key))) return null;
  if ((await readPost(tx, open.postId))?.status !== 'draft') return null;
  await renameDraft(tx, open, { subject: name.subject });
  return { ...open, subject: name.subject };
}

/** Moves the draft of a release with it to another branch: an edit makes no second post. */
async function moveBranch(tx: WriteTx, { name }: NewDraft, moved: DraftRow): Promise<DraftRow> {
  await renameDraft(tx, moved, { scope: name.scope });
  return { ...moved, scope: name.scope };
}

async function create(tx: WriteTx, deps: Needs, draft: NewDraft, text: DraftText): Promise<string> {
  const { name, organizationId, contentType, keepsDate, eventKeys, until, source } = draft;
  const id = deps.ids.newId('post');
  const now = deps.clock.now().toISOString();
  const needsApproval = draft.publish && (await rulesOf(tx, deps, { organizationId })).needsApproval;
  const publish = draft.publish && !needsApproval;
  const post: OwnedPost = {
    ...text,
    id,
    organizationId,
    contentType,
    status: publish ? 'published' : 'draft',
    createdAt: earlier(until, now),
    updatedAt: now,
    isDateSet: keepsDate,
  };
  await writePost(tx, post);
  if (needsApproval) await ask(tx, deps, post);
  if (publish) await recordPost(tx, deps, 'post.published', { id, organizationId, title: text.title });
  await saveDraft(tx, {
    ...name,
    ...settled,
    postId: id,
    writtenHash: hashOf(text),
    eventKeys,
    until,
    dismissedHash: null,
    source,
    leftOut: draft.leftOut,
  });
  return id;
}

/** No post is dated in the future, whatever the provider's clock says. */
function earlier(time: string, now: string): string {
  return time !== '' && time < now ? time : now;
}
