import { and, asc, count, eq, gt, gte, lt, lte, max, type SQL, sql } from 'drizzle-orm';
import { prepared, type ReadTx } from '../../db/engine.ts';
import { deliveries, deliveryClaims } from '../../db/schema/integrations.ts';
import { organizations } from '../../db/schema/organizations.ts';
import { DAY_MS } from '../lib/time.ts';
import { DEDUP_WINDOW_MS, type DeliveryStatus } from './model.ts';

// Counting the log. Every count has a bound, because a page must not hold the thread for long.

/** Entries of one day that are counted at most. */
export const MAX_COUNTED_PER_DAY = 500;

export type DayCounts = Awaited<ReturnType<typeof countDays>>[number];

/**
 * The deliveries by status of an integration's last days in UTC, oldest first; `now` is in the last one. With
 * `MAX_COUNTED_PER_DAY` in all there may be more.
 */
export async function countDays(tx: ReadTx, integrationId: string, now: Date, days: number) {
  const dayOf = (ago: number) => new Date(now.getTime() - ago * DAY_MS).toISOString().slice(0, 10);
  const counted: { day: string; counts: Partial<Record<DeliveryStatus, number>> }[] = [];
  for (let ago = days - 1; ago >= 0; ago--) {
    const rows = await statements(tx).day.all({ integrationId, from: dayOf(ago), to: dayOf(ago - 1) });
    const counts = Object.fromEntries(rows.map(({ status, entries }) => [status, entries]));
    counted.push({ day: dayOf(ago), counts });
  }
  return counted;
}

/** When the newest entry of an integration was written; null without any. */
export async function findLastDeliveryTime(tx: ReadTx, integrationId: string): Promise<string | null> {
  const isOwn = eq(deliveries.integrationId, integrationId);
  return (
    (
      await tx
        .select({ at: max(deliveries.createdAt) })
        .from(deliveries)
        .where(isOwn)
        .get()
    )?.at ?? null
  );
}

/** Rows that other counts reach at most: then there are that many or more. */
const MAX_COUNTED = 100_000;

/** The rate is taken over a week, so that a weekend does not mislead. */
const RATE_DAYS = 7;

export type LogForecast = Awaited<ReturnType<typeof forecastLog>>;

/**
 * The size of an organization's log and its entries a day. `isCapped`: there may be more than were counted. A log that
 * is younger than a week is measured over its own days.
 */
export async function forecastLog(tx: ReadTx, organizationId: string, now: Date) {
  const isOrganization = eq(deliveries.organizationId, organizationId);
  const first = await tx
    .select({ at: deliveries.createdAt })
    .from(deliveries)
    .where(isOrganization)
    .orderBy(asc(deliveries.createdAt))
    .limit(1)
    .get();
  const entries = await countUpTo(tx, deliveries, isOrganization);
  const since = new Date(now.getTime() - RATE_DAYS * DAY_MS).toISOString();
  const recent = await countUpTo(tx, deliveries, and(isOrganization, gte(deliveries.createdAt, since)));
  const ageDays = first === undefined ? RATE_DAYS : (now.getTime() - Date.parse(first.at)) / DAY_MS;
  const days = Math.min(RATE_DAYS, Math.max(1, ageDays));
  return { entries, isCapped: entries >= MAX_COUNTED, oldest: first?.at ?? null, perDay: recent / days };
}

/** The number of delivery ids that are claimed at `now`; `MAX_COUNTED` means that many or more. */
export async function countLiveClaims(tx: ReadTx, now: Date): Promise<number> {
  return countUpTo(tx, deliveryClaims, gt(deliveryClaims.expiresAt, now.getTime()));
}

async function countUpTo(
  tx: ReadTx,
  table: typeof deliveries | typeof deliveryClaims,
  filter: SQL | undefined,
) {
  const some = tx
    .select({ one: sql`1`.as('one') })
    .from(table)
    .where(filter)
    .limit(MAX_COUNTED)
    .as('some');
  return (await tx.select({ entries: count() }).from(some).get())?.entries ?? 0;
}

/** When the newest known delivery was claimed or logged; null without any. */
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

/** The numbers of expired claims and entries. */
export async function countExpired(tx: ReadTx, asOf: Date) {
  const at = asOf.getTime();
  return {
    deliveryIds: await tx.$count(deliveryClaims, lte(deliveryClaims.expiresAt, at)),
    logs: await tx.$count(deliveries, lte(deliveries.expiresAt, at)),
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
