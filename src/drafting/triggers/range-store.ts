import { and, asc, eq, getTableColumns, gt, inArray, isNull, lt, notExists, sql } from 'drizzle-orm';
import { dialectOf, isDue, matching, type ReadTx, type WriteTx } from '../../../db/engine.ts';
import { integrations, releaseRanges, repositories } from '../../../db/schema/integrations.ts';
import { providerNames } from '../../integrations/words.ts';
import { count } from '../../lib/text.ts';
import { isOfLive } from '../../people/organization-store.ts';
import type { Event, EventSource } from '../../providers/events.ts';
import { eventReader, findEvent } from '../events.ts';
import type { DraftRow } from '../store.ts';
import { repositoryOf } from './kinds/branch.ts';
import { findTrigger, type Trigger } from './model.ts';

// The commits of releases, by the commit graph of the provider, and those that the payload of a push does not name.

type Row = typeof releaseRanges.$inferSelect;
export type RangeCommit = NonNullable<Row['commits']>[number];

/** In place of a tag, none of which has a space: a push whose payload names too few of its commits. */
const PUSH = 'push ';

/** The range that completes a push; null for one that names all of its commits, or does not tell where it began. */
export function rangeOfPush({ type, key, data }: Event): string | null {
  return type === 'push' && data.total !== undefined && data.before !== undefined ? PUSH + key : null;
}

/** The key of the push that a range completes; null for the range of a release. */
export const pushOf = ({ tag: name }: Pick<Row, 'tag'>) =>
  name.startsWith(PUSH) ? name.slice(PUSH.length) : null;

/** The repository of a release. */
export type RangeSource = Pick<Row, 'integrationId' | 'repositoryId'>;
export type RangeKey = RangeSource & Pick<Row, 'tag'>;

/** The ranges of a repository. */
export interface RangeReader {
  /** Those of these releases that are known or queued, by tag. */
  heads(tags: readonly string[]): Promise<ReadonlyMap<string, RangeHead>>;
  /** The commits of those that are known, by tag. */
  read(tags: readonly string[]): Promise<ReadonlyMap<string, RangeCommit[]>>;
}

/** A range without its commits. `isRead`: it has some, also while they are asked for again. */
export type RangeHead = Omit<Row, 'commits' | 'integrationId' | 'repositoryId'> & { isRead: boolean };

const { tag, previousTag, status, dueAt, attempts, problem, createdAt } = releaseRanges;
const isRead = sql<boolean>`${releaseRanges.commits} is not null`.mapWith(Boolean);
const head = { tag, previousTag, status, dueAt, attempts, problem, createdAt, isRead };

const isOf = ({ integrationId, repositoryId }: RangeSource) =>
  matching(releaseRanges, { integrationId, repositoryId });
const isRange = (key: RangeKey) => and(isOf(key), eq(releaseRanges.tag, key.tag));

/** The condition of the partial index, exactly: both engines use it only for a query that repeats it. */
const isQueued = sql`${status} = 'queued'`;

/** Queues the range of a release. One that is known stays; one that the provider could not tell gets another try. */
export async function queueRange(tx: WriteTx, key: RangeKey, now: Date): Promise<void> {
  const { integrationId, repositoryId } = releaseRanges;
  const fresh = queuedAt(now);
  await tx
    .insert(releaseRanges)
    .values({ ...key, ...fresh, previousTag: null, commits: null })
    .onConflictDoUpdate({
      target: [integrationId, repositoryId, tag],
      set: fresh,
      setWhere: eq(status, 'unknown'),
    });
}

const queuedAt = (now: Date) => ({
  status: 'queued' as const,
  dueAt: now.getTime(),
  attempts: 0,
  problem: null,
  createdAt: now.toISOString(),
});

/** Asks again for the newest ranges of some repositories, because a filter needs more of them. */
export async function requeueRanges(
  tx: WriteTx,
  integrationId: string,
  repositoryIds: readonly string[],
  limit: number,
  now: Date,
): Promise<void> {
  for (const repositoryId of repositoryIds) {
    const source = { integrationId, repositoryId };
    const heads = await listRanges(tx, source);
    const ofReleases = heads.filter((range) => pushOf(range) === null);
    const newest = ofReleases.slice(-limit).map((range) => range.tag);
    if (newest.length === 0) continue;
    const isNewest = inArray(tag, dialectOf(tx).listed(newest));
    await tx
      .update(releaseRanges)
      .set(queuedAt(now))
      .where(and(isOf(source), isNewest));
  }
}

/**
 * The next ranges to ask for; of one repository, or of all. Organizations take turns, each with the range that waits
 * longest.
 */
export async function listDueRanges(
  tx: ReadTx,
  now: Date,
  { limit, repositoryId }: { limit: number; repositoryId?: string | undefined },
): Promise<Row[]> {
  const turn = sql`row_number() over (partition by ${integrations.organizationId} order by ${dueAt}, ${tag})`;
  return tx
    .select(getTableColumns(releaseRanges))
    .from(releaseRanges)
    .leftJoin(integrations, eq(integrations.id, releaseRanges.integrationId))
    .where(
      and(
        isQueued,
        isDue(releaseRanges.dueAt, now.getTime()),
        isOfLive(integrations.organizationId),
        matching(releaseRanges, { repositoryId }),
      ),
    )
    .orderBy(turn, asc(dueAt), asc(tag))
    .limit(limit);
}

/** False when it is no longer queued. */
export async function updateRange(
  tx: WriteTx,
  key: RangeKey,
  changes: Partial<Pick<Row, 'status' | 'previousTag' | 'commits' | 'dueAt' | 'attempts' | 'problem'>>,
): Promise<boolean> {
  const isOpen = and(isRange(key), isQueued);
  const updated = tx.update(releaseRanges).set(changes).where(isOpen).returning({ tag: releaseRanges.tag });
  return (await updated.all()).length > 0;
}

/** Postpones all of a repository that are queued: the provider would refuse them too. */
export async function postponeRanges(
  tx: WriteTx,
  source: RangeSource,
  { dueAt, problem }: { dueAt: number; problem: string },
): Promise<void> {
  await tx
    .update(releaseRanges)
    .set({ dueAt, problem })
    .where(and(isOf(source), isQueued));
}

async function findRange(tx: ReadTx, key: RangeKey): Promise<RangeHead | null> {
  return (await tx.select(head).from(releaseRanges).where(isRange(key)).get()) ?? null;
}

/** All of a repository, those that were queued last at the end. */
export async function listRanges(tx: ReadTx, source: RangeSource): Promise<RangeHead[]> {
  return tx.select(head).from(releaseRanges).where(isOf(source)).orderBy(asc(createdAt), asc(tag));
}

/** How many ranges of a repository the provider has still to be asked for. */
export async function countQueuedRanges(tx: ReadTx, source: RangeSource): Promise<number> {
  return tx.$count(releaseRanges, and(isOf(source), isQueued));
}

/** The time at which the next range of a repository is due, in milliseconds since 1970; null for none. */
export async function nextRangeDueAt(tx: ReadTx, source: RangeSource): Promise<number | null> {
  const row = await tx
    .select({ dueAt: sql<number | null>`min(${releaseRanges.dueAt})` })
    .from(releaseRanges)
    .where(and(isOf(source), isQueued))
    .get();
  return row?.dueAt ?? null;
}

export async function deleteRanges(tx: WriteTx, keys: readonly RangeKey[]): Promise<void> {
  for (const key of keys) await tx.delete(releaseRanges).where(isRange(key));
}

export async function deleteOrphanedRanges(tx: WriteTx, _asOf: Date, limit: number): Promise<number> {
  const { integrationId, repositoryId, tag } = releaseRanges;
  const isOwner = eq(repositories.id, repositoryId);
  const orphans = await tx
    .select({ integrationId, repositoryId, tag })
    .from(releaseRanges)
    .where(notExists(tx.select({ id: repositories.id }).from(repositories).where(isOwner)))
    .limit(limit);
  await deleteRanges(tx, orphans);
  return orphans.length;
}

/** The ranges of a place; none outside a repository. */
export function rangeReader(tx: ReadTx, { integrationId, repositoryId }: EventSource): RangeReader {
  const source = { integrationId, repositoryId: repositoryId ?? '' };
  const { commits } = releaseRanges;
  const isOneOf = (tags: readonly string[]) => and(isOf(source), inArray(tag, dialectOf(tx).listed(tags)));
  return {
    async heads(tags) {
      if (tags.length === 0) return new Map();
      const rows = await tx.select(head).from(releaseRanges).where(isOneOf(tags));
      return new Map(rows.map((row) => [row.tag, row]));
    },
    async read(tags) {
      if (tags.length === 0) return new Map();
      const rows = await tx.select({ tag, commits }).from(releaseRanges).where(isOneOf(tags));
      return new Map(rows.flatMap((row) => (row.commits === null ? [] : [[row.tag, row.commits] as const])));
    },
  };
}

/** The provider is still to be asked for the first time for a range that was queued at most so long before or after `now`. */
export async function isRangeNew(
  tx: ReadTx,
  { integrationId, repositoryId }: EventSource,
  now: Date,
  spanMs: number,
): Promise<boolean> {
  const at = (ms: number) => new Date(now.getTime() + ms).toISOString();
  const isFresh = and(isNull(problem), gt(createdAt, at(-spanMs)), lt(createdAt, at(spanMs)));
  const isOfPlace = isOf({ integrationId, repositoryId: repositoryId ?? '' });
  const fresh = tx
    .select({ tag })
    .from(releaseRanges)
    .where(and(isOfPlace, isQueued, isFresh));
  return (await fresh.limit(1).get()) !== undefined;
}

const SUBJECT = 'release ';

/** Why a draft does not say all about its commits, as sentences; null when it does, or has notes. */
export async function findRangeProblem(tx: ReadTx, draft: DraftRow | null): Promise<string | null> {
  const trigger = draft && (await findTrigger(tx, draft.triggerId));
  const repositoryId = draft && repositoryOf(draft.scope);
  if (trigger === null || !repositoryId || draft === null) return null;
  return (
    (await findCutPush(tx, trigger, repositoryId, draft)) ??
    (await findReleaseProblem(tx, trigger, repositoryId, draft))
  );
}

/** A push whose payload named fewer commits than it counted, and that the provider has not completed, or in part. */
async function findCutPush(
  tx: ReadTx,
  trigger: Trigger,
  repositoryId: string,
  { eventKeys }: DraftRow,
): Promise<string | null> {
  const source = { integrationId: trigger.integrationId, repositoryId };
  const keys = eventKeys.filter((key) => key.startsWith(PUSH)).map((key) => key.slice(PUSH.length));
  if (keys.length === 0) return null;
  const pushes = await eventReader(tx, { ...source, triggerId: trigger.id }).findAll('push', keys);
  for (const event of pushes.values()) {
    if (event.type !== 'push' || event.data.total === undefined) continue;
    const { total, commits } = event.data;
    const size = `A push of ${count(total, 'commit')}`;
    const cut = `${size} named only ${commits.length}: changes may be missing.`;
    const tag = rangeOfPush(event);
    const range = tag === null ? null : await findRange(tx, { ...source, tag });
    if (range?.status === 'known') return `${size} is known in part. ${range.problem}`;
    if (range === null || range.problem === null) return cut;
    return `${cut} ${providerNames[trigger.integrationType]} could not be asked for them. ${range.problem}`;
  }
  return null;
}

async function findReleaseProblem(
  tx: ReadTx,
  trigger: Trigger,
  repositoryId: string,
  draft: DraftRow,
): Promise<string | null> {
  if (!draft.subject.startsWith(SUBJECT)) return null;
  const { integrationId } = trigger;
  const key = { integrationId, repositoryId, tag: draft.subject.slice(SUBJECT.length) };
  const range = await findRange(tx, key);
  if (range === null || range.problem === null) return null;
  const release = await findEvent(tx, key, { type: 'release', key: key.tag });
  const hasNotes = release?.type === 'release' && release.data.notes !== null;
  if (hasNotes && trigger.event === 'release') return null;
  if (range.status === 'known') return range.problem;
  if (range.isRead && trigger.filters.path === undefined) return null;
  const until = range.status === 'queued' ? ', until Tidings can ask again' : '';
  const provider = providerNames[trigger.integrationType];
  return `By time${until}, because ${provider} could not be asked. ${range.problem}`;
}
