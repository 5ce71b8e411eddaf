import { and, desc, eq, getTableColumns, gt, inArray, or, sql } from 'drizzle-orm';
import { placeholdersFor, prepared, type ReadTx, type WriteTx } from '../../db/engine.ts';
import { postVersions } from '../../db/schema/posts.ts';
import type { Ids } from '../lib/text.ts';
import type { Clock } from '../lib/time.ts';
import type { Actor } from '../people/audit.ts';
import type { OwnedPost, Post } from './model.ts';

/** The newest versions of a post that are kept: so many, and so many bytes of title and Markdown in total. */
export const MAX_VERSIONS = 100;
export const MAX_VERSION_BYTES = 8 * 1024 * 1024;

/** Autosaves of one person within this time share a version. */
const SHARED_MS = 10 * 60_000;

export type PostVersion = typeof postVersions.$inferSelect;
/** A version without its text. */
export type VersionHead = Omit<PostVersion, 'title' | 'markdown'>;
type PostText = Pick<Post, 'title' | 'markdown' | 'contentType'>;

export interface VersionContext {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly actor: Actor;
}

/** A post; or a trigger with its templates, where an empty one is the built-in. */
type Versioned = PostText &
  Pick<OwnedPost, 'id' | 'organizationId' | 'updatedAt'> & { sourceMetadata?: OwnedPost['sourceMetadata'] };

export interface PostChange {
  /** Null for a new post. */
  before: Versioned | null;
  after: Versioned;
  origin: PostVersion['origin'];
  isAutosave?: boolean | undefined;
  /** The newest version, where it was read before. */
  latest?: PostVersion | null | undefined;
}

/** The newest version of a post. */
export async function latestVersion(tx: ReadTx, postId: string): Promise<PostVersion | null> {
  return (await statements(tx).latest.get({ postId })) ?? null;
}

/**
 * Records a change of the text, in the transaction of the change. Keeps the text before it as well, if no version has
 * it yet. Returns the id of the version with the text before; null for a new post and an unchanged text.
 */
export async function recordVersion(
  tx: WriteTx,
  { clock, ids, actor }: VersionContext,
  { before, after, origin, isAutosave = false, latest: known }: PostChange,
): Promise<string | null> {
  if (before !== null && hasSameText(before, after)) return null;
  const now = clock.now().toISOString();
  let latest = known === undefined ? await latestVersion(tx, after.id) : known;
  if (before !== null && (latest === null || !hasSameText(latest, before))) {
    latest = await insertVersion(tx, ids, before, {
      origin: originOf(before),
      ...unknownActor,
      createdAt: later([before.updatedAt, now].toSorted()[0] ?? now, latest),
    });
  }
  if (isAutosave && latest !== null && isShared(latest, actor, now)) {
    const { title, markdown, contentType } = after;
    await statements(tx).rewrite.run({ id: latest.id, title, markdown, contentType, updatedAt: now });
  } else {
    const { type: actorType, id: actorId, name: actorName } = actor;
    await insertVersion(tx, ids, after, {
      origin,
      actorType,
      actorId,
      actorName,
      createdAt: later(now, latest),
      isAutosave,
    });
  }
  return latest?.id ?? null;
}

/** The author of a text that was there before the first recorded change. */
const unknownActor = { actorType: 'anonymous', actorId: null, actorName: null, isAutosave: false };

function hasSameText(one: PostText, other: PostText): boolean {
  return (
    one.title === other.title && one.markdown === other.markdown && one.contentType === other.contentType
  );
}

function originOf({ sourceMetadata }: Versioned): PostVersion['origin'] {
  return sourceMetadata?.deliveryId === undefined ? 'import' : 'trigger';
}

function isShared({ isAutosave, actorType, actorId, createdAt }: PostVersion, actor: Actor, now: string) {
  const isTheirs = isAutosave && actorType === actor.type && actorId === actor.id;
  return isTheirs && Date.parse(now) - Date.parse(createdAt) < SHARED_MS;
}

/** Later autosaves no longer replace the newest version: a person saved or published this text. */
export async function keepVersion(tx: WriteTx, postId: string): Promise<void> {
  await statements(tx).keep.run({ postId });
}

/** Keeps versions in order when the clock was set back, and those of one millisecond. */
function later(time: string, latest: PostVersion | null): string {
  if (latest === null || time > latest.createdAt) return time;
  return new Date(Date.parse(latest.createdAt) + 1).toISOString();
}

type Authorship = Pick<
  PostVersion,
  'origin' | 'actorType' | 'actorId' | 'actorName' | 'createdAt' | 'isAutosave'
>;

async function insertVersion(
  tx: WriteTx,
  ids: Ids,
  { id: postId, organizationId, title, markdown, contentType }: Versioned,
  authorship: Authorship,
): Promise<PostVersion> {
  const text = { postId, organizationId, title, markdown, contentType };
  const version = { id: ids.newId('version'), ...text, ...authorship, updatedAt: authorship.createdAt };
  await statements(tx).insert.run(version);
  await statements(tx).dropOldest.run({ postId });
  return version;
}

/** All versions of a post, newest first. */
export async function listVersions(tx: ReadTx, postId: string): Promise<VersionHead[]> {
  return statements(tx).heads.all({ postId });
}

export async function findVersion(
  tx: ReadTx,
  postId: string,
  versionId: string,
): Promise<PostVersion | null> {
  const isWanted = and(eq(postVersions.id, versionId), eq(postVersions.postId, postId));
  return (await tx.select().from(postVersions).where(isWanted).get()) ?? null;
}

const columns = getTableColumns(postVersions);
const { title: _title, markdown: _markdown, ...headColumns } = columns;

const statements = prepared((tx) => {
  const isOfPost = eq(postVersions.postId, sql.placeholder('postId'));
  const newestFirst = [desc(postVersions.createdAt), desc(postVersions.id)];
  const bytes = sql`octet_length(${postVersions.title}) + octet_length(${postVersions.markdown})`;
  const fromNewest = sql`(order by ${postVersions.createdAt} desc, ${postVersions.id} desc)`;
  const ranked = tx
    .select({
      id: postVersions.id,
      place: sql<number>`row_number() over ${fromNewest}`.as('place'),
      total: sql<number>`sum(${bytes}) over ${fromNewest}`.as('total'),
    })
    .from(postVersions)
    .where(isOfPost)
    .as('ranked');
  return {
    latest: tx
      .select()
      .from(postVersions)
      .where(isOfPost)
      .orderBy(...newestFirst)
      .limit(1)
      .prepare(),
    heads: tx
      .select(headColumns)
      .from(postVersions)
      .where(isOfPost)
      .orderBy(...newestFirst)
      .limit(MAX_VERSIONS)
      .prepare(),
    dropOldest: tx
      .delete(postVersions)
      .where(
        inArray(
          postVersions.id,
          tx
            .select({ id: ranked.id })
            .from(ranked)
            // The newest is the current text.
            .where(
              and(
                gt(ranked.place, 1),
                or(gt(ranked.place, MAX_VERSIONS), gt(ranked.total, MAX_VERSION_BYTES)),
              ),
            ),
        ),
      )
      .prepare(),
    rewrite: tx
      .update(postVersions)
      .set({
        title: sql`${sql.placeholder('title')}`,
        markdown: sql`${sql.placeholder('markdown')}`,
        contentType: sql`${sql.placeholder('contentType')}`,
        updatedAt: sql`${sql.placeholder('updatedAt')}`,
      })
      .where(eq(postVersions.id, sql.placeholder('id')))
      .prepare(),
    keep: tx
      .update(postVersions)
      .set({ isAutosave: false })
      .where(and(isOfPost, eq(postVersions.isAutosave, true)))
      .prepare(),
    insert: tx.insert(postVersions).values(placeholdersFor(columns)).prepare(),
  };
});
