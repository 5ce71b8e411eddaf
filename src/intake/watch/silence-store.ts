import { and, asc, count, desc, eq, gte, isNotNull, min, or, sql } from 'drizzle-orm';
import { excluded, isDue, matching, type ReadTx, type WriteTx } from '../../../db/engine.ts';
import {
  deliveries,
  EVENT_TYPES,
  events,
  integrations,
  repositories,
  silences,
} from '../../../db/schema/integrations.ts';
import { isOfLive } from '../../people/organization-store.ts';
import type { EventType } from '../../providers/events.ts';

/** A repository, or an issue tracker, whose id is empty. */
export type Place = Awaited<ReturnType<typeof listDuePlaces>>[number];

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

export interface Activity {
  /** Days with events, such as `2026-11-20`, sorted. */
  days: string[];
  /** The days before it are not known; empty where all are. */
  knownFrom: string;
  /** The last event or delivery. ISO 8601; empty without any. */
  lastAt: string;
  types: ReadonlySet<EventType>;
}

/** The activity of a place since a day, by the events that outlive the log, and by its newest deliveries. */
export async function readActivity(
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
export async function saveSilence(tx: WriteTx, row: typeof silences.$inferSelect): Promise<void> {
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
