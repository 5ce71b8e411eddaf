import {
  and,
  asc,
  desc,
  eq,
  exists,
  getTableColumns,
  gt,
  gte,
  inArray,
  lt,
  lte,
  or,
  type SQL,
  sql,
} from 'drizzle-orm';
import {
  dialectOf,
  excluded,
  matching,
  placeholdersFor,
  prepared,
  type ReadTx,
  type WriteTx,
} from '../../db/engine.ts';
import { events, integrations } from '../../db/schema/integrations.ts';
import { triggerEvents } from '../../db/schema/triggers.ts';
import type { Event, EventData, EventReader, EventSource, EventType } from '../providers/events.ts';

/** How many events of a time are looked at: what is beyond it is older, and no draft could hold it. */
const MAX_EVENTS = 10_000;

/** The stored version of an event; null before the first. */
export async function findEvent(
  tx: ReadTx,
  source: EventSource,
  { type, key }: Pick<Event, 'type' | 'key'>,
): Promise<Event | null> {
  return fromRow(await statements(tx).find.get({ ...idsOf(source), type, key }));
}

/**
 * The same by the provider's id of a release, whatever tag it is stored under: its key may differ. Of an event without
 * such an id, by its key.
 */
export async function findSame(tx: ReadTx, source: EventSource, event: Event): Promise<Event | null> {
  const { type, key, releaseId } = event;
  if (releaseId === undefined) return findEvent(tx, source, event);
  const { find, findRelease } = statements(tx);
  // Sent together: one round trip.
  const [known, same] = await Promise.all([
    find.get({ ...idsOf(source), type, key }),
    findRelease.get({ ...idsOf(source), releaseId }),
  ]);
  return fromRow(same ?? known);
}

/** True if a release is stored under this tag. */
export async function hasRelease(tx: ReadTx, source: EventSource, tag: string): Promise<boolean> {
  return (await statements(tx).releasesByTag.all({ ...idsOf(source), tags: [tag] })).length > 0;
}

/** Stores the release under another tag. What was stored under that one is of a release that has lost it. */
async function renameEvent(tx: WriteTx, source: EventSource, key: string, newKey: string): Promise<void> {
  const isRelease = (tag: string) => matching(events, { ...idsOf(source), type: 'release', key: tag });
  await tx.delete(events).where(isRelease(newKey));
  await tx.update(events).set({ key: newKey }).where(isRelease(key));
}

/** Stores the event, unless `previous`, from `findSame`, is newer. Returns the newest version. */
export async function recordEvent(
  tx: WriteTx,
  source: EventSource,
  event: Event,
  previous: Event | null,
): Promise<Event> {
  if (previous !== null && !replaces(event, previous)) return previous;
  if (previous !== null && previous.key !== event.key) await renameEvent(tx, source, previous.key, event.key);
  const newest = previous === null ? event : withTimeOfMerge(event, previous);
  await statements(tx).save.run({ ...newest, ...idsOf(source), releaseId: event.releaseId ?? null });
  return newest;
}

/** A pull request is merged once, and an edit may not say when. */
function withTimeOfMerge(event: Event, { occurredAt }: Event): Event {
  return event.type === 'pull_request' && occurredAt < event.occurredAt ? { ...event, occurredAt } : event;
}

/**
 * True if `event` says newer things than what is known. Of one version the first time, then the one that says more,
 * then the smaller delivery id stays, so that the order in which they came never matters. But for releases: a server
 * that does not say when one was edited says so of no edit, and the last that comes is then the best guess. With another
 * tag, it is the one that was published later.
 */
export function replaces(event: Event, known: Event): boolean {
  if (event.version !== known.version) return event.version > known.version;
  if (event.occurredAt !== known.occurredAt)
    return event.occurredAt < known.occurredAt === (event.key === known.key);
  const [one, other] = [event, known].map(({ branch, repository, data }) =>
    JSON.stringify([branch, repository, data]),
  ) as [string, string];
  if (one === other) return event.deliveryId < known.deliveryId;
  return event.type === 'release' || (one.length === other.length ? one > other : one.length > other.length);
}

/** True if `event` says more than what is known, files aside. Another delivery of the same does not. */
export function isNews(event: Event, known: Event): boolean {
  const same = { ...withoutFiles(event), deliveryId: known.deliveryId };
  return !Bun.deepEquals(same, withoutFiles(known)) && replaces(event, known);
}

/** An API lists commits without their files, which a webhook names. */
function withoutFiles(event: Event): Event {
  if (event.type !== 'push') return event;
  const commits = event.data.commits.map(({ paths: _, ...commit }) => commit);
  return { ...event, data: { ...event.data, commits } };
}

/** Reads the events of one source for a trigger: a repository, or a workspace of an issue tracker. */
export function eventReader(tx: ReadTx, source: EventSource & { triggerId: string }): EventReader {
  const place = idsOf(source);
  const { repositoryId } = place;
  const { triggerId } = source;
  const isArrival = matching(triggerEvents, {
    triggerId,
    repositoryId: events.repositoryId,
    type: events.type,
    key: events.key,
    isMatch: true,
  });
  const hasArrived = exists(tx.select({ key: triggerEvents.key }).from(triggerEvents).where(isArrival));

  async function arrivalsOf(type: EventType, keys: readonly string[]) {
    const rows = await statements(tx).arrivals.all({ triggerId, repositoryId, type, keys });
    return new Map(rows.map(({ key, ...arrival }) => [key, arrival]));
  }

  return {
    async list(types, { branch, after, until, arrived = false }) {
      const filters = [
        matching(events, { ...place, branch }),
        inArray(events.type, [...types]),
        after === undefined ? undefined : gt(events.occurredAt, after),
        until === undefined ? undefined : lte(events.occurredAt, until),
        arrived ? hasArrived : undefined,
      ];
      const rows = await tx
        .select()
        .from(events)
        .where(and(...filters))
        .orderBy(desc(events.occurredAt), desc(events.key))
        .limit(MAX_EVENTS);
      return rows.map(toEvent).reverse();
    },

    async listReleases(which) {
      const { releasesSince, releasesBefore, releasesByTag } = statements(tx);
      const rows =
        'tags' in which
          ? await releasesByTag.all({ ...place, ...which })
          : 'since' in which
            ? await releasesSince.all({ ...place, ...which })
            : (await releasesBefore.all({ ...place, ...which })).toReversed();
      return rows.map((row) => ({ ...row, isPrerelease: row.isPrerelease === true }));
    },

    async find(type, key) {
      return findEvent(tx, source, { type, key });
    },

    async findAll(type, keys) {
      const rows = await statements(tx).findAll.all({ ...place, type, keys });
      return new Map(rows.map((row) => [row.key, toEvent(row)]));
    },

    arrivalsOf,

    async arrivalOf(type, key) {
      return (await arrivalsOf(type, [key])).get(key) ?? null;
    },
  };
}

/** The stored events with these keys. */
export async function findEvents<Type extends EventType>(
  tx: ReadTx,
  source: EventSource,
  type: Type,
  keys: readonly string[],
): Promise<Extract<Event, { type: Type }>[]> {
  const rows = await statements(tx).findAll.all({ ...idsOf(source), type, keys });
  return rows.map(toEvent).filter((event): event is Extract<Event, { type: Type }> => event.type === type);
}

/** When events of a branch happened, by keys such as `push 6dcb09b`. */
export async function findTimes(
  tx: ReadTx,
  { branch, ...source }: EventSource & { branch: string },
  eventKeys: readonly string[],
): Promise<Map<string, string>> {
  const { type, key, occurredAt } = events;
  const ofBranch = matching(events, { ...idsOf(source), branch });
  const times = new Map<string, string>();
  for (const [name, keys] of Map.groupBy(eventKeys, (each) => each.split(' ', 1)[0] as EventType)) {
    const own = dialectOf(tx).listed(keys.map((each) => each.slice(name.length + 1)));
    const found = await tx
      .select({ key, occurredAt })
      .from(events)
      .where(and(ofBranch, eq(type, name), inArray(key, own)))
      .all();
    for (const each of found) times.set(`${name} ${each.key}`, each.occurredAt);
  }
  return times;
}

/** The releases of some repositories of an integration, newest first, without their notes. */
export async function listReleases(tx: ReadTx, integrationId: string, repositoryIds: readonly string[]) {
  const { repositoryId, key, branch, isPrerelease, occurredAt, deliveryId } = events;
  const rows = await tx
    .select({ repositoryId, tag: key, branch, isPrerelease, occurredAt, deliveryId })
    .from(events)
    .where(
      and(matching(events, { integrationId, type: 'release' }), inArray(repositoryId, [...repositoryIds])),
    )
    .orderBy(desc(occurredAt), desc(key));
  return rows.map((row) => ({ ...row, branch: row.branch ?? '', isPrerelease: row.isPrerelease === true }));
}

/** How many issues, and how many of their links, of an organization are looked at: the newest. */
const MAX_ISSUES = 10_000;

/** The keys of links start with this. No id of an issue has a space. */
const LINK = 'link ';

/** The links of an organization's issues to these pull requests, each with its key and the id of its issue. */
export async function findLinks(
  tx: ReadTx,
  organizationId: string,
  urls: ReadonlySet<string>,
): Promise<{ key: string; issueId: string; url: string }[]> {
  if (urls.size === 0) return [];
  const newest = await listNewest(tx, organizationId, and(gte(events.key, LINK), lt(events.key, 'link!')));
  return newest.flatMap(({ key, text }) => {
    // Parses only the rows that may be meant.
    const url = /"linksTo":"([^"\\]+)"/.exec(text)?.[1] ?? '';
    return urls.has(url) ? { key, issueId: (JSON.parse(text) as EventData['issue']).id, url } : [];
  });
}

/** The completed issues of an organization's trackers with these ids, or with these identifiers, now or before. */
export async function findIssues(
  tx: ReadTx,
  organizationId: string,
  named: { identifiers: ReadonlySet<string>; ids: ReadonlySet<string> },
): Promise<Extract<Event, { type: 'issue' }>[]> {
  if (named.identifiers.size === 0 && named.ids.size === 0) return [];
  const isIssue = or(lt(events.key, LINK), gte(events.key, 'link!'));
  const newest = await listNewest(tx, organizationId, isIssue);
  const found: Extract<Event, { type: 'issue' }>[] = [];
  for (const { text, ...id } of newest) {
    // Parses only the rows that may be meant.
    const isNamed = identifiersIn(text).some((each) => named.identifiers.has(each));
    if (!isNamed && !named.ids.has(id.key)) continue;
    const event = await findEvent(tx, id, { type: 'issue', key: id.key });
    if (event?.type === 'issue' && event.data.isCompleted) found.push(event);
  }
  return found;
}

/** The identifiers in the JSON of an issue, the present one first. */
function identifiersIn(text: string): string[] {
  const present = /"identifier":"([^"\\]+)"/.exec(text)?.[1] ?? '';
  const previous = /"previousIdentifiers":\[([^\]]*)\]/.exec(text)?.[1] ?? '';
  return [present, ...Array.from(previous.matchAll(/"([^"\\]+)"/g), ([, each = '']) => each)];
}

function listNewest(tx: ReadTx, organizationId: string, isWanted: SQL | undefined) {
  const { integrationId, repositoryId, key, data, occurredAt } = events;
  return tx
    .select({ integrationId, repositoryId, key, text: sql<string>`${data}` })
    .from(events)
    .innerJoin(integrations, eq(integrations.id, integrationId))
    .where(and(eq(integrations.organizationId, organizationId), eq(events.type, 'issue'), isWanted))
    .orderBy(desc(occurredAt), desc(key))
    .limit(MAX_ISSUES);
}

function idsOf({ integrationId, repositoryId }: EventSource) {
  return { integrationId, repositoryId: repositoryId ?? '' };
}

function toEvent(row: typeof events.$inferSelect): Event {
  const { integrationId: _, repositoryId: __, isPrerelease: ___, releaseId, ...event } = row;
  return { ...event, ...(releaseId !== null && { releaseId }) } as Event;
}

const fromRow = (row: typeof events.$inferSelect | undefined) => (row === undefined ? null : toEvent(row));

const statements = prepared((db) => {
  const { listed } = dialectOf(db);
  const values = placeholdersFor(getTableColumns(events)) as unknown as typeof events.$inferInsert;
  const { integrationId, repositoryId, type } = values;
  const place = { integrationId, repositoryId };
  const keys = listed(sql.placeholder('keys'));
  const { key: tag, branch, occurredAt, isPrerelease } = events;
  // As the partial index has it.
  const isRelease = and(matching(events, place), sql`${events.type} = 'release'`);
  const isOfBranch = and(isRelease, eq(branch, sql.placeholder('branch')));
  const all = (isWanted: SQL | undefined) => db.select().from(events).where(isWanted).prepare();
  const releases = (isWanted: SQL | undefined) =>
    db.select({ tag, branch, occurredAt, isPrerelease }).from(events).where(isWanted);
  const {
    integrationId: _,
    repositoryId: __,
    type: ___,
    key: ____,
    isPrerelease: _____,
    ...state
  } = getTableColumns(events);
  return {
    releasesSince: releases(and(isOfBranch, gte(occurredAt, sql.placeholder('since'))))
      .orderBy(asc(occurredAt), asc(tag))
      .prepare(),
    releasesBefore: releases(and(isOfBranch, lt(occurredAt, sql.placeholder('before'))))
      .orderBy(desc(occurredAt), desc(tag))
      .limit(sql.placeholder('limit'))
      .prepare(),
    releasesByTag: releases(and(isRelease, inArray(tag, listed(sql.placeholder('tags')))))
      .orderBy(asc(occurredAt), asc(tag))
      .prepare(),
    find: all(matching(events, { ...place, type, key: values.key })),
    findRelease: all(matching(events, { ...place, releaseId: sql.placeholder('releaseId') })),
    findAll: all(and(matching(events, { ...place, type }), inArray(tag, keys))),
    arrivals: db
      .select({
        key: triggerEvents.key,
        draftOnly: triggerEvents.draftOnly,
        publish: triggerEvents.publish,
      })
      .from(triggerEvents)
      .where(
        and(
          matching(triggerEvents, {
            triggerId: sql.placeholder('triggerId'),
            repositoryId,
            type,
            isMatch: true,
          }),
          inArray(triggerEvents.key, keys),
        ),
      )
      .prepare(),
    save: db
      .insert(events)
      .values(values)
      .onConflictDoUpdate({
        target: [events.integrationId, events.repositoryId, events.type, events.key],
        set: excluded(state),
      })
      .prepare(),
  };
});
