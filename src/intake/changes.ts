import { changing, integration, NONE, type WriteTx } from '../../db/engine.ts';
import { isEdit, readHandOver } from '../drafting/triggers/hand-over.ts';
import { kinds } from '../drafting/triggers/model.ts';
import { hasArrived } from '../drafting/triggers/queue-store.ts';
import { findAddress } from '../integrations/deliveries/store.ts';
import { MAX_READS, type RecoveringHook, type Recovery, updateRecovery } from '../integrations/hook-store.ts';
import { isProblem } from '../integrations/words.ts';
import { messageOf } from '../lib/app-error.ts';
import type { Deps } from '../people/deps.ts';
import type { ProviderApi } from '../providers/api.ts';
import type { Event } from '../providers/events.ts';
import { type Address, logNews, wasTaken } from './polling/record.ts';
import { type News, readItem } from './polling/round.ts';

// Reads what changed at an issue tracker, which lists no deliveries, beside its webhooks. It has the events of the webhooks,
// so nothing is drafted twice, whichever comes first.

/** A provider may list something later, and its clock may differ, by this many milliseconds. */
export const LATE_MS = 300_000;

/** Pages of one run of the job. The next run goes on. */
const MAX_PAGES = 30;

/** News of one commit, which other work about the integration waits for. */
const PART = 25;

type Reading = NonNullable<Recovery['reading']>;

/**
 * Reads the changes since the last reading, or goes on with one: `reading` is then left in the result. Throws
 * `ProviderProblem`.
 */
export async function readChanges(deps: Deps, api: ProviderApi, hook: RecoveringHook): Promise<Recovery> {
  const { db, clock, log } = deps;
  const { recovery, knownUntil, createdAt, integrationId } = hook;
  const source = { reader: api, repositoryId: '', log };
  const unread = recovery?.reading == null ? [] : [...(recovery.unread ?? [])];
  let reading: Reading = recovery?.reading ?? {
    since: recovery?.until ?? knownUntil ?? createdAt,
    startedAt: clock.now().toISOString(),
    left: hook.events.map((event) => ({ event, cursor: null })),
    compared: 0,
    news: 0,
  };
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const [next, ...others] = reading.left;
    if (next === undefined) break;
    const startedAt = performance.now();
    const page = await list(api, hook, next, reading.since).catch(async (error: unknown) => {
      // A page may be gone. The next run begins again.
      if (isRefusal(error))
        await db.write((tx) => updateRecovery(tx, hook, { recovery: { reading: null } }), NONE);
      throw error;
    });
    if ('reason' in page) unread.push({ event: next.event, ...page });
    const { items = [], next: cursor = null } = 'reason' in page ? {} : page;
    const read = items.flatMap((item) => readItem({ ...source, now: clock.now() }, null, item)?.news ?? []);
    const durationMs = Math.round(performance.now() - startedAt);
    const news = await record(deps, integrationId, read, durationMs);
    reading = {
      ...reading,
      left: cursor === null ? others : [{ event: next.event, cursor }, ...others],
      compared: reading.compared + read.length,
      news: reading.news + news,
    };
    // Lets a later run go on here, whatever ends this one.
    if (cursor !== null) await db.write((tx) => updateRecovery(tx, hook, { recovery: { reading } }), NONE);
  }
  if (reading.left.length > 0) return { reading, unread };
  const { compared, news } = reading;
  const at = clock.now().toISOString();
  const { reads = [] } = recovery ?? {};
  return {
    readAt: at,
    until: new Date(Date.parse(reading.startedAt) - LATE_MS).toISOString(),
    reading: null,
    reads: news > 0 ? [{ at, news, compared }, ...reads].slice(0, MAX_READS) : reads,
    unread,
  };
}

/** A page of changes; the reason when the provider lists none of this event, such as without the feature. */
async function list(
  api: ProviderApi,
  { placeId }: RecoveringHook,
  { event, cursor }: Reading['left'][number],
  since: string,
) {
  try {
    const page = await api.listChanges?.(placeId, event, new Date(since), cursor);
    return page ?? { items: [], next: null };
  } catch (error) {
    if (cursor === null && isRefusal(error)) return { reason: messageOf(error) };
    throw error;
  }
}

const isRefusal = (error: unknown) => isProblem(error, 'refused', 'missing-permission');

/** Resolves to the number of news among them. None once the integration is disabled or gone. */
async function record(deps: Deps, integrationId: string, read: readonly News[], durationMs: number) {
  let count = 0;
  for (let at = 0; at < read.length; at += PART) {
    count += await deps.db.write(
      async (tx) => {
        const address = await findAddress(tx, integrationId, null);
        let taken = 0;
        if (address?.integration.enabled !== true) return taken;
        for (const news of read.slice(at, at + PART))
          if (await take(tx, deps, address, news, durationMs)) taken++;
        return taken;
      },
      changing(integration(integrationId)),
    );
  }
  return count;
}

/** False for what a webhook delivered, or an earlier reading brought. */
async function take(tx: WriteTx, deps: Deps, address: Address, news: News, durationMs: number) {
  const source = { integrationId: address.integration.id, repositoryId: null };
  const { event, action } = news;
  const known = await readHandOver(tx, source, event);
  const { previous, triggers } = known;
  if (previous !== null && !saysMore(event, previous)) {
    if (isEdit({ action }, event)) return false;
    // The webhook of an edit may have come before, or without, that of the completion.
    for (const each of [previous, event]) if (await wasTaken(tx, address, each, action)) return false;
    const listening = triggers.filter((trigger) => kinds[trigger.event].content.includes(event.type));
    const ids = listening.map(({ id }) => id);
    const key = { repositoryId: null, type: event.type, key: event.key };
    if (ids.length === 0 || (await hasArrived(tx, ids, key))) return false;
  }
  await logNews(tx, deps, address, null, news, known, durationMs);
  return true;
}

/** An API may count a change that it sends no webhook of, and may not say who made it. */
function saysMore(event: Event, known: Event): boolean {
  const withoutAuthor = ({ data }: Event) => ({ ...data, author: null });
  return event.version > known.version && !Bun.deepEquals(withoutAuthor(event), withoutAuthor(known));
}
