import { and, asc, eq, inArray, isNotNull, isNull, lt, max, sql } from 'drizzle-orm';
import { dialectOf, isDue, matching, prepared, type ReadTx, type WriteTx } from '../../../db/engine.ts';
import { posts } from '../../../db/schema/posts.ts';
import { roundupChanges, roundupPosts, roundupSources, roundups } from '../../../db/schema/triggers.ts';
import { notFound } from '../../lib/app-error.ts';
import { DAY_MS } from '../../lib/time.ts';
import { isOfLive } from '../../people/organization-store.ts';
import type { Post } from '../../posts/model.ts';
import { type Event, type EventSource, ROUNDUP_EVENTS } from '../../providers/events.ts';
import type { LeftOut } from '../changes/rules.ts';
import { kinds } from '../triggers/model.ts';

// A roundup makes a draft by the calendar, of what changed in its sources. A change is claimed when its event arrives, by a
// row that stays after the draft is made: so it is in one of them, however often and late it arrives.

type Row = typeof roundups.$inferSelect;

/** A place that a roundup collects from: a repository or all of an integration, or a team or all of a tracker. */
export type Source = Pick<typeof roundupSources.$inferSelect, 'integrationId' | 'repositoryId' | 'team'>;

export interface Roundup extends Omit<Row, 'nextAt'> {
  /** ISO 8601. */
  nextAt: string;
  sources: Source[];
}

/** No schedule has a longer gap. A time further ahead dates from a clock set ahead. */
const MAX_GAP_MS = 70 * DAY_MS;

/** How long the changes of a post are remembered. */
const MEMORY_MS = 400 * DAY_MS;

/** An event that is known for longer was in a roundup, if any was there then. Less than the memory by what clocks differ. */
const KNOWN_MS = 366 * DAY_MS;

// Claims, in the transaction of the delivery.

/** The sources of all roundups in an integration. A disabled roundup keeps its changes for the time when it is enabled. */
export function listSources(tx: ReadTx, integrationId: string) {
  return statements(tx).sources.all({ integrationId });
}

/** The keys of the changes that an event brings. A pull request and the push of its merge have a commit in common. */
function changeKeysOf(event: Event): string[] {
  if (event.type === 'push') return event.data.commits.map(({ sha }) => `commit ${sha}`);
  if (event.type === 'issue') return [`issue ${event.key}`];
  if (event.type !== 'pull_request') return [];
  const { mergeCommitSha: sha } = event.data;
  // Without its integration: a repository that is connected again brings the same.
  const own = `pull_request ${event.repository?.toLowerCase()}#${event.key}`;
  return sha === null ? [own] : [own, `commit ${sha}`];
}

/** True if the source has the event, and it is a change: it reached the default branch, or completed an issue. */
export function holds(source: Source, event: Event, { integrationId, repositoryId }: EventSource): boolean {
  if (source.integrationId !== integrationId) return false;
  if (source.repositoryId !== null && source.repositoryId !== repositoryId) return false;
  const filters = source.team === null ? {} : { team: [source.team] };
  return ROUNDUP_EVENTS.includes(event.type) && kinds[event.type].matches(filters, event);
}

/** Rows of one statement. */
const CHUNK = 500;

/** Claims what the event brings for each roundup that collects it. A change that one has stays there. */
export async function claimChanges(
  tx: WriteTx,
  source: EventSource,
  { event, previous }: { event: Event; previous: Event | null },
  sources: Awaited<ReturnType<typeof listSources>>,
  now: Date,
): Promise<void> {
  const ids = new Set(sources.filter((each) => holds(each, event, source)).map(({ roundupId }) => roundupId));
  const isOld = previous !== null && Date.parse(previous.occurredAt) < now.getTime() - KNOWN_MS;
  if (ids.size === 0 || isOld) return;
  const row = {
    integrationId: source.integrationId,
    repositoryId: source.repositoryId ?? '',
    event: `${event.type} ${event.key}`,
    claimedAt: now.toISOString(),
  };
  // In order: deliveries that claim the same at a time must not wait for each other.
  const keys = [...new Set(changeKeysOf(event))].sort();
  const rows = [...ids].sort().flatMap((roundupId) => keys.map((key) => ({ ...row, roundupId, key })));
  for (let start = 0; start < rows.length; start += CHUNK) {
    await tx
      .insert(roundupChanges)
      .values(rows.slice(start, start + CHUNK))
      .onConflictDoNothing();
  }
}

// Changes of a roundup that wait, and those that a post has.

export type Change = typeof roundupChanges.$inferSelect;

/** Those that wait longest, with all that came with each, and whether there are more. */
export async function listPending(
  tx: ReadTx,
  roundupId: string,
  limit: number,
): Promise<{ rows: Change[]; hasMore: boolean }> {
  const { claimedAt, event, key } = roundupChanges;
  const rows = await tx
    .select()
    .from(roundupChanges)
    .where(and(eq(roundupChanges.roundupId, roundupId), isNull(roundupChanges.postId)))
    .orderBy(asc(claimedAt), asc(event), asc(key))
    .limit(limit + 1);
  const next = rows[limit];
  if (next === undefined) return { rows, hasMore: false };
  const whole = rows.filter((each) => each.event !== next.event);
  return { rows: whole.length > 0 ? whole : rows.slice(0, limit), hasMore: true };
}

/** Those of some changes that were in an earlier post, each with the event that brought it. */
export async function readTaken(
  tx: ReadTx,
  roundupId: string,
  keys: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { key, event, postId } = roundupChanges;
  const isOne = and(eq(roundupChanges.roundupId, roundupId), inArray(key, dialectOf(tx).listed(keys)));
  const rows = await tx
    .select({ key, event })
    .from(roundupChanges)
    .where(and(isOne, isNotNull(postId)));
  return new Map(rows.map((row) => [row.key, row.event]));
}

/** Gives changes to a post; without a post where nothing was to be told. False when another took one of them. */
export async function takeChanges(
  tx: WriteTx,
  roundupId: string,
  keys: readonly string[],
  postId: string | null,
): Promise<boolean> {
  const isWaiting = and(eq(roundupChanges.roundupId, roundupId), isNull(roundupChanges.postId));
  const isOne = inArray(roundupChanges.key, dialectOf(tx).listed(keys));
  const taken = await tx
    .update(roundupChanges)
    .set({ postId: postId ?? '' })
    .where(and(isWaiting, isOne))
    .returning({ key: roundupChanges.key });
  return taken.length === keys.length;
}

/** Forgets old changes: their events are known for so long that they claim nothing. */
export async function forgetChanges(tx: WriteTx, roundupId: string, now: Date): Promise<void> {
  const before = new Date(now.getTime() - MEMORY_MS).toISOString();
  const isOld = lt(roundupChanges.claimedAt, before);
  await tx.delete(roundupChanges).where(and(eq(roundupChanges.roundupId, roundupId), isOld));
}

// Posts.

export async function insertRoundupPost(tx: WriteTx, row: typeof roundupPosts.$inferInsert): Promise<void> {
  await tx.insert(roundupPosts).values(row);
}

/** The newest posts of some roundups, but for those that a person deleted. By roundup. */
export async function listLastPosts(
  tx: ReadTx,
  roundupIds: readonly string[],
): Promise<ReadonlyMap<string, Pick<Post, 'id' | 'title' | 'status' | 'createdAt'>>> {
  const newest = tx
    .select({ roundupId: roundupPosts.roundupId, madeAt: max(roundupPosts.madeAt).as('newest') })
    .from(roundupPosts)
    .innerJoin(posts, eq(posts.id, roundupPosts.postId))
    .where(inArray(roundupPosts.roundupId, dialectOf(tx).listed(roundupIds)))
    .groupBy(roundupPosts.roundupId)
    .as('latest');
  const { id, title, status, createdAt } = posts;
  const rows = await tx
    .select({ roundupId: roundupPosts.roundupId, post: { id, title, status, createdAt } })
    .from(newest)
    .innerJoin(
      roundupPosts,
      and(eq(roundupPosts.roundupId, newest.roundupId), eq(roundupPosts.madeAt, newest.madeAt)),
    )
    .innerJoin(posts, eq(posts.id, roundupPosts.postId));
  return new Map(rows.map(({ roundupId, post }) => [roundupId, post]));
}

/** Changes of a post that its page reads. */
export const MAX_READ = 300;

/** The roundup of a post, the first changes that it has, and those that it leaves out; null for another post. */
export async function findRoundupOfPost(
  tx: ReadTx,
  postId: string,
): Promise<{ roundup: Roundup; changes: Change[]; leftOut: LeftOut[] } | null> {
  const row = await tx.select().from(roundupPosts).where(eq(roundupPosts.postId, postId)).get();
  const roundup = row && (await findRoundup(tx, row.roundupId));
  if (!roundup) return null;
  const isOfPost = matching(roundupChanges, { roundupId: roundup.id, postId });
  return {
    roundup,
    changes: await tx.select().from(roundupChanges).where(isOfPost).limit(MAX_READ),
    leftOut: row.leftOut,
  };
}

// Roundups.

/** Those of an organization, one of them, or all. Oldest first. */
export async function listRoundups(
  tx: ReadTx,
  which: { organizationId?: string | undefined; id?: string } = {},
): Promise<Roundup[]> {
  const rows = await tx
    .select()
    .from(roundups)
    .where(and(matching(roundups, which), isOfLive(roundups.organizationId)))
    .orderBy(asc(roundups.createdAt), asc(roundups.id));
  const ids = rows.map(({ id }) => id);
  const sources = await tx
    .select()
    .from(roundupSources)
    .where(inArray(roundupSources.roundupId, dialectOf(tx).listed(ids)))
    .orderBy(asc(roundupSources.roundupId), asc(roundupSources.position));
  const byRoundup = Map.groupBy(sources, ({ roundupId }) => roundupId);
  return rows.map(({ nextAt, ...row }) => ({
    ...row,
    nextAt: new Date(nextAt).toISOString(),
    sources: (byRoundup.get(row.id) ?? []).map(({ integrationId, repositoryId, team }) => ({
      integrationId,
      repositoryId,
      team,
    })),
  }));
}

export async function findRoundup(tx: ReadTx, id: string): Promise<Roundup | null> {
  const [roundup] = await listRoundups(tx, { id });
  return roundup ?? null;
}

/** Throws `AppError` 404. */
export async function getRoundup(tx: ReadTx, id: string): Promise<Roundup> {
  const roundup = await findRoundup(tx, id);
  if (roundup === null) throw notFound('roundup', id);
  return roundup;
}

/** The enabled roundups whose time has come, or whose time dates from a clock set ahead. */
export async function listDue(tx: ReadTx, now: Date): Promise<string[]> {
  const { id, nextAt, enabled } = roundups;
  const due = tx
    .select({ id })
    .from(roundups)
    .where(
      and(isDue(nextAt, now.getTime(), MAX_GAP_MS), eq(enabled, true), isOfLive(roundups.organizationId)),
    );
  return (await due.orderBy(asc(nextAt), asc(id))).map((row) => row.id);
}

export async function countRoundups(tx: ReadTx, organizationId: string): Promise<number> {
  return tx.$count(roundups, eq(roundups.organizationId, organizationId));
}

export async function saveRoundup(tx: WriteTx, { sources, nextAt, ...roundup }: Roundup): Promise<void> {
  const row = { ...roundup, nextAt: Date.parse(nextAt) };
  await tx.insert(roundups).values(row).onConflictDoUpdate({ target: roundups.id, set: row });
  await tx.delete(roundupSources).where(eq(roundupSources.roundupId, roundup.id));
  const rows = sources.map((source, position) => ({ ...source, position, roundupId: roundup.id }));
  if (rows.length > 0) await tx.insert(roundupSources).values(rows);
}

export async function moveRoundup(
  tx: WriteTx,
  id: string,
  { nextAt, startsOn }: Pick<Roundup, 'nextAt' | 'startsOn'>,
): Promise<void> {
  const changes = { nextAt: Date.parse(nextAt), startsOn };
  await tx.update(roundups).set(changes).where(eq(roundups.id, id));
}

/** With the changes that it has; its posts stay. */
export async function removeRoundup(tx: WriteTx, id: string): Promise<void> {
  await tx.delete(roundups).where(eq(roundups.id, id));
}

const statements = prepared((tx) => {
  const { roundupId, integrationId, repositoryId, team } = roundupSources;
  return {
    sources: tx
      .select({ roundupId, integrationId, repositoryId, team })
      .from(roundupSources)
      .where(eq(integrationId, sql.placeholder('integrationId')))
      .prepare(),
  };
});
