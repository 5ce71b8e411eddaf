import { changing, OUTBOX } from '../../db/order.ts';
import { retentionDaysOf } from '../audit/model.ts';
import type { Deps } from '../deps.ts';
import { DAY_MS } from '../lib/time.ts';
import { postAddress } from '../public/model.ts';
import { findPublication } from '../public/store.ts';
import { acceptMessages, countQueued, deleteMessages, endQueued, listNewMessages } from './message-store.ts';
import { isChat, isDeploy, MAX_QUIET_MS, QUIET_MS } from './model.ts';

type NewMessage = Awaited<ReturnType<typeof listNewMessages>>[number];

/** Messages of one transaction, so that other work hardly waits for it. */
const BATCH = 100;

/** A post with an older date is no news for a channel: it was imported. */
const NEWS_MS = 2 * DAY_MS;

/** A channel gets no more new posts than this at a time. */
const MAX_CHAT_QUEUE = 10;

/** For each deploy hook, since when changes have come without a build, in milliseconds since 1970. */
export type Bursts = Map<string, number>;

/** Accepts messages that SQL triggers have queued, in one transaction. Returns whether there may be more. */
export async function acceptNew(
  { db, clock, publicUrl }: Pick<Deps, 'db' | 'clock' | 'publicUrl'>,
  bursts: Bursts,
): Promise<boolean> {
  const now = clock.now().getTime();
  const accepted = await db.write(async (tx) => {
    const messages = (await listNewMessages(tx, BATCH)).sort((a, b) => a.number - b.number);
    for (const [hookId, own] of Map.groupBy(messages, (each) => each.hookId)) {
      const [first] = own;
      if (first === undefined) continue;
      const { kind, plan, isEnabled, organizationId } = first;
      const publication = await findPublication(tx, organizationId);
      const common = {
        page: publication?.isPageOn === true ? postAddress(publication, publicUrl(), '') : null,
        createdAt: new Date(now).toISOString(),
        expiresAt: now + retentionDaysOf[plan] * DAY_MS,
      };
      const accept = (some: readonly NewMessage[], state: 'queued' | 'merged' | 'failed', dueAt = now) =>
        acceptMessages(tx, idsOf(some), { ...common, state, dueAt });
      // Switched off between the change and now.
      if (!isEnabled) await accept(own, 'failed');
      else if (isDeploy(kind)) {
        // Without a queued build the burst is over: it was sent, or the hook was disabled.
        const isInBurst = (await countQueued(tx, hookId)) > 0;
        await endQueued(tx, hookId, 'merged');
        await accept(own.slice(0, -1), 'merged');
        const since = (isInBurst ? bursts.get(hookId) : undefined) ?? now;
        bursts.set(hookId, since);
        await accept(own.slice(-1), 'queued', Math.min(now + QUIET_MS, since + MAX_QUIET_MS));
      } else if (isChat(kind)) {
        const gone = own.filter(({ type }) => type === 'post.unpublished' || type === 'post.deleted');
        // Nobody needs to hear of a post that is no longer public.
        if (gone.length > 0)
          await endQueued(tx, hookId, 'merged', [...new Set(gone.map(({ postId }) => postId))]);
        const isGone = ({ postId, number }: NewMessage) =>
          gone.some((each) => each.postId === postId && each.number > number);
        const news = own.filter((each) => isNews(each, now) && !isGone(each));
        await deleteMessages(tx, idsOf(own.filter((each) => !news.includes(each))));
        const room = Math.max(MAX_CHAT_QUEUE - (await countQueued(tx, hookId)), 0);
        await accept(news.slice(0, room), 'queued');
        await accept(news.slice(room), 'merged');
      } else await accept(own, 'queued');
    }
    return messages.length;
  }, changing(OUTBOX));
  return accepted === BATCH;
}

const idsOf = (messages: readonly NewMessage[]) => messages.map(({ id }) => id);

const isNews = ({ type, postCreatedAt }: NewMessage, now: number) =>
  type === 'post.published' && Date.parse(postCreatedAt) > now - NEWS_MS;
