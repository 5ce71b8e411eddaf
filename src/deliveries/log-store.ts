import { and, desc, eq, gte, or, type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';
import { type Database, prepared } from '../../db/client.ts';
import { deliveries } from '../../db/schema/index.ts';
import { AppError } from '../lib/app-error.ts';
import type { IntegrationType } from '../providers/index.ts';
import { type Delivery, type DeliveryStatus, isTaken } from './model.ts';

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

function fromRow(row: typeof deliveries.$inferSelect): Delivery {
  const { event, action, data, bodyHash: _, expiresAt: __, ...entry } = row;
  return { ...entry, payload: { event, action, data } };
}

const statements = prepared((db) => ({
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
}));
