import { and, asc, desc, eq, getTableColumns, gt, lte, or, sql } from 'drizzle-orm';
import type { ReadTx, WriteTx } from '../../db/engine.ts';
import { histories, integrations } from '../../db/schema/integrations.ts';
import { AppError } from '../lib/app-error.ts';

/** A person's request to read the history of a repository, and how far it got. */
export type History = typeof histories.$inferSelect;

/** The condition of the partial index, exactly: both engines use it only for a query that repeats it. */
const isQueued = sql`${histories.status} = 'queued'`;

/** What changes while a history is read. */
export type HistoryChanges = Partial<
  Pick<History, 'status' | 'cursor' | 'found' | 'read' | 'problem' | 'dueAt' | 'attempts' | 'endedAt'>
>;

export async function insertHistory(tx: WriteTx, history: History): Promise<void> {
  await tx.insert(histories).values(history).run();
}

/** Changes a history that has not ended. False when it has, or was deleted. */
export async function updateHistory(tx: WriteTx, id: string, changes: HistoryChanges): Promise<boolean> {
  const isOpen = and(eq(histories.id, id), isQueued);
  const changed = await tx.update(histories).set(changes).where(isOpen).returning({ id: histories.id }).all();
  return changed.length > 0;
}

/** Takes a history that may go on now: until `dueAt`, other processes leave it alone. Null when it may not. */
export async function claimHistory(
  tx: WriteTx,
  id: string,
  now: Date,
  dueAt: number,
): Promise<History | null> {
  const isFree = and(eq(histories.id, id), isQueued, isDue(now));
  const [claimed] = await tx.update(histories).set({ dueAt }).where(isFree).returning().all();
  return claimed ?? null;
}

/** No history waits longer: a later time dates from a clock set ahead. */
const MAX_WAIT_MS = 25 * 3_600_000;

const isDue = (now: Date) =>
  or(lte(histories.dueAt, now.getTime()), gt(histories.dueAt, now.getTime() + MAX_WAIT_MS));

/** Those of an organization, newest first; of all its integrations, or of one. */
export async function listHistories(
  tx: ReadTx,
  organizationId: string,
  { integrationId, limit = 20 }: { integrationId?: string | undefined; limit?: number } = {},
): Promise<History[]> {
  const rows = await tx
    .select({ history: histories })
    .from(histories)
    .innerJoin(integrations, eq(integrations.id, histories.integrationId))
    .where(
      and(
        eq(integrations.organizationId, organizationId),
        integrationId === undefined ? undefined : eq(histories.integrationId, integrationId),
      ),
    )
    .orderBy(desc(histories.createdAt), desc(histories.id))
    .limit(limit)
    .all();
  return rows.map(({ history }) => history);
}

/** Throws `AppError` 404, also for another organization's. */
export async function getHistory(tx: ReadTx, organizationId: string, id: string): Promise<History> {
  const found = await tx
    .select({ history: histories })
    .from(histories)
    .innerJoin(integrations, eq(integrations.id, histories.integrationId))
    .where(and(eq(integrations.organizationId, organizationId), eq(histories.id, id)))
    .get();
  if (found !== undefined) return found.history;
  throw new AppError(404, `There is no history ${id}`, { code: 'history_not_found' });
}

/** Null when it was deleted. */
export async function findHistory(tx: ReadTx, id: string): Promise<History | null> {
  return (await tx.select().from(histories).where(eq(histories.id, id)).get()) ?? null;
}

/** Histories that are due. Organizations take turns, and the one that waits longest comes first. */
export async function listDueHistories(tx: ReadTx, now: Date, limit: number): Promise<History[]> {
  const isOpen = and(isQueued, isDue(now));
  const { organizationId } = integrations;
  const turn = sql`row_number() over (partition by ${organizationId} order by ${histories.createdAt}, ${histories.id})`;
  return tx
    .select(getTableColumns(histories))
    .from(histories)
    .innerJoin(integrations, eq(integrations.id, histories.integrationId))
    .where(isOpen)
    .orderBy(turn, asc(histories.dueAt), asc(histories.createdAt))
    .limit(limit)
    .all();
}

/** The unfinished histories of a repository for a trigger. */
export async function listOpenHistories(
  tx: ReadTx,
  repositoryId: string,
  triggerId: string,
): Promise<History[]> {
  const isOpen = and(eq(histories.repositoryId, repositoryId), eq(histories.triggerId, triggerId), isQueued);
  return tx.select().from(histories).where(isOpen).orderBy(asc(histories.createdAt)).all();
}
