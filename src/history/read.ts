import { type Database, type Lease, type Storage, type WriteTx, withLease } from '../../db/engine.ts';
import type { Deps } from '../deps.ts';
import type { Event } from '../events/model.ts';
import { findEvent, recordEvent } from '../events/store.ts';
import { getIntegration, type Integration, learnRepository, type Repository } from '../integrations/store.ts';
import { openReaderOf } from '../integrations/token.ts';
import { ProviderProblem } from '../providers/api.ts';
import { providerOf } from '../providers/index.ts';
import { eventOf, parseEvent } from '../providers/provider.ts';
import type { PageOf, ReadDelivery, RemoteRepository, RepositoryReader } from '../providers/reader.ts';
import { imageOwner, queueImages } from '../triggers/images.ts';
import { kinds } from '../triggers/kinds/index.ts';
import type { Trigger } from '../triggers/model.ts';
import { listArrivals, queueRun, recordArrival, recordMatch } from '../triggers/queue-store.ts';
import { queueRange } from '../triggers/range-store.ts';
import { findTrigger } from '../triggers/store.ts';
import { findHistory, type History, listDueHistories, updateHistory } from './store.ts';

// Reads the releases of a repository, newest first, then, for releases without notes, the pull requests that they
// consist of. Each page and the place to go on are one transaction, so that reading can end and go on anywhere.

export type HistoryDeps = Deps & { db: Storage & Pick<Database, 'lease'> };

/** How long reading waits after the provider failed, in milliseconds; the last one repeats. */
const BACK_OFF_MS = [2_000, 10_000, 60_000, 600_000];

/** After so many failures in a row a history has failed. */
const MAX_ATTEMPTS = 20;

/** The wait after a refusal that does not say how long, in milliseconds. */
const LIMIT_WAIT_MS = 60_000;

/** How many pages of pull requests to read: 10,000 of them. */
const MAX_REQUEST_PAGES = 100;

/** Reads the histories that are due, one after the other. Other processes read others meanwhile. */
export async function readDueHistories(deps: HistoryDeps, signal?: AbortSignal): Promise<void> {
  const due = await deps.db.read((tx) => listDueHistories(tx, deps.clock.now(), 10));
  for (const { id } of due) {
    if (signal?.aborted) return;
    await readHistory(deps, id, { signal });
  }
}

/**
 * Reads a history until it ends, has to wait, or `signal` is aborted. Does nothing while another process reads it.
 * `onPage` is called after each page.
 */
export async function readHistory(
  deps: HistoryDeps,
  id: string,
  { signal, onPage }: { signal?: AbortSignal | undefined; onPage?: (history: History) => void } = {},
): Promise<void> {
  const lease: Lease | null = await deps.db.lease([`history ${id}`]);
  if (lease === null) return;
  const held: Deps = { ...deps, db: withLease(deps.db, lease) };
  try {
    const reading = await open(held, id, signal);
    while (reading !== null && signal?.aborted !== true) {
      const history = await held.db.read((tx) => findHistory(tx, id));
      if (history?.status !== 'queued') break;
      await (history.cursor?.phase === 'requests' ? readRequests : readReleases)(held, reading, history);
      const after = await held.db.read((tx) => findHistory(tx, id));
      if (after !== null) onPage?.(after);
    }
  } catch (error) {
    if (!(error instanceof ProviderProblem) || signal?.aborted) throw error;
    await wait(held, id, error);
  } finally {
    await lease.release();
  }
}

/** What reading needs, read once. */
interface Reading {
  reader: RepositoryReader;
  remote: RemoteRepository;
  integration: Integration;
  repository: Repository;
  trigger: Trigger;
}

/** Null for a history that has ended, or whose repository or trigger is gone. */
async function open(deps: Deps, id: string, signal: AbortSignal | undefined): Promise<Reading | null> {
  const found = await deps.db.read(async (tx) => {
    const history = await findHistory(tx, id);
    if (history?.status !== 'queued') return null;
    const integration = await getIntegration(tx, history.integrationId);
    const repository = integration.repositories.find((each) => each.id === history.repositoryId);
    const trigger = await findTrigger(tx, history.triggerId);
    return { integration, repository, trigger };
  });
  if (found === null) return null;
  const { integration, repository, trigger } = found;
  if (repository === undefined || trigger === null) {
    await end(deps, id, 'failed', 'The trigger of this history was deleted. Read the history again.');
    return null;
  }
  const reader = await openReaderOf(deps, integration, signal);
  const remote = await reader.getRepository(repository.fullName);
  return { reader, remote, integration, repository, trigger };
}

async function readReleases(deps: Deps, reading: Reading, history: History): Promise<void> {
  const { reader, remote, integration, repository, trigger } = reading;
  const page = await requirePage(reader.listReleases(remote, { cursor: history.cursor?.page ?? null }));
  const events = eventsOf(deps, reading, history, page.items);
  const recent = events.filter(({ occurredAt }) => history.since === null || occurredAt >= history.since);
  const wanted = recent.filter((event) => kinds.release.matches(trigger.filters, event));
  const chosen = wanted.slice(0, (history.releases ?? Number.POSITIVE_INFINITY) - history.found);
  const isLast =
    page.next === null ||
    (events.length > 0 && recent.length === 0) ||
    history.found + chosen.length === history.releases;
  const now = deps.clock.now();
  const images = imageOwner(deps, { ...integration, integrationType: integration.type });
  await deps.db.write(async (tx) => {
    const identity = { providerId: remote.providerId, fullName: remote.fullName };
    if (repository.providerId === null) await learnRepository(tx, repository.id, identity);
    const source = { integrationId: integration.id, repositoryId: repository.id };
    const arrived = await listArrivals(tx, trigger.id, repository.id);
    let waits = history.cursor?.waits ?? null;
    // Also those that make no post: they divide the history of a branch.
    for (const event of events) {
      const newest = await recordEvent(tx, source, event, await findEvent(tx, source, event));
      if (!chosen.includes(event) || newest.type !== 'release') continue;
      const isWaiting = newest.data.notes === null;
      if (isWaiting) waits = 'yes';
      if (images !== null) await queueImages(tx, images, integration.id, newest, now);
      if (arrived.get(`release ${event.key}`)?.isMatch === true) continue;
      const arrival = { triggerId: trigger.id, repositoryId: repository.id, type: 'release' } as const;
      const { publish } = history;
      const wish = { isMatch: !isWaiting, draftOnly: !publish, publish };
      await recordArrival(tx, { ...arrival, key: event.key, ...wish });
    }
    await queueRuns(tx, trigger, repository.id, chosen, history, now);
    const found = history.found + chosen.length;
    const progress = { found, read: history.read + events.length, problem: null, attempts: 0 };
    if (!isLast) {
      await updateHistory(tx, history.id, {
        ...progress,
        cursor: { phase: 'releases', page: page.next, waits },
      });
    } else if (waits !== null) {
      await updateHistory(tx, history.id, {
        ...progress,
        cursor: { phase: 'requests', page: null, pages: '0' },
      });
    } else {
      await updateHistory(tx, history.id, { ...progress, status: 'done', endedAt: now.toISOString() });
    }
  });
}

/** Pull requests are recorded as what they are; only the releases that waited for them make posts. */
async function readRequests(deps: Deps, reading: Reading, history: History): Promise<void> {
  const { reader, remote, integration, repository, trigger } = reading;
  const { cursor } = history;
  const page = await requirePage(reader.listMerged(remote, { cursor: cursor?.page ?? null }));
  const events = eventsOf(deps, reading, history, page.items);
  const pages = Number(cursor?.pages ?? 0) + 1;
  const now = deps.clock.now();
  await deps.db.write(async (tx) => {
    const source = { integrationId: integration.id, repositoryId: repository.id };
    for (const event of events) await recordEvent(tx, source, event, await findEvent(tx, source, event));
    const isBefore = page.oldest !== null && history.since !== null && page.oldest < history.since;
    if (page.next !== null && !isBefore && pages < MAX_REQUEST_PAGES) {
      const next = { phase: 'requests', page: page.next, pages: String(pages) };
      await updateHistory(tx, history.id, { cursor: next, problem: null, attempts: 0 });
      return;
    }
    const waiting: Event[] = [];
    for (const { type, key, isMatch } of (await listArrivals(tx, trigger.id, repository.id)).values()) {
      const event = type === 'release' ? await findEvent(tx, source, { type, key }) : null;
      // All releases are known by now, so that each is compared with the one before it.
      if (event?.type === 'release' && event.data.notes === null) {
        await queueRange(tx, { ...source, tag: key }, now);
      }
      if (isMatch || event === null || !kinds.release.matches(trigger.filters, event)) continue;
      waiting.push(event);
      await recordMatch(tx, { triggerId: trigger.id, repositoryId: repository.id, type, key });
    }
    await queueRuns(tx, trigger, repository.id, waiting, history, now);
    await updateHistory(tx, history.id, { status: 'done', problem: null, endedAt: now.toISOString() });
  });
}

/** Nothing is asked with an entity tag, so there is always an answer. */
async function requirePage<Item>(asked: Promise<PageOf<Item> | null>): Promise<PageOf<Item>> {
  const page = await asked;
  if (page === null) throw new ProviderProblem('provider-failed', 'The provider sent no list');
  return page;
}

function eventsOf(
  deps: Deps,
  { integration, remote }: Reading,
  history: History,
  deliveries: readonly ReadDelivery[],
): Event[] {
  const provider = providerOf(integration.type);
  const source = { repository: remote.fullName, deliveryId: history.id };
  return deliveries.flatMap(({ event: name, payload }) => {
    const result = parseEvent(provider, name, payload);
    if (result.outcome !== 'processed') return [];
    const { action, data } = result.processed;
    const receivedAt = deps.clock.now().toISOString();
    return eventOf(provider, { ...source, event: name, action, data, receivedAt }) ?? [];
  });
}

/** One run for each branch, since its earliest release. */
async function queueRuns(
  tx: WriteTx,
  { id: triggerId, filters }: Trigger,
  repositoryId: string,
  events: readonly Event[],
  history: History,
  now: Date,
): Promise<void> {
  const scopes = Map.groupBy(events, (event) => kinds.release.scopeOf(filters, event, repositoryId));
  for (const [scope, group] of [...scopes].sort(([one], [other]) => ((one ?? '') < (other ?? '') ? -1 : 1))) {
    const since = group.map(({ occurredAt }) => occurredAt).sort()[0];
    if (scope === null || since === undefined) continue;
    await queueRun(tx, { triggerId, scope, since, deliveryId: history.id }, now);
  }
}

/** Says why reading waits or failed, and until when. */
async function wait(deps: Deps, id: string, problem: ProviderProblem): Promise<void> {
  const now = deps.clock.now().getTime();
  const { kind, message, retryAt } = problem;
  if (kind === 'rate-limited') {
    const dueAt = Math.max(retryAt?.getTime() ?? now + LIMIT_WAIT_MS, now + 1_000);
    await deps.db.write((tx) => updateHistory(tx, id, { problem: message, dueAt }));
    return;
  }
  const attempts = ((await deps.db.read((tx) => findHistory(tx, id)))?.attempts ?? 0) + 1;
  if (kind !== 'provider-failed' || attempts >= MAX_ATTEMPTS) return end(deps, id, 'failed', message);
  const dueAt = now + (BACK_OFF_MS[Math.min(attempts, BACK_OFF_MS.length) - 1] ?? 0);
  await deps.db.write((tx) => updateHistory(tx, id, { problem: message, dueAt, attempts }));
}

function end(deps: Deps, id: string, status: 'failed' | 'done', problem: string | null): Promise<void> {
  const endedAt = deps.clock.now().toISOString();
  return deps.db.write(async (tx) => {
    await updateHistory(tx, id, { status, problem, endedAt });
  });
}
