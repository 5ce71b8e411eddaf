import { ATTENTION, changing, OUTBOX, type Storage, type WriteTx } from '../../../db/engine.ts';
import type { HeldNotices, Notice } from '../../../db/schema/public.ts';
import { tidings } from '../../lib/build.ts';
import { count } from '../../lib/text.ts';
import { DAY_MS, HOUR_MS } from '../../lib/time.ts';
import { type AttentionItem, countAttention, isMuted } from '../../people/attention.ts';
import { retentionDaysOf } from '../../people/audit.ts';
import type { Deps } from '../../people/deps.ts';
import { countRecentMessages, endQueued, findNewestAbout, insertMessage } from './message-store.ts';
import { type HookMessage, type Listener, listListeners, newMessageId, updateHook } from './model.ts';

// Queued in the transaction that keeps the list. Notices beyond a hook's limit are only counted; the next one tells how many.

export const MAX_NOTICES = 6;

type NoticeDeps = Pick<Deps, 'clock' | 'ids' | 'publicUrl'>;

interface Change {
  state: 'began' | 'ended';
  item: AttentionItem;
  last: HookMessage | null;
}

/** `room`: how many messages the hook may get now. */
function planNotices<
  Each extends Pick<Change, 'state'> & { last: Pick<HookMessage, 'type' | 'createdAt'> | null },
>(changes: readonly Each[], { room, held, now }: { room: number; held: HeldNotices | null; now: number }) {
  // An item that comes and goes was told within the hour.
  const isRepeated = ({ state, last }: Each) =>
    Date.parse(last?.createdAt ?? '') > now - HOUR_MS &&
    (state === 'began' || last?.type === 'attention.ended');
  const told = changes.filter((each) => !isRepeated(each)).slice(0, Math.max(room, 0));
  const back = changes.filter((each) => !told.includes(each));
  const total = (state: Each['state']) =>
    (held?.[state] ?? 0) + back.filter((each) => each.state === state).length;
  const all =
    held === null && back.length === 0
      ? null
      : { began: total('began'), ended: total('ended'), since: held?.since ?? now };
  const isSummaryDue = all !== null && told.length === 0 && room > 0 && all.since <= now - HOUR_MS;
  const isTold = told.length > 0 || isSummaryDue;
  return { told, isSummaryDue, heldBack: isTold ? all : null, held: isTold ? null : all };
}

/** A hook hears nothing about itself: it could not tell, and its messages would fill its own queue. */
const hears = (hook: Listener, { organizationId, subject }: AttentionItem) =>
  subject !== hook.id &&
  (organizationId === null ? hook.about === 'attention-and-server' : organizationId === hook.organizationId);

export async function queueNotices(
  tx: WriteTx,
  deps: NoticeDeps,
  { begun, ended }: { begun: readonly AttentionItem[]; ended: readonly AttentionItem[] },
): Promise<void> {
  const changes = [
    ...ended.map((item) => ({ state: 'ended', item }) as const),
    ...begun.map((item) => ({ state: 'began', item }) as const),
  ].filter(({ item }) => !isMuted(item, deps.clock.now()));
  if (changes.length === 0) return;
  for (const hook of await listListeners(tx)) {
    const own = changes.filter(({ item }) => hears(hook, item));
    if (own.length > 0) await queueFor(tx, deps, hook, own);
  }
}

/** Queues a summary for each hook whose notices have been held back for an hour. */
export async function queueSummaries(db: Storage, deps: NoticeDeps): Promise<void> {
  const isDue = ({ held }: Listener) => held !== null && held.since <= deps.clock.now().getTime() - HOUR_MS;
  if (!(await db.read((tx) => listListeners(tx), { single: true })).some(isDue)) return;
  await db.write(
    async (tx) => {
      for (const hook of (await listListeners(tx)).filter(isDue)) await queueFor(tx, deps, hook, []);
    },
    changing(ATTENTION, OUTBOX),
  );
}

export async function endNotices(tx: WriteTx, itemId: string): Promise<void> {
  for (const hook of await listListeners(tx)) await endQueued(tx, hook.id, 'merged', [itemId]);
}

async function queueFor(
  tx: WriteTx,
  deps: NoticeDeps,
  hook: Listener,
  own: readonly Omit<Change, 'last'>[],
): Promise<void> {
  const now = deps.clock.now();
  const changes = await Array.fromAsync(own, async (change): Promise<Change> => {
    return { ...change, last: await findNewestAbout(tx, hook.id, change.item.id) };
  });
  const room = MAX_NOTICES - (await countRecentMessages(tx, hook.id, new Date(now.getTime() - HOUR_MS)));
  const plan = planNotices(changes, { room, held: hook.held, now: now.getTime() });

  const queue = async (notice: Notice, last: HookMessage | null) =>
    insertMessage(tx, {
      id: newMessageId(deps.ids),
      hookId: hook.id,
      organizationId: hook.organizationId,
      postId: notice.itemId ?? SUMMARY,
      number: (last?.number ?? 0) + 1,
      type: `attention.${notice.state}`,
      title: notice.message,
      postCreatedAt: notice.since,
      url: notice.link,
      notice,
      state: 'queued',
      attempts: 0,
      dueAt: now.getTime(),
      createdAt: now.toISOString(),
      expiresAt: now.getTime() + retentionDaysOf[hook.plan] * DAY_MS,
    });

  for (const change of plan.told) {
    const { last, item } = change;
    // The last attempt failed. The end tells since when, so one message tells all.
    if (last?.state === 'queued' && last.dueAt > now.getTime())
      await endQueued(tx, hook.id, 'merged', [item.id]);
    await queue(noticeOf(deps, hook, change, change === plan.told.at(-1) ? plan.heldBack : null), last);
  }
  if (plan.isSummaryDue && plan.heldBack !== null) {
    const of = { organizationId: hook.organizationId, withServer: hook.about === 'attention-and-server' };
    const summary = summaryOf(deps, hook, plan.heldBack, await countAttention(tx, of, now));
    await queue(summary, await findNewestAbout(tx, hook.id, SUMMARY));
  }
  if (!Bun.deepEquals(plan.held, hook.held)) await updateHook(tx, hook.id, { held: plan.held });
}

const SUMMARY = 'summary';

const addressOf = (
  { publicUrl }: NoticeDeps,
  { organizationId }: Pick<Listener, 'organizationId'>,
  path: string | null,
) => `${publicUrl()}/dashboard/${organizationId}/${path ?? 'attention'}`;

const countsOf = (held: HeldNotices | null) => ({ began: held?.began ?? 0, ended: held?.ended ?? 0 });

function noticeOf(
  deps: NoticeDeps,
  hook: Listener,
  { state, item }: Omit<Change, 'last'>,
  held: HeldNotices | null,
): Notice {
  const { id, path, mutedUntil: _, subject: __, ...facts } = item;
  return { state, itemId: id, ...facts, link: addressOf(deps, hook, path), heldBack: countsOf(held) };
}

function summaryOf(deps: NoticeDeps, hook: Listener, held: HeldNotices, present: number): Notice {
  const { began, ended, since } = held;
  return {
    state: 'summary',
    organizationId: hook.organizationId,
    itemId: null,
    kind: null,
    since: new Date(since).toISOString(),
    count: began + ended,
    message: `${count(began, 'item')} began and ${ended} ended`,
    effect: present === 1 ? '1 item needs attention now.' : `${count(present, 'item')} need attention now.`,
    action: `${tidings} attention`,
    link: addressOf(deps, hook, null),
    heldBack: countsOf(held),
  };
}

export function testNotice(
  deps: NoticeDeps,
  hook: Pick<Listener, 'organizationId'>,
  message: string,
): Notice {
  return {
    state: 'began',
    organizationId: hook.organizationId,
    itemId: 'test',
    kind: 'test',
    since: deps.clock.now().toISOString(),
    count: 1,
    message,
    effect: 'Nothing is wrong.',
    action: `${tidings} attention`,
    link: addressOf(deps, hook, null),
    heldBack: countsOf(null),
  };
}
