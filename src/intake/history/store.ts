import { and, asc, desc, eq, getTableColumns, sql } from 'drizzle-orm';
import { isDue, matching, type ReadTx, type WriteTx } from '../../../db/engine.ts';
import { histories, integrations } from '../../../db/schema/integrations.ts';
import { findEvent, findSame, listReleases } from '../../drafting/events.ts';
import { recordNewest } from '../../drafting/triggers/hand-over.ts';
import { branchScope, matchesRelease } from '../../drafting/triggers/kinds/branch.ts';
import { kinds, listTriggers, type Trigger } from '../../drafting/triggers/model.ts';
import {
  forgetArrival,
  listArrivals,
  listEnabledTriggers,
  queueRun,
} from '../../drafting/triggers/queue-store.ts';
import { queueRange } from '../../drafting/triggers/range-store.ts';
import type { Integration, Repository } from '../../integrations/store.ts';
import { AppError } from '../../lib/app-error.ts';
import { fitsOne } from '../../lib/text.ts';
import type { Deps } from '../../people/deps.ts';
import { isOfLive } from '../../people/organization-store.ts';
import type { Arrival, Event } from '../../providers/events.ts';
import type { RemoteRepository, RepositoryReader } from '../../providers/reader.ts';

/** A person's request to read the history of a repository, and how far it got. */
export type History = typeof histories.$inferSelect;

/** The condition of the partial index, exactly: both engines use it only for a query that repeats it. */
const isQueued = sql`${histories.status} = 'queued'`;

export type HistoryChanges = Partial<
  Pick<History, 'status' | 'cursor' | 'found' | 'read' | 'problem' | 'dueAt' | 'attempts' | 'endedAt'>
>;

export async function insertHistory(tx: WriteTx, history: History): Promise<void> {
  await tx.insert(histories).values(history);
}

/** Changes a history that has not ended. False when it has, or was deleted. */
export async function updateHistory(tx: WriteTx, id: string, changes: HistoryChanges): Promise<boolean> {
  const isOpen = and(eq(histories.id, id), isQueued);
  const changed = await tx.update(histories).set(changes).where(isOpen).returning({ id: histories.id });
  return changed.length > 0;
}

/** Takes a history that may go on now: until `dueAt`, other processes leave it alone. Null when it may not. */
export async function claimHistory(
  tx: WriteTx,
  id: string,
  now: Date,
  dueAt: number,
): Promise<History | null> {
  const isFree = and(eq(histories.id, id), isQueued, mayBeRead(now));
  const [claimed] = await tx.update(histories).set({ dueAt }).where(isFree).returning();
  return claimed ?? null;
}

/** No history waits longer: a later time dates from a clock set ahead. */
const MAX_WAIT_MS = 25 * 3_600_000;

const mayBeRead = (now: Date) => isDue(histories.dueAt, now.getTime(), MAX_WAIT_MS);

/** Those of an organization, newest first; of all its integrations, or of one. */
export async function listHistories(
  tx: ReadTx,
  organizationId: string,
  { limit = 20, ...filter }: { id?: string; integrationId?: string | undefined; limit?: number } = {},
): Promise<History[]> {
  return tx
    .select(getTableColumns(histories))
    .from(histories)
    .innerJoin(integrations, eq(integrations.id, histories.integrationId))
    .where(and(eq(integrations.organizationId, organizationId), matching(histories, filter)))
    .orderBy(desc(histories.createdAt), desc(histories.id))
    .limit(limit);
}

/** Throws `AppError` 404, also for another organization's. */
export async function getHistory(tx: ReadTx, organizationId: string, id: string): Promise<History> {
  const [found] = await listHistories(tx, organizationId, { id });
  if (found !== undefined) return found;
  throw new AppError(404, `There is no history ${id}`, { code: 'history_not_found' });
}

/** Null when it was deleted. */
export async function findHistory(tx: ReadTx, id: string): Promise<History | null> {
  return (await tx.select().from(histories).where(eq(histories.id, id)).get()) ?? null;
}

/** Histories that are due. Organizations take turns, and the one that waits longest comes first. */
export async function listDueHistories(tx: ReadTx, now: Date, limit: number): Promise<History[]> {
  const isOpen = and(isQueued, mayBeRead(now));
  const { organizationId } = integrations;
  const turn = sql`row_number() over (partition by ${organizationId} order by ${histories.createdAt}, ${histories.id})`;
  return tx
    .select(getTableColumns(histories))
    .from(histories)
    .innerJoin(integrations, eq(integrations.id, histories.integrationId))
    .where(and(isOpen, isOfLive(organizationId)))
    .orderBy(turn, asc(histories.dueAt), asc(histories.createdAt))
    .limit(limit);
}

export async function listOpenHistories(
  tx: ReadTx,
  repositoryId: string,
  triggerId: string,
): Promise<History[]> {
  const isOpen = and(eq(histories.repositoryId, repositoryId), eq(histories.triggerId, triggerId), isQueued);
  return tx.select().from(histories).where(isOpen).orderBy(asc(histories.createdAt));
}

// The parts of a transaction that records a page of a history, or its end.

/** The parts that reading needs, read once. */
export interface Reading {
  reader: RepositoryReader;
  remote: RemoteRepository;
  integration: Integration;
  repository: Repository;
  trigger: Trigger;
}

/** The place where reading goes on. All values are texts or null. */
export type Cursor = {
  /** `changed`: pull requests that changed while reading moved to the first page, so read that again. */
  phase: 'releases' | 'requests' | 'changed';
  /** `next` of the page before. */
  page: string | null;
  /** How many pages of this phase are read. */
  pages: string;
  /** The time of the oldest event that was new, for the runs to queue. Null: none. */
  oldest: string | null;
  /** The time after which pull requests can be part of a release without notes; null: all. */
  after: string | null;
  /** The start of this phase. */
  startedAt: string;
};

/** Null at the start. */
export const cursorOf = ({ cursor }: History) => cursor as Cursor | null;

/** The first of these times; null without any. */
export const earliest = (times: readonly (string | null)[]) =>
  times.filter((time) => time !== null).sort()[0] ?? null;

/** `isNews`: the stored version differs from the one before. */
export async function recordAll(
  tx: WriteTx,
  { integration, repository }: Reading,
  events: readonly Event[],
): Promise<{ event: Event; isNews: boolean }[]> {
  const source = { integrationId: integration.id, repositoryId: repository.id };
  const recorded = [];
  for (const event of events) {
    const previous = await findSame(tx, source, event);
    const newest = await recordNewest(tx, source, event, previous);
    recorded.push({ event: newest, isNews: newest !== previous });
  }
  return recorded;
}

/**
 * The releases without notes that wait for their pull requests, and the time after which those were merged: when the
 * release before the oldest was made, by branch. Null when none waits.
 */
export async function findWaiting(
  tx: WriteTx,
  { integration, repository, trigger }: Reading,
): Promise<{ events: Event[]; after: string | null } | null> {
  const source = { integrationId: integration.id, repositoryId: repository.id };
  const events: Event[] = [];
  for (const arrival of (await listArrivals(tx, trigger.id, repository.id)).values()) {
    const event = isWaiting(arrival) ? await findEvent(tx, source, arrival) : null;
    if (event !== null && kinds.release.matches(trigger.filters, event)) events.push(event);
  }
  if (events.length === 0) return null;
  const releases = (await listReleases(tx, integration.id, [repository.id])).filter((release) =>
    matchesRelease(trigger.filters, release),
  );
  const starts = [...Map.groupBy(events, ({ branch }) => branch)].map(([branch, group]) => {
    const oldest = earliest(group.map(({ occurredAt }) => occurredAt)) ?? '';
    return releases.find((each) => each.branch === branch && each.occurredAt < oldest)?.occurredAt ?? null;
  });
  return { events, after: starts.includes(null) ? null : earliest(starts) };
}

/** A person asked for a post of the release. No delivery of a webhook is recorded so. */
const isWaiting = ({ isMatch, draftOnly, publish }: Arrived) => !isMatch && (draftOnly || publish);

type Arrived = Arrival & { isMatch: boolean };

/** The ranges of releases that close rolling drafts, which hold nothing older than their trigger. */
export async function queueRangesOfRolling(
  tx: WriteTx,
  { integration, repository }: Reading,
  events: readonly Event[],
  now: Date,
): Promise<void> {
  const triggers = await listTriggers(tx, { integrationId: integration.id });
  const rolling = triggers.filter(
    ({ enabled, event }) => enabled && kinds[event].isOfBranch && kinds[event].isRolling,
  );
  const since = earliest(rolling.map(({ createdAt }) => createdAt));
  if (since === null) return;
  const source = { integrationId: integration.id, repositoryId: repository.id };
  for (const { type, key, occurredAt } of events) {
    if (type === 'release' && occurredAt >= since) await queueRange(tx, { ...source, tag: key }, now);
  }
}

/** The runs of every trigger on each branch with releases, since the oldest event that was new. */
export async function queueRuns(
  tx: WriteTx,
  { clock }: Pick<Deps, 'clock'>,
  { integration, repository }: Pick<Reading, 'integration' | 'repository'>,
  { id: deliveryId }: History,
  since: string | null,
): Promise<void> {
  if (since === null) return;
  const releases = await listReleases(tx, integration.id, [repository.id]);
  const branches = [...new Set(releases.map(({ branch }) => branch))].sort();
  const triggers = await listEnabledTriggers(tx, integration.id, repository.id);
  for (const { id: triggerId, event, filters } of triggers) {
    if (!kinds[event].isOfBranch) continue;
    for (const branch of branches.filter((each) => fitsOne(filters.branch, each))) {
      const run = { triggerId, scope: branchScope(repository.id, branch), since, deliveryId };
      await queueRun(tx, run, clock.now());
    }
  }
}

/**
 * Queues the runs for what a history has read so far, because it does not go on now. `isOver`: never, so nothing waits for its
 * pull requests any longer.
 */
export async function settle(
  tx: WriteTx,
  deps: Pick<Deps, 'clock'>,
  integration: Integration,
  history: History,
  { isOver = false } = {},
): Promise<void> {
  const { triggerId, repositoryId } = history;
  const repository = integration.repositories.find(({ id }) => id === repositoryId);
  if (repository === undefined) return;
  if (isOver) {
    const waiting = [...(await listArrivals(tx, triggerId, repositoryId)).values()].filter(isWaiting);
    for (const { type, key } of waiting) await forgetArrival(tx, { triggerId, repositoryId, type, key });
  }
  await queueRuns(tx, deps, { integration, repository }, history, cursorOf(history)?.oldest ?? null);
}
