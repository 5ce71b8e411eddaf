import { changingPosts, type Storage, type WriteTx } from '../../db/engine.ts';
import { AppError, invalidField, notFound } from '../lib/app-error.ts';
import { withAbsoluteMedia } from '../lib/markdown/media.ts';
import { cutLine, derivedId } from '../lib/text.ts';
import { DAY_MS, formatInZone } from '../lib/time.ts';
import { type AuditContext, type AuditDeps, describeActor } from '../people/audit.ts';
import type { Deps } from '../people/deps.ts';
import { getOrganization } from '../people/organization-store.ts';
import { holdChange, isApproved, requireApproved, requirePublisher, rulesOf } from './approval-rule.ts';
import { contentFor, isWithoutText, withContent } from './content.ts';
import {
  type ContentType,
  checkRecord,
  END_OF_DATES,
  isPublished,
  MAX_TITLE,
  type OwnedPost,
  type Post,
  type PostStatus,
  withStatus,
} from './model.ts';
import { type GivenTime, insertSchedule, readTime, takeSchedule } from './schedule.ts';
import {
  changePost,
  deletePostRow,
  getPost,
  readPost,
  recordPost,
  rewritePost,
  toPost,
  writeAbout,
  writePost,
} from './store.ts';
import { deleteOrphans, insertDeletedPost } from './trash.ts';
import {
  copyUnpublished,
  findVersion,
  keepVersion,
  latestVersion,
  markVersion,
  recordVersion,
} from './versions.ts';

type PostText = Partial<Pick<Post, 'title' | 'markdown' | 'contentType'>>;

/** A person's change of a post; its plain text follows from the Markdown and the type. */
interface PostEdit {
  title?: string | undefined;
  markdown?: string | undefined;
  contentType?: ContentType | undefined;
  /** Either value ends a schedule. */
  status?: PostStatus | undefined;
  /** Makes the text to write of the stored one, in place of the fields above. It may throw: somebody else wrote first. */
  merge?: ((stored: OwnedPost) => PostText) | undefined;
  /** Saved without a button: shares a version with other autosaves, and never changes a published post. */
  isAutosave?: boolean | undefined;
}

/** For services that change texts, and record each version. */
type WritingDeps = AuditDeps & Pick<Deps, 'ids' | 'publicUrl'>;

/** A published post may have to wait for approval: then it is returned as it is. Throws `AppError` 400, 404 and 409. */
export function editPost(
  deps: WritingDeps,
  postId: string,
  edit: PostEdit,
  organizationId?: string,
): Promise<Post> {
  const hasText =
    edit.merge !== undefined ||
    [edit.title, edit.markdown, edit.contentType].some((each) => each !== undefined);
  return withContent((contentOf) =>
    writeAbout(deps.db, { postId, organizationId }, async (tx) => {
      // Sent together, as what is written below is with the commit: two round trips.
      const [post, latest, rules] = await Promise.all([
        readPost(tx, postId),
        latestVersion(tx, postId),
        rulesOf(tx, deps, { id: postId }),
      ]);
      const isOther = organizationId !== undefined && post?.organizationId !== organizationId;
      if (post === null || isOther) throw notFound('post', postId);
      const given = edit.merge?.(post) ?? edit;
      const { title = post.title, markdown = post.markdown, contentType = post.contentType } = given;
      const text = hasText ? checkText(deps, { title, markdown }) : { title, markdown };
      const isRetyped = contentType !== post.contentType;
      const isEdited = text.title !== post.title || text.markdown !== post.markdown || isRetyped;
      if (isEdited && edit.isAutosave && post.status === 'published') {
        throw new AppError(409, 'The post was published in the meantime', { code: 'post_published' });
      }
      const isSameBody = text.markdown === post.markdown && !isRetyped;
      const content = isSameBody ? post.content : contentOf(contentType, text.markdown);
      const edited = { ...post, ...text, contentType, content };
      const status = edit.status ?? post.status;
      const { isAutosave = false } = edit;
      const isSaved = isEdited || (hasText && !isAutosave);
      if (isSaved && (await holdChange(tx, deps, post, { ...edited, status }, rules))) return toPost(post);
      if (isEdited) {
        await recordVersion(tx, deps, { before: post, after: edited, origin: 'edit', isAutosave, latest });
      } else if (isSaved) await keepVersion(tx, postId);
      const isWritten = edit.status !== undefined && (await setStatus(tx, deps, edited, edit.status));
      if (isRetyped) {
        const more = ` to ${contentType.replaceAll('_', ' ')}`;
        await recordPost(tx, deps, 'post.changed', edited, { verb: 'changed the type of', more });
      }
      if (!isEdited || isWritten) return getPost(tx, postId);
      const saved = { ...edited, updatedAt: nowOf(deps) };
      await rewritePost(tx, saved);
      return toPost(saved);
    }),
  );
}

/** Ends its schedule. False when nothing changes: then nothing is written. Throws as `requireApproved` does. */
export async function setStatus(
  tx: WriteTx,
  deps: AuditContext,
  post: OwnedPost,
  status: PostStatus,
): Promise<boolean> {
  const isSame = status === post.status;
  const now = nowOf(deps);
  const changed = { ...withStatus(post, status, now), updatedAt: now };
  if (status === 'published' && !isSame) await requireApproved(tx, deps, post, changed);
  if (status === 'draft') await requirePublisher(tx, deps, post);
  const schedule = await takeSchedule(tx, post.id);
  if (isSame) {
    if (schedule !== null && status === 'draft') await recordPost(tx, deps, 'post.unscheduled', post);
    return false;
  }
  await writePost(tx, changed);
  if (status === 'published') await markVersion(tx, post.id, 'published');
  await recordPost(tx, deps, status === 'published' ? 'post.published' : 'post.unpublished', post);
  return true;
}

interface Creation {
  /** Of an autosave: the form makes it, so that the draft is created once. */
  mark?: string;
  isPublished?: boolean;
  schedule?: GivenTime;
}

/** A draft, unless it is published at once. The same `mark` returns the draft that it made before. Throws 400 and 404. */
export async function createPost(
  deps: WritingDeps,
  organizationId: string,
  given: Pick<Post, 'title' | 'markdown' | 'contentType'> & Partial<Pick<Post, 'sourceMetadata'>>,
  { mark, isPublished: isPublishing = false, schedule }: Creation = {},
): Promise<Post> {
  const text = checkText(deps, given);
  const publication = schedule && { ...schedule, ...readTime(schedule, deps.clock.now()) };
  const content = await contentFor(given.contentType, text.markdown);
  const { contentType, sourceMetadata = null } = given;
  const id = mark ? derivedId('post', organizationId, deps.actor.id ?? '', mark) : deps.ids.newId('post');
  const post = newDraft(deps, id, { ...text, content, contentType, sourceMetadata });
  return deps.db.write(async (tx) => {
    const existing = mark ? await readPost(tx, id) : null;
    if (existing !== null) return getPost(tx, id);
    await getOrganization(tx, organizationId);
    const after = { ...post, organizationId, isDateSet: false };
    await writePost(tx, after);
    await recordVersion(tx, deps, { before: null, after, origin: 'edit', isAutosave: mark !== undefined });
    if (publication !== undefined) await insertSchedule(tx, deps, after, publication);
    if (!isPublishing) return post;
    await setStatus(tx, deps, after, 'published');
    return getPost(tx, id);
  }, changingPosts(organizationId));
}

/** A draft with the text of another post. Throws `AppError` 404. */
export function duplicatePost(deps: WritingDeps, postId: string): Promise<Post> {
  return changePost(deps.db, postId, async (tx, original) => {
    const title = cutLine(`Copy of ${original.title}`, MAX_TITLE);
    const copy = newDraft(deps, deps.ids.newId('post'), { ...original, title });
    const after = { ...original, ...copy, isDateSet: false };
    await writePost(tx, after);
    const { needsApproval } = await rulesOf(tx, deps, original);
    if (needsApproval) await copyUnpublished(tx, deps, postId, copy.id);
    await recordVersion(tx, deps, { before: null, after, origin: 'edit' });
    return copy;
  });
}

interface Restored {
  post: Post;
  /** The version with the text before, to undo the restoration. Null when the post had the text already. */
  previousId: string | null;
}

/** As a new version, unless it waits for approval. Throws `AppError` 404, as `holdChange`, and what `check` throws. */
export function restoreVersion(
  deps: Omit<WritingDeps, 'publicUrl'>,
  postId: string,
  versionId: string,
  check?: (stored: OwnedPost) => void,
): Promise<Restored> {
  return withContent((contentOf) =>
    changePost(deps.db, postId, async (tx, before) => {
      check?.(before);
      const version = await findVersion(tx, postId, versionId);
      if (version === null) throw notFound('version', versionId);
      const { title, markdown, contentType } = version;
      const isSameBody = markdown === before.markdown && contentType === before.contentType;
      const content = isSameBody ? before.content : contentOf(contentType, markdown);
      const updatedAt = deps.clock.now().toISOString();
      const after = { ...before, title, markdown, contentType, content, updatedAt };
      if (await holdChange(tx, deps, before, after)) return { post: toPost(before), previousId: null };
      const previousId = await recordVersion(tx, deps, { before, after, origin: 'restore' });
      if (previousId !== null) await writePost(tx, after);
      return { post: await getPost(tx, postId), previousId };
    }),
  );
}

type Text = Pick<Post, 'title' | 'markdown' | 'content' | 'contentType' | 'sourceMetadata'>;

function newDraft({ clock }: Pick<WritingDeps, 'clock'>, id: string, text: Text): Post {
  const { title, content, markdown, contentType, sourceMetadata } = text;
  const now = clock.now().toISOString();
  return {
    id,
    title,
    content,
    markdown,
    contentType,
    sourceMetadata,
    status: 'draft',
    createdAt: now,
    updatedAt: now,
  };
}

const FIRST_DATE = new Date('1970-01-01T00:00:00.000Z');

/** Null: its first publication will set it. Throws `AppError` 400, 404, 409, and what `check` throws. */
export async function datePost(
  deps: Omit<WritingDeps, 'publicUrl'>,
  postId: string,
  date: Date | null,
  check?: (stored: OwnedPost) => void,
): Promise<Post> {
  if (date !== null && !(date >= FIRST_DATE && date < END_OF_DATES)) {
    throw invalidField('createdAt', 'must be between the years 1970 and 2099');
  }
  return changePost(deps.db, postId, async (tx, post) => {
    check?.(post);
    if (date === null && post.status === 'published') throw isPublished();
    const now = nowOf(deps);
    const createdAt = date?.toISOString() ?? now;
    const isDateSet = date !== null;
    const isSame = isDateSet === post.isDateSet && (!isDateSet || createdAt === post.createdAt);
    if (isSame) return toPost(post);
    const { needsApproval } = await rulesOf(tx, deps, post);
    // Readers see the date, and a change that waits has none.
    if (needsApproval && post.status === 'published') throw isPublished();
    await requirePublisher(tx, deps, post);
    const after = { ...post, createdAt, isDateSet, updatedAt: now };
    await writePost(tx, after);
    if (needsApproval) {
      await recordVersion(tx, deps, { before: post, after, origin: 'edit', isAlways: true });
    }
    const more = isDateSet ? ` to ${formatInZone(createdAt, 'UTC')}` : ' to the time of its publication';
    await recordPost(tx, deps, 'post.changed', post, { verb: 'set the date of', more });
    return getPost(tx, postId);
  });
}

/** How long a deleted post can be restored. */
export const TRASH_DAYS = 30;

/** Moves a post to the trash. `check` may throw, in the transaction that deletes. Throws `AppError` 404. */
export async function deletePost(
  deps: AuditDeps,
  postId: string,
  check?: (stored: OwnedPost) => void,
): Promise<void> {
  await changePost(deps.db, postId, async (tx, post) => {
    check?.(post);
    await moveToTrash(tx, deps, post);
  });
}

async function moveToTrash(tx: WriteTx, deps: AuditContext, post: OwnedPost): Promise<void> {
  await requirePublisher(tx, deps, post);
  const now = deps.clock.now();
  await deletePostRow(tx, post.id);
  await insertDeletedPost(tx, {
    ...post,
    deletedAt: now.toISOString(),
    actorName: describeActor(deps.actor),
    expiresAt: now.getTime() + TRASH_DAYS * DAY_MS,
  });
  await recordPost(tx, deps, 'post.deleted', post);
}

/** Deletes a post for good and records it, in the caller's transaction. False when there is no such post. */
export async function removePost(tx: WriteTx, deps: AuditContext, postId: string): Promise<boolean> {
  const removed = await deletePostRow(tx, postId);
  await deleteOrphans(tx, [postId]);
  if (removed !== null) await recordPost(tx, deps, 'post.deleted', removed);
  return removed !== null;
}

/** Writes posts with their dates, without a record, all or none. Throws for an id of another organization. */
export async function savePosts(db: Storage, posts: readonly Omit<OwnedPost, 'isDateSet'>[]): Promise<void> {
  await db.write(async (tx) => {
    for (const post of posts) await writePost(tx, { ...post, isDateSet: true });
  });
}

/** Normalizes and checks a person's text. Browsers end the lines of a form with CRLF; sites need whole addresses. */
export function checkText(
  { publicUrl }: Pick<Deps, 'publicUrl'>,
  given: { title: string; markdown: string },
) {
  const markdown = withAbsoluteMedia(given.markdown.replaceAll('\r\n', '\n'), publicUrl());
  const text = { title: given.title.trim(), markdown };
  const checked = checkRecord(text);
  if ('problem' in checked) throw invalidField(checked.problem.field, checked.problem.message);
  return text;
}

const nowOf = ({ clock }: Pick<AuditDeps, 'clock'>) => clock.now().toISOString();

export const bulkActions = ['publish', 'unpublish', 'delete'] as const;
export type BulkAction = (typeof bulkActions)[number];

const BATCH = 100;

export interface BulkResult {
  /** The ids of the posts that changed. */
  changed: string[];
  /** Posts that were so already. */
  unchanged: number;
  /** Posts that somebody deleted meanwhile. */
  missing: number;
  /** Drafts without text, which stay drafts. */
  withoutText: number;
  /** Posts that are not as they were seen, which stay as they are. */
  unseen: number;
  /** Drafts that nobody has approved, which stay drafts. */
  unapproved: number;
}

const NOTHING = { unchanged: 0, missing: 0, withoutText: 0, unseen: 0, unapproved: 0 };

/** A hundred in a transaction, so that nobody waits for all. `isSeen`: the person has seen the post as it is. */
export async function changePosts(
  deps: AuditDeps,
  organizationId: string,
  postIds: readonly string[],
  action: BulkAction,
  isSeen: (stored: OwnedPost) => boolean = () => true,
): Promise<BulkResult> {
  const ids = [...new Set(postIds)];
  const total: BulkResult = { changed: [], ...NOTHING };
  for (let at = 0; at < ids.length; at += BATCH) {
    const some = ids.slice(at, at + BATCH);
    const result = await changeBatch(deps, organizationId, some, action, isSeen);
    total.changed.push(...result.changed);
    for (const name of Object.keys(NOTHING) as (keyof typeof NOTHING)[]) total[name] += result[name];
  }
  return total;
}

function changeBatch(
  deps: AuditDeps,
  organizationId: string,
  ids: readonly string[],
  action: BulkAction,
  isSeen: (stored: OwnedPost) => boolean,
): Promise<BulkResult> {
  return deps.db.write(async (tx) => {
    const result: BulkResult = { changed: [], ...NOTHING };
    const { needsApproval } = await rulesOf(tx, deps, { organizationId });
    for (const id of ids) {
      const post = await readPost(tx, id);
      if (post?.organizationId !== organizationId) {
        result.missing++;
        continue;
      }
      if (!isSeen(post)) {
        result.unseen++;
        continue;
      }
      const isPublishing = action === 'publish' && post.status === 'draft';
      if (isPublishing && isWithoutText(post)) {
        result.withoutText++;
        continue;
      }
      if (isPublishing && needsApproval && !(await isApproved(tx, post))) {
        result.unapproved++;
        continue;
      }
      let isChanged = true;
      if (action === 'delete') await moveToTrash(tx, deps, post);
      else isChanged = await setStatus(tx, deps, post, action === 'publish' ? 'published' : 'draft');
      if (isChanged) result.changed.push(id);
      else result.unchanged++;
    }
    return result;
  }, changingPosts(organizationId));
}
