import { and, asc, desc, eq, getTableColumns, gt, inArray, isNull, or, sql } from 'drizzle-orm';
import type { ReadTx, WriteTx } from '../../db/engine.ts';
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
  before: Versioned | null;
  after: Versioned;
  origin: PostVersion['origin'];
  isAutosave?: boolean | undefined;
  /** Also where only something beside the text changed, such as the date. */
  isAlways?: boolean;
  /** The newest version, where it was read before. */
  latest?: PostVersion | null | undefined;
}

const isOf = (postId: string) => eq(postVersions.postId, postId);
const newestFirst = [desc(postVersions.createdAt), desc(postVersions.id)];

export async function latestVersion(tx: ReadTx, postId: string): Promise<PostVersion | null> {
  const newest = tx
    .select()
    .from(postVersions)
    .where(isOf(postId))
    .orderBy(...newestFirst)
    .limit(1);
  return (await newest.get()) ?? null;
}

/** Keeps the text before it as well, if no version has it, and returns the id of that version; null for an unchanged text. */
export async function recordVersion(
  tx: WriteTx,
  { clock, ids, actor }: VersionContext,
  { before, after, origin, isAutosave = false, isAlways = false, latest: known }: PostChange,
): Promise<string | null> {
  if (before !== null && hasSameText(before, after) && !isAlways) return null;
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
    const changes = { title, markdown, contentType, updatedAt: now };
    await tx.update(postVersions).set(changes).where(eq(postVersions.id, latest.id)).run();
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

/** The newest version, with the text of the post, which stays as it is. Makes one where there is none. */
export async function settleVersion(
  tx: WriteTx,
  { clock, ids }: Pick<VersionContext, 'clock' | 'ids'>,
  post: Versioned,
): Promise<PostVersion> {
  const latest = await latestVersion(tx, post.id);
  await keepVersion(tx, post.id);
  if (latest !== null && hasSameText(latest, post)) return latest;
  const createdAt = later(clock.now().toISOString(), latest);
  return insertVersion(tx, ids, post, { origin: originOf(post), ...unknownActor, createdAt });
}

/** Later autosaves no longer replace the newest version: a person saved this text. */
export async function keepVersion(tx: WriteTx, postId: string): Promise<void> {
  const isOpen = and(isOf(postId), eq(postVersions.isAutosave, true));
  await tx.update(postVersions).set({ isAutosave: false }).where(isOpen).run();
}

/** The same for a text that was approved or published. Returns the newest version, which has this text; null for none. */
export async function markVersion(
  tx: WriteTx,
  postId: string,
  reached: NonNullable<PostVersion['reached']>,
): Promise<PostVersion | null> {
  await keepVersion(tx, postId);
  const latest = await latestVersion(tx, postId);
  if (latest === null || latest.reached === 'published') return latest;
  await tx.update(postVersions).set({ reached }).where(eq(postVersions.id, latest.id)).run();
  return { ...latest, reached };
}

/** Gives a copy the versions of a post since its last publication, so that it has the same authors. */
export async function copyUnpublished(
  tx: WriteTx,
  { ids }: Pick<VersionContext, 'ids'>,
  postId: string,
  copyId: string,
): Promise<void> {
  const versions = await listTexts(tx, postId);
  const since = versions.findLastIndex(({ reached }) => reached === 'published') + 1;
  for (const version of versions.slice(since)) {
    await insertVersion(tx, ids, { ...version, id: copyId }, { ...version, isAutosave: false });
  }
}

/** The newest version that was approved or published. */
export async function lastReached(tx: ReadTx, postId: string): Promise<PostVersion | null> {
  return (await listTexts(tx, postId)).findLast(({ reached }) => reached !== null) ?? null;
}

/** All versions with their texts, oldest first. */
export async function listTexts(tx: ReadTx, postId: string): Promise<PostVersion[]> {
  const oldestFirst = [asc(postVersions.createdAt), asc(postVersions.id)];
  return tx
    .select()
    .from(postVersions)
    .where(isOf(postId))
    .orderBy(...oldestFirst)
    .all();
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
  const { origin, actorType, actorId, actorName, createdAt, isAutosave } = authorship;
  const version = {
    ...{ id: ids.newId('version'), ...text, origin, actorType, actorId, actorName, createdAt, isAutosave },
    ...{ updatedAt: createdAt, reached: null },
  };
  await tx.insert(postVersions).values(version).run();
  await dropOldest(tx, postId);
  return version;
}

/** The newest version is the current text, and stays. So does the newest of each person, who must not approve it. */
async function dropOldest(tx: WriteTx, postId: string): Promise<void> {
  const { id, title, markdown, createdAt, actorType, actorId } = postVersions;
  const fromNewest = sql`(order by ${createdAt} desc, ${id} desc)`;
  const bytes = sql`octet_length(${title}) + octet_length(${markdown})`;
  const ranked = tx
    .select({
      id,
      place: sql<number>`row_number() over ${fromNewest}`.as('place'),
      ofPerson:
        sql<number>`case when ${actorType} = 'user' then row_number() over (partition by ${actorType}, ${actorId}
        order by ${createdAt} desc, ${id} desc) end`.as('of_person'),
      total: sql<number>`sum(${bytes}) over ${fromNewest}`.as('total'),
    })
    .from(postVersions)
    .where(isOf(postId))
    .as('ranked');
  const isTooMuch = or(gt(ranked.place, MAX_VERSIONS), gt(ranked.total, MAX_VERSION_BYTES));
  const oldest = tx
    .select({ id: ranked.id })
    .from(ranked)
    .where(and(gt(ranked.place, 1), or(isNull(ranked.ofPerson), gt(ranked.ofPerson, 1)), isTooMuch));
  await tx.delete(postVersions).where(inArray(id, oldest)).run();
}

export async function listVersions(tx: ReadTx, postId: string): Promise<VersionHead[]> {
  const { title: _title, markdown: _markdown, ...head } = getTableColumns(postVersions);
  const newest = tx
    .select(head)
    .from(postVersions)
    .where(isOf(postId))
    .orderBy(...newestFirst);
  return newest.limit(MAX_VERSIONS).all();
}

export async function findVersion(
  tx: ReadTx,
  postId: string,
  versionId: string,
): Promise<PostVersion | null> {
  const isWanted = and(eq(postVersions.id, versionId), eq(postVersions.postId, postId));
  return (await tx.select().from(postVersions).where(isWanted).get()) ?? null;
}
