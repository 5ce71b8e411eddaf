import { and, asc, count, eq, inArray, isNull, lt, lte, sql } from 'drizzle-orm';
import type { ReadTx, WriteTx } from '../../db/engine.ts';
import { apps, integrations, polls, repositories } from '../../db/schema/integrations.ts';
import type { Integration } from './store.ts';

// The progress of polling: a row for each repository of a polled integration.

export type Poll = typeof polls.$inferSelect;

/** Null values and absent ones mean the same. */
export type PollCursor = NonNullable<Poll['cursor']>;

export type PollChanges = Partial<Omit<Poll, 'repositoryId' | 'integrationId'>>;

export async function insertPoll(tx: WriteTx, poll: Poll): Promise<void> {
  await tx.insert(polls).values(poll).run();
}

/** Of one integration, by the names of their repositories. */
export async function listPolls(tx: ReadTx, integrationId: string): Promise<(Poll & { fullName: string })[]> {
  const rows = await tx
    .select({ poll: polls, fullName: repositories.fullName })
    .from(polls)
    .innerJoin(repositories, eq(repositories.id, polls.repositoryId))
    .where(eq(polls.integrationId, integrationId))
    .orderBy(asc(repositories.fullName))
    .all();
  return rows.map(({ poll, fullName }) => ({ ...poll, fullName }));
}

/** Those that are due, the longest due first; also those of integrations that are disabled. */
export async function listDuePolls(tx: ReadTx, now: Date, limit: number): Promise<Poll[]> {
  return tx
    .select()
    .from(polls)
    .where(lte(polls.dueAt, now.getTime()))
    .orderBy(asc(polls.dueAt), asc(polls.repositoryId))
    .limit(limit)
    .all();
}

/** Null when the repository is not polled. */
export async function findPoll(tx: ReadTx, repositoryId: string): Promise<Poll | null> {
  return (await tx.select().from(polls).where(eq(polls.repositoryId, repositoryId)).get()) ?? null;
}

/** Does nothing when the repository is no longer polled. */
export async function updatePoll(tx: WriteTx, repositoryId: string, changes: PollChanges): Promise<void> {
  await tx.update(polls).set(changes).where(eq(polls.repositoryId, repositoryId)).run();
}

/** The next round takes the present as the start. A change to a webhook or back goes on. */
export async function restartPoll(
  tx: WriteTx,
  { repositoryId, cursor }: Pick<Poll, 'repositoryId' | 'cursor'>,
  dueAt: number,
): Promise<void> {
  const { webhookSince = null, oldHook = null } = cursor ?? {};
  await updatePoll(tx, repositoryId, {
    cursor: { webhookSince, oldHook },
    dueAt,
    problem: null,
    attempts: 0,
  });
}

export async function deletePoll(tx: WriteTx, repositoryId: string): Promise<void> {
  await tx.delete(polls).where(eq(polls.repositoryId, repositoryId)).run();
}

/**
 * The repositories that share the provider's limit of requests with those of an integration, its own included: with a
 * token, its own; without one, all of this server that are polled without one.
 */
export async function listSharing(
  tx: ReadTx,
  { id, type, hasToken }: Pick<Integration, 'id' | 'type' | 'hasToken'>,
): Promise<string[]> {
  const isSharing = hasToken
    ? eq(integrations.id, id)
    : and(
        eq(integrations.type, type),
        isNull(integrations.token),
        isNull(apps.integrationId),
        eq(integrations.enabled, true),
      );
  const rows = await tx
    .select({ id: polls.repositoryId })
    .from(polls)
    .innerJoin(integrations, eq(integrations.id, polls.integrationId))
    .leftJoin(apps, eq(apps.integrationId, integrations.id))
    .where(isSharing)
    .all();
  return rows.map((row) => row.id);
}

/** Postpones repositories whose requests the provider would refuse before `dueAt`. */
export async function postponePolls(
  tx: WriteTx,
  repositoryIds: readonly string[],
  { dueAt, problem }: { dueAt: number; problem: string },
): Promise<void> {
  const isEarlier = and(inArray(polls.repositoryId, [...repositoryIds]), lt(polls.dueAt, dueAt));
  await tx.update(polls).set({ dueAt, problem }).where(isEarlier).run();
}

/** The repositories that are polled, and those of them whose last poll failed. */
export async function countPolls(tx: ReadTx): Promise<{ ok: number; failing: number }> {
  const row = await tx
    .select({ all: count(), failing: sql<number>`count(${polls.problem})`.mapWith(Number) })
    .from(polls)
    .innerJoin(integrations, eq(integrations.id, polls.integrationId))
    .where(eq(integrations.enabled, true))
    .get();
  const { all = 0, failing = 0 } = row ?? {};
  return { ok: all - failing, failing };
}
