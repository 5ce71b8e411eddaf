import { type Static, Type } from '@sinclair/typebox';
import type { Storage, WriteTx } from '../../db/engine.ts';
import { quote } from '../audit/model.ts';
import { type AuditContext, type AuditDeps, recordAudit } from '../audit/store.ts';
import type { Deps } from '../deps.ts';
import { AppError, notFound } from '../lib/app-error.ts';
import { ID_PATTERN, ID_RULE } from '../lib/text.ts';
import { parseTime } from '../lib/time.ts';
import { findProblem, invalidField, type Problem } from '../lib/validation.ts';
import { withAbsoluteMedia } from '../markdown/media.ts';
import { toPlainText } from '../markdown/plain-text.ts';
import { ContentType, type OwnedPost, type Post, PostStatus } from './model.ts';
import { getPost, readPost } from './store.ts';
import { deletePostRow, settleStagedPost, writePost } from './write-store.ts';

/** A person's change of a post; its plain text follows from the Markdown. */
interface PostEdit {
  title?: string | undefined;
  markdown?: string | undefined;
  status?: PostStatus | undefined;
  /** The `updatedAt` of the version that the person edited. A later change of the text is not overwritten. */
  seen?: string | undefined;
}

/** Throws `AppError` 400 with the invalid field, 404, and 409 `post_changed` when the text changed since `seen`. */
export function editPost(
  deps: AuditDeps & Pick<Deps, 'publicUrl'>,
  postId: string,
  edit: PostEdit,
): Promise<Post> {
  const hasText = edit.title !== undefined || edit.markdown !== undefined;
  return deps.db.write(async (tx) => {
    // A status alone wins over an import in progress, even if the post has it already.
    if (!hasText) await settleStagedPost(tx, postId);
    const post = await readPost(tx, postId);
    if (post === null) throw notFound('post', postId);
    const { title = post.title, markdown = post.markdown, status = post.status } = edit;
    const text = hasText ? checkText(deps, { title, markdown }) : { title, markdown };
    const isEdited = text.title !== post.title || text.markdown !== post.markdown;
    if (isEdited && edit.seen !== undefined && edit.seen !== post.updatedAt) {
      throw new AppError(409, 'The post was changed meanwhile', { code: 'post_changed' });
    }
    if (!isEdited && status === post.status) return getPost(tx, postId);
    const content =
      text.markdown === post.markdown ? post.content : plainTextFor(post.contentType, text.markdown);
    const now = deps.clock.now().toISOString();
    const isFirstPublication = status === 'published' && !post.isDateSet;
    const date = isFirstPublication ? { createdAt: now, isDateSet: true } : {};
    await writePost(tx, { ...post, ...text, ...date, content, status, updatedAt: now });
    if (status !== post.status) {
      const action = status === 'published' ? 'post.published' : 'post.unpublished';
      await recordPost(tx, deps, action, { ...post, ...text });
    }
    return getPost(tx, postId);
  });
}

/** A draft by a person. Throws `AppError` 400 with the invalid field. */
export function createPost(
  { db, clock, ids, publicUrl }: Pick<Deps, 'db' | 'clock' | 'ids' | 'publicUrl'>,
  organizationId: string,
  given: Pick<Post, 'title' | 'markdown' | 'contentType'>,
): Promise<Post> {
  const { contentType } = given;
  const text = checkText({ publicUrl }, given);
  const createdAt = clock.now().toISOString();
  const post: Post = {
    id: ids.newId('post'),
    ...text,
    content: plainTextFor(contentType, text.markdown),
    contentType,
    sourceMetadata: null,
    status: 'draft',
    createdAt,
    updatedAt: createdAt,
  };
  return db.write(async (tx) => {
    await writePost(tx, { ...post, organizationId, isDateSet: false });
    return post;
  });
}

/** Throws `AppError` 404. */
export async function deletePost(deps: AuditDeps, postId: string): Promise<void> {
  const isRemoved = await deps.db.write((tx) => removePost(tx, deps, postId));
  if (!isRemoved) throw notFound('post', postId);
}

/** Deletes and records it, in the caller's transaction. False when there is no such post. */
export async function removePost(tx: WriteTx, deps: AuditContext, postId: string): Promise<boolean> {
  await settleStagedPost(tx, postId);
  const removed = await deletePostRow(tx, postId);
  if (removed !== null) await recordPost(tx, deps, 'post.deleted', removed);
  return removed !== null;
}

/** In the transaction of the change. */
export async function recordPost(
  tx: WriteTx,
  deps: AuditContext,
  action: 'post.published' | 'post.unpublished' | 'post.deleted',
  { id, organizationId, title }: Pick<OwnedPost, 'id' | 'organizationId' | 'title'>,
): Promise<void> {
  const summary = `${action.slice('post.'.length)} the post ${quote(title)}`;
  await recordAudit(tx, deps, { organizationId, action, target: { type: 'post', id }, summary });
}

/** Writes posts with their dates, without a record, all or none. Throws for an id of another organization. */
export async function savePosts(db: Storage, posts: readonly Omit<OwnedPost, 'isDateSet'>[]): Promise<void> {
  await db.write(async (tx) => {
    for (const post of posts) await writePost(tx, { ...post, isDateSet: true });
  });
}

/** Normalizes and checks a person's text. Browsers end the lines of a form with CRLF; sites need whole addresses. */
function checkText({ publicUrl }: Pick<Deps, 'publicUrl'>, given: { title: string; markdown: string }) {
  const markdown = withAbsoluteMedia(given.markdown.replaceAll('\r\n', '\n'), publicUrl());
  const text = { title: given.title.trim(), markdown };
  const checked = checkRecord(text);
  if ('problem' in checked) throw invalidField(checked.problem.field, checked.problem.message);
  return text;
}

/** In characters (UTF-16 units); metadata as JSON. */
const MAX_TITLE = 500;
const MAX_TEXT = 200_000;
const MAX_METADATA = 16_384;
const MAX_METADATA_DEPTH = 20;

const Time = Type.String({ maxLength: 40 });

const ImportedFields = Type.Object(
  {
    id: Type.Optional(Type.String({ pattern: ID_PATTERN, errorMessage: ID_RULE })),
    title: Type.String({ minLength: 1, maxLength: MAX_TITLE, pattern: '\\S' }),
    markdown: Type.Optional(Type.String({ maxLength: MAX_TEXT })),
    content: Type.Optional(Type.String({ maxLength: MAX_TEXT })),
    contentType: Type.Optional(ContentType),
    status: Type.Optional(PostStatus),
    sourceMetadata: Type.Optional(
      Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()], {
        errorMessage: 'must be an object or null',
      }),
    ),
    createdAt: Type.Optional(Time),
    updatedAt: Type.Optional(Time),
  },
  { additionalProperties: false },
);

/** A checked record. Times are ISO 8601, UTC, with milliseconds. */
export type ImportedFields = Static<typeof ImportedFields>;

/** Returns the record with normalized times, or its first problem. */
export function checkRecord(
  fields: Record<string, unknown>,
): { record: ImportedFields } | { problem: Problem } {
  const problem = findProblem(ImportedFields, fields) ?? findOtherProblem(fields as ImportedFields);
  if (problem !== null) return { problem };
  const record = { ...(fields as ImportedFields) };
  for (const field of ['createdAt', 'updatedAt'] as const) {
    const time = record[field] === undefined ? undefined : parseTime(record[field]);
    if (time === null) return { problem: { field, message: badTime(record[field]) } };
    if (time !== undefined) record[field] = time.toISOString();
  }
  return { record };
}

function findOtherProblem({ title, markdown, content, sourceMetadata }: ImportedFields): Problem | null {
  if (markdown === undefined && content === undefined) {
    return { field: 'markdown', message: 'is missing (content, as plain text, would do too)' };
  }
  for (const [field, text] of Object.entries({ title, markdown, content })) {
    // SQLite's text functions and PostgreSQL end a text there.
    if (text?.includes('\0')) return { field, message: 'must not hold the character U+0000' };
  }
  if (JSON.stringify(sourceMetadata ?? null).length > MAX_METADATA) {
    return { field: 'sourceMetadata', message: `must have at most ${MAX_METADATA} characters as JSON` };
  }
  if (depthOf(sourceMetadata) > MAX_METADATA_DEPTH) {
    return { field: 'sourceMetadata', message: `must not nest deeper than ${MAX_METADATA_DEPTH}` };
  }
  return null;
}

function badTime(text: unknown): string {
  return `must be an ISO 8601 date or a time with its offset, such as 2026-01-31 or 2026-01-31T09:30:00Z, not ${JSON.stringify(text)}`;
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

/** A post's `content`, derived from its Markdown. LinkedIn has no lists: there a bullet reads better. */
export function plainTextFor(contentType: ContentType, markdown: string): string {
  return toPlainText(markdown, contentType === 'linkedin_post' ? '•' : '-');
}
