import type { ReadTx } from '../../db/storage.ts';
import { type LogPage, type LogPosition, listLogPage } from '../deliveries/log-store.ts';
import { type Delivery, toProcessed } from '../deliveries/model.ts';
import type { Deps } from '../deps.ts';
import type { Compose, DraftText } from '../drafts/model.ts';
import { readScope } from '../drafts/store.ts';
import { eventsInMemory } from '../events/memory.ts';
import { type Event, eventTypes } from '../events/model.ts';
import { eventReader } from '../events/store.ts';
import { getIntegration } from '../integrations/store.ts';
import { letOthersIn } from '../lib/time.ts';
import type { ContentType, PostStatus } from '../posts/model.ts';
import { toEvent } from '../providers/index.ts';
import { isEdit } from './hand-over.ts';
import { kinds } from './kinds/index.ts';
import { keysOf, type PlannedDraft } from './kinds/kind.ts';
import type { Trigger } from './model.ts';
import { listArrivals } from './queue-store.ts';
import { recipeOf } from './run.ts';
import { getTrigger } from './store.ts';
import { type NoPostReason, refusal } from './words.ts';

/** Limits a rehearsal to the newest deliveries. */
const MAX_DELIVERIES = 20_000;

/** How many to read at a time, so that other requests come in between. */
const PAGE = 250;

/** A tried delivery counts as one that arrives while the trigger is enabled. */
const ARRIVED = { draftOnly: false };

/** A post that a trigger would make. */
export interface RehearsedPost extends DraftText {
  scope: string;
  subject: string;
  contentType: ContentType;
  status: PostStatus;
  createdAt: string;
}

type Needs = Pick<Deps, 'db'>;
type ScopedDraft = PlannedDraft & { scope: string };

/**
 * The posts that the trigger would have made of the deliveries in the log since then, without any others. Changes
 * nothing. Throws `AppError` 404 and `TemplateError`.
 */
export async function rehearseTrigger(
  { db }: Needs,
  compose: Compose,
  triggerId: string,
  since: Date,
): Promise<RehearsedPost[]> {
  const trigger = await db.read((tx) => getTrigger(tx, triggerId));
  const { filters, event: type } = trigger;
  const planned: ScopedDraft[] = [];
  const logged = await eventsSince({ db }, trigger, since);
  for (const [repositoryId, group] of Map.groupBy(logged, (each) => each.repositoryId)) {
    const events = group.map(({ event }) => event);
    const scopes = new Set(events.map((event) => kinds[type].scopeOf(filters, event, repositoryId)));
    const shipped = group.filter((each) => !each.isEdit);
    const arrived = new Set(shipped.map(({ event: { type, key } }) => `${type} ${key}`));
    const reader = eventsInMemory(events, (type, key) => (arrived.has(`${type} ${key}`) ? ARRIVED : null));
    const drafts = { closedKeys: new Set<string>(), since: undefined, oldestEvent: async () => null };
    for (const scope of [...scopes].sort()) {
      if (scope === null) continue;
      const plan = await kinds[type].plan({ filters, scope, since: '', events: reader, drafts });
      planned.push(...plan.map((draft) => ({ ...draft, scope })));
    }
  }
  const posts = await composePosts(compose, trigger, planned);
  return posts.sort(({ createdAt: one }, { createdAt: other }) => (one < other ? -1 : one > other ? 1 : 0));
}

/**
 * The posts that one delivery of the log makes or changes, as they would be now. Changes nothing. Throws `AppError`
 * 404, 409 `no_post`, and `TemplateError`.
 */
export async function previewTrigger(
  { db }: Needs,
  compose: Compose,
  triggerId: string,
  delivery: Delivery,
): Promise<RehearsedPost[]> {
  const { trigger, drafts } = await db.read((tx) => planDelivery(tx, triggerId, delivery));
  const posts = await composePosts(compose, trigger, drafts);
  if (posts.length === 0) throw noPost(delivery, triggerId, 'no_change');
  return posts;
}

/** The drafts that include the delivery's event. */
async function planDelivery(
  tx: ReadTx,
  triggerId: string,
  delivery: Delivery,
): Promise<{ trigger: Trigger; drafts: ScopedDraft[] }> {
  const trigger = await getTrigger(tx, triggerId);
  const { integrationId, filters } = trigger;
  if (delivery.integrationId !== integrationId) throw noPost(delivery, triggerId, 'other_integration');
  const { repositories } = await getIntegration(tx, integrationId);
  const processed = toProcessed(delivery, repositories);
  const event = processed === null ? null : toEvent(processed);
  if (processed === null || event === null) throw noPost(delivery, triggerId, 'no_event');
  const { repositoryId } = processed;
  const kind = kinds[trigger.event];
  const scope = listensTo(trigger, repositoryId) ? kind.scopeOf(filters, event, repositoryId) : null;
  if (scope === null) throw noPost(delivery, triggerId, 'no_match');
  const source = { integrationId, repositoryId, triggerId };
  const arrivals = await listArrivals(tx, source);
  const arrival = isEdit(processed, event) ? (arrivals.get(`${event.type} ${event.key}`) ?? null) : ARRIVED;
  if (arrival === null && kind.content.includes(event.type)) {
    throw noPost(delivery, triggerId, 'edit_only', event.type);
  }
  // Add the event: an older version may not have stored it.
  const known = [...(await eventReader(tx, source).list(eventTypes, {})), event];
  const events = eventsInMemory(known, (type, key) => {
    if (type === event.type && key === event.key) return arrival;
    const other = arrivals.get(`${type} ${key}`);
    return other?.isMatch === true ? other : null;
  });
  const drafts = await readScope(tx, source, { triggerId, scope });
  const plan = await kind.plan({ filters, scope, since: event.occurredAt, events, drafts });
  const keys = keysOf(event);
  const changed = plan.filter(({ eventKeys }) => keys.some((key) => eventKeys.includes(key)));
  return { trigger, drafts: changed.map((draft) => ({ ...draft, scope })) };
}

function noPost({ id }: Delivery, triggerId: string, reason: NoPostReason, type = '') {
  return refusal(409, 'no_post', { deliveryId: id, triggerId, reason, type });
}

async function composePosts(
  compose: Compose,
  trigger: Trigger,
  drafts: readonly ScopedDraft[],
): Promise<RehearsedPost[]> {
  const { contentType, publish } = trigger;
  const posts: RehearsedPost[] = [];
  for (const { scope, subject, material, until, draftOnly } of drafts) {
    if (material === null) continue;
    const status = publish && !draftOnly ? 'published' : 'draft';
    const text = await compose(recipeOf(trigger), material);
    posts.push({ scope, subject, contentType, status, createdAt: until, ...text });
  }
  return posts;
}

/** The events of the newest deliveries since then, oldest first. */
async function eventsSince({ db }: Needs, trigger: Trigger, since: Date) {
  const { organizationId, integrationId } = trigger;
  const { repositories } = await db.read((tx) => getIntegration(tx, integrationId));
  const filter = { integrationId, since, status: 'processed' } as const;
  const events: { repositoryId: string | null; event: Event; isEdit: boolean }[] = [];
  let before: LogPosition | null = null;
  for (let read = 0; read < MAX_DELIVERIES; ) {
    const position: LogPosition | null = before;
    const page: LogPage = await db.read((tx) =>
      listLogPage(tx, organizationId, filter, { limit: PAGE, before: position }),
    );
    read += page.entries.length;
    for (const delivery of page.entries) {
      const processed = toProcessed(delivery, repositories);
      const event = processed === null ? null : toEvent(processed);
      if (processed === null || event === null || !listensTo(trigger, processed.repositoryId)) continue;
      events.push({ repositoryId: processed.repositoryId, event, isEdit: isEdit(processed, event) });
    }
    before = page.next;
    if (before === null) break;
    await letOthersIn();
  }
  return events.reverse();
}

function listensTo({ repositoryId }: Trigger, source: string | null): boolean {
  return repositoryId === null || repositoryId === source;
}
