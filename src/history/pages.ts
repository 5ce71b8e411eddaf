import type { WriteTx } from '../../db/engine.ts';
import { changing, integration as integrationKey } from '../../db/order.ts';
import type { Deps } from '../deps.ts';
import type { Event } from '../events/model.ts';
import { learnRepository } from '../integrations/store.ts';
import { ProviderProblem } from '../providers/api.ts';
import { providerOf } from '../providers/index.ts';
import { eventOf, MalformedPayload, type Payload, parseEvent } from '../providers/provider.ts';
import type { PageOf, ReadDelivery } from '../providers/reader.ts';
import { imageOwner, queueImages } from '../triggers/images.ts';
import { kinds } from '../triggers/kinds/index.ts';
import { listArrivals, recordArrival, recordMatch } from '../triggers/queue-store.ts';
import { queueRange } from '../triggers/range-store.ts';
import {
  type Cursor,
  cursorOf,
  earliest,
  findWaiting,
  queueRangesOfRolling,
  queueRuns,
  type Reading,
  recordAll,
} from './record.ts';
import { findHistory, type History, updateHistory } from './store.ts';

// Each page of a history and the place to go on are one transaction, so reading can end and go on anywhere.

/** How many pages of releases, and of pull requests, to read: 10,000 of each. */
const MAX_PAGES = 100;

/** How far the provider's clock may be from ours, in milliseconds. */
const CLOCK_SKEW_MS = 300_000;

/** Reads the next page, and records it and the place to go on in one transaction. */
export function readPage(deps: Deps, reading: Reading, history: History): Promise<void> {
  const startedAt = deps.clock.now().toISOString();
  const first: Cursor = { phase: 'releases', page: null, pages: '0', oldest: null, after: null, startedAt };
  const cursor = cursorOf(history) ?? first;
  return (cursor.phase === 'releases' ? readReleases : readRequests)(deps, reading, history, cursor);
}

/** Records the page, also of releases that make no post: they divide the history of a branch. */
async function readReleases(deps: Deps, reading: Reading, history: History, cursor: Cursor): Promise<void> {
  const { reader, remote, integration, repository, trigger } = reading;
  const page = await requirePage(reader.listReleases(remote, { cursor: cursor.page }));
  const events = eventsOf(deps, reading, history, page.items);
  const { since, publish } = history;
  const isRecent = ({ occurredAt }: Event) => since === null || occurredAt >= since;
  const now = deps.clock.now();
  const images = imageOwner(deps, { ...integration, integrationType: integration.type });
  await writePage(deps, history, async (tx) => {
    const identity = { providerId: remote.providerId, fullName: remote.fullName };
    await learnRepository(tx, repository.id, identity);
    const recorded = await recordAll(tx, reading, events);
    const left = history.releases === null ? Number.POSITIVE_INFINITY : history.releases - history.found;
    const matching = recorded.filter(
      ({ event }) => isRecent(event) && kinds.release.matches(trigger.filters, event),
    );
    const chosen = matching.slice(0, left);
    const arrived = await listArrivals(tx, trigger.id, repository.id);
    const added: Event[] = [];
    for (const { event, isNews } of chosen) {
      if (event.type !== 'release') continue;
      const isKnown = arrived.get(`release ${event.key}`)?.isMatch === true;
      if (images !== null && (isNews || !isKnown)) await queueImages(tx, images, integration.id, event, now);
      // A post exists, or a person deleted it.
      if (isKnown) continue;
      added.push(event);
      const arrival = {
        triggerId: trigger.id,
        repositoryId: repository.id,
        type: event.type,
        key: event.key,
      };
      // Without notes it waits for its pull requests.
      const isMatch = event.data.notes !== null;
      await recordArrival(tx, { ...arrival, isMatch, draftOnly: !publish, publish });
    }
    const news = [...added, ...recorded.flatMap(({ event, isNews }) => (isNews ? event : []))];
    await queueRangesOfRolling(tx, reading, news, now);
    const oldest = earliest([cursor.oldest, ...news.map(({ occurredAt }) => occurredAt)]);
    const read = { found: history.found + chosen.length, read: history.read + chosen.length };
    const pages = Number(cursor.pages) + 1;
    const isOver = events.length > 0 && !recorded.some(({ event }) => isRecent(event));
    const mayEnd = page.next === null || pages >= MAX_PAGES || isOver || chosen.length === left;
    const waiting = mayEnd ? await findWaiting(tx, reading) : null;
    // The release before the oldest one that waits is where its pull requests begin.
    if (page.next !== null && pages < MAX_PAGES && (!mayEnd || waiting?.after === null)) {
      return { ...read, cursor: { ...cursor, page: page.next, pages: String(pages), oldest } };
    }
    await queueRuns(tx, deps, reading, history, oldest);
    if (waiting === null) return { ...read, ...ended(now) };
    const requests: Cursor = {
      phase: 'requests',
      page: null,
      pages: '0',
      oldest: null,
      after: waiting.after,
      startedAt: now.toISOString(),
    };
    return { ...read, read: read.found - waiting.events.length, cursor: requests };
  });
}

/** Pull requests make no posts of their own here. Releases that waited for them do, at the end. */
async function readRequests(deps: Deps, reading: Reading, history: History, cursor: Cursor): Promise<void> {
  const { reader, remote, integration, repository, trigger } = reading;
  const page = await requirePage(reader.listMerged(remote, { cursor: cursor.page }));
  const events = eventsOf(deps, reading, history, page.items);
  const { after } = cursor;
  const now = deps.clock.now();
  await writePage(deps, history, async (tx) => {
    const recorded = await recordAll(tx, reading, events);
    const news = recorded.flatMap(({ event, isNews }) => (isNews ? event.occurredAt : []));
    const oldest = earliest([cursor.oldest, ...news]);
    const pages = Number(cursor.pages) + 1;
    // A pull request changes after its merge, never before.
    const isOver = page.oldest !== null && after !== null && page.oldest < after;
    if (page.next !== null && !isOver && pages < MAX_PAGES) {
      return { cursor: { ...cursor, page: page.next, pages: String(pages), oldest } };
    }
    if (cursor.phase === 'requests' && pages > 1) {
      const changedAfter = new Date(Date.parse(cursor.startedAt) - CLOCK_SKEW_MS).toISOString();
      return { cursor: { ...cursor, phase: 'changed', page: null, pages: '0', oldest, after: changedAfter } };
    }
    const waiting = await findWaiting(tx, reading);
    for (const { type, key } of waiting?.events ?? []) {
      await recordMatch(tx, { triggerId: trigger.id, repositoryId: repository.id, type, key });
      // All releases are known by now, so that each is compared with the one before it.
      await queueRange(tx, { integrationId: integration.id, repositoryId: repository.id, tag: key }, now);
    }
    const times = waiting?.events.map(({ occurredAt }) => occurredAt) ?? [];
    await queueRuns(tx, deps, reading, history, earliest([oldest, ...times]));
    return { ...ended(now), read: history.found };
  });
}

const ended = (now: Date) => ({ status: 'done' as const, cursor: null, endedAt: now.toISOString() });

/** Writes a page once: not after another process has read it, or a person stopped the history. */
async function writePage(
  { db }: Deps,
  { id, integrationId, cursor }: History,
  work: (tx: WriteTx) => Promise<Parameters<typeof updateHistory>[2]>,
): Promise<void> {
  await db.write(
    async (tx) => {
      const current = await findHistory(tx, id);
      if (current?.status !== 'queued' || !Bun.deepEquals(current.cursor, cursor)) return;
      const changes = await work(tx);
      // Due at once: the next claim is this process's own, unless another one is quicker.
      await updateHistory(tx, id, { problem: null, attempts: 0, dueAt: 0, ...changes });
    },
    changing(integrationKey(integrationId)),
  );
}

/** Nothing is asked with an entity tag, so there is always a page. */
async function requirePage<Item>(asked: Promise<PageOf<Item> | null>): Promise<PageOf<Item>> {
  const page = await asked;
  if (page === null) throw new ProviderProblem('provider-failed', 'The provider sent no list');
  return page;
}

/** As a webhook's deliveries become events. `history.id` takes the place of the delivery's id. */
function eventsOf(
  deps: Deps,
  { integration, remote }: Reading,
  history: History,
  deliveries: readonly ReadDelivery[],
): Event[] {
  const provider = providerOf(integration.type);
  const source = { repository: remote.fullName, deliveryId: history.id };
  const receivedAt = deps.clock.now().toISOString();
  const parse = (name: string, payload: Payload) => {
    try {
      return parseEvent(provider, name, payload);
    } catch (error) {
      if (!(error instanceof MalformedPayload)) throw error;
      // One release that cannot be read must not keep the others from being read.
      deps.log.warn({ historyId: history.id, err: error }, 'skipped a part of a history');
      return null;
    }
  };
  return deliveries.flatMap(({ event: name, payload }) => {
    const result = parse(name, payload);
    if (result?.outcome !== 'processed') return [];
    const { action, data } = result.processed;
    return eventOf(provider, { ...source, event: name, action, data, receivedAt }) ?? [];
  });
}
