import { and, asc, count, eq, gt, gte, lt, lte, max, type SQL, sql } from 'drizzle-orm';
import { type Database, prepared } from '../../db/client.ts';
import { deliveries, deliveryClaims } from '../../db/schema/index.ts';
import { DAY_MS } from '../lib/time.ts';
import { DEDUP_WINDOW_MS, type DeliveryStatus } from './model.ts';

/** How many entries of a day are counted one by one. */
export const MAX_COUNTED_PER_DAY = 500;

/** What came on a day, by status. With `MAX_COUNTED_PER_DAY` entries in all there may be more. */
export interface DayCounts {
  /** Such as `2026-11-20`, in UTC. */
  day: string;
  counts: Partial<Record<DeliveryStatus, number>>;
}

/** The last days of an integration, oldest first, `now` being in the last one. */
export async function countDays(
  db: Database,
  integrationId: string,
  now: Date,
  days: number,
): Promise<DayCounts[]> {
  const dayOf = (ago: number) => new Date(now.getTime() - ago * DAY_MS).toISOString().slice(0, 10);
  return Array.from({ length: days }, (_, index) => {
    const ago = days - 1 - index;
    const rows = statements(db).day.all({ integrationId, from: dayOf(ago), to: dayOf(ago - 1) });
    return {
      day: dayOf(ago),
      counts: Object.fromEntries(rows.map(({ status, entries }) => [status, entries])),
    };
  });
}

/** How much of a log is counted at most: a page must not hold the thread for long. */
export const MAX_COUNTED = 100_000;

/** How much the log of an organization holds. A count of `MAX_COUNTED` means: that many or more. */
export interface LogSize {
  entries: number;
  /** How many of them were written since the time that was asked for. */
  recent: number;
  /** When the oldest was written; null without any. */
  oldest: string | null;
}

export async function measureLog(db: Database, organizationId: string, since: Date): Promise<LogSize> {
  const isOurs = eq(deliveries.organizationId, organizationId);
  const counted = (filter: SQL | undefined) => {
    const some = db
      .select({ id: deliveries.id })
      .from(deliveries)
      .where(filter)
      .limit(MAX_COUNTED)
      .as('some');
    return db.select({ entries: count() }).from(some).get()?.entries ?? 0;
  };
  const oldest = db
    .select({ at: deliveries.createdAt })
    .from(deliveries)
    .where(isOurs)
    .orderBy(asc(deliveries.createdAt))
    .limit(1)
    .get();
  return {
    entries: counted(isOurs),
    recent: counted(and(isOurs, gte(deliveries.createdAt, since.toISOString()))),
    oldest: oldest?.at ?? null,
  };
}

/** How many delivery ids are remembered at `now`. A count of `MAX_COUNTED` means: that many or more. */
export function countLiveClaims(db: Database, now: Date): number {
  const live = db
    .select({ at: deliveryClaims.expiresAt })
    .from(deliveryClaims)
    .where(gt(deliveryClaims.expiresAt, now.getTime()))
    .limit(MAX_COUNTED)
    .as('live');
  return db.select({ claims: count() }).from(live).get()?.claims ?? 0;
}

/** When the newest delivery that is known was taken or logged, or null. */
export async function findNewestDeliveryTime(db: Database): Promise<Date | null> {
  // Both are read from the end of an index; the newest entry of all would take the reading of all.
  const claim = db
    .select({ expiresAt: max(deliveryClaims.expiresAt) })
    .from(deliveryClaims)
    .get();
  const entry = db
    .select({ createdAt: deliveries.createdAt })
    .from(deliveries)
    .orderBy(sql`rowid desc`)
    .limit(1)
    .get();
  const times = [
    ...(claim?.expiresAt ? [claim.expiresAt - DEDUP_WINDOW_MS] : []),
    ...(entry === undefined ? [] : [Date.parse(entry.createdAt)]),
  ];
  return times.length === 0 ? null : new Date(Math.max(...times));
}

/** How many claims and entries are past their time. */
export async function countExpired(db: Database, asOf: Date): Promise<{ deliveryIds: number; logs: number }> {
  const at = asOf.getTime();
  return {
    deliveryIds: await db.$count(deliveryClaims, lte(deliveryClaims.expiresAt, at)),
    logs: await db.$count(deliveries, lte(deliveries.expiresAt, at)),
  };
}

const statements = prepared((db) => {
  const ofDay = db
    .select({ status: deliveries.status })
    .from(deliveries)
    .where(
      and(
        eq(deliveries.integrationId, sql.placeholder('integrationId')),
        gte(deliveries.createdAt, sql.placeholder('from')),
        lt(deliveries.createdAt, sql.placeholder('to')),
      ),
    )
    .limit(MAX_COUNTED_PER_DAY)
    .as('of_day');
  return {
    day: db.select({ status: ofDay.status, entries: count() }).from(ofDay).groupBy(ofDay.status).prepare(),
  };
});
