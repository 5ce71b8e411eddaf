import { and, eq, gte, inArray, lt } from 'drizzle-orm';
import { matching, type ReadTx, type WriteTx } from '../../../db/engine.ts';
import { releaseRanges } from '../../../db/schema/integrations.ts';
import { deliveryResults, drafts, triggerEvents, triggers } from '../../../db/schema/triggers.ts';
import { type Delivery, toProcessed } from '../../integrations/deliveries/store.ts';
import type { Repository } from '../../integrations/store.ts';
import type { Deps } from '../../people/deps.ts';
import type { Event, EventSource } from '../../providers/events.ts';
import { toEvent } from '../../providers/index.ts';
import { findSame, recordEvent } from '../events.ts';
import { claimChanges, listSources } from '../roundups/store.ts';
import { listPostsOfDelivery } from '../store.ts';
import { branchScope } from './kinds/branch.ts';
import { keysOf } from './kinds/kind.ts';
import { type ImageOwner, queueImages, queueNaming } from './material.ts';
import { kinds } from './model.ts';
import { listEnabledTriggers, queueRun, recordArrival, recordMatch } from './queue-store.ts';
import { queueRange, rangeOfPush } from './range-store.ts';
import { insertResult, type ResultEntry } from './results-store.ts';

/** Stores the event, unless `previous`, from `findSame`, is newer. Returns the newest, which may be a release with another tag. */
export async function recordNewest(
  tx: WriteTx,
  source: EventSource,
  event: Event,
  previous: Event | null,
): Promise<Event> {
  const newest = await recordEvent(tx, source, event, previous);
  if (previous !== null && previous.key !== newest.key)
    await renameRelease(tx, source, previous.key, newest.key);
  return newest;
}

/**
 * Makes all that names a release by its tag name the tag that it has now. What was of a release that had the new tag
 * before goes, but for its posts. Runs must not write meanwhile: change the integration.
 */
async function renameRelease(
  tx: WriteTx,
  { integrationId, repositoryId }: EventSource,
  tag: string,
  newTag: string,
): Promise<void> {
  if (repositoryId === null) return;
  const ofIntegration = tx
    .select({ id: triggers.id })
    .from(triggers)
    .where(eq(triggers.integrationId, integrationId));

  const isArrival = (key: string) =>
    and(
      inArray(triggerEvents.triggerId, ofIntegration),
      matching(triggerEvents, { repositoryId, type: 'release', key }),
    );
  await tx.delete(triggerEvents).where(isArrival(newTag));
  await tx.update(triggerEvents).set({ key: newTag }).where(isArrival(tag));

  const ofRepository = matching(releaseRanges, { integrationId, repositoryId });
  await tx.delete(releaseRanges).where(and(ofRepository, inArray(releaseRanges.tag, [tag, newTag])));
  await tx
    .update(releaseRanges)
    .set({ previousTag: newTag })
    .where(and(ofRepository, eq(releaseRanges.previousTag, tag)));

  const [subject, newSubject] = [`release ${tag}`, `release ${newTag}`];
  const ofScopes = (column: typeof drafts.scope | typeof deliveryResults.scope) =>
    and(gte(column, `${repositoryId} `), lt(column, `${repositoryId}!`));
  const isDraft = (name: string) =>
    and(inArray(drafts.triggerId, ofIntegration), eq(drafts.subject, name), ofScopes(drafts.scope));
  await tx.delete(drafts).where(isDraft(newSubject));
  const renamed = (keys: readonly string[]) => keys.map((key) => (key === subject ? newSubject : key));
  for (const row of await tx.select().from(drafts).where(isDraft(subject))) {
    const { suggestion: old } = row;
    const suggestion = old && { ...old, eventKeys: renamed(old.eventKeys) };
    await tx
      .update(drafts)
      .set({ subject: newSubject, eventKeys: renamed(row.eventKeys), suggestion })
      .where(matching(drafts, { triggerId: row.triggerId, scope: row.scope, subject }));
  }
  await tx
    .update(deliveryResults)
    .set({ eventKey: newSubject })
    .where(
      and(
        inArray(deliveryResults.triggerId, ofIntegration),
        ofScopes(deliveryResults.scope),
        eq(deliveryResults.eventKey, subject),
        inArray(deliveryResults.outcome, ['queued', 'failed', 'waiting']),
      ),
    );
}

/** The rows that `handOver` needs, in one round trip. */
export async function readHandOver(tx: ReadTx, source: EventSource, event: Event) {
  const { integrationId, repositoryId } = source;
  const [previous, triggers, sources] = await Promise.all([
    findSame(tx, source, event),
    listEnabledTriggers(tx, integrationId, repositoryId),
    listSources(tx, integrationId),
  ]);
  return { previous, triggers, sources };
}

/**
 * In the delivery's transaction, so that an acknowledged delivery becomes a draft. A repeat changes nothing. `entry` is
 * its log entry. The last argument but `now` was read in the same transaction.
 */
export async function handOver(
  tx: WriteTx,
  /** `images`: whose images are copied; null where there is no place for them. */
  delivery: EventSource & { action: string; images: ImageOwner | null },
  entry: ResultEntry,
  event: Event,
  { previous, triggers, sources }: Awaited<ReturnType<typeof readHandOver>>,
  now: Date,
): Promise<void> {
  const { repositoryId } = delivery;
  const { deliveryId } = event;
  const newest = await recordNewest(tx, delivery, event, previous);
  const { key: newestKey } = newest;
  const versions = previous === null ? [event] : [event, previous];
  const since = versions.map(({ occurredAt }) => occurredAt).sort()[0] ?? event.occurredAt;
  let isUsed = false;
  // In the order of triggers and scopes: deliveries that queue the same runs at a time must not wait for each other.
  for (const trigger of triggers) {
    const { id: triggerId, filters } = trigger;
    const kind = kinds[trigger.event];
    const isContent = kind.content.includes(event.type);
    if (isContent) {
      const isMatch = kind.matches(filters, newest);
      isUsed ||= isMatch;
      const key = { triggerId, repositoryId, type: event.type, key: newestKey };
      // An edit makes no post, but it may make an event match that arrived before.
      if (!isEdit(delivery, event))
        await recordArrival(tx, { ...key, isMatch, draftOnly: false, publish: false });
      else if (isMatch) await recordMatch(tx, key);
    }
    const scopes = versions.map((each) => kind.scopeOf(filters, each, repositoryId)).filter(isScope);
    const [scope] = scopes;
    // An event that matched before may leave its draft.
    const isMatch = [newest, ...versions].some((each) => kind.matches(filters, each));
    if (scope !== undefined || isContent) {
      const outcome = scope === undefined || (isContent && !isMatch) ? 'filtered' : 'queued';
      const eventKey = `${event.type} ${newestKey}`;
      await insertResult(tx, entry, { triggerId, scope: scope ?? '', eventKey, outcome }, now);
    }
    for (const each of [...new Set(scopes)].sort()) {
      await queueRun(tx, { triggerId, scope: each, since, deliveryId }, now);
    }
  }
  if (!isEdit(delivery, event)) await claimChanges(tx, delivery, { event: newest, previous }, sources, now);
  const { images, integrationId } = delivery;
  await queueNaming(tx, integrationId, [newest, ...versions], now);
  if (isUsed && images !== null) await queueImages(tx, images, integrationId, newest, now);
  if (repositoryId === null) return;
  const ofPush = rangeOfPush(newest);
  const lists = triggers.some(({ event: each }) => kinds[each].content.includes('push'));
  if (ofPush !== null && (lists || sources.length > 0))
    await queueRange(tx, { integrationId, repositoryId, tag: ofPush }, now);
  if (newest.type !== 'release' || newest.branch === null) return;
  const { notes } = newest.data;
  const needsRange = triggers.some(({ event }) => {
    const { isOfBranch, isRolling } = kinds[event];
    return isOfBranch && (isRolling || notes === null);
  });
  if (needsRange) await queueRange(tx, { integrationId, repositoryId, tag: newest.key }, now);
}

const isScope = (scope: string | null): scope is string => scope !== null;

/** An edit changes something that was shipped before, such as the notes of a release. */
export function isEdit({ action }: { action: string }, { type }: Event): boolean {
  return action !== kinds[type].action;
}

/** The event of a delivery; null when it has none. `repositories`: all of its integration. */
export function shippedBy(delivery: Delivery, repositories: readonly Repository[]) {
  const processed = toProcessed(delivery, repositories);
  const event = processed && toEvent(processed);
  if (processed === null || event === null) return null;
  return { repositoryId: processed.repositoryId, event, isEdit: isEdit(processed, event) };
}

/** The posts that include the event of a delivery, also when they name a later one as their source. */
export async function listCaused(
  { db }: Pick<Deps, 'db'>,
  delivery: Delivery,
  repositories: readonly Repository[],
) {
  const shipped = shippedBy(delivery, repositories);
  if (shipped === null) return [];
  const { organizationId, integrationId } = delivery;
  const { event, repositoryId } = shipped;
  return db.read(async (tx) => {
    // The tag of a release may have been edited since.
    const present = (await findSame(tx, { integrationId, repositoryId }, event)) ?? event;
    return listPostsOfDelivery(tx, organizationId, integrationId, {
      key: keysOf(event.type === 'release' ? present : event)[0] ?? '',
      // Pull requests of different repositories have the same numbers; ids of trackers are unique.
      scope: event.branch === null ? null : branchScope(repositoryId, event.branch),
      // A draft of pull requests has the keys of their pushes, but does not consist of them.
      event: event.type === 'push' ? 'push' : null,
    });
  });
}
