import type { ReadTx } from '../../../db/engine.ts';
import { type LogPosition, listProcessed } from '../../integrations/deliveries/log-store.ts';
import type { Delivery } from '../../integrations/deliveries/store.ts';
import { getIntegration } from '../../integrations/store.ts';
import type { Repository } from '../../integrations/words.ts';
import { letOthersIn } from '../../lib/time.ts';
import { SERVER } from '../../people/audit.ts';
import type { Deps } from '../../people/deps.ts';
import { rulesOf } from '../../posts/approval-rule.ts';
import type { Post } from '../../posts/model.ts';
import {
  type Arrival,
  type Event,
  type EventReader,
  type EventSource,
  type EventType,
  eventTypes,
} from '../../providers/events.ts';
import { byTime, countFirst } from '../changes/reached.ts';
import type { LeftOut } from '../changes/rules.ts';
import { sampleMaterial } from '../check.ts';
import { eventReader, replaces } from '../events.ts';
import { type Compose, type DraftText, noDrafts, readScope } from '../store.ts';
import { shippedBy } from './hand-over.ts';
import { keysOf, type PlannedDraft } from './kinds/kind.ts';
import { withIssues } from './material.ts';
import { getTrigger, isRefusal, kinds, type NoPostReason, refusal, type Trigger } from './model.ts';
import { recipeOf } from './plan.ts';
import { listArrivals } from './queue-store.ts';
import { type RangeReader, rangeReader } from './range-store.ts';

/** Limits a rehearsal to the newest deliveries. */
const MAX_DELIVERIES = 20_000;

/** The same for a person who waits for the page. */
export const MAX_STREAMED_DELIVERIES = 10_000;

/** How many to read at a time, so that other requests come in between. */
const PAGE = 250;

/** A tried delivery counts as one that arrives while the trigger is enabled. */
const ARRIVED = { draftOnly: false, publish: false };

/** A post that a trigger would make. */
export interface RehearsedPost extends DraftText, Pick<Post, 'contentType' | 'status' | 'createdAt'> {
  scope: string;
  subject: string;
  leftOut: LeftOut[];
}

type Needs = Pick<Deps, 'db'>;
type ScopedDraft = PlannedDraft & { scope: string };

/** The posts of the logged deliveries since then, oldest first. Changes nothing. Throws `AppError` 404 and `TemplateError`. */
export async function rehearseTrigger(
  deps: Needs,
  compose: Compose,
  triggerId: string,
  since: Date,
): Promise<RehearsedPost[]> {
  const { trigger, planned } = await planRehearsal(deps, triggerId, { since, deliveries: MAX_DELIVERIES });
  const drafts = await deps.db.read((tx) => withIssues(tx, trigger.organizationId, planned));
  return Array.fromAsync(composePosts(deps, compose, trigger, drafts));
}

/**
 * The same for a person who waits: the number of posts once they are planned, then the newest `limit` as they are
 * composed, newest first. `signal` ends it early.
 */
export async function streamRehearsal(
  deps: Needs,
  compose: Compose,
  triggerId: string,
  { since, limit, signal }: { since: Date; limit: number; signal: AbortSignal },
): Promise<{ total: number; posts: AsyncIterable<RehearsedPost> }> {
  const log = { since, deliveries: MAX_STREAMED_DELIVERIES, signal };
  const { trigger, planned } = await planRehearsal(deps, triggerId, log);
  const newest = planned.slice(-limit).reverse();
  const drafts = await deps.db.read((tx) => withIssues(tx, trigger.organizationId, newest));
  return { total: planned.length, posts: composePosts(deps, compose, trigger, drafts) };
}

/** The part of the log that a rehearsal reads. */
interface Span {
  since: Date;
  /** The newest so many. */
  deliveries: number;
  signal?: AbortSignal;
}

/** The drafts of the logged deliveries, oldest first. Throws what aborted the signal. */
async function planRehearsal({ db }: Needs, triggerId: string, span: Span) {
  const trigger = await db.read((tx) => getTrigger(tx, triggerId));
  const { filters, event: type } = trigger;
  const planned: ScopedDraft[] = [];
  const logged = await listEvents({ db }, trigger, span);
  for (const [repositoryId, group] of Map.groupBy(logged, (each) => each.repositoryId)) {
    const events = group.map(({ event }) => event);
    const scopes = new Set(events.map((event) => kinds[type].scopeOf(filters, event, repositoryId)));
    const shipped = group.filter((each) => !each.isEdit);
    const arrived = new Set(shipped.flatMap(({ event }) => namesOf(event)));
    const reader = eventsInMemory(events, (event) =>
      namesOf(event).some((name) => arrived.has(name)) ? ARRIVED : null,
    );
    const ranges = rangesOf({ db }, trigger.integrationId, repositoryId);
    for (const scope of [...scopes].sort()) {
      if (scope === null) continue;
      const input = { filters, scope, since: '', events: reader, drafts: noDrafts, ranges };
      const plan = await kinds[type].plan(input);
      const filled = plan.filter(({ material }) => material !== null);
      planned.push(...filled.map((draft) => ({ ...draft, scope })));
    }
  }
  planned.sort(({ until: one }, { until: other }) => (one < other ? -1 : one > other ? 1 : 0));
  return { trigger, planned };
}

/** A release has the same id under every tag that it had. */
const namesOf = ({ type, key, releaseId }: Event) => [
  `${type} ${key}`,
  ...(releaseId === undefined ? [] : [`id ${releaseId}`]),
];

/** Reads outside of a transaction, because a rehearsal takes long. */
function rangesOf({ db }: Needs, integrationId: string, repositoryId: string | null): RangeReader {
  const source = { integrationId, repositoryId };
  return {
    heads: (tags) => db.read((tx) => rangeReader(tx, source).heads(tags)),
    read: (tags) => db.read((tx) => rangeReader(tx, source).read(tags)),
  };
}

/** The posts of one delivery. Changes nothing. Throws `AppError` 404, 409 `no_post`, and `TemplateError`. */
export async function previewTrigger(
  { db }: Needs,
  compose: Compose,
  triggerId: string,
  delivery: Delivery,
): Promise<RehearsedPost[]> {
  const trigger = await db.read((tx) => getTrigger(tx, triggerId));
  return previewRule({ db }, compose, trigger, delivery);
}

/** The same for a trigger that is not stored, or not as given. */
export async function previewRule(
  { db }: Needs,
  compose: Compose,
  trigger: Trigger,
  delivery: Delivery,
): Promise<RehearsedPost[]> {
  const plan = deliveryPlanner(trigger);
  const drafts = await db.read((tx) => plan(tx, delivery));
  const left: LeftOut[] = [];
  const posts = await Array.fromAsync(composePosts({ db }, compose, trigger, drafts, left));
  const [first] = left;
  if (posts.length === 0 && first !== undefined) throw noPost(delivery, trigger.id, 'left_out', first.reason);
  return posts;
}

/** The first of the deliveries that makes posts, with its posts; null when none does. Throws `TemplateError`. */
export async function previewFirst(
  { db }: Needs,
  compose: Compose,
  trigger: Trigger,
  deliveries: readonly Delivery[],
): Promise<{ delivery: Delivery; posts: RehearsedPost[] } | null> {
  const plan = deliveryPlanner(trigger);
  for (const delivery of deliveries) {
    const drafts = await db.read((tx) => plan(tx, delivery)).catch(nullWithoutPost);
    if (drafts !== null)
      return { delivery, posts: await Array.fromAsync(composePosts({ db }, compose, trigger, drafts)) };
  }
  return null;
}

function nullWithoutPost(error: unknown): null {
  if (isRefusal(error, 'no_post')) return null;
  throw error;
}

export async function previewSample(
  { db }: Needs,
  compose: Compose,
  trigger: Trigger,
  createdAt: string,
): Promise<RehearsedPost> {
  const { contentType, event } = trigger;
  // The sample shows the templates, whatever the trigger leaves out.
  const { text } = await compose({ ...recipeOf(trigger), entries: {} }, sampleMaterial(event));
  if (text === null) throw new Error(`the sample of ${event} has no changes`);
  const status = trigger.publish && (await mayPublish(db, trigger)) ? 'published' : 'draft';
  return { ...text, leftOut: [], contentType, status, createdAt, scope: '', subject: 'sample' };
}

/**
 * Plans the drafts that include a delivery's event. Several deliveries share the rows of their place. Throws `AppError`
 * 404 and 409 `no_post`.
 */
function deliveryPlanner(trigger: Trigger) {
  const { id: triggerId, integrationId, filters } = trigger;
  const kind = kinds[trigger.event];
  let repositories: readonly Repository[] | undefined;
  const places = new Map<string | null, Awaited<ReturnType<typeof readPlace>>>();

  return async (tx: ReadTx, delivery: Delivery): Promise<ScopedDraft[]> => {
    if (delivery.integrationId !== integrationId) throw noPost(delivery, triggerId, 'other_integration');
    repositories ??= (await getIntegration(tx, integrationId)).repositories;
    const shipped = shippedBy(delivery, repositories);
    if (shipped === null) throw noPost(delivery, triggerId, 'no_event');
    const { repositoryId, event } = shipped;
    const { type, key } = event;
    const scope = listensTo(trigger, repositoryId) ? kind.scopeOf(filters, event, repositoryId) : null;
    if (scope === null) throw noPost(delivery, triggerId, 'no_match');
    const source = { integrationId, repositoryId, triggerId };
    const place = places.get(repositoryId) ?? (await readPlace(tx, source));
    places.set(repositoryId, place);
    const { arrivals, known } = place;
    const same = known.find(({ releaseId }) => releaseId !== undefined && releaseId === event.releaseId);
    const present = same === undefined || replaces(event, same) ? event : same;
    const arrival = shipped.isEdit ? (arrivals.get(`${type} ${same?.key ?? key}`) ?? null) : ARRIVED;
    if (arrival === null && kind.content.includes(type)) throw noPost(delivery, triggerId, 'edit_only', type);
    // Add the event: an older version may not have stored it.
    const events = eventsInMemory([...known, event], (each) => {
      if (each.type === type && each.key === present.key) return arrival;
      const other = arrivals.get(`${each.type} ${each.key}`);
      return other?.isMatch === true ? other : null;
    });
    const drafts = await readScope(tx, source, { triggerId, scope });
    const ranges = rangeReader(tx, source);
    const planned = await kind.plan({ filters, scope, since: present.occurredAt, events, drafts, ranges });
    const plan = await withIssues(tx, trigger.organizationId, planned);
    const keys = keysOf(present);
    const changed = plan.filter(({ eventKeys }) => keys.some((each) => eventKeys.includes(each)));
    if (changed.every(({ material }) => material === null)) throw noPost(delivery, triggerId, 'no_change');
    return changed.map((draft) => ({ ...draft, scope }));
  };
}

/** The rows of a place that the plans of all its deliveries read. */
async function readPlace(tx: ReadTx, source: EventSource & { triggerId: string }) {
  return {
    arrivals: await listArrivals(tx, source.triggerId, source.repositoryId),
    known: await eventReader(tx, source).list(eventTypes, {}),
  };
}

function noPost({ id }: Delivery, triggerId: string, reason: NoPostReason, type = '') {
  return refusal(409, 'no_post', { deliveryId: id, triggerId, reason, type });
}

/** False where publishing needs a second person: the draft waits for approval. */
async function mayPublish(db: Needs['db'], { organizationId }: Trigger): Promise<boolean> {
  return !(await db.read((tx) => rulesOf(tx, { actor: SERVER }, { organizationId }))).needsApproval;
}

/** Composes each draft when it is asked for. `left` gets what those leave out that list nothing. */
async function* composePosts(
  { db }: Needs,
  compose: Compose,
  trigger: Trigger,
  drafts: readonly ScopedDraft[],
  left: LeftOut[] = [],
): AsyncGenerator<RehearsedPost> {
  const { contentType, publish } = trigger;
  const publishes = await mayPublish(db, trigger);
  for (const { scope, subject, material, until, draftOnly, publish: isWanted } of drafts) {
    if (material === null) continue;
    const status = publishes && (isWanted || (publish && !draftOnly)) ? 'published' : 'draft';
    const { text, leftOut } = await compose(recipeOf(trigger), material);
    if (text === null) left.push(...leftOut);
    else yield { scope, subject, contentType, status, createdAt: until, ...text, leftOut };
  }
}

/** The events of the deliveries, oldest first. */
async function listEvents({ db }: Needs, trigger: Trigger, { since, deliveries, signal }: Span) {
  const { integrationId } = trigger;
  const { repositories } = await db.read((tx) => getIntegration(tx, integrationId));
  const events: NonNullable<ReturnType<typeof shippedBy>>[] = [];
  let before: LogPosition | null = null;
  let read = 0;
  do {
    const window = { since, before, limit: PAGE };
    const page: Delivery[] = await db.read((tx) => listProcessed(tx, integrationId, window), {
      single: true,
    });
    const shipped = page.flatMap((entry) => shippedBy(entry, repositories) ?? []);
    events.push(...shipped.filter(({ repositoryId }) => listensTo(trigger, repositoryId)));
    read += page.length;
    before = page.length < PAGE ? null : (page.at(-1) ?? null);
    await letOthersIn();
    signal?.throwIfAborted();
  } while (before !== null && read < deliveries);
  return events.reverse();
}

function listensTo({ repositoryId }: Trigger, source: string | null): boolean {
  return repositoryId === null || repositoryId === source;
}

/** Reads events from memory, for a rehearsal. `arrivalFor` is null for one that the trigger may not make a post of. */
function eventsInMemory(all: readonly Event[], arrivalFor: (event: Event) => Arrival | null): EventReader {
  const known = new Map<string, Event>();
  const byReleaseId = new Map<string, Event>();
  for (const event of all) {
    const id = `${event.type} ${event.key}`;
    const { releaseId } = event;
    const previous = (releaseId === undefined ? undefined : byReleaseId.get(releaseId)) ?? known.get(id);
    if (previous !== undefined && !replaces(event, previous)) continue;
    // A release whose tag was edited is the same release.
    if (previous !== undefined) known.delete(`${previous.type} ${previous.key}`);
    known.set(id, event);
    if (releaseId !== undefined) byReleaseId.set(releaseId, event);
  }
  const arrivalOf = (type: EventType, key: string) => {
    const event = known.get(`${type} ${key}`);
    return event === undefined ? null : arrivalFor(event);
  };
  // As in the database.
  const events = [...known.values()].sort(byTime);
  const releases = new Map(
    events.flatMap(({ type, key: tag, branch, occurredAt, data }) =>
      type === 'release' ? [[tag, { tag, branch, isPrerelease: data.isPrerelease, occurredAt }]] : [],
    ),
  );
  return {
    async list(types, { branch, after, until, arrived = false }) {
      const countUntil = (time: string) => countFirst(events, ({ occurredAt }) => occurredAt <= time);
      const start = after === undefined ? 0 : countUntil(after);
      const end = until === undefined ? events.length : countUntil(until);
      return events
        .slice(start, end)
        .filter(
          (event) =>
            types.includes(event.type) &&
            (branch === undefined || event.branch === branch) &&
            (!arrived || arrivalFor(event) !== null),
        );
    },
    async listReleases(which) {
      if ('tags' in which) return which.tags.flatMap((tag) => releases.get(tag) ?? []);
      const ofBranch = releases.values().filter(({ branch }) => branch === which.branch);
      if ('since' in which) return ofBranch.filter(({ occurredAt }) => occurredAt >= which.since).toArray();
      return ofBranch
        .filter(({ occurredAt }) => occurredAt < which.before)
        .toArray()
        .slice(-which.limit);
    },
    async find(type, key) {
      return known.get(`${type} ${key}`) ?? null;
    },
    async findAll(type, keys) {
      return new Map(keys.flatMap((key) => withKey(key, known.get(`${type} ${key}`))));
    },
    async arrivalsOf(type, keys) {
      return new Map(keys.flatMap((key) => withKey(key, arrivalOf(type, key))));
    },
    async arrivalOf(type, key) {
      return arrivalOf(type, key);
    },
  };
}

const withKey = <Value>(key: string, value: Value | null | undefined): [string, Value][] =>
  value == null ? [] : [[key, value]];
