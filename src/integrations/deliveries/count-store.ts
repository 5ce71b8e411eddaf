import { and, asc, count, eq, gt, gte, lt, lte, max, ne, type SQLWrapper, sql } from 'drizzle-orm';
import { matching, type ReadTx, type WriteTx } from '../../../db/engine.ts';
import { deliveries, deliveryClaims, deliveryCounts } from '../../../db/schema/integrations.ts';
import { organizations } from '../../../db/schema/organizations.ts';
import { DAY_MS } from '../../lib/time.ts';
import { DEDUP_WINDOW_MS, type DeliveryStatus } from './store.ts';

// The numbers of the log. `delivery_counts` has them by day, so that no page counts entries.

export interface DayCounts {
  /** In UTC, such as `2026-11-20`. */
  day: string;
  counts: Partial<Record<DeliveryStatus, number>>;
  /** Processed deliveries whose draft failed. Absent where nobody counted them. */
  failedDrafts?: number;
}

const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10);

/**
 * The arrivals by status of the last days in UTC, oldest first; `now` is in the last one. Without an `id`: those of all
 * integrations.
 */
export async function countDays(
  tx: ReadTx,
  { id: integrationId, organizationId }: { id?: string | undefined; organizationId: string },
  now: Date,
  days: number,
): Promise<DayCounts[]> {
  const all = Array.from({ length: days }, (_, at) => dayOf(now.getTime() - (days - 1 - at) * DAY_MS));
  const { day, status, arrivals } = deliveryCounts;
  const rows = await tx
    .select({ day, status, arrivals: sum(arrivals) })
    .from(deliveryCounts)
    .where(and(matching(deliveryCounts, { organizationId, integrationId }), gte(day, all[0] ?? '')))
    .groupBy(day, status);
  const byDay = Map.groupBy(rows, ({ day }) => day);
  return all.map((day) => ({
    day,
    counts: Object.fromEntries((byDay.get(day) ?? []).map(({ status, arrivals }) => [status, arrivals])),
  }));
}

export type CountKey = Omit<typeof deliveryCounts.$inferSelect, 'entries' | 'arrivals'>;

export const FIRST_COUNT: CountKey = {
  organizationId: '',
  integrationId: '',
  day: '',
  status: 'processed',
  shard: -1,
};

/**
 * Adds up the rows of each day before yesterday among the next `limit` rows, and removes sums of 0. Nobody writes entries of
 * such a day any more. Returns the last key; null at the end of the table.
 */
export async function foldPastCounts(
  tx: WriteTx,
  asOf: Date,
  after: CountKey,
  limit: number,
): Promise<CountKey | null> {
  const { organizationId, integrationId, day, status, shard, entries, arrivals } = deliveryCounts;
  const columns = { organizationId, integrationId, day, status, shard };
  const key = sql`(${organizationId}, ${integrationId}, ${day}, ${status}, ${shard})`;
  const placeOf = (at: CountKey) =>
    sql`(${at.organizationId}, ${at.integrationId}, ${at.day}, ${at.status}, ${at.shard})`;
  const rest = tx
    .select(columns)
    .from(deliveryCounts)
    .where(sql`${key} > ${placeOf(after)}`);
  const order = [organizationId, integrationId, day, status, shard].map((each) => asc(each));
  const last = await rest
    .orderBy(...order)
    .limit(1)
    .offset(limit - 1)
    .get();
  const isPast = and(
    sql`${key} > ${placeOf(after)}`,
    last && sql`${key} <= ${placeOf(last)}`,
    lt(day, dayOf(asOf.getTime() - DAY_MS)),
  );
  const shards = await tx
    .delete(deliveryCounts)
    .where(and(isPast, ne(shard, 0)))
    .returning();
  const sums = Map.groupBy(shards, (row) =>
    JSON.stringify([row.organizationId, row.integrationId, row.day, row.status]),
  );
  const folded = Array.from(sums.values(), ([first, ...others]) => ({
    ...(first as (typeof shards)[number]),
    shard: 0,
    entries: others.reduce((sum, row) => sum + row.entries, first?.entries ?? 0),
    arrivals: others.reduce((sum, row) => sum + row.arrivals, first?.arrivals ?? 0),
  }));
  if (folded.length > 0) {
    await tx
      .insert(deliveryCounts)
      .values(folded)
      .onConflictDoUpdate({
        target: Object.values(columns),
        set: { entries: sql`${entries} + excluded.entries`, arrivals: sql`${arrivals} + excluded.arrivals` },
      });
  }
  await tx.delete(deliveryCounts).where(and(isPast, eq(shard, 0), eq(entries, 0), eq(arrivals, 0)));
  return last ?? null;
}

/** The time of the newest entry of an integration; null without any. */
export async function findLastDeliveryTime(tx: ReadTx, integrationId: string): Promise<string | null> {
  const newest = tx.select({ at: max(deliveries.createdAt) }).from(deliveries);
  return (await newest.where(eq(deliveries.integrationId, integrationId)).get())?.at ?? null;
}

/** The rate is taken over a week, so that a weekend does not mislead. */
const RATE_DAYS = 7;

export type LogForecast = Awaited<ReturnType<typeof forecastLog>>;

/**
 * The size of an organization's log and its entries a day, over the last seven whole days in UTC. A log that is younger
 * is measured over its own time.
 */
export async function forecastLog(tx: ReadTx, organizationId: string, now: Date) {
  const first = await tx
    .select({ at: deliveries.createdAt })
    .from(deliveries)
    .where(eq(deliveries.organizationId, organizationId))
    .orderBy(asc(deliveries.createdAt))
    .limit(1)
    .get();
  const oldest = first?.at ?? null;
  const today = dayOf(now.getTime());
  const weekAgo = dayOf(now.getTime() - RATE_DAYS * DAY_MS);
  const { day, entries: rows } = deliveryCounts;
  const isOfWeek = sql`${day} >= ${weekAgo} and ${day} < ${today}`;
  const counted = await tx
    .select({ entries: sum(rows), ofWeek: sum(sql`case when ${isOfWeek} then ${rows} end`) })
    .from(deliveryCounts)
    .where(eq(deliveryCounts.organizationId, organizationId))
    .get();
  const { entries = 0, ofWeek = 0 } = counted ?? {};
  const isYoung = oldest !== null && oldest >= weekAgo;
  const ageDays = isYoung ? Math.max(1, (now.getTime() - Date.parse(oldest)) / DAY_MS) : RATE_DAYS;
  return { entries, oldest, perDay: (isYoung ? entries : ofWeek) / ageDays };
}

/** Claims that are counted at most: then there are that many or more. */
const MAX_COUNTED = 100_000;

/** The number of delivery ids that are claimed at `nowMs` of elapsed time; `MAX_COUNTED` means that many or more. */
export async function countLiveClaims(tx: ReadTx, nowMs: number): Promise<number> {
  const live = tx
    .select({ one: sql`1`.as('one') })
    .from(deliveryClaims)
    .where(gt(deliveryClaims.expiresAt, nowMs))
    .limit(MAX_COUNTED)
    .as('live');
  return (await tx.select({ claims: count() }).from(live).get())?.claims ?? 0;
}

/** The time of the newest known delivery, claimed or logged; null without any. */
export async function findNewestDeliveryTime(tx: ReadTx): Promise<Date | null> {
  // Each is read from the end of an index. Entries have none on their time alone, but one of each organization's.
  const claim = await tx
    .select({ expiresAt: max(deliveryClaims.expiresAt) })
    .from(deliveryClaims)
    .get();
  const ofOrganization = tx
    .select({ createdAt: max(deliveries.createdAt) })
    .from(deliveries)
    .where(eq(deliveries.organizationId, organizations.id));
  const entry = await tx
    .select({ createdAt: sql<string | null>`max((${ofOrganization}))` })
    .from(organizations)
    .get();
  const claimedAt = claim?.expiresAt ? claim.expiresAt - DEDUP_WINDOW_MS : 0;
  const newest = Math.max(claimedAt, entry?.createdAt ? Date.parse(entry.createdAt) : 0);
  return newest === 0 ? null : new Date(newest);
}

export async function countExpiredClaims(tx: ReadTx, asOf: Date): Promise<number> {
  return tx.$count(deliveryClaims, lte(deliveryClaims.expiresAt, asOf.getTime()));
}

export async function countExpiredEntries(tx: ReadTx, asOf: Date): Promise<number> {
  return tx.$count(deliveries, lte(deliveries.expiresAt, asOf.getTime()));
}

const sum = (what: SQLWrapper) => sql<number>`coalesce(sum(${what}), 0)`.mapWith(Number);
