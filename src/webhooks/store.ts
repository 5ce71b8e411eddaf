import {
  and,
  asc,
  count,
  desc,
  eq,
  getTableColumns,
  gt,
  gte,
  isNotNull,
  lt,
  lte,
  max,
  ne,
  or,
  type SQL,
  sql,
} from 'drizzle-orm';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';
import { type Database, prepared } from '../../db/client.ts';
import { commitTogether } from '../../db/group-commit.ts';
import { deliveries, deliveryClaims } from '../../db/schema/index.ts';
import type { IntegrationType } from '../integrations/model.ts';
import { AppError } from '../lib/app-error.ts';
import { DAY_MS } from '../lib/time.ts';
import { DEDUP_WINDOW_MS, type Delivery, type DeliveryStatus, isTaken } from './model.ts';

/** An entry to write, with the hash of its body where the sender was verified. */
export type NewDelivery = Delivery & { bodyHash: Buffer | null };

/** What a delivery that was claimed came to. */
export type Outcome = Pick<Delivery, 'title' | 'status' | 'reason'> & Pick<Partial<Delivery>, 'payload'>;

/**
 * Claims the delivery, lets `process` say what it came to, and writes the log entry: one transaction, resolved when
 * it is on the disk. A delivery that was claimed less than 24 h ago is logged as a duplicate, under the title that it
 * had, and `process` is not called. When `process` throws, nothing is claimed or written, and this throws the same.
 */
export function takeDelivery(
  db: Database,
  entry: Omit<NewDelivery, 'title' | 'status' | 'reason'>,
  now: Date,
  process: () => Outcome,
): Promise<NewDelivery> {
  return commitTogether(db, () => {
    const claimed = claim(db, entry.integrationId, entry.referenceId ?? '', now);
    const written: NewDelivery = claimed
      ? { ...entry, ...process(), sameBodyAs: findSameBody(db, entry) }
      : {
          ...entry,
          status: 'duplicate',
          title: findTitle(db, entry) ?? entry.payload.event ?? 'Duplicate',
          reason: 'The same delivery id was taken less than 24 hours ago',
        };
    insertDelivery(db, written, now);
    return written;
  });
}

/** Synchronous, for a transaction of the caller's. */
export function insertDelivery(db: Database, entry: NewDelivery, now: Date): void {
  statements(db).insert.run(toRow(entry, now));
}

/** Writes an entry for a delivery that was not taken. */
export function recordDelivery(db: Database, entry: NewDelivery, now: Date): Promise<void> {
  return commitTogether(db, () => insertDelivery(db, entry, now));
}

/** Writes an entry, or counts one more arrival in the entry that has its id already. */
export function countDelivery(db: Database, entry: NewDelivery, now: Date): Promise<void> {
  return commitTogether(db, () => void statements(db).count.run(toRow(entry, now)));
}

export interface DeliveryFilter {
  integrationId?: string | undefined;
  status?: DeliveryStatus | undefined;
  event?: string | undefined;
  /** The provider's delivery id. */
  referenceId?: string | undefined;
  since?: Date | undefined;
}

/** Newest first; `page` counts from 1. */
export async function listDeliveries(
  db: Database,
  organizationId: string,
  filter: DeliveryFilter,
  { limit, page }: { limit: number; page: number },
): Promise<Delivery[]> {
  // The few entries of one id are found by it: the plus sign keeps SQLite from walking along the whole log for them.
  const among = (column: SQLiteColumn, value: string) =>
    filter.referenceId === undefined ? eq(column, value) : sql`+${column} = ${value}`;
  const filters: (SQL | undefined)[] = [
    among(deliveries.organizationId, organizationId),
    filter.integrationId === undefined ? undefined : among(deliveries.integrationId, filter.integrationId),
    filter.status === undefined ? undefined : eq(deliveries.status, filter.status),
    filter.event === undefined ? undefined : eq(deliveries.event, filter.event),
    filter.referenceId === undefined ? undefined : eq(deliveries.referenceId, filter.referenceId),
    filter.since === undefined ? undefined : gte(deliveries.createdAt, filter.since.toISOString()),
  ];
  const rows = db
    .select()
    .from(deliveries)
    .where(and(...filters))
    .orderBy(desc(deliveries.createdAt), desc(deliveries.id))
    .limit(limit)
    .offset((page - 1) * limit)
    .all();
  return rows.map(fromRow);
}

/** Where an entry stands in the log. */
export type LogPosition = Pick<Delivery, 'createdAt' | 'id'>;

export interface LogFilter extends Omit<DeliveryFilter, 'referenceId'> {
  integrationType?: IntegrationType | undefined;
  /** The entry's id, or the provider's delivery id. */
  anyId?: string | undefined;
}

/** A look at the log: where to go on, null at its end, and whether it ended before it had found enough. */
export interface LogPage {
  entries: Delivery[];
  next: LogPosition | null;
  isCut: boolean;
}

/** How many entries one look at the log reads at most: what fits a rare filter may lie further back. */
export const MAX_LOOKED_AT = 20_000;

/**
 * The entries that fit, newest first, from `before` on. `next` is where to go on, null at the end of the log. When few
 * entries fit, the look ends after `MAX_LOOKED_AT`, and `next` is where it ended: a page is quick in any log.
 */
export async function listLogPage(
  db: Database,
  organizationId: string,
  filter: LogFilter,
  { limit, before }: { limit: number; before?: LogPosition | null },
): Promise<LogPage> {
  const { within, since, beside } = logFilters(organizationId, filter);
  const from = before ? sql`${position} < (${before.createdAt}, ${before.id})` : undefined;
  const end =
    beside === undefined
      ? undefined
      : db
          .select({ createdAt: deliveries.createdAt, id: deliveries.id })
          .from(deliveries)
          .where(and(within, from, since))
          .orderBy(...newestFirst)
          .limit(1)
          .offset(MAX_LOOKED_AT - 1)
          .get();
  // One bound below, the nearer one: given both, SQLite would walk along the index to the further.
  const until = end === undefined ? since : sql`${position} >= (${end.createdAt}, ${end.id})`;
  const rows = db
    .select()
    .from(deliveries)
    .where(and(within, from, until, beside))
    .orderBy(...newestFirst)
    .limit(limit + 1)
    .all();
  const entries = rows.slice(0, limit).map(fromRow);
  const isFull = rows.length > limit;
  return { entries, next: (isFull ? entries.at(-1) : end) ?? null, isCut: !isFull && end !== undefined };
}

/** The newest entries that fit and came since then (whatever the filter says of that), newest first. */
export async function listLogNews(
  db: Database,
  organizationId: string,
  filter: LogFilter,
  { since, limit }: { since: Date; limit: number },
): Promise<Delivery[]> {
  const { within, since: isNew, beside } = logFilters(organizationId, { ...filter, since });
  const rows = db
    .select()
    .from(deliveries)
    .where(and(within, isNew, beside))
    .orderBy(...newestFirst)
    .limit(limit)
    .all();
  return rows.map(fromRow);
}

const position = sql`(${deliveries.createdAt}, ${deliveries.id})`;
const newestFirst = [desc(deliveries.createdAt), desc(deliveries.id)];

/**
 * The filter in two halves: what one index finds in the log's order, the time among it, and what each entry is then
 * asked. The plus signs keep SQLite from choosing another index than the one that is meant.
 */
function logFilters(organizationId: string, { integrationId, integrationType, status, ...rest }: LogFilter) {
  const isOrganization = eq(deliveries.organizationId, organizationId);
  const isOrganizationToo = sql`+${deliveries.organizationId} = ${organizationId}`;
  const since = rest.since === undefined ? undefined : gte(deliveries.createdAt, rest.since.toISOString());
  const others = [
    integrationType === undefined ? undefined : eq(deliveries.integrationType, integrationType),
    rest.event === undefined ? undefined : eq(deliveries.event, rest.event),
  ];
  const isStatus = status === undefined ? undefined : eq(deliveries.status, status);
  const isIntegration = integrationId === undefined ? undefined : eq(deliveries.integrationId, integrationId);
  const isIntegrationToo =
    integrationId === undefined ? undefined : sql`+${deliveries.integrationId} = ${integrationId}`;
  if (rest.anyId !== undefined) {
    const isNamed = or(eq(deliveries.id, rest.anyId), eq(deliveries.referenceId, rest.anyId));
    return { within: isNamed, since, beside: and(isOrganizationToo, isIntegrationToo, isStatus, ...others) };
  }
  if (status !== undefined && status !== 'processed') {
    // The condition of the partial index, word for word.
    const isProblem = sql`${deliveries.status} <> 'processed'`;
    return {
      within: and(isOrganization, isStatus, isProblem),
      since,
      beside: and(isIntegrationToo, ...others),
    };
  }
  const isStatusToo = status === undefined ? undefined : sql`+${deliveries.status} = ${status}`;
  return isIntegration === undefined
    ? { within: isOrganization, since, beside: and(isStatusToo, ...others) }
    : { within: isIntegration, since, beside: and(isOrganizationToo, isStatusToo, ...others) };
}

/** By the entry's id, or by the provider's delivery id (its newest entry); null when the organization has none. */
export async function findDelivery(
  db: Database,
  organizationId: string,
  id: string,
): Promise<Delivery | null> {
  const { entries } = await listLogPage(db, organizationId, { anyId: id }, { limit: 1 });
  return entries[0] ?? null;
}

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

/**
 * By the entry's id, or by the provider's delivery id: its newest entry. With `status` an arrival with that status
 * comes before all others, as anybody can send a refused one under any id. Throws `AppError` 404.
 */
export async function getDelivery(db: Database, id: string, status?: DeliveryStatus): Promise<Delivery> {
  const isMeant =
    status === undefined ? sql`1` : sql`${deliveries.status} = ${status} and ${deliveries.replayOf} is null`;
  const row = db
    .select()
    .from(deliveries)
    .where(or(eq(deliveries.id, id), eq(deliveries.referenceId, id)))
    .orderBy(desc(isMeant), desc(deliveries.createdAt), desc(deliveries.id))
    .limit(1)
    .get();
  if (row === undefined)
    throw new AppError(404, `Delivery ${id} not found; "delivery list" shows those there are`);
  return fromRow(row);
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

/** What the last deliveries of an integration came to, newest first. */
export function listLastOutcomes(
  db: Database,
  integrationId: string,
  limit: number,
): Pick<Delivery, 'status' | 'reason' | 'createdAt'>[] {
  return db
    .select({ status: deliveries.status, reason: deliveries.reason, createdAt: deliveries.createdAt })
    .from(deliveries)
    .where(eq(deliveries.integrationId, integrationId))
    .orderBy(...newestFirst)
    .limit(limit)
    .all();
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

/** Deletes at most `limit` expired claims. Returns how many there were. */
export function deleteExpiredClaims(db: Database, asOf: Date, limit: number): Promise<number> {
  return changesOf(
    db,
    sql`delete from ${deliveryClaims} where rowid in (select rowid from ${deliveryClaims} where expires_at <= ${asOf.getTime()} limit ${limit})`,
  );
}

/** Deletes at most `limit` expired entries. Returns how many there were. */
export function deleteExpiredDeliveries(db: Database, asOf: Date, limit: number): Promise<number> {
  return changesOf(
    db,
    sql`delete from ${deliveries} where rowid in (select rowid from ${deliveries} where expires_at <= ${asOf.getTime()} limit ${limit})`,
  );
}

/** The newest ping that was taken at `since` or later; of one repository where one is given. */
export async function findPing(
  db: Database,
  integrationId: string,
  repositoryId: string | null,
  since: Date,
): Promise<{ id: string; createdAt: string } | null> {
  const found = db
    .select({ id: deliveries.id, createdAt: deliveries.createdAt })
    .from(deliveries)
    .where(
      and(
        eq(deliveries.integrationId, integrationId),
        gte(deliveries.createdAt, since.toISOString()),
        eq(deliveries.event, 'ping'),
        eq(deliveries.statusCode, 200),
        repositoryId === null ? undefined : eq(deliveries.repositoryId, repositoryId),
      ),
    )
    .orderBy(desc(deliveries.createdAt))
    .limit(1)
    .get();
  return found ?? null;
}

/** What the log says of deliveries: the entry of each that says most, what was taken before what was not. */
export async function listLogged(
  db: Database,
  integrationId: string,
  deliveryIds: readonly string[],
): Promise<Map<string, Pick<Delivery, 'id' | 'status' | 'reason'>>> {
  const found = new Map<string, Pick<Delivery, 'id' | 'status' | 'reason'>>();
  for (const deliveryId of deliveryIds) {
    const entries = statements(db).logged.all({ integrationId, deliveryId });
    const best = entries.find(({ status }) => isTaken(status)) ?? entries[0];
    if (best !== undefined) found.set(deliveryId, best);
  }
  return found;
}

function changesOf(db: Database, statement: SQL): Promise<number> {
  return commitTogether(db, () => (db.run(statement) as unknown as { changes: number }).changes);
}

/** One atomic statement: a new claim, or one over a claim that has run out. False: it is claimed. */
function claim(db: Database, integrationId: string, deliveryId: string, now: Date): boolean {
  const values = {
    integrationId,
    deliveryId,
    now: now.getTime(),
    expiresAt: now.getTime() + DEDUP_WINDOW_MS,
  };
  return statements(db).claim.all(values).length > 0;
}

function findSameBody(
  db: Database,
  { integrationId, bodyHash, referenceId }: Pick<NewDelivery, 'integrationId' | 'bodyHash' | 'referenceId'>,
) {
  if (bodyHash === null) return null;
  return statements(db).sameBody.get({ integrationId, bodyHash, referenceId })?.referenceId ?? null;
}

function findTitle(
  db: Database,
  { integrationId, referenceId }: Pick<NewDelivery, 'integrationId' | 'referenceId'>,
) {
  return statements(db).title.get({ integrationId, referenceId })?.title;
}

const statements = prepared((db) => {
  const columns = Object.keys(getTableColumns(deliveries));
  const placeholders = Object.fromEntries(columns.map((column) => [column, sql.placeholder(column)]));
  const insert = () =>
    db.insert(deliveries).values(placeholders as unknown as typeof deliveries.$inferInsert);
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
    insert: insert().prepare(),
    logged: db
      .select({ id: deliveries.id, status: deliveries.status, reason: deliveries.reason })
      .from(deliveries)
      .where(
        and(
          eq(deliveries.referenceId, sql.placeholder('deliveryId')),
          eq(deliveries.integrationId, sql.placeholder('integrationId')),
        ),
      )
      .orderBy(desc(deliveries.createdAt))
      .limit(20)
      .prepare(),
    count: insert()
      .onConflictDoUpdate({ target: deliveries.id, set: { count: sql`${deliveries.count} + 1` } })
      .prepare(),
    claim: db
      .insert(deliveryClaims)
      .values({
        integrationId: sql.placeholder('integrationId'),
        deliveryId: sql.placeholder('deliveryId'),
        expiresAt: sql.placeholder('expiresAt'),
      })
      .onConflictDoUpdate({
        target: [deliveryClaims.integrationId, deliveryClaims.deliveryId],
        set: { expiresAt: sql`excluded.expires_at` },
        setWhere: lte(deliveryClaims.expiresAt, sql.placeholder('now')),
      })
      .returning({ claimed: deliveryClaims.deliveryId })
      .prepare(),
    sameBody: db
      .select({ referenceId: deliveries.referenceId })
      .from(deliveries)
      .where(
        and(
          eq(deliveries.integrationId, sql.placeholder('integrationId')),
          eq(deliveries.bodyHash, sql.placeholder('bodyHash')),
          isNotNull(deliveries.bodyHash),
          ne(deliveries.referenceId, sql.placeholder('referenceId')),
        ),
      )
      .limit(1)
      .prepare(),
    title: db
      .select({ title: deliveries.title })
      .from(deliveries)
      .where(
        and(
          eq(deliveries.referenceId, sql.placeholder('referenceId')),
          eq(deliveries.integrationId, sql.placeholder('integrationId')),
          or(eq(deliveries.status, 'processed'), eq(deliveries.status, 'ignored')),
        ),
      )
      .limit(1)
      .prepare(),
  };
});

function toRow({ payload, ...entry }: NewDelivery, now: Date) {
  const { event, action, data } = payload;
  return { ...entry, event, action, data, expiresAt: now.getTime() + entry.retentionDays * DAY_MS };
}

function fromRow(row: typeof deliveries.$inferSelect): Delivery {
  const { event, action, data, bodyHash: _, expiresAt: __, ...entry } = row;
  return { ...entry, payload: { event, action, data } };
}
