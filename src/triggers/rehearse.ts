import { type LogPage, type LogPosition, listLogPage } from '../deliveries/log-store.ts';
import { type Delivery, toProcessed } from '../deliveries/model.ts';
import type { Deps } from '../deps.ts';
import type { Compose, DraftText } from '../drafts/model.ts';
import { listTold } from '../drafts/store.ts';
import { eventsInMemory } from '../events/memory.ts';
import { eventTypes, type ShippedEvent } from '../events/model.ts';
import { eventReader } from '../events/store.ts';
import { getIntegration } from '../integrations/store.ts';
import { AppError } from '../lib/app-error.ts';
import { letOthersIn } from '../lib/turns.ts';
import type { ContentType, PostStatus } from '../posts/model.ts';
import { toEvent } from '../providers/index.ts';
import { findArrival, findMatch } from './arrival-store.ts';
import { isEdit, kinds } from './kinds/index.ts';
import { keysOf, type Planning } from './kinds/kind.ts';
import { recipeOf } from './run.ts';
import { getTrigger, type TriggerRow } from './store.ts';

/** How many deliveries a rehearsal looks at: the newest ones. */
const MAX_DELIVERIES = 20_000;

/** How many are read at a time: other requests come in between. */
const PAGE = 250;

/** A delivery that is tried counts as one that arrives while the trigger is enabled. */
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

/**
 * The posts that the trigger would have made of the deliveries that the log holds since then, if there had been
 * nothing else. Changes nothing. Throws `AppError` 404, and what the templates throw.
 */
export async function rehearseTrigger(
  { db }: Needs,
  compose: Compose,
  triggerId: string,
  since: Date,
): Promise<RehearsedPost[]> {
  const trigger = await getTrigger(db, triggerId);
  const found = await eventsSince({ db }, trigger, since);
  const posts: RehearsedPost[] = [];
  for (const [repositoryId, group] of Map.groupBy(found, (each) => each.repositoryId)) {
    const events = group.map(({ event }) => event);
    const scopes = new Set(
      events.flatMap((event) => kinds[trigger.event].scopesOf(trigger, event, { repositoryId })),
    );
    const shipped = group.filter((each) => !each.isEdit);
    const arrived = new Set(shipped.map(({ event: { type, key } }) => `${type} ${key}`));
    const known = eventsInMemory(events, (type, key) => (arrived.has(`${type} ${key}`) ? ARRIVED : null));
    const told = { keys: new Set<string>(), since: undefined, oldestOf: () => null };
    for (const scope of [...scopes].sort()) {
      posts.push(...(await composePlanned(compose, trigger, { scope, since: '', events: known, told })));
    }
  }
  return posts.sort(({ createdAt: one }, { createdAt: other }) => (one < other ? -1 : one > other ? 1 : 0));
}

/** 409: a delivery makes no post by a trigger, and why. */
export class StartsNothing extends AppError {
  constructor(
    deliveryId: string,
    triggerId: string,
    readonly why: string,
  ) {
    super(409, `Delivery ${deliveryId} starts nothing of trigger ${triggerId}: ${why}`);
  }
}

/**
 * The posts that one delivery of the log makes or changes, as they would be now. Changes nothing. Throws `AppError`
 * 404, `StartsNothing`, and what the templates throw.
 */
export async function previewTrigger(
  { db }: Needs,
  compose: Compose,
  triggerId: string,
  delivery: Delivery,
): Promise<RehearsedPost[]> {
  const trigger = await getTrigger(db, triggerId);
  const { repositories } = await getIntegration(db, trigger.integrationId);
  const told = delivery.integrationId === trigger.integrationId ? toProcessed(delivery, repositories) : null;
  const event = told === null ? null : toEvent(told);
  const startsNothing = (why: string) => new StartsNothing(delivery.id, triggerId, why);
  if (delivery.integrationId !== trigger.integrationId)
    throw startsNothing('it is one of another integration');
  if (told === null || event === null) throw startsNothing('it tells of nothing that posts are made of');
  const { repositoryId } = told;
  const scopes = isOfTrigger(trigger, repositoryId)
    ? kinds[trigger.event].scopesOf(trigger, event, { repositoryId })
    : [];
  if (scopes.length === 0) throw startsNothing('its event, its repository or the filters say otherwise');
  const source = { integrationId: trigger.integrationId, repositoryId, triggerId };
  const arrival = isEdit(told, event) ? findArrival(db, source, event) : ARRIVED;
  if (arrival === null && kinds[trigger.event].tells.includes(event.type)) {
    throw startsNothing(
      `an edit alone makes no post, and the ${event.type} did not arrive while the trigger was enabled`,
    );
  }
  // The event is added: an older version may not have kept it.
  const events = eventsInMemory(
    [...(await eventReader(db, source).list(eventTypes, {})), event],
    (type, key) =>
      type === event.type && key === event.key ? arrival : findMatch(db, source, { type, key }),
  );
  const posts: RehearsedPost[] = [];
  for (const scope of scopes) {
    const planning = {
      scope,
      since: event.occurredAt,
      events,
      told: listTold(db, source, { triggerId, scope }),
    };
    posts.push(...(await composePlanned(compose, trigger, planning, keysOf(event))));
  }
  if (posts.length === 0) throw startsNothing('it changes no post, as things are');
  return posts;
}

/** The planned posts that tell of one of these events, or all of them. */
async function composePlanned(
  compose: Compose,
  trigger: TriggerRow,
  planning: Omit<Planning, 'trigger'>,
  keys?: readonly string[],
): Promise<RehearsedPost[]> {
  const { event, contentType, publish } = trigger;
  const posts: RehearsedPost[] = [];
  const drafts = await kinds[event].plan({ trigger, ...planning });
  for (const { subject, material, eventKeys, until, draftOnly } of drafts) {
    if (material === null || (keys !== undefined && !keys.some((key) => eventKeys.includes(key)))) continue;
    posts.push({
      scope: planning.scope,
      subject,
      contentType,
      status: publish && !draftOnly ? 'published' : 'draft',
      createdAt: until,
      ...(await compose(recipeOf(trigger), material)),
    });
  }
  return posts;
}

/** What the newest deliveries since then tell the trigger of, oldest first. */
async function eventsSince({ db }: Needs, trigger: TriggerRow, since: Date) {
  const { organizationId, integrationId } = trigger;
  const { repositories } = await getIntegration(db, integrationId);
  const filter = { integrationId, since, status: 'processed' } as const;
  const found: { repositoryId: string | null; event: ShippedEvent; isEdit: boolean }[] = [];
  let before: LogPosition | null = null;
  for (let looked = 0; looked < MAX_DELIVERIES; ) {
    const page: LogPage = await listLogPage(db, organizationId, filter, { limit: PAGE, before });
    looked += page.entries.length;
    for (const delivery of page.entries) {
      const told = toProcessed(delivery, repositories);
      const event = told === null ? null : toEvent(told);
      if (told === null || event === null || !isOfTrigger(trigger, told.repositoryId)) continue;
      found.push({ repositoryId: told.repositoryId, event, isEdit: isEdit(told, event) });
    }
    before = page.next;
    if (before === null) break;
    await letOthersIn();
  }
  return found.reverse();
}

function isOfTrigger({ repositoryId }: TriggerRow, source: string | null): boolean {
  return repositoryId === null || repositoryId === source;
}
