import {
  and,
  asc,
  count,
  desc,
  eq,
  exists,
  getTableColumns,
  gt,
  inArray,
  lt,
  lte,
  max,
  min,
  ne,
  notExists,
  or,
  sql,
} from 'drizzle-orm';
import { alias } from 'drizzle-orm/sqlite-core';
import { deleteExpired, dialectOf, type ReadTx, type WriteTx } from '../../../db/engine.ts';
import { organizations } from '../../../db/schema/organizations.ts';
import { hookAttempts, hookMessages, rebuildHooks } from '../../../db/schema/public.ts';
import { notFound } from '../../lib/app-error.ts';
import { isLive, isOfLive } from '../../people/organization-store.ts';
import type { HookMessage } from './model.ts';

// The outbox: SQL triggers insert messages about posts, and the sender accepts and sends them. Notices are accepted already.

export type HookAttempt = typeof hookAttempts.$inferSelect;

// A literal: SQLite uses a partial index only where the statement itself implies its condition.
const isQueued = sql`${hookMessages.state} = 'queued'`;
const isNew = and(isQueued, eq(hookMessages.dueAt, 0));
const isAccepted = sql`${hookMessages.dueAt} > 0`;
const isOne = (id: string) => eq(hookMessages.id, id);
const ofHook = (hookId: string) => eq(hookMessages.hookId, hookId);
const among = (tx: ReadTx, ids: readonly string[]) => inArray(hookMessages.id, dialectOf(tx).listed(ids));

/** When the first and the last queued message are due: 0 for a new one, null without one. Costs two look-ups. */
export async function findDueTimes(tx: ReadTx): Promise<{ first: number | null; last: number | null }> {
  const timeOf = (which: typeof min) =>
    sql<
      number | null
    >`(select ${which(hookMessages.dueAt)} from ${hookMessages} where ${isQueued} and ${isOfLive(hookMessages.organizationId)})`;
  const [row] = await tx.values<[number | null, number | null]>(sql`select ${timeOf(min)}, ${timeOf(max)}`);
  return { first: row?.[0] ?? null, last: row?.[1] ?? null };
}

/** Makes messages due that would wait too long: they date from a clock set ahead. */
export async function hastenMessages(tx: WriteTx, latest: number, now: number): Promise<void> {
  await tx
    .update(hookMessages)
    .set({ dueAt: now })
    .where(and(isQueued, gt(hookMessages.dueAt, latest)))
    .run();
}

export async function listNewMessages(tx: ReadTx, limit: number) {
  const { id, hookId, organizationId, postId, number, type, postCreatedAt } = hookMessages;
  return tx
    .select({
      ...{ id, hookId, organizationId, postId, number, type, postCreatedAt },
      kind: rebuildHooks.kind,
      isEnabled: rebuildHooks.isEnabled,
      plan: organizations.plan,
    })
    .from(hookMessages)
    .innerJoin(rebuildHooks, eq(rebuildHooks.id, hookId))
    .innerJoin(organizations, and(eq(organizations.id, rebuildHooks.organizationId), isLive))
    .where(isNew)
    .limit(limit)
    .all();
}

/** Accepts new messages. `page`: the address of the page, with a trailing slash; null when it is off. */
export async function acceptMessages(
  tx: WriteTx,
  ids: readonly string[],
  {
    page = null,
    ...values
  }: Pick<HookMessage, 'state' | 'dueAt' | 'createdAt' | 'expiresAt'> & { page?: string | null },
): Promise<void> {
  if (ids.length === 0) return;
  const { type, postId } = hookMessages;
  const url =
    page === null
      ? null
      : sql`case when ${type} in ('post.published', 'post.changed') then ${page} || ${postId} end`;
  await tx
    .update(hookMessages)
    .set({ ...values, url })
    .where(and(among(tx, ids), isNew))
    .run();
}

export async function deleteMessages(tx: WriteTx, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await tx.delete(hookMessages).where(among(tx, ids)).run();
}

/** Ends what is queued of a hook, or only about some posts. New messages stay, and are accepted as the hook is then. */
export async function endQueued(
  tx: WriteTx,
  hookId: string,
  state: 'failed' | 'merged',
  postIds?: readonly string[],
): Promise<void> {
  const isWanted = postIds && inArray(hookMessages.postId, dialectOf(tx).listed(postIds));
  await tx
    .update(hookMessages)
    .set({ state })
    .where(and(ofHook(hookId), isQueued, isAccepted, isWanted))
    .run();
}

export async function countQueued(tx: ReadTx, hookId: string): Promise<number> {
  return tx.$count(hookMessages, and(ofHook(hookId), isQueued, isAccepted));
}

const mayBeSent = (now: number) => and(isQueued, isAccepted, lte(hookMessages.dueAt, now));

export async function listDueHooks(tx: ReadTx, now: number) {
  const due = tx
    .select({ id: hookMessages.id })
    .from(hookMessages)
    .where(and(eq(hookMessages.hookId, rebuildHooks.id), mayBeSent(now)));
  return tx
    .select()
    .from(rebuildHooks)
    .where(and(eq(rebuildHooks.isEnabled, true), isOfLive(rebuildHooks.organizationId), exists(due)))
    .all();
}

export async function listDueMessages(
  tx: ReadTx,
  hookId: string,
  now: number,
  limit: number,
): Promise<HookMessage[]> {
  const earlier = alias(hookMessages, 'earlier');
  const waits = tx
    .select({ id: earlier.id })
    .from(earlier)
    .where(
      and(
        eq(earlier.hookId, hookMessages.hookId),
        eq(earlier.postId, hookMessages.postId),
        lt(earlier.number, hookMessages.number),
        sql`${earlier.state} = 'queued'`,
      ),
    );
  return tx
    .select()
    .from(hookMessages)
    .where(and(ofHook(hookId), mayBeSent(now), notExists(waits)))
    .orderBy(asc(hookMessages.dueAt))
    .limit(limit)
    .all();
}

export async function findMessage(tx: ReadTx, id: string): Promise<HookMessage | null> {
  return (await tx.select().from(hookMessages).where(isOne(id)).get()) ?? null;
}

/** Throws `AppError` 404 `message_not_found`, also for another hook's. */
export async function getMessage(tx: ReadTx, hookId: string, id: string): Promise<HookMessage> {
  const message = await findMessage(tx, id);
  if (message?.hookId !== hookId) throw notFound('message', id);
  return message;
}

export async function findNewestAbout(
  tx: ReadTx,
  hookId: string,
  postId: string,
): Promise<HookMessage | null> {
  const newest = await tx
    .select()
    .from(hookMessages)
    .where(and(ofHook(hookId), eq(hookMessages.postId, postId)))
    .orderBy(desc(hookMessages.number))
    .limit(1)
    .get();
  return newest ?? null;
}

/** How many messages of a hook are queued, or were sent since then. */
export async function countRecentMessages(tx: ReadTx, hookId: string, since: Date): Promise<number> {
  const attempts = tx
    .select({ id: hookAttempts.id })
    .from(hookAttempts)
    .where(and(eq(hookAttempts.messageId, hookMessages.id), gt(hookAttempts.startedAt, since.toISOString())));
  return tx.$count(hookMessages, and(ofHook(hookId), or(isQueued, exists(attempts))));
}

export async function insertMessage(tx: WriteTx, message: HookMessage): Promise<void> {
  await tx.insert(hookMessages).values(message).run();
}

export async function updateQueued(
  tx: WriteTx,
  id: string,
  changes: Partial<Pick<HookMessage, 'state' | 'attempts' | 'dueAt'>>,
): Promise<void> {
  await tx
    .update(hookMessages)
    .set(changes)
    .where(and(isOne(id), isQueued))
    .run();
}

/** Later messages of a post wait for the earlier one anyway: nobody has to look at them before. */
export async function postponeLater(tx: WriteTx, earlier: HookMessage, dueAt: number): Promise<void> {
  const { hookId, postId, number } = earlier;
  await tx
    .update(hookMessages)
    .set({ dueAt })
    .where(
      and(
        ofHook(hookId),
        eq(hookMessages.postId, postId),
        sql`${hookMessages.number} > ${number}`,
        isQueued,
        isAccepted,
        lt(hookMessages.dueAt, dueAt),
      ),
    )
    .run();
}

export async function insertAttempt(tx: WriteTx, attempt: HookAttempt): Promise<void> {
  await tx.insert(hookAttempts).values(attempt).run();
}

/** Keeps the newest attempts of a message, however often people send it again. */
export async function deleteOldAttempts(tx: WriteTx, messageId: string, kept: number): Promise<void> {
  const { id, startedAt } = hookAttempts;
  const old = tx
    .select({ id })
    .from(hookAttempts)
    .where(eq(hookAttempts.messageId, messageId))
    .orderBy(desc(startedAt), desc(id))
    .limit(1000)
    .offset(kept);
  await tx.delete(hookAttempts).where(inArray(id, old)).run();
}

export async function requeueMessages(
  tx: WriteTx,
  hookId: string,
  which: { id: string } | { failedUpTo: number },
  now: number,
): Promise<number> {
  const isWanted = 'id' in which ? isOne(which.id) : inArray(hookMessages.id, failedOf(tx, hookId, which));
  const queued = await tx
    .update(hookMessages)
    .set({ state: 'queued', attempts: 0, dueAt: now })
    .where(and(ofHook(hookId), ne(hookMessages.state, 'queued'), isWanted))
    .returning({ id: hookMessages.id })
    .all();
  return queued.length;
}

const failedOf = (tx: ReadTx, hookId: string, { failedUpTo }: { failedUpTo: number }) =>
  tx
    .select({ id: hookMessages.id })
    .from(hookMessages)
    .where(and(ofHook(hookId), eq(hookMessages.state, 'failed')))
    .orderBy(asc(hookMessages.createdAt), asc(hookMessages.number))
    .limit(failedUpTo);

/** Of the failed messages of a hook, the newest one stands for all. Returns its id; null without one. */
export async function mergeFailed(tx: WriteTx, hookId: string): Promise<string | null> {
  const { id, createdAt, number, state } = hookMessages;
  const isFailed = and(ofHook(hookId), eq(state, 'failed'));
  const newest = await tx
    .select({ id })
    .from(hookMessages)
    .where(isFailed)
    .orderBy(desc(createdAt), desc(number), desc(id))
    .limit(1)
    .get();
  if (newest === undefined) return null;
  await tx
    .update(hookMessages)
    .set({ state: 'merged' })
    .where(and(isFailed, ne(id, newest.id)))
    .run();
  return newest.id;
}

export async function hasFailed(tx: ReadTx, hookId: string): Promise<boolean> {
  return (await failedOf(tx, hookId, { failedUpTo: 1 }).all()).length > 0;
}

export async function listMessages(
  tx: ReadTx,
  hookId: string,
  { limit, offset = 0 }: { limit: number; offset?: number },
): Promise<HookMessage[]> {
  return tx
    .select()
    .from(hookMessages)
    .where(and(ofHook(hookId), sql`${hookMessages.createdAt} is not null`))
    .orderBy(desc(hookMessages.createdAt), desc(hookMessages.number), desc(hookMessages.id))
    .limit(limit)
    .offset(offset)
    .all();
}

export async function listAttempts(tx: ReadTx, messageId: string): Promise<HookAttempt[]> {
  return tx
    .select()
    .from(hookAttempts)
    .where(eq(hookAttempts.messageId, messageId))
    .orderBy(asc(hookAttempts.startedAt), asc(hookAttempts.id))
    .all();
}

export async function findLastAttempt(tx: ReadTx, hookId: string): Promise<HookAttempt | null> {
  const row = await tx
    .select(getTableColumns(hookAttempts))
    .from(hookAttempts)
    .innerJoin(hookMessages, eq(hookMessages.id, hookAttempts.messageId))
    .where(ofHook(hookId))
    .orderBy(desc(hookMessages.createdAt), desc(hookAttempts.startedAt))
    .limit(1)
    .get();
  return row ?? null;
}

/** For metrics: queued messages, and the time since when the first of them is due. */
export async function measureOutbox(tx: ReadTx): Promise<{ queued: number; dueSince: number | null }> {
  const row = await tx
    .select({
      queued: count(),
      dueSince: sql<number | null>`min(case when ${hookMessages.dueAt} > 0 then ${hookMessages.dueAt} end)`,
    })
    .from(hookMessages)
    .where(and(isQueued, isOfLive(hookMessages.organizationId)))
    .get();
  return { queued: row?.queued ?? 0, dueSince: row?.dueSince ?? null };
}

export async function deleteExpiredMessages(tx: WriteTx, asOf: Date, limit: number): Promise<number> {
  const { id: key, expiresAt } = hookMessages;
  return deleteExpired(tx, { table: hookMessages, key, expiresAt }, asOf, limit);
}
