import type { ReadTx } from '../../db/engine.ts';
import { AppError, invalidField } from '../lib/app-error.ts';
import { cutLine } from '../lib/text.ts';
import type { AuditDeps } from '../people/audit.ts';
import type { Deps } from '../people/deps.ts';
import { onlyPublishers } from '../people/permission.ts';
import {
  type Approval,
  ask,
  decide,
  findApproval,
  hashOfSeen,
  isApproved,
  isOfText,
  listApprovers,
  mayApprove,
  rulesOf,
  withdraw,
} from './approval-rule.ts';
import { isPublished, type OwnedPost, type Post } from './model.ts';
import { setStatus } from './service.ts';
import { getOwnedPost, getPost, recordPost, writeAbout, writePost } from './store.ts';
import { markVersion, recordVersion } from './versions.ts';

// People ask to approve a text, withdraw that, approve, or decline. The newest request of a post counts.

type ApprovalDeps = AuditDeps & Pick<Deps, 'ids'>;

/**
 * Asks for the approval of a draft. One that has it, or waits for it at a person's request, stays as it is. `check` may throw, in
 * the transaction that writes. Throws `AppError` 404, and 409 `post_is_published` and `approval_off`.
 */
export function askApproval(
  deps: ApprovalDeps,
  postId: string,
  check?: (stored: OwnedPost) => void,
): Promise<Post> {
  return writeAbout(deps.db, { postId }, async (tx) => {
    const post = await getOwnedPost(tx, postId);
    check?.(post);
    if (post.status === 'published') throw isPublished();
    if (!(await rulesOf(tx, deps, post)).needsApproval) {
      throw new AppError(409, 'Posts of this organization need no approval', { code: 'approval_off' });
    }
    const { state, approval } = await approvalOf(tx, post);
    const isAsked = state === 'waiting' && approval?.askedById !== null;
    if (state !== 'approved' && !isAsked) await ask(tx, deps, post);
    return getPost(tx, postId);
  });
}

/**
 * Takes back a request, or a change of a published post that is not approved. False when there is none. Throws `AppError` 404, and
 * 403 `not_your_request`.
 */
export function withdrawApproval(deps: AuditDeps, postId: string): Promise<boolean> {
  return writeAbout(deps.db, { postId }, async (tx) => {
    const post = await getOwnedPost(tx, postId);
    const approval = await findApproval(tx, postId);
    if (approval === null || (approval.state !== 'waiting' && approval.change === null)) return false;
    if (approval.askedById !== deps.actor.id) {
      const message = `Only who asked can withdraw a request: ${approval.askedBy}. Publishers can decline it`;
      throw new AppError(403, message, { code: 'not_your_request' });
    }
    await withdraw(tx, deps, post, approval);
    return true;
  });
}

/** The text that a person looks at: the `hash` of the request. */
interface Seen {
  hash: string;
}

/**
 * Approves exactly the text that the person saw, which puts a change of a published post before the readers. Throws `AppError`
 * 403 for writers, 404, and 409: `not_waiting`, `approval_outdated` for another text, `not_asked` where no person asked,
 * `own_text`.
 */
export function approvePost(
  deps: ApprovalDeps,
  postId: string,
  { hash, publish = false }: Seen & { publish?: boolean },
): Promise<Post> {
  return writeAbout(deps.db, { postId }, async (tx) => {
    const { post, approval } = await requireWaiting(tx, deps, postId, hash);
    if (approval.askedById === null) {
      throw new AppError(409, 'A person must ask for the approval first', { code: 'not_asked' });
    }
    if (!(await listApprovers(tx, approval)).some(({ id }) => id === deps.actor.id)) {
      throw new AppError(
        409,
        'You asked for this approval or wrote some of the text. Another person must approve it',
        { code: 'own_text' },
      );
    }
    const { change, askedById, askedBy } = approval;
    let after = post;
    if (change !== null) {
      after = { ...post, ...change, updatedAt: deps.clock.now().toISOString() };
      const asker = { ...deps.actor, id: askedById, name: askedBy };
      await writePost(tx, after);
      await recordVersion(tx, { ...deps, actor: asker }, { before: post, after, origin: 'edit' });
    }
    const version = await markVersion(tx, postId, after.status === 'published' ? 'published' : 'approved');
    const versionId = version?.id ?? '';
    await decide(tx, deps, approval, { state: 'approved', change: null, hash: hashOfSeen(after), versionId });
    const verb = `approved version ${versionId} of`;
    await recordPost(tx, deps, 'post.approved', after, { verb, more: `, as ${askedBy} asked` });
    if (publish) await setStatus(tx, deps, after, 'published');
    return getPost(tx, postId);
  });
}

/** In characters; the audit log has the beginning. */
export const MAX_NOTE = 1_000;
const MAX_LOGGED = 200;

/**
 * Declines a text, also after its approval as long as it is not public. Throws `AppError` 400, 403 and 404, and 409 `not_waiting` and
 * `approval_outdated`.
 */
export function declineApproval(
  deps: AuditDeps,
  postId: string,
  { hash, note: given }: Seen & { note: string },
): Promise<void> {
  const note = given.trim().toWellFormed();
  if (note === '' || note.length > MAX_NOTE || note.includes('\0')) {
    throw invalidField('note', `must say why, in at most ${MAX_NOTE.toLocaleString('en')} characters`);
  }
  return writeAbout(deps.db, { postId }, async (tx) => {
    const { post, approval } = await requireWaiting(tx, deps, postId, hash, 'approved');
    if (approval.state === 'approved' && post.status === 'published') throw isPublished();
    await decide(tx, deps, approval, { state: 'declined', note });
    await recordPost(tx, deps, 'post.approval_declined', post, { more: `: ${cutLine(note, MAX_LOGGED)}` });
  });
}

async function requireWaiting(
  tx: ReadTx,
  deps: AuditDeps,
  postId: string,
  hash: string,
  other?: Approval['state'],
): Promise<{ post: OwnedPost; approval: Approval }> {
  const post = await getOwnedPost(tx, postId);
  const { actor } = deps;
  const { organizationId } = post;
  const userId = actor.type === 'user' ? (actor.id ?? '') : '';
  if (!(await mayApprove(tx, { userId, organizationId }))) {
    throw onlyPublishers((await rulesOf(tx, deps, post)).organizationName);
  }
  const approval = await findApproval(tx, postId);
  if (approval === null || ![other, 'waiting'].includes(approval.state)) {
    throw new AppError(409, 'Nobody asks to approve this post any more', { code: 'not_waiting' });
  }
  if (approval.hash !== hash || !(await isOfText(tx, approval, post))) {
    const message = 'The text changed after you opened it, so nothing was done. Somebody must ask again';
    throw new AppError(409, message, { code: 'approval_outdated' });
  }
  return { post, approval };
}

/**
 * How the approval of a post stands. `needed`: nobody asks for that of the text as it is; the approval is then of another text, if
 * there is one.
 */
export async function approvalOf(
  tx: ReadTx,
  post: OwnedPost,
): Promise<{ state: 'needed' | 'waiting' | 'approved' | 'declined'; approval: Approval | null }> {
  const approval = await findApproval(tx, post.id);
  if (approval === null || approval.state === 'withdrawn') return { state: 'needed', approval: null };
  const { state } = approval;
  const isCurrent = state === 'approved' ? await isApproved(tx, post) : await isOfText(tx, approval, post);
  return { state: isCurrent || state === 'declined' ? state : 'needed', approval };
}
