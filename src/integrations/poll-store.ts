import {
  and,
  asc,
  count,
  eq,
  getTableColumns,
  gt,
  inArray,
  isNotNull,
  isNull,
  lt,
  or,
  sql,
} from 'drizzle-orm';
import { isDue, matching, type ReadTx, type WriteTx } from '../../db/engine.ts';
import { apps, integrations, polls, repositories } from '../../db/schema/integrations.ts';
import { DAY_MS, HOUR_MS } from '../lib/time.ts';
import { isOfLive } from '../people/organization-store.ts';
import { providerOf } from '../providers/index.ts';
import type { RequestBudget } from '../providers/reader.ts';
import type { Integration } from './store.ts';

// The progress of polling: a row for each repository of a polled integration.

export type Poll = typeof polls.$inferSelect;

/** Without a token, thousands of repositories share a provider's limit: each then waits for days. */
const LONGEST_MS = 14 * DAY_MS;

/** The longest wait after a failure, in milliseconds: a provider's clock may be wrong. */
export const MAX_WAIT_MS = DAY_MS;

/** How far the clocks of processes may differ, in milliseconds. */
const MAX_SKEW_MS = 60_000;

/** A repository that was polled in the future, or waits longer after a failure than any does, dates from a clock that was ahead. */
const isPollDue = (now: Date) =>
  or(
    isDue(polls.dueAt, now.getTime(), LONGEST_MS),
    gt(polls.polledAt, new Date(now.getTime() + MAX_SKEW_MS).toISOString()),
    and(isNotNull(polls.problem), gt(polls.dueAt, now.getTime() + MAX_WAIT_MS)),
  );

export type PollCursor = NonNullable<Poll['cursor']>;

export type PollChanges = Partial<Omit<Poll, 'repositoryId' | 'integrationId'>>;

export async function insertPoll(tx: WriteTx, poll: Poll): Promise<void> {
  await tx.insert(polls).values(poll);
}

/** Of one integration, by the names of their repositories. */
export async function listPolls(tx: ReadTx, integrationId: string): Promise<(Poll & { fullName: string })[]> {
  const rows = await tx
    .select({ poll: polls, fullName: repositories.fullName })
    .from(polls)
    .innerJoin(repositories, eq(repositories.id, polls.repositoryId))
    .where(eq(polls.integrationId, integrationId))
    .orderBy(asc(repositories.fullName));
  return rows.map(({ poll, fullName }) => ({ ...poll, fullName }));
}

/** Those that are due, the longest due first; also those of integrations that are disabled. */
export async function listDuePolls(tx: ReadTx, now: Date, limit: number): Promise<Poll[]> {
  return tx
    .select(getTableColumns(polls))
    .from(polls)
    .innerJoin(integrations, eq(integrations.id, polls.integrationId))
    .where(and(isPollDue(now), isOfLive(integrations.organizationId)))
    .orderBy(asc(polls.dueAt), asc(polls.repositoryId))
    .limit(limit);
}

/** Null when the repository is not polled, or not due at `now`. */
export async function findPoll(tx: ReadTx, repositoryId: string, now?: Date): Promise<Poll | null> {
  const isIt = and(eq(polls.repositoryId, repositoryId), now && isPollDue(now));
  return (await tx.select().from(polls).where(isIt).get()) ?? null;
}

/**
 * Reads the changes of the repositories beside their webhooks: from now on, of those that are not read yet; of all as soon as
 * possible if `isDue`.
 */
export async function readBeside(
  tx: WriteTx,
  integrationId: string,
  repositoryIds: readonly string[],
  { isDue, now }: { isDue: boolean; now: Date },
): Promise<void> {
  const dueAt = now.getTime();
  const known = new Set((await listPolls(tx, integrationId)).map(({ repositoryId }) => repositoryId));
  for (const repositoryId of repositoryIds) {
    const fresh = { cursor: null, polledAt: null, problem: null, attempts: 0 };
    if (!known.has(repositoryId)) await insertPoll(tx, { repositoryId, integrationId, dueAt, ...fresh });
    else if (isDue) await updatePoll(tx, repositoryId, { dueAt });
  }
}

/** Does nothing when the repository is no longer polled. */
export async function updatePoll(tx: WriteTx, repositoryId: string, changes: PollChanges): Promise<void> {
  await tx.update(polls).set(changes).where(eq(polls.repositoryId, repositoryId));
}

/** The next round takes the present as the start. A change to a webhook or back goes on. */
export async function restartPoll(
  tx: WriteTx,
  { repositoryId, cursor }: Pick<Poll, 'repositoryId' | 'cursor'>,
  dueAt: number,
): Promise<void> {
  const { webhookSince = null, hasOldHook = false } = cursor ?? {};
  const fresh = { cursor: { webhookSince, hasOldHook }, problem: null, attempts: 0 };
  await updatePoll(tx, repositoryId, { ...fresh, dueAt });
}

export async function deletePoll(tx: WriteTx, repositoryId: string): Promise<void> {
  await tx.delete(polls).where(eq(polls.repositoryId, repositoryId));
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
        matching(integrations, { type, enabled: true }),
        isNull(integrations.token),
        isNull(apps.integrationId),
      );
  const rows = await tx
    .select({ id: polls.repositoryId })
    .from(polls)
    .innerJoin(integrations, eq(integrations.id, polls.integrationId))
    .leftJoin(apps, eq(apps.integrationId, integrations.id))
    .where(isSharing);
  return rows.map((row) => row.id);
}

/** Postpones repositories whose requests the provider would refuse before `dueAt`. */
export async function postponePolls(
  tx: WriteTx,
  repositoryIds: readonly string[],
  { dueAt, problem }: { dueAt: number; problem: string },
): Promise<void> {
  const isEarlier = and(inArray(polls.repositoryId, [...repositoryIds]), lt(polls.dueAt, dueAt));
  await tx.update(polls).set({ dueAt, problem }).where(isEarlier);
}

/** The repositories that are polled, and those of them whose last poll failed. */
export async function countPolls(tx: ReadTx): Promise<{ ok: number; failing: number }> {
  const row = await tx
    .select({ all: count(), failing: sql<number>`count(${polls.problem})`.mapWith(Number) })
    .from(polls)
    .innerJoin(integrations, eq(integrations.id, polls.integrationId))
    .where(
      and(matching(integrations, { enabled: true, isPolled: true }), isOfLive(integrations.organizationId)),
    )
    .get();
  const { all = 0, failing = 0 } = row ?? {};
  return { ok: all - failing, failing };
}

// How often a repository is polled: with a token at least once a minute; without one as often as the provider's limit
// for requests without a token allows, which all such repositories of this server share with history.

/** A round asks for the releases, the merged pull requests, and the head of the default branch. */
export const REQUESTS_PER_ROUND = 3;

/** Less than a minute, because a round takes some seconds itself. */
const SHORTEST_MS = 50_000;

/** Leaves requests for history, and for the commits of pushes. */
const SHARE = 0.6;

const MINUTE_MS = 60_000;

/** How often the changes are read beside a webhook without a list of its deliveries, in milliseconds; with one, daily. */
const READ_EVERY_MS = 600_000;

/** The same for an integration with a webhook: polling brings what the webhook did not. */
export const readEveryMs = (type: Integration['type']) =>
  providerOf(type).api?.redelivery == null ? READ_EVERY_MS : DAY_MS;

export type Pollable = Pick<Integration, 'type' | 'hasToken'>;

/** `sharing`: how many repositories share the limit, this one included. In milliseconds. */
export function pollEveryMs({ type, hasToken }: Pollable, sharing: number): number {
  const perHour = hasToken ? null : (providerOf(type).reader?.anonymousPerHour ?? null);
  if (perHour === null) return SHORTEST_MS;
  return Math.max(SHORTEST_MS, Math.ceil((sharing * REQUESTS_PER_ROUND * HOUR_MS) / (perHour * SHARE)));
}

/** How long to wait after a round, in milliseconds: longer than usual when few requests are left of the limit. */
export function nextPollMs(polled: Pollable, sharing: number, budget: RequestBudget, now: Date): number {
  const usual = Math.max(pollEveryMs(polled, sharing), Math.min(budget.pollMs ?? 0, HOUR_MS));
  const { remaining, resetAt } = budget;
  const untilReset = Math.min((resetAt?.getTime() ?? 0) - now.getTime(), HOUR_MS);
  if (remaining === null || untilReset <= 0) return usual;
  const rounds = Math.floor(remaining / (REQUESTS_PER_ROUND * sharing));
  return Math.max(usual, untilReset / Math.max(rounds, 1));
}

/** Says how often Tidings asks, and why not more often. */
export function describePollInterval(polled: Pollable, sharing: number): string {
  const { name, reader, words } = providerOf(polled.type);
  const everyMs = pollEveryMs(polled, sharing);
  if (everyMs <= MINUTE_MS) return `Tidings asks ${name} at least once a minute.`;
  const minutes = Math.ceil(everyMs / MINUTE_MS);
  const shared = sharing > 1 ? ` for all ${sharing} ${words.place.many} that are polled without one` : '';
  return `Tidings asks every ${minutes} minutes, because ${name} answers ${reader?.anonymousPerHour?.toLocaleString('en')} requests an hour without a token${shared}. A token makes it every minute.`;
}

/** True where the repositories of a provider can be polled. */
export function isPollable(type: Integration['type']): boolean {
  return providerOf(type).reader !== null;
}

/** True where a repository is polled every minute without a token too. */
export function isPolledByTheMinute(type: Integration['type']): boolean {
  return pollEveryMs({ type, hasToken: false }, 1) <= MINUTE_MS;
}
