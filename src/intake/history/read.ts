import { NONE, type WriteTx } from '../../../db/engine.ts';
import { imageOwner, queueImages } from '../../drafting/triggers/material.ts';
import { findTrigger, kinds } from '../../drafting/triggers/model.ts';
import { listArrivals, recordArrival, recordMatch } from '../../drafting/triggers/queue-store.ts';
import { queueRange } from '../../drafting/triggers/range-store.ts';
import {
  changeIntegration,
  getIntegration,
  type Integration,
  learnRepository,
} from '../../integrations/store.ts';
import { openReaderOf } from '../../integrations/token.ts';
import type { Deps } from '../../people/deps.ts';
import { ProviderProblem } from '../../providers/api.ts';
import type { Event } from '../../providers/events.ts';
import { providerOf } from '../../providers/index.ts';
import { eventIn, MalformedPayload } from '../../providers/provider.ts';
import type { PageOf, ReadDelivery, RepositoryReader, RequestBudget } from '../../providers/reader.ts';
import {
  type Cursor,
  claimHistory,
  cursorOf,
  earliest,
  findHistory,
  findWaiting,
  type History,
  listDueHistories,
  queueRangesOfRolling,
  queueRuns,
  type Reading,
  recordAll,
  settle,
  updateHistory,
} from './store.ts';

// Each page of a history and the place to go on are one transaction, so reading can end and go on anywhere.

/** How many pages of releases, and of pull requests, to read: 10,000 of each. */
const MAX_PAGES = 100;

/** How far the provider's clock may be from ours, in milliseconds. */
const CLOCK_SKEW_MS = 300_000;

/** Reads the next page, and records it and the place to go on in one transaction. */
function readPage(deps: Deps, reading: Reading, history: History): Promise<void> {
  const cursor = cursorOf(history) ?? startOf('releases', null, deps.clock.now());
  return (cursor.phase === 'releases' ? readReleases : readRequests)(deps, reading, history, cursor);
}

const startOf = (phase: Cursor['phase'], after: string | null, startedAt: Date): Cursor => ({
  ...{ phase, after, page: null, pages: '0', oldest: null, startedAt: startedAt.toISOString() },
});

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
    const requests = startOf('requests', waiting.after, now);
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
  await changeIntegration(db, integrationId, async (tx) => {
    const current = await findHistory(tx, id);
    if (current?.status !== 'queued' || !Bun.deepEquals(current.cursor, cursor)) return;
    const changes = await work(tx);
    // Due at once: the next claim is this process's own, unless another one is quicker.
    await updateHistory(tx, id, { problem: null, attempts: 0, dueAt: 0, ...changes });
  });
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
  const receivedAt = deps.clock.now().toISOString();
  return deliveries.flatMap((delivery) => {
    try {
      const source = { repository: remote.fullName, deliveryId: history.id, receivedAt };
      return eventIn(provider, delivery, source) ?? [];
    } catch (error) {
      if (!(error instanceof MalformedPayload)) throw error;
      // One release that cannot be read must not keep the others from being read.
      deps.log.warn({ historyId: history.id, err: error }, 'skipped a part of a history');
      return [];
    }
  });
}

// Reads the releases of a repository, newest first. Where some have no notes, it then reads the pull requests that they
// consist of. Reading pauses and goes on, in any process, until it ends.

/** Longer than a request may take, in milliseconds: how long other processes leave a history alone. */
const CLAIM_MS = 60_000;

/** How long to wait after the provider failed, in milliseconds; the last one repeats. */
const BACK_OFF_MS = [2_000, 10_000, 60_000, 600_000];

/** A history has failed after so many failures in a row. */
const MAX_ATTEMPTS = 20;

/** Pages of one history before the next organization has its turn. Each turn asks for the repository again. */
const PAGES_OF_TURN = 10;

/** Histories of one pass. Those that were requested meanwhile are in the next one. */
const BATCH = 10;

export async function readDueHistories(deps: Deps, signal?: AbortSignal): Promise<void> {
  while (!signal?.aborted) {
    const due = await deps.db.read((tx) => listDueHistories(tx, deps.clock.now(), BATCH));
    if (due.length === 0) return;
    for (const { id } of due) {
      if (signal?.aborted) return;
      await readHistory(deps, id, { signal, maxPages: PAGES_OF_TURN });
    }
  }
}

/**
 * Reads a history until it ends, has to wait, `signal` is aborted, or `maxPages` were read. Does nothing while another
 * process reads it. Calls `onPage` after each page.
 */
export async function readHistory(
  deps: Deps,
  id: string,
  options: { signal?: AbortSignal | undefined; onPage?: (history: History) => void; maxPages?: number } = {},
): Promise<void> {
  const { db, clock } = deps;
  const { signal, onPage, maxPages = Number.POSITIVE_INFINITY } = options;
  const claim = () => {
    const now = clock.now();
    return db.write((tx) => claimHistory(tx, id, now, now.getTime() + CLAIM_MS), NONE);
  };
  let history = await claim();
  let reader: RepositoryReader | null = null;
  let reading: Reading | null = null;
  let pages = 0;
  try {
    while (history !== null && !signal?.aborted && pages++ < maxPages) {
      if (reading === null) {
        const parts = await findParts(deps, history);
        if (parts === null) return;
        reader = await openReaderOf(deps, parts.integration, signal);
        reading = { ...parts, reader, remote: await findRemote(reader, parts.repository) };
      }
      await readPage(deps, reading, history);
      history = await db.read((tx) => findHistory(tx, id));
      if (history !== null) onPage?.(history);
      history = await claim();
    }
  } catch (error) {
    if (!(error instanceof ProviderProblem)) throw error;
    if (!signal?.aborted && history !== null) return pause(deps, history, error, reader);
  }
  // Stopped, or at the end of its turn: another process may go on at once.
  if (history !== null) {
    await db.write((tx) => updateHistory(tx, id, { dueAt: clock.now().getTime() }), NONE);
  }
}

/** Null when the trigger of the history was deleted: the history has failed. */
async function findParts(deps: Deps, history: History): Promise<Omit<Reading, 'reader' | 'remote'> | null> {
  const { integration, trigger } = await deps.db.read(async (tx) => ({
    integration: await getIntegration(tx, history.integrationId),
    trigger: await findTrigger(tx, history.triggerId),
  }));
  const repository = integration.repositories.find((each) => each.id === history.repositoryId);
  if (repository === undefined || trigger === null) {
    await end(deps, history, 'The trigger of this import was deleted. Start the import again.');
    return null;
  }
  return { integration, repository, trigger };
}

async function findRemote(reader: RepositoryReader, { fullName, providerId }: Reading['repository']) {
  const remote = await reader.getRepository(fullName);
  if (providerId === null || providerId === remote.providerId) return remote;
  throw new ProviderProblem(
    'refused',
    `${fullName} is another repository now. Disconnect it, then connect it again.`,
  );
}

/** Records why reading waits and until when, or why it failed. Posts of what was read need not wait. */
async function pause(
  deps: Deps,
  history: History,
  problem: ProviderProblem,
  reader: RepositoryReader | null,
): Promise<void> {
  const { kind, message, retryAt } = problem;
  const now = deps.clock.now().getTime();
  const attempts = kind === 'rate-limited' ? history.attempts : history.attempts + 1;
  const isOver = kind !== 'rate-limited' && (kind !== 'provider-failed' || attempts >= MAX_ATTEMPTS);
  if (isOver) return end(deps, history, message);
  const waitMs = BACK_OFF_MS[Math.min(attempts, BACK_OFF_MS.length) - 1] ?? CLAIM_MS;
  const dueAt = Math.max(retryAt?.getTime() ?? now + waitMs, now + 1_000);
  await changeIntegration(deps.db, history.integrationId, async (tx) => {
    const integration = await getIntegration(tx, history.integrationId);
    const sentence = describePause(problem, integration, reader?.budget ?? null);
    if (await updateHistory(tx, history.id, { problem: sentence, dueAt, attempts })) {
      await settle(tx, deps, integration, history);
    }
  });
}

async function end(deps: Deps, history: History, problem: string): Promise<void> {
  await changeIntegration(deps.db, history.integrationId, async (tx) => {
    const endedAt = deps.clock.now().toISOString();
    if (await updateHistory(tx, history.id, { status: 'failed', problem, endedAt })) {
      await settle(tx, deps, await getIntegration(tx, history.integrationId), history, { isOver: true });
    }
  });
}

/** Why reading waits. Whoever shows it adds until when. */
function describePause(
  { kind, message }: ProviderProblem,
  { type, hasToken }: Integration,
  budget: RequestBudget | null,
): string {
  if (kind !== 'rate-limited') return message;
  const { name, reader } = providerOf(type);
  const perHour = budget?.limit ?? reader?.anonymousPerHour ?? null;
  if (budget?.remaining !== 0 || perHour === null) return `${name} asks Tidings to slow down.`;
  const limit = `${name} allows ${perHour.toLocaleString('en')} requests an hour`;
  return hasToken
    ? `${limit} with this token.`
    : `${limit} without a token. To raise the limit, import again with a token.`;
}
