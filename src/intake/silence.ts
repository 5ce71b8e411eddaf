import { and, asc, count, desc, eq, gte, isNotNull, min, or, sql } from 'drizzle-orm';
import { excluded, isDue, matching, NONE, type ReadTx, type WriteTx } from '../../db/engine.ts';
import {
  deliveries,
  EVENT_TYPES,
  events,
  integrations,
  repositories,
  silences,
} from '../../db/schema/integrations.ts';
import { findEvent, findSame } from '../drafting/events.ts';
import { openReaderOf } from '../integrations/token.ts';
import { DAY_MS } from '../lib/time.ts';
import type { Deps } from '../people/deps.ts';
import { isOfLive } from '../people/organization-store.ts';
import { ProviderProblem } from '../providers/api.ts';
import type { EventType } from '../providers/events.ts';
import { providerOf } from '../providers/index.ts';
import { readableEventIn } from '../providers/provider.ts';

// A webhook that stops says nothing. The leader compares how long each place has been quiet with its own rhythm, and asks the
// provider first, where it may, whether anything happened.

/** How many places one run looks at. */
const MAX_DUE = 5;

/** The wait before the next look, and before the next one at a silent place, in milliseconds. */
const EVERY_MS = 6 * 3_600_000;
const SILENT_MS = 300_000;

/** A delivery may take a while, in milliseconds. */
const LATE_MS = 900_000;

/** Looks at the places that are due. `signal` ends it early, and aborts requests. */
export async function watchSilence(deps: Deps, signal?: AbortSignal): Promise<void> {
  const { db, clock } = deps;
  for (const place of await db.read((tx) => listDuePlaces(tx, clock.now(), MAX_DUE))) {
    const { since, isProven } = await look(deps, place, signal);
    if (signal?.aborted) return;
    const dueAt = clock.now().getTime() + (since === null ? EVERY_MS : SILENT_MS);
    const { integrationId, repositoryId } = place;
    await db.write((tx) => saveSilence(tx, { integrationId, repositoryId, since, isProven, dueAt }), NONE);
  }
}

const HEARD = { since: null, isProven: false };

async function look(deps: Deps, place: Place, signal: AbortSignal | undefined) {
  const { db, clock } = deps;
  const today = clock.now().getTime() / DAY_MS;
  const begin = (today - 2 * WINDOW) * DAY_MS;
  const from = new Date(Math.max(Date.parse(place.createdAt), begin)).toISOString();
  const activity = await db.read((tx) => readActivity(tx, place, from));
  if (!isQuiet(activity, from, Math.floor(today))) return HEARD;
  const { lastAt } = activity;
  const { reader, api } = providerOf(place.type);
  // The recovery reads what changed there, which is an activity then.
  if (place.hasToken && api?.changes === true) return HEARD;
  if (!place.hasToken || reader === null) return { since: lastAt, isProven: false };
  // Nothing came since, so the answer still holds.
  if (place.since === lastAt) return { since: lastAt, isProven: true };
  try {
    return (await hasNews(deps, place, activity, signal)) ? { since: lastAt, isProven: true } : HEARD;
  } catch (error) {
    // A provider that does not tell is an item of its own.
    if (!(error instanceof ProviderProblem)) throw error;
    return HEARD;
  }
}

const dayOf = (time: string) => Math.floor(Date.parse(time) / DAY_MS);

function isQuiet({ days, knownFrom, lastAt }: Activity, from: string, today: number): boolean {
  const last = days.at(-1);
  if (last === undefined) return false;
  const begin = Math.max(dayOf(from), dayOf(last) - WINDOW, knownFrom === '' ? 0 : dayOf(knownFrom));
  const known = days.map(dayOf).filter((day) => day >= begin);
  const rhythm = learnRhythm(known, begin);
  return rhythm !== null && isSilent(rhythm, dayOf(lastAt), today);
}

/** True if the provider has something that a webhook should have delivered. */
async function hasNews(
  deps: Deps,
  { integrationId, organizationId, repositoryId, fullName, type }: Place,
  { lastAt, types }: Activity,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const { db, clock } = deps;
  const provider = providerOf(type);
  const source = { integrationId, repositoryId };
  const reader = await openReaderOf(deps, { id: integrationId, organizationId, type }, signal);
  const repository = await reader.getRepository(fullName ?? '');
  if (types.has('push')) {
    const head = await reader.getHead(repository, repository.defaultBranch);
    const push = head && (await db.read((tx) => findEvent(tx, source, { type: 'push', key: head.sha })));
    if (head !== null && push === null) return true;
  }
  const now = clock.now();
  const from = { repository: repository.fullName, deliveryId: '', receivedAt: now.toISOString() };
  const settled = new Date(now.getTime() - LATE_MS).toISOString();
  const pages = [
    types.has('release') ? await reader.listReleases(repository) : null,
    types.has('pull_request') ? await reader.listMerged(repository) : null,
  ];
  for (const item of pages.flatMap((page) => page?.items ?? [])) {
    const event = readableEventIn(provider, item, from);
    if (event === null || event.occurredAt <= lastAt || event.occurredAt > settled) continue;
    if ((await db.read((tx) => findSame(tx, source, event))) === null) return true;
  }
  return false;
}

// How long a place is usually quiet, by the days on which something happened there. Days are numbers since 1970, in UTC.

/** A quarter, in days. */
const QUARTER = 91;

/** The history that counts, in days. Older habits of a team say little. */
export const WINDOW = 2 * QUARTER;

const MIN_HISTORY = 14;
const MIN_GAPS = 5;

/** A weekday with less than this part of the activity of a usual one is a day off. */
const DAY_OFF = 0.2;

/** Room for a gap that is longer than those before, and is no silence yet. */
const MARGIN = 1.4;

export interface Rhythm {
  /** The rhythm gives more than this many quiet working days less than once a quarter. */
  longest: number;
  /** By weekday, from Thursday: day 0 was one. */
  isWorking: readonly boolean[];
}

const range = (length: number) => Array.from({ length }, (_, at) => at);

/**
 * Learns from the days with activity since `from`, in order and each once. Null: not enough is known.
 *
 * The gaps between them are counted in working days. A gap that happened less than once a quarter, such as a vacation, says
 * nothing about the others; the longest one of the rest, with a margin, is what the rhythm may give.
 */
export function learnRhythm(days: readonly number[], from: number): Rhythm | null {
  const last = days.at(-1);
  const gapCount = days.length - 1;
  if (last === undefined || gapCount < MIN_GAPS || last - from < MIN_HISTORY) return null;
  const isWorking = workingDays(days, from, last);
  const gaps = days
    .slice(1)
    .map((day, at) => countWorking(isWorking, days[at] ?? day, day))
    .sort((one, other) => other - one);
  const quarters = (last - from) / QUARTER;
  const rare = Math.max(Math.ceil(quarters) - 1, 0);
  const usual = gaps[Math.min(rare, gaps.length - 1)] ?? 0;
  const median = gaps[Math.floor(gaps.length / 2)] ?? 0;
  // A short history has not seen the longest gap of a quarter: the tail of the gaps goes on.
  const spread = Math.max(usual - median, 1) / Math.log(Math.max(gapCount / 2, 2));
  const unseen = spread * Math.log(Math.max(1 / quarters, 1));
  return { longest: Math.ceil(usual * MARGIN + unseen) + 1, isWorking };
}

function workingDays(days: readonly number[], from: number, last: number): boolean[] {
  const active = range(7).map(() => 0);
  for (const day of days) active[day % 7] = (active[day % 7] ?? 0) + 1;
  const weeks = (last - from + 1) / 7;
  const rates = active.map((count) => count / weeks);
  // The third-best weekday is a usual one, whoever has days off.
  const usual = rates.toSorted((one, other) => other - one)[2] ?? 0;
  const working = rates.map((rate) => rate > usual * DAY_OFF);
  return working.some(Boolean) ? working : range(7).map(() => true);
}

/** The working days after one day, until another one. */
function countWorking(isWorking: readonly boolean[], after: number, until: number): number {
  const days = until - after;
  const inWeek = isWorking.filter(Boolean).length;
  const rest = range(days % 7).filter((at) => isWorking[(until - at) % 7]).length;
  return Math.floor(days / 7) * inWeek + rest;
}

/** True when more whole working days than usual passed between the last day with activity and today. */
export function isSilent({ longest, isWorking }: Rhythm, lastDay: number, today: number): boolean {
  return today > lastDay && countWorking(isWorking, lastDay, today - 1) >= longest;
}

/** A repository, or an issue tracker, whose id is empty. */
type Place = Awaited<ReturnType<typeof listDuePlaces>>[number];

/** The places with webhooks that are due for a look, those that were never looked at first. */
export async function listDuePlaces(tx: ReadTx, now: Date, limit: number) {
  const { id, organizationId, type, token, createdAt, enabled, isPolled } = integrations;
  const { since, dueAt } = silences;
  const repositoryId = sql<string>`coalesce(${repositories.id}, '')`;
  return tx
    .select({
      ...{ integrationId: id, organizationId, type, createdAt, since, repositoryId },
      hasToken: sql`${token} is not null`.mapWith(Boolean),
      fullName: repositories.fullName,
    })
    .from(integrations)
    .leftJoin(repositories, eq(repositories.integrationId, id))
    .leftJoin(silences, and(eq(silences.integrationId, id), eq(silences.repositoryId, repositoryId)))
    .where(and(eq(enabled, true), eq(isPolled, false), isOfLive(organizationId), isDue(dueAt, now.getTime())))
    .orderBy(asc(sql`coalesce(${dueAt}, 0)`), asc(id), asc(repositoryId))
    .limit(limit)
    .all();
}

/** Events of one type whose days count at most, the newest. */
const MAX_EVENTS = 2_000;

/** Log entries in which to look for a delivery of a place. */
const MAX_ENTRIES = 500;

interface Activity {
  /** Days with events, such as `2026-11-20`, sorted. */
  days: string[];
  /** The days before it are not known; empty where all are. */
  knownFrom: string;
  /** The last event or delivery. ISO 8601; empty without any. */
  lastAt: string;
  types: ReadonlySet<EventType>;
}

/** The activity of a place since a day, by the events that outlive the log, and by its newest deliveries. */
async function readActivity(
  tx: ReadTx,
  { integrationId, repositoryId }: Pick<Place, 'integrationId' | 'repositoryId'>,
  since: string,
): Promise<Activity> {
  const days = new Set<string>();
  const types = new Set<EventType>();
  let knownFrom = '';
  let lastAt = (await findLastDelivery(tx, integrationId, repositoryId)) ?? '';
  for (const type of EVENT_TYPES) {
    const newest = tx
      .select({ at: events.occurredAt })
      .from(events)
      .where(and(matching(events, { integrationId, repositoryId, type }), gte(events.occurredAt, since)))
      .orderBy(desc(events.occurredAt))
      .limit(MAX_EVENTS)
      .as('newest');
    const day = sql<string>`substr(${newest.at}, 1, 10)`;
    const rows = await tx
      .select({ day, events: count(), last: sql<string>`max(${newest.at})` })
      .from(newest)
      .groupBy(day)
      .all();
    for (const row of rows) {
      days.add(row.day);
      types.add(type);
      if (row.last > lastAt) lastAt = row.last;
    }
    const isCut = rows.reduce((sum, row) => sum + row.events, 0) >= MAX_EVENTS;
    const oldest = rows.map((row) => row.day).sort()[0] ?? '';
    if (isCut && oldest > knownFrom) knownFrom = oldest;
  }
  return { days: [...days].filter((day) => day >= knownFrom).sort(), knownFrom, lastAt, types };
}

async function findLastDelivery(tx: ReadTx, integrationId: string, repositoryId: string) {
  const { createdAt: at, id, statusCode } = deliveries;
  const newest = tx
    .select({ at, repositoryId: deliveries.repositoryId, statusCode })
    .from(deliveries)
    .where(matching(deliveries, { integrationId, isPolled: false }))
    .orderBy(desc(at), desc(id))
    .limit(MAX_ENTRIES)
    .as('newest');
  const isOfPlace = repositoryId === '' ? undefined : eq(newest.repositoryId, repositoryId);
  const row = await tx
    .select({ at: sql<string | null>`max(${newest.at})` })
    .from(newest)
    .where(and(eq(newest.statusCode, 200), isOfPlace))
    .get();
  return row?.at ?? null;
}

/** Does nothing if the integration is gone. */
async function saveSilence(tx: WriteTx, row: typeof silences.$inferSelect): Promise<void> {
  if ((await tx.$count(integrations, eq(integrations.id, row.integrationId))) === 0) return;
  const { since, isProven, dueAt } = silences;
  const set = excluded({ since, isProven, dueAt });
  await tx
    .insert(silences)
    .values(row)
    .onConflictDoUpdate({ target: [silences.integrationId, silences.repositoryId], set });
}

export async function listSilent(tx: ReadTx, limit: number) {
  const { id, organizationId } = integrations;
  const { since, isProven, repositoryId } = silences;
  return tx
    .select({
      ...{ id, organizationId, places: count(), since: min(since), place: min(repositories.fullName) },
      isProven: sql`max(${isProven})`.mapWith(Boolean),
    })
    .from(silences)
    .innerJoin(integrations, eq(integrations.id, silences.integrationId))
    .leftJoin(repositories, eq(repositories.id, repositoryId))
    .where(
      and(
        matching(integrations, { enabled: true, isPolled: false }),
        isNotNull(since),
        or(eq(repositoryId, ''), isNotNull(repositories.id)),
        isOfLive(organizationId),
      ),
    )
    .groupBy(id, organizationId)
    .limit(limit)
    .all();
}
